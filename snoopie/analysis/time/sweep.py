"""Records of resources → how long each was busy, what with, and the gaps: part by part, in the order of their starts.

What is kept is a sum for each name. Where parts overlap in time, what of them may still have something before it waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.trace.tables import Ints

# Records that are looked at at once; a part has some ten thousand.
_ROWS = 1 << 16
_BUSY = {"records": "sum", "start": "min", "end": "max", "busy": "sum"}
_SUMS = {"calls": "sum", "total": "sum", "least": "min", "most": "max"}
_NAMED = ["resource", "kind", "name"]


@dataclass(frozen=True, slots=True)
class Part:
    """Some records: resource kind name start end (ns). None of them starts before ``first``."""

    first: int
    records: Callable[[], pd.DataFrame]

    @classmethod
    def of(cls, records: pd.DataFrame) -> list[Part]:
        """The one part that is all of a table, or none."""
        return [cls(int(records["start"].min()), lambda: records)] if len(records) else []


@dataclass(frozen=True, slots=True)
class Swept:
    """``busy``: resource records start end busy (ns). ``rows``, ``gaps``: resource kind name calls total least most
    (ns)."""

    busy: pd.DataFrame
    rows: pd.DataFrame
    gaps: pd.DataFrame


def swept(parts: Iterable[Part], gap_class: Callable[[Ints], NDArray[np.object_]], *, critical: bool = False) -> Swept:
    """The sums over all records. A resource is busy while at least one of its records runs, and idle between them.

    ``gap_class`` names gaps by their lengths. ``critical``: of each record only the time after all that began earlier
    has ended.
    """
    busy, rows, gaps = _none("resource", *_BUSY), _none(*_NAMED, *_SUMS), _none(*_NAMED, *_SUMS)
    latest: dict[str, int] = {}
    for records in _in_order(parts):
        table, before = _by_start(records, latest)
        start, end = table["start"].to_numpy(), table["end"].to_numpy()
        begun = np.maximum(start, before)
        free = np.maximum(end - begun, 0)
        own = table[["resource", "start", "end"]].assign(records=1, busy=free)
        busy = _merged([busy, own], ["resource"], _BUSY)
        rows = _merged([rows, _summed(table[_NAMED], free if critical else np.maximum(end - start, 0))], _NAMED, _SUMS)
        idle = start > before
        lengths = (start - before)[idle]
        named = pd.DataFrame({"resource": table["resource"].to_numpy(object)[idle], "kind": "gap"})
        gaps = _merged([gaps, _summed(named.assign(name=gap_class(lengths)), lengths)], _NAMED, _SUMS)
    return Swept(busy, rows, gaps)


def _in_order(parts: Iterable[Part]) -> Iterator[pd.DataFrame]:
    """The records in pieces: nothing in a piece starts before the end of the one before it."""
    ordered = sorted(parts, key=lambda part: part.first)
    limits = [*(part.first for part in ordered[1:]), None][: len(ordered)]
    held: list[pd.DataFrame] = []
    rows, most = 0, _ROWS
    for part, limit in zip(ordered, limits, strict=True):
        held.append(part.records())
        rows += len(held[-1])
        if rows < most and limit is not None:
            continue
        table = pd.concat(held, ignore_index=True)
        now = np.ones(len(table), np.bool_) if limit is None else table["start"].to_numpy() < limit
        yield table[now]
        held = [table[~now]]
        rows = len(held[0])
        # What overlaps with much that comes later is not looked at again with each part.
        most = max(_ROWS, 2 * rows)


def _by_start(records: pd.DataFrame, latest: dict[str, int]) -> tuple[pd.DataFrame, Ints]:
    """The records by resource and start, and when the resource had ended all that began earlier: before the first of a
    resource nothing is idle. ``latest`` is that of each resource, and is kept up."""
    codes, names = pd.factorize(records["resource"])
    order = np.lexsort([records["end"].to_numpy(), records["start"].to_numpy(), codes])
    table = records.iloc[order]
    start, end = table["start"].to_numpy(), table["end"].to_numpy()
    before = np.empty(len(table), np.int64)
    limits = np.searchsorted(codes[order], np.arange(len(names) + 1))
    for name, low, high in zip(map(str, names), limits[:-1], limits[1:], strict=True):
        ended = np.maximum.accumulate(np.concatenate([[latest.get(name, start[low])], end[low:high]]))
        before[low:high], latest[name] = ended[:-1], int(ended[-1])
    return table, before


def _summed(named: pd.DataFrame, spent: Ints) -> pd.DataFrame:
    return named.assign(calls=1, total=spent, least=spent, most=spent)


def _merged(tables: Sequence[pd.DataFrame], keys: list[str], how: dict[str, str]) -> pd.DataFrame:
    before, more = tables
    sums = more.groupby(keys, observed=True, sort=False).agg(how).reset_index()
    sums = sums.astype(dict.fromkeys(keys, "str"))
    if before.empty:
        return sums
    both = pd.concat([before, sums], ignore_index=True)
    return both.groupby(keys, sort=False).agg(how).reset_index()


def _none(*columns: str) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype="str" if name in _NAMED else np.int64) for name in columns})
