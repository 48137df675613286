"""Between what limits the bytes on the wire lie: what an SM reads again in a launch may come from its L1 cache.

At most every wire unit of every access moves: that is `wire_bytes`. At least each unit that an SM read in a launch
moves once, because the cache is the SM's own and empty when the launch begins. Where a trace does not name the SMs,
each unit that the launch read moves once, which is less. What is written always moves, and what atomics return.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
import pandas as pd

from snoopie.analysis.objects import coverage, reuse
from snoopie.analysis.objects.by_object import extent
from snoopie.analysis.objects.coverage import Pieces
from snoopie.analysis.objects.reuse import Touched
from snoopie.analysis.selection import Selection
from snoopie.analysis.traffic import accesses, counts
from snoopie.analysis.traffic.reading import Reading, ends
from snoopie.joined.records import RecordBlock, side_by_side
from snoopie.joined.tables import Tables
from snoopie.trace import wire
from snoopie.trace.container import Block
from snoopie.trace.tables import Ints
from snoopie.words import units

KEYS = ["launch", "owner", "multiprocessor"]
_SUMS = ["accesses"]
_VALUES = ["wire_least", "wire_bytes", "unknown", "without_sm"]


def read(tables: Tables, selected: Selection | None, process: int, block: Block) -> Touched | None:
    """The wire units that the recorded loads of a block read, by KEYS. Without tensor copies, whose records do not say
    which bytes of a box there were."""
    some = accesses.selected_block(tables, selected, process, block)
    if some is None:
        return None
    sites = tables.sites.loc[some.table["site"].to_numpy()]
    kept = (sites["operation"] == "load").to_numpy()
    if some.shape == "bulk":
        kept = kept & (sites["width"] > 1).to_numpy()
    if not kept.any():
        return None
    return accesses.by_pieces(some.part(kept), partial(_read, tables), partial(merged, tables=tables))


def _read(tables: Tables, some: RecordBlock) -> Touched:
    unit = tables.wire_unit_of(some.table["site"].to_numpy())
    by = some.table.groupby(KEYS, sort=False)
    code = by.ngroup().to_numpy(np.int64)
    groups = by.size().rename("accesses").reset_index()
    # Without a gap that a unit fits into, an access is one piece.
    whole = (np.abs(some.table["stride"].to_numpy()) <= unit) & side_by_side(some.table["mask"].to_numpy())
    if some.shape == "scattered":
        whole[:] = False
    first, last = (ends_[whole] for ends_ in extent(tables, some))
    record = np.flatnonzero(~whole)
    if len(record):
        lane, address = accesses.lane_addresses(some.part(~whole))
        record = record[lane // accesses.LANES]
        first, last = np.concatenate([first, address]), np.concatenate([last, address])
    rows = np.concatenate([np.flatnonzero(whole), record])
    size = unit[rows]
    start: Ints = first.view(np.int64) // size * size
    end: Ints = (last.view(np.int64) // size + 1) * size
    return Touched(groups, coverage.added(Pieces(code[rows], start, end, np.ones(len(rows), np.int64))))


def merged(parts: Iterable[Touched], *, tables: Tables) -> Touched:
    """What `read` made of several blocks. LimitError as in `reuse.merged`."""
    return reuse.merged(parts, KEYS, _SUMS, tables=tables)


def by_pair(traffic: pd.DataFrame, loaded: Touched, reading: Reading) -> pd.DataFrame:
    """Places as ``reading`` has them, wire_least (NaN where not every load was recorded), wire_bytes, per_sm (whether
    wire_least is once a launch and SM, not once a launch); most wire bytes first."""
    first, second = ends(reading)
    moved = counts.summarise(traffic, ["launch", "issuer", "owner", "operation"], ["accesses", "wire_bytes"])
    moved = moved.assign(wire_least=moved["wire_bytes"], unknown=0, without_sm=0)
    loads = moved["operation"] == "load"
    once = _once(loaded)
    known = moved.loc[loads, ["launch", "owner"]].merge(once, on=["launch", "owner"], how="left")
    moved.loc[loads, "wire_least"] = known["bytes"].fillna(0).to_numpy(np.int64)
    moved.loc[loads, "without_sm"] = known["without_sm"].fillna(0).to_numpy(np.int64)
    moved.loc[loads, "unknown"] = (known["accesses"].fillna(0).to_numpy() < moved.loc[loads, "accesses"]).astype(int)
    table = counts.directed(moved, reading, values=_VALUES)
    unknown, without = table.pop("unknown"), table.pop("without_sm")
    table["wire_least"] = table["wire_least"].astype(np.float64).where(unknown == 0)
    table["per_sm"] = without == 0
    return table.sort_values(["wire_bytes", first, second], ascending=[False, True, True], ignore_index=True)


def _once(loaded: Touched) -> pd.DataFrame:
    """launch owner accesses bytes (each unit once) without_sm (groups of accesses whose SM is not known)."""
    pieces = loaded.pieces
    size = np.bincount(pieces.groups, pieces.ends - pieces.starts, len(loaded.groups)).astype(np.int64)
    groups = loaded.groups.assign(bytes=size, without_sm=(loaded.groups["multiprocessor"] < 0).astype(np.int64))
    return groups.groupby(["launch", "owner"])[["accesses", "bytes", "without_sm"]].sum().reset_index()


def written_units(sites: pd.DataFrame) -> set[int]:
    """The wire units in which what some sites wrote was counted, in bytes: 32 by format 3 of traces, 16 since then."""
    small = (sites["operation"] != "load") & (sites["width"] <= wire.WRITTEN) & sites["measured"]
    return set(sites.loc[small, "wire_unit"].tolist())


def in_words(pairs: pd.DataFrame, about: str = "") -> str:
    """What `by_pair` of traffic with loads says of all of it; ``about`` goes before estimates."""
    most = int(pairs["wire_bytes"].sum())
    if pairs["wire_least"].isna().any():
        return (
            f"Wire bytes are the most that moved, {about}{units.bytes(most)}: loads that hit in the L1 cache move "
            "nothing. The least is not known, because not every load was recorded."
        )
    least = int(pairs["wire_least"].sum())
    once = "once a launch and SM" if pairs["per_sm"].all() else "once a launch"
    if least == most:
        return f"Each sector was read {once}, so no load can have hit in the L1 cache."
    return (
        f"Wire bytes are the most that moved, {about}{units.bytes(most)}: loads that hit in the L1 cache move nothing. "
        f"The least is {about}{units.bytes(least)}, with each sector read {once}."
    )
