"""Numbers for people: bytes, counts, shares, durations, rounded to one digit after the point; lists of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_RATES = ("B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s")
_DECIMAL = ("", "K", "M", "G", "T", "P", "E")
# Size of a unit in ns, the unit, how many of it make the next.
_TIMES = ((1, "ns", 1000), (10**3, "µs", 1000), (10**6, "ms", 1000), (10**9, "s", 60))
NOTHING = "–"
UNKNOWN = "unknown"
# ns. Clocks of recordings that do not say when they were count from the machine's start, or from any other moment.
_FIRST_DATE = 631_152_000 * 10**9


def plural(number: int, one: str, many: str) -> str:
    """A number with the word for what it counts."""
    return f"{number} {one if number == 1 else many}"


def bytes(value: float) -> str:
    """A number of bytes: 1536 → "1.5 KiB"."""
    return _scaled(value, 1024, _BINARY)


def rate(value: float) -> str:
    """Bytes a second in powers of ten, as makers of links give them: 450e9 → "450 GB/s"."""
    return _scaled(value, 1000, _RATES)


def count(value: float) -> str:
    """A number of things: 12_345_678 → "12.3 M"."""
    return _scaled(value, 1000, _DECIMAL)


def scale(largest: float, *, binary: bool) -> tuple[int, str]:
    """The unit in which numbers up to the largest are short, and how many make one: bytes (binary) or things."""
    return _unit(largest, *((1024, _BINARY) if binary else (1000, _DECIMAL)))


def percent(fraction: float) -> str:
    """A share: 0.125 → "12.5 %"; "–" where it is not a number."""
    if not math.isfinite(fraction):
        return NOTHING
    return f"{_short(100 * fraction)} %"


def efficiency(fraction: float) -> str:
    """A share that is above 1 where several lanes asked for the same bytes: 4 → "400 % (lanes shared addresses)"."""
    return percent(fraction) + (" (lanes shared addresses)" if round(fraction, 3) > 1 else "")


def times(factor: float) -> str:
    """How many times as much: 3.25 → "3.25 ×"; "–" where it is not a number."""
    if not math.isfinite(factor):
        return NOTHING
    return f"{factor:,.0f} ×" if factor >= 1000 else f"{factor:.4g} ×"


def signed(change: float, write: Callable[[float], str]) -> str:
    """A change with its sign, its amount as `write` has it: "+1.5 KiB"; "–" where it is not a number."""
    if not math.isfinite(change):
        return NOTHING
    return ("+" if change > 0 else "-" if change < 0 else "") + write(abs(change))


def duration(ns: float) -> str:
    """A time in nanoseconds: 1_500 → "1.5 µs"; from a minute on "2 min 5 s"."""
    if not math.isfinite(ns):
        return NOTHING
    for size, unit, limit in _TIMES:
        if round(abs(ns) / size, 1) < limit:
            return f"{_short(ns / size)} {unit}"
    minutes, seconds = divmod(round(abs(ns) / 10**9), 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
    return f"-{text}" if ns < 0 else text


def moment(ns: float) -> str:
    """A time after some beginning, exact to a microsecond, for what is looked for by it: 5_007_000 → "5.007 ms"."""
    return f"{ns / 10**6:,.3f} ms" if math.isfinite(ns) else NOTHING


def is_date(ns: float) -> bool:
    """Whether a host time can be a date, from 1990 on: imported recordings may not say when they were."""
    return ns >= _FIRST_DATE


def capability(sm: float) -> str:
    """A compute capability as NVIDIA writes it: 90 → "9.0"."""
    return f"{sm // 10:.0f}.{sm % 10:.0f}"


def numbers(values: Iterable[int]) -> str:
    """Whole numbers, neighbours drawn together: (0, 1, 2, 5) → "0–2, 5"."""
    runs: list[list[int]] = []
    for value in sorted(set(values)):
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in runs)


def _scaled(value: float, base: int, units: tuple[str, ...]) -> str:
    if not math.isfinite(value):
        return NOTHING
    size, unit = _unit(value, base, units)
    return f"{_short(value / size)} {unit}".rstrip()


def _unit(value: float, base: int, units: tuple[str, ...]) -> tuple[int, str]:
    power = 0
    # 999.96 would be shown as 1000.0: such a value belongs to the next unit.
    while power + 1 < len(units) and round(abs(value), 1) >= base:
        value /= base
        power += 1
    return base**power, units[power]


def _short(value: float) -> str:
    """At most one digit after the point, and none when it is 0."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text
