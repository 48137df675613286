"""Names of streams for people: a stream's handle is an address, of which nobody knows which stream it is."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

# What the driver itself calls so.
_OWN = {0: "default stream", 1: "default stream", 2: "default streams of threads"}
# Other tools number streams; no address is as small.
_NUMBERS = 1 << 16


def names(used: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """process stream name: of each stream in some tables of process, stream and time. Handles that are addresses are
    numbered in the order in which their process first used them."""
    every = pd.concat([table[["process", "stream", "time"]] for table in used], ignore_index=True)
    every = every.astype({"stream": np.uint64})
    first = every.groupby(["process", "stream"])["time"].min().reset_index()
    first = first.sort_values(["process", "time", "stream"], ignore_index=True)
    named = []
    for _, own in first.groupby("process", sort=False):
        handles = own["stream"].tolist()
        taken = {handle for handle in handles if handle < _NUMBERS}
        free = (number for number in range(1, len(handles) + len(taken) + 3) if number not in taken - set(_OWN))
        named += [_OWN.get(handle) or f"stream {handle if handle in taken else next(free)}" for handle in handles]
    return first[["process", "stream"]].assign(name=pd.Series(named, first.index, dtype="str"))
