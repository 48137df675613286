"""Traffic by tensor of PyTorch, whose allocator hides tensors in segments; see `importers.torch_memory`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from snoopie.analysis.objects import by_object
from snoopie.analysis.objects.lookup import Lookup
from snoopie.joined.gpus import UNKNOWN


def lookups(tensors: pd.DataFrame) -> dict[int, Lookup]:
    """The tensors of each process by address."""
    processes = tensors["process"].to_numpy()
    return {number: Lookup(tensors[processes == number].assign(inside=0)) for number in np.unique(processes).tolist()}


def by_tensor(divided: pd.DataFrame, copied: pd.DataFrame, tensors: pd.DataFrame) -> pd.DataFrame:
    """tensor gpu size file line function allocated freed, traffic.VALUES, wire_efficiency, exact, copied_in copied_out;
    most bytes first. ``divided``: `objects.divided` with tensors for objects.
    """
    table = by_object.ranked(divided, copied)
    own = tensors.reindex(table["object"].to_numpy())
    numbers = {"size": "bytes", "line": "line", "allocated": "allocated", "freed": "freed"}
    table = table.assign(
        gpu=own["gpu"].fillna(UNKNOWN).astype(np.int64).to_numpy(),
        **by_object.numbers(tensors, table["object"], numbers),
        **{name: own[name].fillna("").astype("str").to_numpy() for name in ("file", "function")},
    ).rename(columns={"object": "tensor"})
    return table[["tensor", "gpu", "size", "file", "line", "function", "allocated", "freed", *by_object.SUMS]]
