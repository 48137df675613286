"""How often the same bytes crossed: which bytes accesses touched, how many times, by object and instruction.

What a GPU read twice from another's memory could have been kept. Only records have addresses, so this is of what was
recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.objects import coverage
from snoopie.analysis.objects.by_object import extent, of_block
from snoopie.analysis.objects.coverage import Pieces
from snoopie.analysis.selection import Selection
from snoopie.analysis.traffic import accesses
from snoopie.joined.records import RecordBlock
from snoopie.joined.tables import Tables
from snoopie.trace.container import Block
from snoopie.trace.tables import Ints

KEYS = ["object", "site", "issuer"]
_SUMS = ["accesses", "bytes"]
# So many pieces of blocks wait before they are added up, and then as many as that made.
_WAITING = 1 << 20


@dataclass(frozen=True, slots=True)
class Touched:
    """How many lane accesses touched each byte, and what was moved, for each of some groups.

    ``groups`` has a row for each: keys (object site issuer, here), accesses bytes. ``pieces`` are addresses, by the
    place in it.
    """

    groups: pd.DataFrame
    pieces: Pieces


def touched(tables: Tables, selected: Selection | None, process: int, block: Block) -> Touched | None:
    """What the recorded accesses of a block touched."""
    some = accesses.selected_block(tables, selected, process, block)
    return accesses.by_pieces(some, partial(_touched, tables), partial(merged, tables=tables))


def _touched(tables: Tables, some: RecordBlock) -> Touched:
    table = some.table
    site, issuer, lanes, size, stride = (
        table[name].to_numpy() for name in ("site", "issuer", "lanes", "bytes", "stride")
    )
    width = size if some.shape == "bulk" else tables.widths(site)
    times = tables.launches["time"].to_numpy()[tables.launch_places.of(table["launch"].to_numpy())]
    objects = of_block(tables, table)
    first, last = extent(tables, some)
    found, within = objects.of_spans(first, last, times)
    # Without gaps and overlaps between its lanes an access is one piece, and so is one whose lanes share an address.
    begin, end = first.view(np.int64), (last + np.uint64(1)).view(np.int64)
    shared = (stride == 0) & (some.shape != "scattered")
    whole = within & (shared | ((np.abs(stride) == width) & (end - begin == size)))
    record, address = _lanes_of(some, ~whole)
    # Each record is one access of its object; one that reaches several is an access of each.
    apart = ~within[record]
    pairs, pair = _pairs(record[apart], objects.find(address[apart], times[record[apart]]))
    inside = np.flatnonzero(within)
    of_lane = (np.cumsum(within) - 1)[record]
    of_lane[apart] = len(inside) + pair
    of = np.concatenate([inside, pairs[0]])
    keys = [np.concatenate([found[inside], pairs[1]]), site[of].astype(np.int64), issuer[of].astype(np.int64)]
    codes, rows = _numbered(keys)
    moved = np.concatenate([size[inside], np.bincount(pair, width[record[apart]], len(pairs[0])).astype(np.int64)])
    groups = pd.DataFrame(
        {
            **{name: key[rows] for name, key in zip(KEYS, keys, strict=True)},
            "accesses": np.bincount(codes, minlength=len(rows)),
            # Sums of a block are far below 2^53, so as exact as whole numbers.
            "bytes": np.bincount(codes, moved, len(rows)).astype(np.int64),
        }
    )
    start = address.view(np.int64)
    pieces = Pieces(
        np.concatenate([codes[: len(inside)][whole[inside]], codes[of_lane]]),
        np.concatenate([begin[whole], start]),
        np.concatenate([end[whole], start + np.maximum(width[record], 1)]),
        np.concatenate([np.where(shared & (some.shape == "strided"), lanes, 1)[whole], np.ones(len(record), np.int64)]),
    )
    return Touched(groups, coverage.added(pieces))


def _lanes_of(block: RecordBlock, rows: NDArray[np.bool_]) -> tuple[Ints, NDArray[np.uint64]]:
    """The lane accesses of some rows of a block: row and address. A bulk access is one."""
    record = np.flatnonzero(rows)
    if not len(record):
        return record, np.empty(0, np.uint64)
    some = block if len(record) == len(rows) else block.part(rows)
    if some.shape == "bulk":
        return record, some.table["base"].to_numpy()
    lane, address = accesses.lane_addresses(some)
    return record[lane // accesses.LANES], address


def _pairs(record: Ints, object_: Ints) -> tuple[tuple[Ints, Ints], Ints]:
    """The distinct pairs of records and objects, and which of them each is."""
    pair, rows = _numbered([record, object_])
    return (record[rows], object_[rows]), pair


def _numbered(keys: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The number of each row's combination of keys, and of each combination one row that has it."""
    length = len(keys[0])
    code: Ints = np.zeros(length, np.int64)
    combinations = 1
    for key in keys:
        low, high = int(key.min(initial=0)), int(key.max(initial=0))
        combinations *= high - low + 1
        if combinations >= 1 << 62:
            table = pd.DataFrame(dict(enumerate(keys)))
            code = np.asarray(table.groupby([*table], sort=False).ngroup(), np.int64)
            combinations = length
            break
        code = code * (high - low + 1) + (key - low)
    if combinations > max(4 * length, 1 << 10):
        code = pd.factorize(code)[0].astype(np.int64)
        combinations = length
    # Which row of a combination stays does not matter: all have the same keys.
    row = np.full(combinations, -1, np.int64)
    row[code] = np.arange(length)
    present = np.flatnonzero(row >= 0)
    number = np.empty(combinations, np.int64)
    number[present] = np.arange(len(present))
    return number[code], row[present]


def merged(
    parts: Iterable[Touched],
    keys: Sequence[str] = KEYS,
    sums: Sequence[str] = _SUMS,
    *,
    tables: Tables,
) -> Touched:
    """What several blocks touched together; groups in the order of their keys. LimitError beyond so many pieces."""
    none = pd.DataFrame({name: np.empty(0, np.int64) for name in [*keys, *sums]})
    result = Touched(none, Pieces(*(np.empty(0, np.int64) for _ in Pieces._fields)))
    waiting: list[Touched] = []
    number = 0
    for part in parts:
        waiting.append(part)
        number += len(part.pieces.groups)
        # Sums are much less than what they are of, and memory is bounded by them.
        if number > max(_WAITING, len(result.pieces.groups)):
            result, waiting, number = _together([result, *waiting], keys, sums), [], 0
            _check(tables, result)
    result = _together([result, *waiting], keys, sums)
    _check(tables, result)
    return result


def _check(tables: Tables, touched: Touched) -> None:
    places = "recorded accesses to at least {} places apart from each other"
    tables.check_number(places, len(touched.pieces.groups), tables.limits.places_of(tables.size))


def _together(parts: Sequence[Touched], keys: Sequence[str], sums: Sequence[str]) -> Touched:
    every = pd.concat([part.groups for part in parts], ignore_index=True)
    by = every.groupby(list(keys))
    numbers: Ints = np.asarray(by.ngroup(), np.int64)
    groups = by[list(sums)].sum().reset_index()
    moved, start = [], 0
    for part in parts:
        moved.append(part.pieces._replace(groups=numbers[start:][part.pieces.groups]))
        start += len(part.groups)
    return Touched(groups, coverage.added(coverage.joined(moved)))


def by(what: Touched, keys: Sequence[str], processes: pd.Series[int]) -> pd.DataFrame:
    """Keys (of object, site, issuer), accesses, bytes, distinct (bytes), reuse (bytes / distinct); most saved first.

    ``distinct`` is what each issuer touched, summed over the issuers: a byte is moved at least once to each. What is of
    no known object is also of each process by itself: an address is other memory there. ``processes``: of each site.
    """
    process = processes.reindex(what.groups["site"].to_numpy()).to_numpy()
    what = Touched(what.groups.assign(process=process), what.pieces)
    groups, pieces = grouped(what, [*dict.fromkeys([*keys, "process", "issuer"])])
    distinct = np.bincount(pieces.groups, pieces.ends - pieces.starts, len(groups)).astype(np.int64)
    groups = groups.assign(distinct=distinct)
    table = groups.groupby(list(keys), sort=False)[[*_SUMS, "distinct"]].sum().reset_index()
    table["reuse"] = table["bytes"] / table["distinct"].where(table["distinct"] > 0)
    saved = (table["bytes"] - table["distinct"]).to_numpy()
    return table.iloc[np.argsort(-saved, kind="stable")].reset_index(drop=True)


def grouped(what: Touched, keys: Sequence[str]) -> tuple[pd.DataFrame, Pieces]:
    """Groups by some of the keys alone (keys, accesses, bytes), and how often each byte was touched by each."""
    by = what.groups.groupby(list(keys))
    numbers: Ints = np.asarray(by.ngroup(), np.int64)
    table = by[_SUMS].sum().reset_index()
    return table, coverage.added(what.pieces._replace(groups=numbers[what.pieces.groups]))
