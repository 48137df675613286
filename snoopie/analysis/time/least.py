"""How long the links need at least for what moved, if they carried nothing else and never waited.

It does not depend on when things ran, and so not on what instrumentation made of that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from snoopie.analysis.time import bandwidth


def times(flow: pd.DataFrame, keys: Sequence[str], gpus: pd.DataFrame, links: pd.DataFrame) -> pd.DataFrame:
    """keys wire_bytes least_time (ns, NaN where no link's rate is known), longest first.

    ``flow`` has the keys, from, to and wire_bytes. GPUs send and receive at the same time, each in both directions: the
    least is what the busiest of them needs in one direction.
    """
    keys = list(keys)
    moved = flow.groupby(keys, sort=False, observed=True)["wire_bytes"].sum().reset_index()
    rate = bandwidth.of_pairs(flow[["from", "to"]], gpus, links)
    carried = flow[~np.isnan(rate)]
    of_gpu = bandwidth.capacities(gpus)
    sides = []
    for side in ("from", "to"):
        sums = carried.groupby([*keys, side], sort=False, observed=True)["wire_bytes"].sum().reset_index()
        sides.append(
            sums.assign(least_time=1e9 * sums["wire_bytes"] / of_gpu[sums[side].to_numpy(np.int64)])[
                [*keys, "least_time"]
            ]
        )
    longest = pd.concat(sides, ignore_index=True).groupby(keys, sort=False, observed=True)["least_time"].max()
    table = moved.merge(longest.reset_index(), on=keys, how="left")
    order = ["least_time", "wire_bytes", *keys]
    return table.sort_values(order, ascending=[False, False, *[True] * len(keys)], ignore_index=True)
