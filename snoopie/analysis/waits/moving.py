"""How long thread blocks moved: from their first to their last access to other memory, less the time in which a warp of
theirs waited.

So it is at most so long: what else a block does in between counts as moving, and of its waits only what is certain to
lie in between is taken off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from snoopie.analysis.time.timeline import moments
from snoopie.analysis.waits.names import shared, together
from snoopie.joined.tables import Tables

BLOCKS = ["launch", "first_block", "blocks"]


def named(tables: Tables, moves: pd.DataFrame, counts: pd.DataFrame, label: Callable[[int], str]) -> pd.DataFrame:
    """Moves with the names of kernels, lines and places, of those that ``counts`` (launch site owner) have: so filters
    by owner hold."""
    pairs = counts[["launch", "site", "owner"]].drop_duplicates()
    labels = {place: label(place) for place in pairs["owner"].unique().tolist()}
    owners = pairs.assign(
        owner=pd.Series([labels[place] for place in pairs["owner"].tolist()], pairs.index, dtype="str")
    )
    owner = shared(owners, ["launch", "site"], "owner", together).rename("owner").reset_index()
    every = moves.rename(columns={"block": "first_block"}).merge(owner, on=["launch", "site"])
    launches = tables.launch_places.of(every["launch"].to_numpy())
    sites = tables.site_places.of(every["site"].to_numpy())
    issuers = {place: label(place) for place in every["issuer"].unique().tolist()}
    return every.assign(
        kernel=tables.launches["kernel"].to_numpy(dtype=object)[launches],
        file=tables.sites["file"].to_numpy(dtype=object)[sites],
        line=tables.sites["line"].to_numpy()[sites],
        issuer=[issuers[place] for place in every["issuer"].tolist()],
        first=moments(every["first"]),
        last=moments(every["last"]),
    )


def of_blocks(moves: pd.DataFrame, waits: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """BLOCKS and ``keys``, accesses first last moving (ns): of ``moves``, as `named` has them, each block once for each
    of the keys. ``waits`` are those of all that the same launches did."""
    groups = moves.groupby([*BLOCKS, *(key for key in keys if key not in BLOCKS)], sort=False, observed=True)
    table = groups.agg(accesses=("accesses", "sum"), first=("first", "min"), last=("last", "max")).reset_index()
    first, last = table["first"].to_numpy(), table["last"].to_numpy()
    span = (last - first).clip(min=0)
    held = _held(moves, waits)
    row = held.index.get_indexer(pd.MultiIndex.from_frame(table[BLOCKS]))
    waited = row >= 0
    began, ended, sums = (held[name].to_numpy()[row[waited]] for name in ("first", "last", "held"))
    # Waits may lie anywhere from the first to the last, so as much of them as there is room can be before and after.
    outside = (first[waited] - began).clip(min=0) + (ended - last[waited]).clip(min=0)
    span[waited] -= np.minimum((sums - outside).clip(min=0), span[waited])
    return table.assign(moving=span)


def _held(moves: pd.DataFrame, waits: pd.DataFrame) -> pd.DataFrame:
    """BLOCKS | first last held: the waits of the blocks of ``moves``, as far as they are told apart as those are."""
    of_launch = moves.groupby("launch")["blocks"].max()
    own = waits[waits["launch"].isin(of_launch.index)]
    many = of_launch.reindex(own["launch"]).to_numpy().clip(min=1)
    own = own[own["blocks"].to_numpy() <= many]
    many = of_launch.reindex(own["launch"]).to_numpy().clip(min=1)
    told = pd.DataFrame(
        {
            "launch": own["launch"].to_numpy(),
            "first_block": own["block"].to_numpy() // many * many,
            "blocks": many,
            "first": moments(own["first"]),
            "last": moments(own["last"]),
            "held": own["held"].to_numpy(),
        }
    )
    groups = told.groupby(BLOCKS, sort=False)
    return groups.agg(first=("first", "min"), last=("last", "max"), held=("held", "sum"))
