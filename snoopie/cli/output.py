"""Tables and commands as text: aligned for people, cut to the width of a terminal, whole and plain in a pipe."""

import math
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

import pandas as pd

from snoopie.analysis import units

_GAP = "  "
# A text column that has to give way on a narrow terminal keeps this much.
_LEAST = 12

_AMOUNTS: dict[str, Callable[[float], str]] = {
    "accesses": lambda value: f"{value:,}",
    "lanes": lambda value: f"{value:,}",
    "launches": lambda value: f"{value:,}",
    "copies": lambda value: f"{value:,}",
    "calls": lambda value: f"{value:,}",
    "bytes": units.bytes,
    "call_bytes": units.bytes,
    "size": units.bytes,
    "copied_in": units.bytes,
    "copied_out": units.bytes,
    "errors": lambda value: f"{value:,}",
    "host_ns": units.duration,
    "mean_ns": units.duration,
    "min_ns": units.duration,
    "max_ns": units.duration,
    "p50_ns": units.duration,
    "p90_ns": units.duration,
    "p99_ns": units.duration,
    "bandwidth": units.bandwidth,
    "total_us": lambda value: f"{value:,.3f}",
    "average_us": lambda value: f"{value:,.3f}",
    "least_us": lambda value: f"{value:,.3f}",
    "most_us": lambda value: f"{value:,.3f}",
    "wire_bytes": units.bytes,
    "memory": units.bytes,
    "share": units.percent,
    "wire_efficiency": units.percent,
}
_REMEDIES = {
    "load(…, allow_truncated=True)": "--allow-truncated",
    "not_measured() names them": "snoopie info names them",
}
_HEADINGS = {
    "wire_bytes": "wire bytes",
    "wire_efficiency": "efficiency",
    "call_bytes": "call bytes",
    "copied_in": "copied in",
    "copied_out": "copied out",
    "host_ns": "host time",
    "mean_ns": "mean",
    "min_ns": "shortest",
    "max_ns": "longest",
    "p50_ns": "50 % within",
    "p90_ns": "90 % within",
    "p99_ns": "99 % within",
    "local_rank": "local rank",
    "total_us": "time (us)",
    "average_us": "avg",
    "least_us": "min",
    "most_us": "max",
}
# Of a path the end says most.
_KEEP_END = frozenset({"source"})


def clean(text: object) -> str:
    """Text from a trace for a terminal: one line, without the control characters that could steer it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def in_shell_words(text: str) -> str:
    """A sentence of the reader, which names remedies in Python, for someone at a shell."""
    for python, shell in _REMEDIES.items():
        text = text.replace(python, shell)
    return clean(text)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at the stream."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def print_table(table: pd.DataFrame, stream: TextIO | None = None) -> None:
    """Print the columns of a table in their order, amounts with their units."""
    stream = stream or sys.stdout
    names = [str(name) for name in table.columns]
    headings = [_HEADINGS.get(name, name) for name in names]
    columns = [[_cell(name, value) for value in table[name]] for name in names]
    widths = [max(map(len, (heading, *cells))) for heading, cells in zip(headings, columns, strict=True)]
    right = [name in _AMOUNTS or table[name].dtype.kind in "iuf" for name in names]
    bold = False
    if is_terminal(stream):
        widths = _fit(widths, right, shutil.get_terminal_size().columns)
        bold = "NO_COLOR" not in os.environ
    for row, line in enumerate([headings, *zip(*columns, strict=True)]):
        cells = [_place(*cell) for cell in zip(line, names, widths, right, strict=True)]
        text = _GAP.join(cells).rstrip()
        print(f"\033[1m{text}\033[0m" if bold and row == 0 else text, file=stream)


def print_pairs_of_values(rows: Iterable[tuple[str, object]], stream: TextIO | None = None) -> None:
    """Print `name  value` lines with the values below one another."""
    cells = [(name, clean(value)) for name, value in rows]
    width = max((len(name) for name, _ in cells), default=0)
    for name, value in cells:
        print(f"{name:<{width}}{_GAP}{value}", file=stream or sys.stdout)


def shell_words(words: Iterable[str]) -> str:
    """Words as one would type them."""
    return shlex.join(words)


def json_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, column → value, as `json` takes them."""
    names = [str(name) for name in table.columns]
    columns = [[json_value(value) for value in table[name]] for name in table.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def json_value(value: Any) -> Any:
    """A value of a table; None for what is not a number."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    # numpy's numbers are no numbers to json
    return value.item() if hasattr(value, "item") else value


def print_next(*words: str) -> None:
    """Say, on stderr, which command comes next."""
    print(f"Next: snoopie {shell_words(words)}", file=sys.stderr, flush=True)


def _cell(name: str, value: object) -> str:
    amount = _AMOUNTS.get(name)
    if amount is not None and isinstance(value, (int, float)):
        return amount(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return clean(value)


def _place(text: str, name: str, width: int, right: bool) -> str:
    if len(text) > width:
        text = "…" + text[1 - width :] if name in _KEEP_END else text[: width - 1] + "…"
    return text.rjust(width) if right else text.ljust(width)


def _fit(widths: list[int], right: list[bool], total: int) -> list[int]:
    """Narrow the widest text columns until the line fits; amounts stay whole."""
    widths = list(widths)
    texts = [i for i, is_right in enumerate(right) if not is_right]
    while texts and sum(widths) + len(_GAP) * (len(widths) - 1) > total:
        widest = max(texts, key=lambda i: widths[i])
        if widths[widest] <= _LEAST:
            break
        widths[widest] -= 1
    return widths
