"""Limits on what may grow or shrink from one trace to another: "bytes:5%", "copy_bytes:10MiB", "launches:0".

Also of every row by itself, "bytes/line:10%", and of a part of the traffic, "bytes(GPU 0 -> GPU 1):0".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from snoopie.analysis.expectations.grammar import PAIRS, Quantity, parse_number
from snoopie.analysis.traffic.values import VALUES
from snoopie.errors import SnoopieError, UsageError
from snoopie.words import columns, units

if TYPE_CHECKING:
    import pandas as pd

# What can be limited; `snoopie.words.columns` says what each is.
METRICS = (
    *("bytes", "wire_bytes", "accesses", "lanes", "wire_units", "launches", "kernels", "copies", "copy_bytes"),
    *("peak_memory", "leaks"),
)

_AMOUNT = re.compile(r"(\d{1,18}(?:\.\d{1,18})?) ?(%|[KMGTP]i?B|[KMGTP]|B|)", re.ASCII)
_PREFIXES = {prefix: power for power, prefix in enumerate("KMGTP", start=1)}


# Rows that a limit can be on, each by itself, and how many of them are named.
KEYS = ("pair", "kernel", "line", "object")
_MOST_ROWS = 5

Direction = Literal["increase", "decrease"]


@dataclass(frozen=True)
class Limit:
    """By how much a metric may grow, or shrink: a share of what it was (``relative``), or so many.

    ``key``: of every pair, kernel, … by itself. ``quantity``: of the part of the traffic that its selectors choose.
    ``text`` and ``of`` are the amount and the metric as they were given.
    """

    metric: str
    amount: Fraction
    relative: bool
    text: str
    direction: Direction = "increase"
    key: str = ""
    quantity: Quantity | None = None
    of: str = ""

    @classmethod
    def parse(cls, text: str, direction: Direction = "increase") -> Limit:
        """METRIC:AMOUNT, METRIC/KEY:AMOUNT or METRIC(SELECTORS):AMOUNT. UsageError where it is none."""
        # A line in the selectors has a colon of its own.
        of, colon, amount = text.rpartition(":")
        quantity = _quantity(of) if "(" in of else None
        metric, slash, key = (of, "", "") if quantity else of.partition("/")
        metric = quantity.name if quantity else metric
        if metric not in METRICS or not colon:
            raise UsageError(
                f"{text} is not a limit", f"use METRIC:AMOUNT, as in bytes:5%; METRIC is one of {', '.join(METRICS)}"
            )
        if slash and (key not in KEYS or not (metric in VALUES or (metric, key) == ("launches", "kernel"))):
            raise UsageError(
                f"there is no {metric} by {key or 'nothing'} to limit",
                f"use METRIC/KEY:AMOUNT, as in bytes/line:10%; KEY is one of {', '.join(KEYS)}",
            )
        found = _AMOUNT.fullmatch(amount)
        # "10M" of bytes would be 10^6 to some and 2^20 to others.
        if found is None or (found[2] not in ("", "%") and found[2].endswith("B") != (_in_bytes(metric))):
            example = "5%, 10MiB or 0" if _in_bytes(metric) else "5%, 10K or 0"
            raise UsageError(f"{amount or 'nothing'} is not an amount of {metric}", f"use, for example, {example}")
        share = found[2] == "%"
        return cls(metric, Fraction(found[1]) * _unit(found[2]), share, amount, direction, key, quantity, of)

    def exceeded(self, summary: pd.DataFrame) -> str | None:
        """A sentence where a metric of `compare.summary` changed by more; None where not.

        SnoopieError where one of the traces does not have the metric.
        """
        a: Any = summary["a"][self.metric]
        b: Any = summary["b"][self.metric]
        if a is None or b is None:
            raise SnoopieError(
                f"{self.metric} is unknown for {'A' if a is None else 'B'}", "leave this limit out, or record it again"
            )
        return self.sentence(self.metric, a, b)

    def exceeded_rows(self, table: pd.DataFrame, names: Sequence[str]) -> list[str]:
        """Sentences on the rows of a comparison (a, b) that changed by more, those with the largest change first."""
        rows = zip(names, table["a"].tolist(), table["b"].tolist(), strict=True)
        found = [sentence for name, a, b in rows if (sentence := self.sentence(f"{self.metric} of {name}", a, b))]
        more = len(found) - _MOST_ROWS
        return found[:_MOST_ROWS] + ([f"… and {self.metric} of {more} more, by {self.key}"] if more > 0 else [])

    def sentence(self, what: str, a: int, b: int) -> str | None:
        """A sentence where what was ``a`` and is ``b`` changed by more; None where not."""
        change = b - a if self.direction == "increase" else a - b
        if change <= (self.amount * a if self.relative else self.amount):
            return None
        verb = "rose" if self.direction == "increase" else "fell"
        share = f" ({units.percent(change / a)})" if a else ""
        by, to = columns.say(self.metric, change), columns.say(self.metric, b)
        return f"{what} {verb} by {by}{share} to {to}, more than the {self.text} allowed"


def _quantity(text: str) -> Quantity:
    node = parse_number(text)
    if not isinstance(node, Quantity) or node.name == PAIRS:
        raise UsageError(
            f"{text} is no part of the traffic", 'use, for example, bytes(GPU 0 -> GPU 1) or bytes(line="halo.cu:42")'
        )
    return node


def _in_bytes(metric: str) -> bool:
    return columns.kind(metric) is columns.Kind.BYTES


def _unit(name: str) -> Fraction:
    if name == "%":
        return Fraction(1, 100)
    return Fraction(1024 if "i" in name else 1000) ** _PREFIXES.get(name[:1], 0)
