"""The numbers of findings by their names, for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from snoopie.analysis.findings import thresholds
from snoopie.analysis.findings.thresholds import Threshold, Unit, in_words

# Those that have a threshold have its unit.
UNITS: dict[str, Unit] = {
    limit.number: limit.unit for limit in vars(thresholds).values() if isinstance(limit, Threshold)
}
UNITS |= {
    "accesses": "count",
    "launches": "count",
    "copies": "count",
    "pairs": "count",
    "addresses": "count",
    "distinct bytes": "bytes",
    "bytes back": "bytes",
    "bytes copied in": "bytes",
    "bytes read": "bytes",
    "bytes written": "bytes",
    "bytes of the others, on average": "bytes",
    "share of accesses recorded": "share",
}


def said(numbers: Mapping[str, float], limits: Iterable[Threshold] = ()) -> list[str]:
    """ "wire efficiency 12.5 %", … in their order; with limits those that have one go first: "… (below 50 %)"."""
    crossed = {limit.number: f" ({limit.sense} {in_words(limit.limit, limit.unit)})" for limit in limits}
    order = [*(name for name in crossed if name in numbers), *(name for name in numbers if name not in crossed)]
    return [f"{name} {in_words(numbers[name], UNITS[name])}{crossed.get(name, '')}" for name in order]
