"""Memory over time in as few points as a picture can show, peaks kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.trace.tables import Ints

# Kinds in the order of drawing: they keep their colours from picture to picture.
KINDS = ("device", "pool", "physical", "managed", "host", "array", "graph", "mapping", "device static")
OTHERS = "other kinds"
# In the place of kinds, where it is asked who allocated: what has a call stack, what a call of the driver made that has
# none, and what no call is known of. The words are those of the scripts for Nsight Systems that users have.
ORIGINS = VALID, DRIVER, INVALID = "valid", "driver", "invalid"


def curve(usage: pd.DataFrame, end: int, most: int) -> pd.DataFrame:
    """time, and the bytes of each kind there is from then on, in the order of drawing: at most ``most`` + 2 rows.

    ``usage`` has running totals (kind time bytes), which hold until ``end`` (host ns). Of what does not fit, those
    moments are kept at which there was most.
    """
    moments = np.unique(np.append(usage["time"].to_numpy(np.int64), end))
    shown = usage["kind"].where(usage["kind"].isin((*KINDS, *ORIGINS)), OTHERS)
    series: dict[str, Ints] = {}
    for kind in (*KINDS, *ORIGINS, OTHERS):
        for _, rows in usage[shown == kind].groupby("kind"):
            before = np.searchsorted(rows["time"].to_numpy(), moments, side="right")
            amounts = np.concatenate([[0], rows["bytes"].to_numpy(np.int64)])[before]
            series[kind] = series.get(kind, 0) + amounts
    total: Ints = sum(series.values(), np.zeros(len(moments), np.int64))
    return pd.DataFrame({"time": moments, **series}).iloc[highest(total, most)].reset_index(drop=True)


def highest(values: NDArray[np.int64], most: int) -> Ints:
    """The places of at most ``most`` + 2 of some values in their order: the largest, and first, of each of so many
    equal stretches, and both ends."""
    if len(values) <= most:
        return np.arange(len(values))
    stretch = np.arange(len(values)) * most // len(values)
    order = np.lexsort((-values, stretch))
    kept = order[np.concatenate([[True], np.diff(stretch[order]) > 0])]
    return np.union1d(kept, [0, len(values) - 1])
