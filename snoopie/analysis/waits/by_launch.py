"""When launches waited, and when they moved, by the host's clock.

A launch's waits lie between its first and the end of its last. How many warps waited, how long together and how long at
once is known, but not how these waits lie in that time. Nor is it known of its accesses to other memory.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from snoopie.analysis.time import clocks
from snoopie.analysis.time.timeline import moments
from snoopie.analysis.waits import moving
from snoopie.analysis.waits.names import line_of, listed, shared

_PLACE = ["process", "gpu", "stream", "thread"]
COLUMNS = [
    *(*_PLACE, "name", "awaited", "file", "line", "start", "end", "error"),
    *("waits", "given_up", "waited", "longest"),
]
MOVED = [*_PLACE, "name", "owner", "file", "line", "start", "end", "error", "accesses", "moving"]


def of_clocks(waits: pd.DataFrame, moves: pd.DataFrame, when: pd.DataFrame) -> pd.DataFrame:
    """launch | ahead error, as `clocks.of_launches`, from the waits and moves of a whole trace and its `timeline`: a
    launch waits and moves while it runs."""
    names = ["launch", "first", "last"]
    both = pd.concat([waits[names], moves[names]], ignore_index=True)
    return clocks.of_launches(clocks.clocks(_extents(both), when), when)


def times(waits: pd.DataFrame, clock: pd.DataFrame, when: pd.DataFrame) -> pd.DataFrame:
    """launch | process gpu stream thread start end error (host ns): of the launches that waited (or moved) those that
    ``clock`` knows.

    ``when`` is the `timeline`: nothing lies beyond a launch whose time is known.
    """
    known = waits[waits["launch"].isin(clock.index)]
    if known.empty:
        return when.iloc[:0][[*_PLACE, "start", "end"]].assign(error=np.empty(0, np.int64))
    extents = _extents(known)
    own = when.loc[extents.index, [*_PLACE, "start", "end", "spanned"]]
    began, ended, spanned = (own[name].to_numpy() for name in ("start", "end", "spanned"))
    ahead, error = (clock.loc[extents.index, name].to_numpy() for name in ("ahead", "error"))
    start, end = extents["first"].to_numpy() - ahead, extents["last"].to_numpy() - ahead
    start = np.where(spanned, np.clip(start, began, ended), start)
    end = np.where(spanned, np.clip(end, start, np.maximum(ended, start)), np.maximum(end, start))
    return own.drop(columns="spanned").assign(start=start, end=end, error=error)


def by_launch(waits: pd.DataFrame, times: pd.DataFrame) -> pd.DataFrame:
    """launch | COLUMNS, of the launches of `times`.

    ``waits`` as `by_wait.named` has them. ``name``, ``awaited``, ``file`` and ``line`` are of where it waited most.
    """
    known = waits[waits["launch"].isin(times.index)]
    groups = known.groupby("launch")
    sums = groups[["waits", "given_up", "waited"]].sum().join(groups["longest"].max())
    return times.join(sums).join(_most(known))[COLUMNS]


def moved_by_launch(moves: pd.DataFrame, waits: pd.DataFrame, times: pd.DataFrame) -> pd.DataFrame:
    """launch | MOVED, of the launches of `times`.

    ``moves`` as `moving.named` has them. ``name``, ``owner``, ``file`` and ``line`` are of where it moved most.
    """
    known = moves[moves["launch"].isin(times.index)]
    sums = moving.of_blocks(known, waits, []).groupby("launch")[["accesses", "moving"]].sum()
    keys = ["launch", "kernel", "file", "line"]
    lines = moving.of_blocks(known, waits, keys).groupby(keys, sort=True)[["moving", "accesses"]].sum().reset_index()
    order = ["moving", "accesses"]
    most = lines.sort_values(order, ascending=False, kind="stable").drop_duplicates("launch")
    owners = shared(known, keys, "owner", listed).rename("owner").reset_index()
    most = most.drop(columns=order).merge(owners, on=keys).set_index("launch")
    said = most[["owner", "file", "line", "kernel"]].itertuples(index=False)
    names = [f"{owner} at {line_of(file, line, kernel)}" for owner, file, line, kernel in said]
    most = most.assign(name=pd.Series(names, most.index, dtype="str"))
    return times.join(sums).join(most[["name", "owner", "file", "line"]])[MOVED]


def _extents(waits: pd.DataFrame) -> pd.DataFrame:
    """launch | first last (ns by the GPU's clock)."""
    rows = pd.DataFrame({"launch": waits["launch"], **{name: moments(waits[name]) for name in ("first", "last")}})
    return rows.groupby("launch").agg(first=("first", "min"), last=("last", "max"))


def _most(waits: pd.DataFrame) -> pd.DataFrame:
    """launch | name awaited file line: where and for whom each waited longest."""
    keys = ["kernel", "file", "line", "awaited"]
    sums = waits.groupby(["launch", *keys], sort=True, observed=True)["waited"].sum().reset_index()
    most = sums.sort_values("waited", ascending=False, kind="stable").drop_duplicates("launch").set_index("launch")
    names = [
        (f"for {awaited} " if awaited else "") + f"at {line_of(file, line, kernel)}"
        for kernel, file, line, awaited in most[keys].itertuples(index=False)
    ]
    return most.assign(name=pd.Series(names, most.index, dtype="str"))[["name", "awaited", "file", "line"]]
