"""Records → one row per lane access, block by block: records can be more than fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.selection import Selection
from snoopie.joined.records import RecordBlock, lowest_lane
from snoopie.joined.tables import Tables
from snoopie.trace.container import Block
from snoopie.trace.tables import Ints

_Made = TypeVar("_Made")

COLUMNS = ("launch", "site", "issuer", "owner", "process", "time", "block", "warp", "lane", "address", "width")

LANES = 32
_COUNTED = ["launch", "site", "owner"]

# Records in the largest table handed out at once. Small ones stay in the caches, and in memory that is used again.
_STEP = 1 << 13
# Of those that analyses look at lane by lane at once: about what a block of the collector's has. One of a hostile trace
# has millions, whose lanes would take gigabytes.
_AT_ONCE = 1 << 15


def expand(block: RecordBlock, widths: Ints) -> pd.DataFrame:
    """One row per lane access of a block; ``widths`` (bytes) has one value per record.

    A bulk access is one row, as wide as all that it moved, of the lowest lane in its mask.
    """
    table = block.table
    values = {name: table[name].to_numpy() for name in (*COLUMNS[:8], "lanes")}
    if block.shape == "bulk":
        columns = {name: values[name] for name in COLUMNS[:8]}
        lane, address, width = (
            lowest_lane(table["mask"].to_numpy()),
            table["base"].to_numpy(),
            table["bytes"].to_numpy(),
        )
    else:
        times = values["lanes"]
        full = bool((times == LANES).all())

        def spread(each: NDArray[Any]) -> NDArray[Any]:
            return _spread(each, None if full else times)

        columns = {name: spread(values[name]) for name in COLUMNS[:8]}
        active, address = lane_addresses(block)
        lane, width = active & (LANES - 1), spread(widths)
    columns |= {"lane": lane.astype(np.int32), "address": address, "width": width}
    return pd.DataFrame(columns, copy=False)


def lane_addresses(block: RecordBlock) -> tuple[Ints, NDArray[np.uint64]]:
    """Which lane accesses a block has that is not bulk, as 32 × record + lane, and their addresses."""
    table = block.table
    mask, times = table["mask"].to_numpy(), table["lanes"].to_numpy()
    bits = np.unpackbits(mask.astype("<u4", copy=False).view(np.uint8), bitorder="little")
    active: Ints = np.flatnonzero(bits.view(np.bool_))
    if block.addresses is not None:
        return active, block.addresses.reshape(-1)[active]
    # Address arithmetic is modulo 2^64, as on the device. Flat arrays: numpy is slow on rows of 32.
    counted = None if len(active) == LANES * len(table) else times
    stride = table["stride"].to_numpy().view(np.uint64)
    first = table["base"].to_numpy() - stride * lowest_lane(mask).view(np.uint64)
    address = _spread(stride, counted)
    address *= (active & (LANES - 1)).view(np.uint64)
    address += _spread(first, counted)
    return active, address


def _spread(each: NDArray[Any], times: NDArray[Any] | None) -> NDArray[Any]:
    """A value of each record for each of its lanes; ``times`` None: it has all."""
    if times is not None:
        return np.repeat(each, times)
    # As fast, and without the lock.
    lanes = np.empty((len(each), LANES), each.dtype)
    lanes[:] = each[:, None]
    return lanes.reshape(-1)


def lane_accesses(tables: Tables, blocks: Iterable[RecordBlock]) -> Iterator[pd.DataFrame]:
    """The lane accesses of blocks, in tables of COLUMNS of at most a quarter of a million rows.

    By one thread, beside those that decode the blocks: numpy keeps Python's lock while it repeats values, and two
    threads took longer than one.
    """
    return (expand(*part) for block in blocks for part in _parts(tables, block))


def _parts(tables: Tables, block: RecordBlock) -> Iterator[tuple[RecordBlock, Ints]]:
    widths = tables.widths(block.table["site"].to_numpy())
    for start in range(0, len(block.table), _STEP):
        part = slice(start, start + _STEP)
        yield block.part(part), widths[part]


# What is made of one block, wherever it is decoded; None where nothing of it is selected.


def selected_block(tables: Tables, selected: Selection | None, process: int, block: Block) -> RecordBlock | None:
    """The selected rows of a block."""
    decoded = tables.records.block(process, block)
    if selected is None:
        return decoded
    kept = selected.rows(tables, decoded.table)
    return decoded.part(kept) if kept.any() else None


def by_pieces(
    block: RecordBlock | None, work: Callable[[RecordBlock], _Made], merged: Callable[[Iterable[_Made]], _Made]
) -> _Made | None:
    """What ``work`` makes of some rows of a block at a time, ``merged``; None of no block."""
    if block is None:
        return None
    if len(block.table) <= _AT_ONCE:
        return work(block)
    return merged(work(block.part(slice(first, first + _AT_ONCE))) for first in range(0, len(block.table), _AT_ONCE))


def records(tables: Tables, selected: Selection | None, process: int, block: Block) -> pd.DataFrame | None:
    """Their table."""
    some = selected_block(tables, selected, process, block)
    return None if some is None else some.table


def lanes(tables: Tables, selected: Selection | None, process: int, block: Block) -> list[pd.DataFrame] | None:
    """Their `lane_accesses`."""
    some = selected_block(tables, selected, process, block)
    return None if some is None else [expand(*part) for part in _parts(tables, some)]


def counted(tables: Tables, selected: Selection | None, process: int, block: Block) -> pd.DataFrame:
    """launch site owner records: how many the whole block has of each."""
    counts = tables.records.places(process, block)
    # Rows of patterns are few already; adding up takes longer than decoding.
    return counts if 4 * len(counts) < block.rows else merged([counts])


def merged(counts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The sums of what `counted` made of several blocks."""
    none = pd.DataFrame({name: np.empty(0, np.int64) for name in [*_COUNTED, "records"]})
    return pd.concat([none, *counts], ignore_index=True).groupby(_COUNTED, sort=False)["records"].sum().reset_index()


def none(tables: Tables) -> pd.DataFrame:
    """No lane access, with the columns and types of all others."""
    return expand(tables.records.none(), np.empty(0, np.int64))


def whole(empty: pd.DataFrame, pieces: Iterable[pd.DataFrame], rows: int) -> pd.DataFrame:
    """The pieces as one table, of at most ``rows`` rows and with the columns and types of ``empty``.

    No more memory than the table and a piece: memory that nothing was written to is none.
    """
    columns = {name: np.empty(rows, _stored(column).dtype) for name, column in empty.items()}
    end = 0
    for piece in pieces:
        start, end = end, end + len(piece)
        for name, column in piece.items():
            columns[name][start:end] = _stored(column)
    for values in columns.values():
        values.resize(end, refcheck=False)
    # A categorical column is its codes until here.
    return pd.DataFrame(
        {
            name: pd.Categorical.from_codes(columns[name], dtype=column.dtype)
            if isinstance(column.dtype, pd.CategoricalDtype)
            else columns[name]
            for name, column in empty.items()
        },
        copy=False,
    )


def _stored(column: pd.Series[Any]) -> NDArray[Any]:
    categorical = isinstance(column.dtype, pd.CategoricalDtype)
    values: NDArray[Any] = (column.cat.codes if categorical else column).to_numpy()
    return values


def limited(parts: Iterable[pd.DataFrame], limit: int | None) -> Iterator[pd.DataFrame]:
    """The parts up to ``limit`` rows in all; None is no limit. Reads no part that is not needed."""
    left = limit
    for part in parts:
        if left is None or len(part) < left:
            yield part
            left = None if left is None else left - len(part)
        else:
            yield part.iloc[:left]
            return
