"""By how much the clocks of GPUs differ from the host's, found from launches that have times of both.

Every access of a launch happened while it ran. Its records have times of the GPU's clock, its span those of the host:
so the GPU's clock is ahead by at least the last record minus the end of the launch, and at most the first record minus
its start. What all launches of a GPU allow together is narrow; where they allow nothing together, a clock was set or
has drifted, and with that launch a new stretch of time begins.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from snoopie.trace.tables import Ints

COLUMNS = ["process", "gpu", "start", "launches", "ahead", "error"]


def clocks(recorded: pd.DataFrame, when: pd.DataFrame) -> pd.DataFrame:
    """process gpu start (host ns) launches ahead error (ns): by how much the GPU's clock is ahead from that time on.

    ``recorded``: launch | first last, by the GPU's clock. ``when`` is the `timeline`. The error is half of what the
    launch allows by itself that allows least: it holds even where the clocks drift from one launch to the next.
    """
    known = recorded.join(when[["process", "gpu", "start", "end", "spanned"]], how="inner")
    known = known[known["spanned"]]
    least, most = known["last"] - known["end"], known["first"] - known["start"]
    # More time between records than the launch took: one of the two is no time at all.
    known = known.assign(least=least, most=most)[least <= most].sort_values("start", kind="stable")
    rows: list[tuple[int, ...]] = []
    for _, own in known.groupby(["process", "gpu"], sort=True):
        process, gpu = int(own["process"].iloc[0]), int(own["gpu"].iloc[0])
        for begin, end, ahead, error in _stretches(own["least"].to_numpy(), own["most"].to_numpy()):
            rows.append((process, gpu, int(own["start"].iloc[begin]), end - begin, ahead, error))
    return pd.DataFrame(rows, columns=COLUMNS).astype(np.int64)


def _stretches(least: Ints, most: Ints) -> list[tuple[int, int, int, int]]:
    """begin, end (of the launches that agree), ahead, error."""
    found, begin = [], 0
    low, high = int(least[0]), int(most[0])
    for place, (lower, upper) in enumerate(zip(least.tolist(), most.tolist(), strict=True)):
        if max(low, lower) > min(high, upper):
            found.append((begin, place, low, high))
            begin, low, high = place, lower, upper
        low, high = max(low, lower), min(high, upper)
    found.append((begin, len(least), low, high))
    allowed = (most - least).tolist()
    return [(first, last, (low + high) // 2, -(-min(allowed[first:last]) // 2)) for first, last, low, high in found]


def of_launches(clocks: pd.DataFrame, when: pd.DataFrame) -> pd.DataFrame:
    """launch | ahead error, of the launches whose GPU has a clock that is known; the others are missing."""
    table = when.reset_index()[["launch", "process", "gpu", "start"]].sort_values("start", kind="stable")
    if clocks.empty:
        return pd.DataFrame(
            {"ahead": np.empty(0, np.int64), "error": np.empty(0, np.int64)}, pd.Index([], name="launch")
        )
    known = clocks.sort_values("start", kind="stable")[["process", "gpu", "start", "ahead", "error"]]
    # What began before the first stretch is of it, too.
    first = known.drop_duplicates(["process", "gpu"]).assign(start=0)
    known = pd.concat([first, known]).sort_values("start", kind="stable")
    # Only rows are looked up: where some launches have none, what is found are floats, and times need 64 bits.
    rows = known[["process", "gpu", "start"]].assign(row=np.arange(len(known)))
    found = pd.merge_asof(table, rows, on="start", by=["process", "gpu"]).dropna(subset=["row"])
    own = known[["ahead", "error"]].iloc[found["row"].to_numpy(np.int64)]
    return own.set_index(pd.Index(found["launch"].to_numpy(np.int64), name="launch")).sort_index()
