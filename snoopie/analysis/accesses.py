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
    """One row per lane access of a block; ``widths`` (bytes) has one value per record."""
    table = block.table
    mask = table["mask"].to_numpy()
    lanes_in = (mask[:, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    rows, lane = np.nonzero(lanes_in)
    if block.addresses is None:
        steps = lane - lowest_lane(mask)[rows]
        # Address arithmetic is modulo 2^64, as on the device.
        offset = (table["stride"].to_numpy()[rows] * steps).view(np.uint64)
        address = table["base"].to_numpy()[rows] + offset
    else:
        address = block.addresses[rows, lane]
    columns = {name: table[name].to_numpy()[rows] for name in COLUMNS[:8]}
    return pd.DataFrame(columns | {"lane": lane.astype(np.int32), "address": address, "width": widths[rows]})


def lane_accesses(tables: Tables, blocks: Iterable[RecordBlock]) -> Iterator[pd.DataFrame]:
    """Tables of COLUMNS, each of at most about a million rows."""
    all_widths = tables.sites["width"].to_numpy()
    for block in blocks:
        widths = all_widths[tables.site_places.of(block.table["site"].to_numpy())]
        for start in range(0, len(block.table), _STEP):
            part = slice(start, start + _STEP)
            addresses = None if block.addresses is None else block.addresses[part]
            yield expand(RecordBlock(block.table.iloc[part], addresses), widths[part])


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
