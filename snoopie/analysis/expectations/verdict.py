"""Whether expectations hold, with the numbers, in words and for programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from snoopie.words import units

# "not covered": what was counted fits, but not everything was counted.
Outcome = Literal["holds", "fails", "not covered", "error"]
Pairs = frozenset[tuple[str, str]]
Value = Fraction | Pairs

_MOST_PAIRS = 12
_INDENT = 13 * " "


@dataclass(frozen=True, slots=True)
class Amount:
    """The value of a part of an expectation, as it was written. ``what``: the quantity it is of, or ""."""

    text: str
    value: Value
    what: str = ""
    estimated: bool = False

    def __str__(self) -> str:
        return f"{self.text} = {'≈ ' if self.estimated else ''}{in_words(self.value, self.what)}"

    def as_json(self) -> dict[str, Any]:
        return {"text": self.text, "value": _plain(self.value), "estimated": self.estimated}


@dataclass(frozen=True, slots=True)
class Verdict:
    """On one expectation: ``amounts`` are the values of its parts, ``gaps`` say what was not counted, ``notes`` what
    else there is to say."""

    expression: str
    outcome: Outcome
    amounts: tuple[Amount, ...] = ()
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.outcome == "holds"

    def __str__(self) -> str:
        lines = [f"{self.outcome + ':':<13}{self.expression}"]
        lines += [f"{_INDENT}{line}" for line in (*map(str, self.amounts), *self.notes)]
        return "\n".join(lines + [f"{_INDENT}not everything was counted: {gap}" for gap in self.gaps])

    def as_json(self) -> dict[str, Any]:
        return {
            "expression": self.expression,
            "outcome": self.outcome,
            "amounts": [amount.as_json() for amount in self.amounts],
            "gaps": list(self.gaps),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Verdicts:
    """On several expectations; true if all hold."""

    every: tuple[Verdict, ...] = field(default=())

    def __bool__(self) -> bool:
        return all(verdict.holds for verdict in self.every)

    def __iter__(self) -> Any:
        return iter(self.every)

    def __len__(self) -> int:
        return len(self.every)

    def __str__(self) -> str:
        return "\n".join(map(str, self.every))

    __repr__ = __str__

    def as_json(self) -> dict[str, Any]:
        return {"holds": bool(self), "expectations": [verdict.as_json() for verdict in self.every]}


def in_words(value: Value, what: str = "") -> str:
    """A number exactly, and of bytes also in a unit; pairs as they are written."""
    if not isinstance(value, Fraction):
        return pairs_in_words(value)
    exact = f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):,.6g}"
    return f"{exact} ({units.bytes(float(value))})" if "bytes" in what and abs(value) >= 1024 else exact


def pairs_in_words(pairs: Iterable[tuple[str, str]]) -> str:
    """Pairs as one would write them; of many, the first."""
    texts = [
        f"{first.removeprefix('GPU ')}->{second.removeprefix('GPU ')}" for first, second in sorted(pairs, key=_key)
    ]
    more = f", … {len(texts) - _MOST_PAIRS} more" if texts[_MOST_PAIRS:] else ""
    return "{" + ", ".join(texts[:_MOST_PAIRS]) + more + "}"


def _key(pair: tuple[str, str]) -> list[tuple[int, str]]:
    # GPU 10 after GPU 9.
    return [(len(place), place) for place in pair]


def _plain(value: Value) -> Any:
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return [list(pair) for pair in sorted(value, key=_key)]
