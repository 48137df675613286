"""Who stores to the memory that kernels poll, as exactly as the trace tells.

Where records have the very address, its stores are known. Else the counts tell who stored to the allocation, and where
they do not tell allocations apart, or processes see it at different addresses, who stored to memory of its owner. The
owner's own stores stay on its GPU and are in no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from snoopie.analysis import sums
from snoopie.analysis.objects.by_object import extent
from snoopie.analysis.selection import Selection
from snoopie.analysis.traffic import accesses
from snoopie.joined.tables import Tables
from snoopie.trace.container import Block

# What a wait polls, and what is known of who stores there, the most exact first.
TARGET = ["process", "owner", "object", "address"]
KNOWN_BY = ("address", "object", "owner")
_STORE = ["issuer", "store"]
SUMS = ["accesses", "bytes"]
_WRITES = ("store", "atomic", "reduction")

# The addresses that are polled in each process, rising.
Polled = Mapping[int, "np.typing.NDArray[np.uint64]"]


def polled(waits: pd.DataFrame) -> Polled:
    """The addresses of `Tables.waits` by their process."""
    known = waits[waits["address"] > 0]
    return {
        int(str(process)): np.unique(table["address"].to_numpy().astype(np.uint64))
        for process, table in known.groupby("process")
    }


def recorded(
    tables: Tables, selected: Selection | None, process: int, block: Block, *, polled: Polled
) -> pd.DataFrame | None:
    """process owner address issuer store (its site) accesses bytes: of the records of a block that wrote to these."""
    some = accesses.selected_block(tables, selected, process, block)
    if some is None or some.table.empty:
        return None
    number = int(some.table["process"].iloc[0])
    wanted = polled.get(number)
    if wanted is None:
        return None
    operations = tables.sites["operation"].to_numpy()[tables.site_places.of(some.table["site"].to_numpy())]
    first, last = extent(tables, some)
    near = np.searchsorted(wanted, last, "right") > np.searchsorted(wanted, first, "left")
    some = some.part(near & np.isin(operations, _WRITES))
    if some.table.empty:
        return None
    lanes = accesses.expand(some, tables.widths(some.table["site"].to_numpy()))
    start = lanes["address"].to_numpy().astype(np.uint64)
    end = start + np.maximum(lanes["width"].to_numpy(), 1).astype(np.uint64)
    # The lowest polled address at or behind the start. Words that are polled are aligned, and no store covers two of
    # them that are one flag.
    place = np.minimum(np.searchsorted(wanted, start), len(wanted) - 1)
    hits = (wanted[place] >= start) & (wanted[place] < end)
    # Lanes of a warp that store to one address are one access.
    record = np.repeat(np.arange(len(some.table)), 1 if some.shape == "bulk" else some.table["lanes"].to_numpy())
    again = pd.DataFrame({"record": record, "place": place})[hits].duplicated()
    found = pd.DataFrame(
        {
            "process": np.int64(number),
            "owner": lanes["owner"].to_numpy().astype(np.int64),
            "address": wanted[place],
            "issuer": lanes["issuer"].to_numpy().astype(np.int64),
            "store": lanes["site"].to_numpy().astype(np.int64),
            "bytes": lanes["width"].to_numpy().astype(np.int64),
        }
    )[hits]
    return merged([found.assign(accesses=(~again).astype(np.int64))])


def merged(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The sums of what `recorded` made of several blocks."""
    keys = ["process", "owner", "address", *_STORE]
    none = pd.DataFrame({name: np.empty(0, np.uint64 if name == "address" else np.int64) for name in [*keys, *SUMS]})
    return pd.concat([none, *tables], ignore_index=True).groupby(keys, sort=False)[SUMS].sum().reset_index()


def stores(waits: pd.DataFrame, counts: pd.DataFrame, records: pd.DataFrame) -> pd.DataFrame:
    """TARGET known_by issuer store (a site) accesses bytes: who stores to each target, by the best that tells.

    ``counts`` have the columns process site issuer owner object operation, ``records`` are from `merged`.
    """
    targets = waits[TARGET].drop_duplicates(ignore_index=True)
    written = counts[counts["operation"].isin(_WRITES)].rename(columns={"site": "store"})
    by_object = _summed(written[written["object"] > 0], ["process", "owner", "object"])
    by_owner = _summed(written, ["owner"])
    levels = (
        targets.merge(records, on=["process", "owner", "address"]),
        targets[targets["object"] > 0].merge(by_object, on=["process", "owner", "object"]),
        targets.merge(by_owner, on=["owner"]),
    )
    parts: list[pd.DataFrame] = []
    left = targets
    for name, level in zip(KNOWN_BY, levels, strict=True):
        own = level.merge(left, on=TARGET)
        parts.append(own.assign(known_by=name))
        known = left.merge(own[TARGET].drop_duplicates(), on=TARGET, how="left", indicator=True)["_merge"] == "both"
        left = left[~known.to_numpy()]
    found = pd.concat(parts, ignore_index=True)[[*TARGET, "known_by", *_STORE, *SUMS]]
    order = [*TARGET, "bytes", *_STORE]
    return found.sort_values(order, ascending=[name != "bytes" for name in order], ignore_index=True)


def _summed(counts: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    return sums.by(counts, [*keys, *_STORE], SUMS)
