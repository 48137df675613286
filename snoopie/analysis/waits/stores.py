"""Who stores to the memory that kernels poll, as exactly as the trace tells.

Where records have the very address, its stores are known. Else the counts tell who stored to the allocation, and where
they do not tell allocations apart, or processes see it at different addresses, who stored to memory of its owner. The
owner's own stores stay on its GPU and are in no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis import sums
from snoopie.analysis.objects.by_object import extent
from snoopie.analysis.selection import Selection
from snoopie.analysis.traffic import accesses
from snoopie.joined.records import RecordBlock
from snoopie.joined.tables import Tables
from snoopie.trace.container import Block

# What a wait polls, and what is known of who stores there, the most exact first.
TARGET = ["process", "owner", "object", "address"]
KNOWN_BY = ("address", "object", "owner")
_STORE = ["issuer", "store"]
SUMS = ["accesses", "bytes"]
_WRITES = ("store", "atomic", "reduction")

# The addresses that are polled in each process, rising.
Polled = Mapping[int, NDArray[np.uint64]]


@dataclass(frozen=True)
class Stores:
    """Who stores to what is polled. Many targets can have the same stores, as all memory of an owner: each such group
    of stores is there once, as a source.

    ``targets``: TARGET known_by source; ``sources``: source issuer store (a site) accesses bytes.
    """

    targets: pd.DataFrame
    sources: pd.DataFrame

    def of_targets(self, tables: Tables) -> pd.DataFrame:
        """TARGET known_by issuer store accesses bytes: each target with each of its stores; most bytes first.

        LimitError where these are too many rows.
        """
        sizes = np.bincount(self.sources["source"].to_numpy(), minlength=1)
        rows = int(sizes[self.targets["source"].to_numpy()].sum())
        tables.check_number("{} stores to addresses that were polled", rows, tables.limits.stores_of(tables.size))
        found = self.targets.merge(self.sources, on="source")[[*TARGET, "known_by", *_STORE, *SUMS]]
        order = [*TARGET, "bytes", *_STORE]
        return found.sort_values(order, ascending=[name != "bytes" for name in order], ignore_index=True)


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
    return accesses.by_pieces(some, partial(_recorded, tables, number, wanted), merged)


def _recorded(tables: Tables, process: int, wanted: NDArray[np.uint64], some: RecordBlock) -> pd.DataFrame:
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
            "process": np.int64(process),
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


def stores(waits: pd.DataFrame, counts: pd.DataFrame, records: pd.DataFrame) -> Stores:
    """Who stores to each target, by the best that tells.

    ``counts`` have the columns process site issuer owner object operation, ``records`` are from `merged`.
    """
    written = counts[counts["operation"].isin(_WRITES)].rename(columns={"site": "store"})
    levels = (
        (["process", "owner", "address"], records),
        (["process", "owner", "object"], _summed(written[written["object"] > 0], ["process", "owner", "object"])),
        (["owner"], _summed(written, ["owner"])),
    )
    left = waits[TARGET].drop_duplicates(ignore_index=True)
    targets: list[pd.DataFrame] = []
    sources: list[pd.DataFrame] = []
    count = 0
    for name, (keys, level) in zip(KNOWN_BY, levels, strict=True):
        own = level[keys].drop_duplicates(ignore_index=True)
        own["source"] = np.arange(count, count + len(own))
        count += len(own)
        sources.append(level.merge(own, on=keys)[["source", *_STORE, *SUMS]])
        left = left.merge(own, on=keys, how="left")
        known = left["source"].notna()
        targets.append(left[known].assign(known_by=name).astype({"source": np.int64}))
        left = left.loc[~known, TARGET]
    return Stores(pd.concat(targets, ignore_index=True), pd.concat(sources, ignore_index=True))


def _summed(counts: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    return sums.by(counts, [*keys, *_STORE], SUMS)
