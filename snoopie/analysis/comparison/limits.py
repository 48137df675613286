"""Limits on what may grow from one trace to another: "bytes:5%", "copy_bytes:10MiB", "launches:0"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

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


@dataclass(frozen=True)
class Limit:
    """By how much ``metric`` may grow: a share of what it was (``relative``), or so many. ``text``: as it was given."""

    metric: str
    amount: Fraction
    relative: bool
    text: str

    @classmethod
    def parse(cls, text: str) -> Limit:
        """METRIC:AMOUNT. UsageError where it is none."""
        metric, colon, amount = text.partition(":")
        if metric not in METRICS or not colon:
            raise UsageError(
                f"{text} is not a limit", f"use METRIC:AMOUNT, as in bytes:5%; METRIC is one of {', '.join(METRICS)}"
            )
        found = _AMOUNT.fullmatch(amount)
        # "10M" of bytes would be 10^6 to some and 2^20 to others.
        if found is None or (found[2] not in ("", "%") and found[2].endswith("B") != (_in_bytes(metric))):
            example = "5%, 10MiB or 0" if _in_bytes(metric) else "5%, 10K or 0"
            raise UsageError(f"{amount or 'nothing'} is not an amount of {metric}", f"use, for example, {example}")
        return cls(metric, Fraction(found[1]) * _unit(found[2]), found[2] == "%", amount)

    def exceeded(self, summary: pd.DataFrame) -> str | None:
        """A sentence where a metric of `compare.summary` grew by more; None where not.

        SnoopieError where one of the traces does not have the metric.
        """
        a: Any = summary["a"][self.metric]
        b: Any = summary["b"][self.metric]
        if a is None or b is None:
            raise SnoopieError(
                f"{self.metric} is unknown for {'A' if a is None else 'B'}", "leave this limit out, or record it again"
            )
        allowed = self.amount * a if self.relative else self.amount
        if b - a <= allowed:
            return None
        share = f" ({units.percent((b - a) / a)})" if a else ""
        by, to = columns.say(self.metric, b - a), columns.say(self.metric, b)
        return f"{self.metric} rose by {by}{share} to {to}, more than the {self.text} allowed"


def _in_bytes(metric: str) -> bool:
    return columns.kind(metric) is columns.Kind.BYTES


def _unit(name: str) -> Fraction:
    if name == "%":
        return Fraction(1, 100)
    return Fraction(1024 if "i" in name else 1000) ** _PREFIXES.get(name[:1], 0)
