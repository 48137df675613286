"""How long the links need at least for what moved, if they carried nothing else and never waited.

It does not depend on when things ran, and so not on what instrumentation made of that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from snoopie.analysis import sums
from snoopie.analysis.time import bandwidth
from snoopie.analysis.traffic import counts


def times(flow: pd.DataFrame, keys: Sequence[str], gpus: pd.DataFrame, links: pd.DataFrame) -> pd.DataFrame:
    """keys wire_bytes least_time (ns, NaN where no link's rate is known), longest first.

    ``flow`` has the keys, from, to and wire_bytes. GPUs send and receive at the same time, each in both directions: the
    least is what the busiest of them needs in one direction.
    """
    keys = list(keys)
    moved = sums.by(flow, keys, ["wire_bytes"])
    place = sums.codes(flow, keys)
    rate = bandwidth.of_pairs(flow[["from", "to"]], gpus, links)
    carried = flow[["from", "to", "wire_bytes"]].assign(place=place)[~np.isnan(rate) & (place >= 0)]
    of_gpu = bandwidth.capacities(gpus)
    longest = np.full(len(moved), np.nan)
    for side in ("from", "to"):
        of_side = sums.by(carried, ["place", side], ["wire_bytes"])
        time = 1e9 * of_side["wire_bytes"] / of_gpu[of_side[side].to_numpy(np.int64)]
        np.fmax.at(longest, of_side["place"].to_numpy(np.int64), time.to_numpy())
    table = counts.plain(moved.assign(least_time=longest))
    order = ["least_time", "wire_bytes", *keys]
    return table.sort_values(order, ascending=[False, False, *[True] * len(keys)], ignore_index=True)
