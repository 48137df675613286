"""Which launch of a clean recording is which of an exact one: by rank, GPU, stream, kernel, shape and order.

What cannot be told is not matched, and a word says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd

from snoopie.analysis.native import kernels, streams
from snoopie.analysis.native.alignment import align

# The per-thread default stream, which has one handle for all threads.
_PER_THREAD = 2
_SHAPE = [f"{what}_{axis}" for what in ("grid", "block") for axis in "xyz"]


class Reason(StrEnum):
    """Why launches were not matched, for people."""

    PROCESS = "no process of the clean recording is of their rank"
    GPU = "no GPU of the clean recording is theirs"
    KERNEL = "their kernel did not run in the clean recording"
    SAMPLED = "only some launches of their kernel were measured"
    STREAM = "no stream of the clean recording is like theirs"
    COUNT = "the recordings have them in different numbers"
    # Of the clean recording alone.
    NOT_MEASURED = "their kernel was not measured in the exact recording"

    @property
    def of_clean(self) -> str:
        """The same of launches of the clean recording."""
        return self.replace("the clean recording", "the exact recording")


@dataclass(frozen=True, slots=True)
class Side:
    """What is matched of one recording: see `Trace` for the tables."""

    launches: pd.DataFrame
    functions: pd.DataFrame
    processes: pd.DataFrame
    gpus: pd.DataFrame


@dataclass(frozen=True, slots=True)
class Matching:
    """``pairs``: launch clean. ``exact`` and ``clean``: the reason of each launch that was not matched.

    ``alike``: launches matched in streams that are told apart by nothing but which was used first.
    """

    pairs: pd.DataFrame
    exact: pd.Series[str]
    clean: pd.Series[str]
    alike: int


def match(exact: Side, clean: Side, sampled: pd.DataFrame, *, shapes: bool) -> Matching:
    """``sampled``: process kernel of launches of which only some were measured. ``shapes``: both know them."""
    left, right = _keyed(exact, clean, shapes=shapes)
    pairs = pd.Series(-1, left.index)
    why = [pd.Series(Reason.PROCESS.value, table.index, dtype=object) for table in (left, right)]
    alike = 0
    some = set(zip(sampled["process"], sampled["kernel"], strict=True))
    for one, other in _processes(exact, clean):
        parts = [table[table["process"] == process] for table, process in ((left, one), (right, other))]
        for reason, part in zip(why, parts, strict=True):
            reason[part.index] = Reason.GPU.value
        for near, far in _gpus(exact.gpus, clean.gpus, *parts):
            alike += _of_gpu(near, far, some, pairs, why)
    matched = pairs[pairs >= 0]
    table = pd.DataFrame({"launch": matched.index.to_numpy(np.int64), "clean": matched.to_numpy(np.int64)})
    return Matching(
        table,
        why[0].drop(table["launch"]).astype("str"),
        why[1].drop(table["clean"]).astype("str"),
        alike,
    )


def _keyed(exact: Side, clean: Side, *, shapes: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """process gpu stream kernel (a number that both have, -1 for none) name key of each launch, in their order."""
    named = [list(zip(side.functions["mangled"], side.functions["name"], strict=True)) for side in (exact, clean)]
    numbers = kernels.same(*named)
    tables = []
    for side, own, of in zip((exact, clean), named, numbers, strict=True):
        number = pd.Series([of.get(kernel, -1) for kernel in own], side.functions.index)
        table = side.launches[["process", "gpu", "stream", "thread", *_SHAPE]].copy()
        table["kernel"] = number.reindex(side.launches["function"]).fillna(-1).astype(np.int64).to_numpy()
        table["name"] = side.launches["kernel"]
        table["order"] = side.launches["order"]
        tables.append(table)
    columns = ["kernel", *(_SHAPE if shapes else ())]
    both = pd.concat([table[columns] for table in tables], ignore_index=True)
    keys = both.groupby(columns, sort=False).ngroup().to_numpy(np.int64)
    tables[0]["key"], tables[1]["key"] = keys[: len(tables[0])], keys[len(tables[0]) :]
    per_thread = tables[0]["stream"] == _PER_THREAD
    own_streams = tables[0].groupby([tables[0]["stream"], tables[0]["thread"].where(per_thread, 0)], sort=False)
    tables[0]["stream"] = own_streams.ngroup()
    tables[1]["stream"] = tables[1].groupby("stream", sort=False).ngroup()
    exact_table, clean_table = (table.sort_values("order", kind="stable") for table in tables)
    return exact_table, clean_table


def _processes(exact: Side, clean: Side) -> Iterator[tuple[int, int]]:
    """Processes of both that are the same: by their ranks, or the only one, or the only one with launches."""
    sides = []
    for side in (exact, clean):
        present = side.processes.index[side.processes.index.isin(side.launches["process"].unique())]
        sides.append(side.processes.loc[present])
    if all(len(side) == 1 for side in sides):
        yield int(sides[0].index[0]), int(sides[1].index[0])
        return
    ranked = [side[(side["rank"] >= 0) & ~side["rank"].duplicated(keep=False)] for side in sides]
    places = dict(zip(ranked[1]["rank"].tolist(), ranked[1].index.tolist(), strict=True))
    for process, rank in zip(ranked[0].index.tolist(), ranked[0]["rank"].tolist(), strict=True):
        if rank in places:
            yield process, places[rank]


def _gpus(
    exact: pd.DataFrame, clean: pd.DataFrame, left: pd.DataFrame, right: pd.DataFrame
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """The launches of each GPU of a process in both: by UUID, or else in their order, if there are as many."""
    used = [sorted(table["gpu"].unique().tolist()) for table in (left, right)]
    uuids = {clean["uuid"].loc[place]: place for place in used[1]}
    pairs = [(place, uuids[uuid]) for place in used[0] if (uuid := exact["uuid"].loc[place]) in uuids]
    # Another machine: the same program has the same GPU first.
    if not pairs and len(used[0]) == len(used[1]):
        pairs = list(zip(*used, strict=True))
    for one, other in pairs:
        yield left[left["gpu"] == one], right[right["gpu"] == other]


def _of_gpu(
    left: pd.DataFrame, right: pd.DataFrame, sampled: set[tuple[int, str]], pairs: pd.Series[int],
    why: Sequence[pd.Series[str]],
) -> int:  # fmt: skip
    """Matches the launches of one GPU; returns how many of them in streams that are alike."""
    chosen = [(process, name) in sampled for process, name in zip(left["process"], left["name"], strict=True)]
    some = np.array(chosen, np.bool_)
    of_some = set(left.loc[some, "kernel"].tolist())
    known = set(left["kernel"].tolist()) - {-1}
    absent = ~left["kernel"].isin(set(right["kernel"].tolist()) - {-1}).to_numpy()
    why[0][left.index[absent]] = Reason.KERNEL.value
    why[0][left.index[some]] = Reason.SAMPLED.value
    left = left[~some & ~absent & ~left["kernel"].isin(of_some)]
    why[1][right.index] = Reason.NOT_MEASURED.value
    why[1][right.index[right["kernel"].isin(of_some)]] = Reason.SAMPLED.value
    right = right[right["kernel"].isin(known - of_some)]
    if left.empty:
        return 0
    why[0][left.index] = Reason.STREAM.value
    why[1][right.index] = Reason.STREAM.value
    found, alike = streams.pair(left, right)
    groups = [table.groupby("stream", sort=False).indices for table in (left, right)]
    told = 0
    for stream, others in found.items():
        # In the order in which they ran, whichever stream they were in.
        places = np.sort(np.concatenate([groups[1][other] for other in others]))
        own, its = left.iloc[groups[0][stream]], right.iloc[places]
        why[0][own.index] = Reason.COUNT.value
        why[1][its.index] = Reason.COUNT.value
        near, far = align(own["key"].to_numpy(np.int64), its["key"].to_numpy(np.int64))
        pairs[own.index[near]] = its.index.to_numpy()[far]
        told += len(near) if stream in alike else 0
    return told
