"""Recorded accesses of several processes, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.joined.columns import JoinedColumns
from snoopie.trace.columns import Columns
from snoopie.trace.container import Block
from snoopie.trace.parallel import ordered
from snoopie.trace.tables import RECORD_TABLES, Ints

_Result = TypeVar("_Result")

SHAPES = ("strided", "scattered", "bulk")
_SHAPE_OF = dict(zip(RECORD_TABLES, SHAPES, strict=True))


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """Some recorded accesses, all of one of SHAPES. ``addresses`` (rows × 32, uint64) of scattered ones, else None."""

    shape: str
    table: pd.DataFrame
    addresses: NDArray[np.uint64] | None

    def part(self, rows: slice | NDArray[np.bool_]) -> RecordBlock:
        """Some of its rows."""
        table = self.table[rows].reset_index(drop=True)
        return RecordBlock(self.shape, table, None if self.addresses is None else self.addresses[rows])


class Records:
    """The records of the processes of ``columns``, each of which is named by its place in their ``sources``.

    ``width_of`` has the widths of sites. ``prepare`` builds what ``width_of`` and users of `each` read.
    """

    def __init__(self, columns: JoinedColumns, width_of: Callable[[Ints], Ints], prepare: Callable[[], None]) -> None:
        self._columns = columns
        self._width_of = width_of
        self._prepare = prepare

    @property
    def rows(self) -> int:
        """How many there are, known without decoding."""
        return sum(source.record_rows for source in self._columns.sources)

    def each(self, work: Callable[[int, Block], _Result]) -> Iterator[_Result]:
        """What ``work`` makes of each block, with its process, in order.

        Several blocks are worked on at once, each by one thread.
        """
        # What all threads read is built before the first of them: a cached property is computed once a thread.
        _ = self._id_type, self._place_type
        self._prepare()
        sources = self._columns.sources
        blocks = ((number, block) for number, source in enumerate(sources) for block in source.record_blocks())
        return ordered(lambda place: work(*place), blocks)

    def block(self, process: int, block: Block) -> RecordBlock:
        """The accesses in one of `Process.record_blocks`. CorruptError on a bad one."""
        table, columns = self._columns.sources[process].record_block(block)
        return self._joined(process, _SHAPE_OF[table], columns)

    def places(self, process: int, block: Block) -> pd.DataFrame:
        """launch site owner of the accesses in a block, each some times, with how many ``records`` each row is."""
        columns, times = self._columns.sources[process].record_places(block)
        joined = self._columns
        return pd.DataFrame(
            {
                "launch": columns["launch"] + joined.ids.added["launches"][process],
                "site": columns["site"] + joined.ids.added["sites"][process],
                "owner": joined.gpus.owner(process, columns["owner"]),
                "records": times,
            },
            copy=False,
        )

    def none(self) -> RecordBlock:
        """A block of no rows, with the columns and types of all others."""
        names = ("launch", "site", "issuer", "owner", "time", "block", "warp", "sm", "mask", "stride")
        empty: Columns = {name: np.empty(0, np.int64) for name in names}
        return self._joined(0, "strided", empty | {"base": np.empty(0, np.uint64)})

    @cached_property
    def _id_type(self) -> type[np.signedinteger[Any]]:
        # Records can be many: ids in 32 bits where they fit.
        last = self._columns.ids.last
        return np.int32 if max(last["launches"], last["sites"]) < 1 << 31 else np.int64

    @cached_property
    def _place_type(self) -> type[np.signedinteger[Any]]:
        gpus = self._columns.gpus
        return np.int16 if len(gpus.merged) + gpus.sets < 1 << 14 else np.int32

    def _joined(self, process: int, shape: str, columns: Columns) -> RecordBlock:
        ids, places = self._id_type, self._place_type
        joined = self._columns
        mask = columns["mask"].astype(np.uint32)
        rows = len(mask)
        addresses = columns.get("addresses")
        base = columns["base"] if addresses is None else addresses[np.arange(rows), lowest_lane(mask)]
        sites = columns["site"] + joined.ids.added["sites"][process]
        lanes = lanes_of(mask)
        table = {
            "launch": (columns["launch"] + joined.ids.added["launches"][process]).astype(ids),
            "site": sites.astype(ids),
            "issuer": joined.gpus.owner(process, columns["issuer"]).astype(places),
            "owner": joined.gpus.owner(process, columns["owner"]).astype(places),
            "process": np.full(rows, joined.first + process, np.int32),
            "time": columns["time"],
            "block": columns["block"],
            "warp": columns["warp"].astype(np.int32),
            "multiprocessor": columns["sm"].astype(np.int32) - 1,
            "mask": mask,
            "lanes": lanes,
            "shape": pd.Categorical.from_codes(np.full(rows, SHAPES.index(shape), np.int8), pd.Index(SHAPES)),
            "base": base,
            "stride": columns["stride"],
            "bytes": columns["bytes"] if shape == "bulk" else lanes * self._width_of(sites),
        }
        return RecordBlock(shape, pd.DataFrame(table, copy=False), addresses)


def lanes_of(mask: NDArray[np.uint32]) -> NDArray[np.int32]:
    """The number of lanes in each mask."""
    bits = np.unpackbits(np.ascontiguousarray(mask).view(np.uint8).reshape(len(mask), 4), axis=1)
    lanes: NDArray[np.int32] = bits.sum(axis=1, dtype=np.int32)
    return lanes


def lowest_lane(mask: NDArray[np.uint32]) -> NDArray[np.int64]:
    """The lowest lane in each mask, 0 for an empty one."""
    wide = mask.astype(np.int64)
    lowest = wide & -wide
    return np.where(wide > 0, np.log2(np.maximum(lowest, 1)), 0).astype(np.int64)


def side_by_side(mask: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Whether no lane is left out between the lowest and the highest of each mask."""
    wide = mask.astype(np.int64)
    run = wide // np.maximum(wide & -wide, 1)
    found: NDArray[np.bool_] = run & (run + 1) == 0
    return found
