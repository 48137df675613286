"""Limits on what may grow from one trace to another: "bytes:5%", "copy_bytes:10MiB", "launches:0"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd

from snoopie.errors import SnoopieError, UsageError
from snoopie.words import units

# What can be limited, and what it is.
METRICS: Mapping[str, str] = {
    "bytes": "asked for by the instructions of kernels",
    "wire_bytes": "of the sectors that they touched",
    "accesses": "of kernels, each by a warp",
    "lanes": "lane accesses",
    "sectors": "of 32 bytes",
    "launches": "of measured kernels",
    "kernels": "that were measured",
    "copies": "that the host started",
    "copy_bytes": "of these copies",
    "peak_memory": "bytes of memory when there was most, of all processes and devices together",
    "leaks": "bytes of memory that was never freed",
}
IN_BYTES = frozenset({"bytes", "wire_bytes", "copy_bytes", "peak_memory", "leaks"})

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
                f"{text} is no limit", f"write METRIC:AMOUNT, as in bytes:5%; METRIC is one of {', '.join(METRICS)}"
            )
        found = _AMOUNT.fullmatch(amount)
        # "10M" of bytes would be 10^6 to some and 2^20 to others.
        if found is None or (found[2] not in ("", "%") and found[2].endswith("B") != (metric in IN_BYTES)):
            example = "5%, 10MiB or 0" if metric in IN_BYTES else "5%, 10K or 0"
            raise UsageError(f"{amount or 'nothing'} is no amount of {metric}", f"write, for example, {example}")
        return cls(metric, Fraction(found[1]) * _unit(found[2]), found[2] == "%", amount)

    def exceeded(self, summary: pd.DataFrame) -> str | None:
        """A sentence where a metric of `compare.summary` grew by more; None where not.

        SnoopieError where one of the traces does not have the metric.
        """
        a: Any = summary["a"][self.metric]
        b: Any = summary["b"][self.metric]
        if a is None or b is None:
            raise SnoopieError(
                f"{self.metric} is not known of {'A' if a is None else 'B'}", "leave this limit out, or record it again"
            )
        allowed = self.amount * a if self.relative else self.amount
        if b - a <= allowed:
            return None
        write = writer(self.metric)
        share = f" ({units.percent((b - a) / a)})" if a else ""
        return f"{self.metric} rose by {write(b - a)}{share} to {write(b)}, more than the {self.text} allowed"


def _unit(name: str) -> Fraction:
    if name == "%":
        return Fraction(1, 100)
    return Fraction(1024 if "i" in name else 1000) ** _PREFIXES.get(name[:1], 0)


def writer(metric: str) -> Callable[[float], str]:
    """How an amount of a metric is written for people."""
    if metric in IN_BYTES:
        return units.bytes
    return units.percent if metric == "wire_efficiency" else "{:,}".format
