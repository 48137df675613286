"""How much of the communication of a GPU ran beside its other kernels, by native times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from snoopie.analysis.native import intervals
from snoopie.analysis.time.timeline import moments
from snoopie.trace.tables import Ints


def overlap(
    when: pd.DataFrame, copies: pd.DataFrame, moving: pd.Index[int], known: pd.Index[int], label: Callable[[int], str]
) -> pd.DataFrame:
    """gpu (label) communication overlapped computation not_known (ns): for each GPU of the clean recording.

    ``when`` is its timeline, ``copies`` those from one GPU to another. Of the launches, ``moving`` are those that moved
    data between GPUs, ``known`` those of which it is known whether they did.
    """
    when = when[when["spanned"]]
    rows = []
    for gpu in sorted({*when["gpu"].tolist(), *copies["issuer"].tolist()} - {-1, -2}):
        own = when[when["gpu"] == gpu]
        copied = copies[copies["issuer"] == gpu]
        moves = own.index.isin(moving)
        sure = own.index.isin(known)
        start = np.concatenate([own["start"].to_numpy()[moves], moments(copied["start"])])
        end = np.concatenate([own["end"].to_numpy()[moves], moments(copied["end"])])
        communication = intervals.union(start, end)
        computation = _of(own[sure & ~moves])
        rows.append(
            (
                label(gpu),
                intervals.length(communication),
                intervals.common(communication, computation),
                intervals.length(computation),
                intervals.length(_of(own[~sure])),
            )
        )
    return pd.DataFrame(rows, columns=["gpu", "communication", "overlapped", "computation", "not_known"]).astype(
        {"gpu": "str"}
    )


def _of(when: pd.DataFrame) -> tuple[Ints, Ints]:
    return intervals.union(when["start"].to_numpy(np.int64), when["end"].to_numpy(np.int64))
