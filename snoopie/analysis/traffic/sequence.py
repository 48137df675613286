"""Collectives as one call of all ranks: the n-th of a communicator on every rank, when each arrived, how it ran.

NCCL has all ranks call in the same order, so the number of a call on its rank says which calls are one. Times of ranks
on different hosts are as good as their clocks agree.
"""

from __future__ import annotations

import re

import pandas as pd

from snoopie.analysis.traffic.collectives import BETWEEN_TWO

# What moved at least, all ranks together, in sizes of the larger buffer: by number of ranks. Of ring and tree alike.
_MOVED = {
    "AllReduce": lambda ranks: 2 * (ranks - 1),
    "AllGather": lambda ranks: ranks - 1,
    "ReduceScatter": lambda ranks: ranks - 1,
    "Broadcast": lambda ranks: ranks - 1,
    "Bcast": lambda ranks: ranks - 1,
    "Reduce": lambda ranks: ranks - 1,
    "AlltoAll": lambda ranks: ranks - 1,
    "AllToAll": lambda ranks: ranks - 1,
}
# Whose bus bandwidth nccl-tests takes to be that of the algorithm: all goes over each link.
_WHOLE = ("Broadcast", "Bcast", "Reduce")
# In the name of the function that did the work; the kernel's own name says only for what it was compiled first.
_HOW = re.compile(r"_(RING|TREE|COLLNET_\w+?|NVLS_TREE|NVLS|PAT)_(LL128|LL|SIMPLE)")
_PROTOCOLS = {"SIMPLE": "Simple"}
_KEYS = ["communicator", "number"]


def by_sequence(
    collectives: pd.DataFrame,
    launches: pd.DataFrame,
    when: pd.DataFrame,
    traffic: pd.DataFrame,
    sites: pd.DataFrame,
    origin: int,
) -> pd.DataFrame:
    """communicator number operation reduction type call_bytes ranks (0 unknown) called (of these, in the trace) began
    (ns after ``origin``) skew last_rank took (ns) algorithm protocol channels bytes expected bus_bandwidth, in order.
    Numbers that are not known are -1.

    ``skew``: from the first rank's arrival to the last's, ``took``: from then on to the last end, both on the GPUs
    where every rank's times there are known, else of the calls. ``bytes`` are measured where no other call shared a
    kernel.
    """
    calls = collectives.sort_values("start", kind="stable").reset_index()
    alone = ~calls.duplicated(["group", "issuer"], keep=False) & (calls["group"] > 0)
    calls = calls.assign(alone=alone)[~calls["operation"].isin(BETWEEN_TWO)]
    # Of a rank that is not known, the GPU says which it is.
    member = calls["rank"].where(calls["ranks"] > 0, calls["issuer"])
    calls["number"] = calls.groupby(["communicator", member, "process"], sort=False).cumcount()
    units = _units(launches, when, traffic, sites)
    own_unit = pd.MultiIndex.from_frame(calls[["group", "issuer"]])
    # Whole numbers stay what they are: as floats, times are off by up to 128 ns.
    calls = calls.assign(**{
        name: units[name].reindex(own_unit, fill_value=none).to_numpy() for name, none in _OF_NO_UNIT.items()
    })  # fmt: skip
    on_gpu = calls["spanned"].groupby([calls[key] for key in _KEYS]).transform("all")
    calls = calls.assign(
        measured=calls["moved"].where(calls["alone"], -1),
        arrived=calls["gpu_start"].where(on_gpu, calls["start"]),
        done=calls["gpu_end"].where(on_gpu, calls["end"]),
    )
    rows = [_row(own) for _, own in calls.groupby(_KEYS, sort=False)]
    table = pd.DataFrame(rows, columns=[*_KEYS, *_COLUMNS])
    table["began"] -= origin
    return table.sort_values("began", kind="stable", ignore_index=True)


# What `_units` has, of calls of which it is not known which kernels carried them out.
_TEXTS = {"algorithm": "", "protocol": ""}
_OF_NO_UNIT: dict[str, str | int] = {
    "gpu_start": 0, "gpu_end": 0, "spanned": False, "channels": -1, "moved": -1, **_TEXTS,
}  # fmt: skip
_COLUMNS = [
    *("operation", "reduction", "type", "call_bytes", "ranks", "called", "began", "skew", "last_rank", "took"),
    *("algorithm", "protocol", "channels", "bytes", "expected", "bus_bandwidth"),
]


def _row(own: pd.DataFrame) -> tuple[object, ...]:
    first = own.iloc[int(own["arrived"].to_numpy().argmin())]
    last = own.iloc[int(own["arrived"].to_numpy().argmax())]
    took = max(int(own["done"].max()) - int(last["arrived"]), 0)
    ranks, size = int(first["ranks"]), int(own["bytes"].max())
    times = _MOVED.get(str(first["operation"]))
    expected = times(ranks) * size if times and ranks and size >= 0 else -1
    share = 1 if first["operation"] in _WHOLE else expected / max(ranks * size, 1)
    whole = len(own) == ranks and own["measured"].ge(0).all()
    how = own.iloc[int(own["measured"].to_numpy().argmax())]
    communicator, number = own["communicator"].iloc[0], int(own["number"].iloc[0])
    return (
        communicator, number, first["operation"], first["reduction"], first["type"], size, ranks, len(own),
        int(first["arrived"]), int(last["arrived"]) - int(first["arrived"]), int(last["rank"]) if ranks else -1, took,
        how["algorithm"], how["protocol"], int(how["channels"]), int(own["measured"].sum()) if whole else -1, expected,
        share * size / took * 1e9 if expected >= 0 and took else float("nan"),
    )  # fmt: skip


def _units(launches: pd.DataFrame, when: pd.DataFrame, traffic: pd.DataFrame, sites: pd.DataFrame) -> pd.DataFrame:
    """group issuer | gpu_start gpu_end spanned channels moved algorithm protocol, of the kernels of each group."""
    own = launches[launches["group"] > 0]
    moved = traffic[traffic["launch"].isin(own.index)]
    functions = sites["kernel"].astype("str").reindex(moved["site"]).to_numpy()
    by_function = moved.assign(function=functions).groupby(["launch", "function"])["bytes"].sum().reset_index()
    most = by_function.sort_values("bytes", kind="stable").drop_duplicates("launch", keep="last").set_index("launch")
    how = [_HOW.search(name) for name in most["function"]]
    named = pd.DataFrame(
        {
            "algorithm": [found[1].capitalize() if found else "" for found in how],
            "protocol": [_PROTOCOLS.get(found[2], found[2]) if found else "" for found in how],
        },
        index=most.index,
    )
    sums = moved.groupby("launch")["bytes"].sum()
    times = when.loc[own.index, ["start", "end", "spanned"]].rename(columns={"start": "gpu_start", "end": "gpu_end"})
    table = own[["group", "gpu", "grid_x"]].join(times).join(named)
    table = table.assign(moved=sums.reindex(own.index, fill_value=0)).rename(
        columns={"gpu": "issuer", "grid_x": "channels"}
    )
    return table.groupby(["group", "issuer"]).agg(
        gpu_start=("gpu_start", "min"), gpu_end=("gpu_end", "max"), spanned=("spanned", "all"),
        channels=("channels", "max"), moved=("moved", "sum"), algorithm=("algorithm", "first"),
        protocol=("protocol", "first"),
    ).astype(dict.fromkeys(_TEXTS, object)).fillna(_TEXTS)  # fmt: skip
