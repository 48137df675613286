"""How often the same bytes crossed: bytes moved over distinct bytes touched, by object and instruction.

What a GPU read twice from another's memory could have been kept. Only records have addresses, so this is of what was
recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from snoopie.analysis import accesses
from snoopie.analysis.objects import lanes_of, once_an_object, placed
from snoopie.analysis.selection import Selection
from snoopie.trace.container import Block
from snoopie.trace.merge import Tables
from snoopie.trace.tables import Ints

_KEYS = ["object", "site", "issuer"]
_ADDRESS_BITS = 47


@dataclass(frozen=True, slots=True)
class Touched:
    """Intervals [start, end) of addresses by object, site and issuer, disjoint for each; and what was moved there.

    ``intervals`` has the columns object site issuer start end; ``moved`` object site issuer accesses bytes.
    """

    intervals: pd.DataFrame
    moved: pd.DataFrame


def touched(tables: Tables, selected: Selection | None, process: int, block: Block) -> Touched | None:
    """What the recorded accesses of a block touched."""
    some = accesses.selected_block(tables, selected, process, block)
    if some is None:
        return None
    whole, parts = placed(tables, some)
    # Without a gap between its lanes an access is one interval.
    length = (whole["last"].to_numpy() - whole["first"].to_numpy()).astype(np.int64) + 1
    dense = length <= whole["bytes"].to_numpy()
    apart = np.zeros(len(some.table), np.bool_)
    apart[whole["record"].to_numpy()[~dense]] = True
    lanes = lanes_of(tables, some, apart)
    lanes = lanes.assign(accesses=(~lanes.duplicated("record")).astype(np.int64))
    return _of(pd.concat([whole[dense].assign(accesses=1), once_an_object(parts), lanes], ignore_index=True))


def _of(pieces: pd.DataFrame) -> Touched:
    codes, rows = _grouped(pieces, _KEYS)
    groups = pieces[_KEYS].iloc[rows].reset_index(drop=True)
    # Sums of a block are far below 2^53, so as exact as whole numbers.
    sums = {
        name: np.bincount(codes, pieces[name].to_numpy(), len(rows)).astype(np.int64) for name in ("accesses", "bytes")
    }
    start = pieces["first"].to_numpy().astype(np.int64)
    end = pieces["last"].to_numpy().astype(np.int64) + 1
    return Touched(_union(codes, groups, start, end), groups.assign(**sums))


def _grouped(table: pd.DataFrame, keys: Sequence[str]) -> tuple[Ints, Ints]:
    """The number of each row's combination of keys, in the order of their first rows, and these rows."""
    code: Ints = np.zeros(len(table), np.int64)
    combinations = 1
    for key in keys:
        values = table[key].to_numpy()
        lowest, span = int(values.min(initial=0)), int(values.max(initial=0)) - int(values.min(initial=0)) + 1
        combinations *= span
        if combinations >= 1 << 62:
            code = np.asarray(table.groupby(list(keys), sort=False).ngroup(), np.int64)
            break
        code = code * span + (values - lowest)
    codes, distinct = pd.factorize(code)
    rows = np.empty(len(distinct), np.int64)
    rows[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes.astype(np.int64), rows


def merged(parts: Iterable[Touched]) -> Touched:
    """What several blocks touched together."""
    every = list(parts)
    none = pd.DataFrame({name: np.empty(0, np.int64) for name in [*_KEYS, "start", "end", "accesses", "bytes"]})
    intervals = pd.concat([none[[*_KEYS, "start", "end"]], *(part.intervals for part in every)], ignore_index=True)
    moved = pd.concat([none[[*_KEYS, "accesses", "bytes"]], *(part.moved for part in every)], ignore_index=True)
    sums = moved.groupby(_KEYS, sort=False)[["accesses", "bytes"]].sum().reset_index()
    return Touched(union(intervals, _KEYS), sums)


def union(intervals: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Keys, start, end: the union of the intervals of each combination of keys, as few as can be, in order."""
    if intervals.empty:
        return intervals[[*keys, "start", "end"]]
    codes, rows = _grouped(intervals, keys)
    groups = intervals[list(keys)].iloc[rows].reset_index(drop=True)
    return _union(codes, groups, intervals["start"].to_numpy(), intervals["end"].to_numpy())


def _union(codes: Ints, groups: pd.DataFrame, start: Ints, end: Ints) -> pd.DataFrame:
    # One number for group and address: intervals of different groups never meet.
    offset = codes << _ADDRESS_BITS
    order = np.argsort(offset + start, kind="stable")
    start = (offset + start)[order]
    end = np.maximum.accumulate((offset + end)[order])
    first = np.concatenate([[True], start[1:] > end[:-1]])
    last = np.concatenate([first[1:], [True]])
    own = codes[order][first]
    shift = own << _ADDRESS_BITS
    result = groups.iloc[own].reset_index(drop=True)
    joined: pd.DataFrame = result.assign(start=start[first] - shift, end=end[last] - shift)
    return joined


def by(what: Touched, keys: Sequence[str]) -> pd.DataFrame:
    """Keys (of object, site, issuer), accesses, bytes, distinct (bytes), reuse (bytes / distinct); most saved first.

    ``distinct`` is what each issuer touched, summed over the issuers: a byte is moved at least once to each.
    """
    every = [*dict.fromkeys([*keys, "issuer"])]
    areas = union(what.intervals, every)
    areas = areas.assign(distinct=areas["end"] - areas["start"])
    distinct = areas.groupby(list(keys), sort=False)["distinct"].sum()
    table = what.moved.groupby(list(keys), sort=False)[["accesses", "bytes"]].sum().join(distinct).reset_index()
    table["reuse"] = table["bytes"] / table["distinct"].where(table["distinct"] > 0)
    saved = (table["bytes"] - table["distinct"]).to_numpy()
    return table.iloc[np.argsort(-saved, kind="stable")].reset_index(drop=True)
