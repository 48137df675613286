"""How often the same memory was touched again within a launch, as far as single accesses were recorded.

Across launches nothing is said: between two of them the owner may have changed what is there, which no trace shows.
So what was touched is compared with what every launch would have touched, had each touched all of it: the truth is at
least that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from snoopie.analysis.findings.facts import PLACE, Facts
from snoopie.trace.tables import Ints
from snoopie.words import units

_GROUP = ["group", "issuer"]


def of_lines(facts: Facts, operations: Sequence[str]) -> pd.DataFrame:
    """PLACE, recorded (share of the accesses), launches, distinct (bytes), bytes_again and units_again: how often, at
    least, each launch touched a byte and a wire unit, on average. Lines of which nothing was recorded are left out."""
    touched = facts.recorded()
    kinds = facts.tables.sites["operation"].to_numpy()
    rows = facts.tables.site_places.of(touched.moved["site"].to_numpy())
    moved = facts.at_places(touched.moved[np.isin(kinds[rows], list(operations))])
    if moved.empty:
        return pd.DataFrame(columns=[*PLACE, "recorded", "launches", "distinct", "bytes_again", "units_again"])
    moved = moved.assign(group=moved.groupby(PLACE, sort=False).ngroup())
    groups = moved[["site", "group"]].drop_duplicates()

    table = moved.groupby(_GROUP)[["accesses", "bytes"]].sum()
    intervals = touched.intervals.merge(groups, on="site")
    table["distinct"] = _covered(intervals)
    table["distinct_wire"] = _covered(_whole_units(intervals, facts.tables.wire_unit_of(intervals["site"].to_numpy())))
    table = table.join(_counted(facts, groups)).reset_index()

    # An access of two objects has a record of each.
    table["recorded"] = (table["accesses"] / table["counted"]).clip(upper=1)
    table["once"] = table["distinct"] * table["launches"]
    table["wire_once"] = table["distinct_wire"] * table["launches"]
    table["wire"] = table["wire_bytes"] * table["recorded"]
    summed = ["accesses", "counted", "launches", "distinct", "bytes", "once", "wire", "wire_once"]
    sums = table.groupby("group")[summed].sum()
    result = moved[["group", *PLACE]].drop_duplicates("group").set_index("group").join(sums)
    return result.assign(
        recorded=(result["accesses"] / result["counted"]).clip(upper=1),
        bytes_again=result["bytes"] / result["once"],
        units_again=result["wire"] / result["wire_once"],
    )[[*PLACE, "recorded", "launches", "distinct", "bytes_again", "units_again"]]


def _covered(intervals: pd.DataFrame) -> pd.Series:
    """The bytes in the intervals of each group and issuer."""
    return intervals.groupby(_GROUP)[["start", "end"]].apply(covered)


def covered(intervals: pd.DataFrame) -> int:
    """How many bytes lie in some intervals, each counted once."""
    start, end = intervals["start"].to_numpy(np.int64), intervals["end"].to_numpy(np.int64)
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    # What is new of each: all that lies beyond the ends of those before it.
    before = np.concatenate([start[:1], end[:-1]])
    return int((end - np.maximum(start, before)).sum())


def _whole_units(intervals: pd.DataFrame, unit: Ints) -> pd.DataFrame:
    start, end = intervals["start"] // unit, -(-intervals["end"] // unit)
    return intervals.assign(start=start * unit, end=end * unit)


def _counted(facts: Facts, groups: pd.DataFrame) -> pd.DataFrame:
    """What the counts say of each group and issuer: counted (accesses), wire_bytes, launches; measured, not scaled."""
    counts = facts.sums("launch", "site", "owner", "object").merge(groups, on="site")
    launches = facts.tables.launches["gpu"].to_numpy()
    issuer = launches[facts.tables.launch_places.of(counts["launch"].to_numpy())]
    grouped = counts.assign(issuer=issuer).groupby(_GROUP)
    sums = grouped[["accesses", "wire_bytes"]].sum().rename(columns={"accesses": "counted"})
    return sums.assign(launches=grouped["launch"].nunique())


def among_recorded(recorded: float) -> str:
    """What a sentence adds where not every access was recorded."""
    if recorded >= 1:
        return ""
    part = units.percent(recorded) if recorded >= 0.001 else "less than 0.1 %"
    return f"; {part} of the accesses were recorded"
