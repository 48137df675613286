"""Records → one row per lane access, block by block: records can be more than fit in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from snoopie.trace.merge import RecordBlock, Tables, lowest_lane
from snoopie.trace.tables import Ints

COLUMNS = ("launch", "site", "issuer", "owner", "process", "time", "block", "warp", "lane", "address", "width")

# Rows of the largest table handed out at once: 32 lanes a record.
_STEP = 1 << 15


def expand(block: RecordBlock, widths: Ints) -> pd.DataFrame:
    """One row per lane access of a block; ``widths`` (bytes) has one value per record.

    A bulk access is one row, as wide as all that it moved, of the lowest lane in its mask.
    """
    table = block.table
    mask = table["mask"].to_numpy()
    base = table["base"].to_numpy()
    rows, lane = np.arange(len(mask)), lowest_lane(mask)
    if block.shape == "bulk":
        address, width = base, table["bytes"].to_numpy()
    else:
        lowest = lane
        rows, lane = np.nonzero((mask[:, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1))
        width = widths[rows]
        if block.addresses is None:
            # Address arithmetic is modulo 2^64, as on the device.
            address = base[rows] + (table["stride"].to_numpy()[rows] * (lane - lowest[rows])).view(np.uint64)
        else:
            address = block.addresses[rows, lane]
    columns = {name: table[name].to_numpy()[rows] for name in COLUMNS[:8]}
    return pd.DataFrame(columns | {"lane": lane.astype(np.int32), "address": address, "width": width})


def lane_accesses(tables: Tables, blocks: Iterable[RecordBlock]) -> Iterator[pd.DataFrame]:
    """Tables of COLUMNS, each of at most about a million rows."""
    for block in blocks:
        widths = tables.widths(block.table["site"].to_numpy())
        for start in range(0, len(block.table), _STEP):
            part = slice(start, start + _STEP)
            yield expand(block.part(part), widths[part])


def none(tables: Tables) -> pd.DataFrame:
    """No lane access, with the columns and types of all others."""
    return expand(tables.no_records(), np.empty(0, np.int64))


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
