"""Which rank the others waited for in collectives, by the native starts of the kernels that carry them out.

A collective begins to move data when the last of its ranks has come: until then the kernels of the others wait. That
follows only where all ranks were matched and their times are of one clock, so of one host.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from snoopie.analysis.traffic.collectives import BETWEEN_TWO

_COLUMNS = ["rank", "collectives", "came_last", "waited", "waited_for"]


def by_rank(
    collectives: pd.DataFrame, launches: pd.DataFrame, times: pd.DataFrame, hosts: pd.Series[str]
) -> pd.DataFrame:
    """rank collectives came_last waited (ns, for others) waited_for (ns, of all others together), of those whose ranks
    are all there.

    ``times`` is launch | start end host (of the clean recording). Launches of several collectives count as the first.
    """
    calls = collectives[~collectives["operation"].isin(BETWEEN_TWO)].sort_index(kind="stable")
    calls = calls.assign(number=calls.groupby(["process", "communicator", "rank"]).cumcount(), gpu=calls["issuer"])
    # A process that calls for several GPUs does so in one group.
    unit = ["process", "group", "gpu"]
    first = calls[calls["group"] > 0].drop_duplicates(unit)
    own = launches.loc[launches.index.isin(times.index) & (launches["group"] > 0), unit]
    own = own.reset_index().drop_duplicates(unit)
    came = first.merge(own, on=unit)
    came["start"] = times["start"].reindex(came["launch"]).to_numpy(np.int64)
    came["host"] = hosts.reindex(came["launch"]).to_numpy()
    groups = came.groupby(["communicator", "number"], sort=False)
    whole = (groups["rank"].transform("nunique") == came["ranks"]) & (groups["rank"].transform("size") == came["ranks"])
    whole &= (groups["host"].transform("nunique") == 1) & (came["ranks"] > 1)
    whole &= groups["operation"].transform("nunique") == 1
    came = came[whole.to_numpy()]
    if came.empty:
        return pd.DataFrame({name: pd.Series(dtype=np.int64) for name in _COLUMNS})
    groups = came.groupby(["communicator", "number"], sort=False)
    last = groups["start"].transform("max")
    before = groups["start"].transform(lambda start: start.nlargest(2).iloc[-1])
    waited = last - came["start"]
    is_last = (waited == 0) & (before < last)
    table = came.assign(
        came_last=is_last.astype(np.int64), waited=waited,
        waited_for=np.where(is_last, waited.groupby([came["communicator"], came["number"]]).transform("sum"), 0),
    )  # fmt: skip
    sums = table.groupby("rank").agg(
        collectives=("number", "size"), came_last=("came_last", "sum"), waited=("waited", "sum"),
        waited_for=("waited_for", "sum"),
    )  # fmt: skip
    return sums.reset_index().sort_values(["waited_for", "rank"], ascending=[False, True], ignore_index=True)
