"""The places that issue traffic or own memory: what each is, and which processes use it."""

from __future__ import annotations

import pandas as pd

from snoopie.errors import AbsentError
from snoopie.joined.gpus import HOST, UNKNOWN
from snoopie.joined.tables import Tables


def places(tables: Tables) -> pd.DataFrame:
    """place | kind (gpu, host, unknown, multicast) label uuid processes ranks; GPUs first, multicast objects last.

    ``processes`` and ``ranks`` are tuples, ascending: those that launched kernels, started copies or called NCCL on
    a GPU, and the one that made a multicast object. A process whose rank is not known is in no tuple of ranks.
    """
    numbers = [*range(len(tables.gpus)), HOST, UNKNOWN, *tables.sets.index.tolist()]
    users = _users(tables)
    rank = tables.processes["rank"]
    processes = [tuple(sorted(users.get(place, ()))) for place in numbers]
    return pd.DataFrame(
        {
            "kind": [_kind(place) for place in numbers],
            "label": [tables.label(place) for place in numbers],
            "uuid": [str(tables.gpus["uuid"][place]) if place >= 0 else "" for place in numbers],
            "processes": pd.Series(processes, dtype="object"),
            "ranks": pd.Series(
                [tuple(sorted({int(rank[one]) for one in some if rank[one] >= 0})) for some in processes],
                dtype="object",
            ),
        }
    ).set_axis(pd.Index(numbers, name="place"))


def named_place(places: pd.DataFrame, name: str) -> int:
    """The place that a user means by a GPU's number or UUID, or by a label ("GPU 0", "host", "multicast 0").

    UsageError for others.
    """
    text = name.strip()
    short = [label.partition(" (")[0] for label in places["label"]]
    for place, label, uuid, brief in zip(places.index.tolist(), places["label"], places["uuid"], short, strict=True):
        if text in (label, brief) or (place >= 0 and text in (str(place), uuid)):
            return int(place)
    raise AbsentError(f"there is no place {text}", f"the trace has {', '.join(short)}")


def _kind(place: int) -> str:
    if place >= 0:
        return "gpu"
    return {HOST: "host", UNKNOWN: "unknown"}.get(place, "multicast")


def _users(tables: Tables) -> dict[int, set[int]]:
    """The processes of each GPU and multicast object that has any."""
    users: dict[int, set[int]] = {}
    used = [
        tables.launches[["gpu", "process"]],
        tables.copies[["issuer", "process"]],
        tables.collectives[["issuer", "process"]],
        tables.sets.reset_index()[["owner", "process"]],
    ]
    for table in used:
        for place, process in table.drop_duplicates().itertuples(index=False):
            users.setdefault(int(place), set()).add(int(process))
    # Work on a GPU that is not known is on none.
    users.pop(UNKNOWN, None)
    return users
