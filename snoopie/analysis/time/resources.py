"""How busy each resource was: GPUs by their kernels, and the copies between memories ("DATA"); with the gaps between.

The table that users of ROCm know from rpt. A resource is busy while at least one of its records runs; what runs at the
same time counts once. Only times on the GPU count. Of a part of a trace, what ran beside it is neither busy nor idle.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from snoopie.joined.gpus import HOST, UNKNOWN

COPIES = "DATA"
# Gaps by their length: the first class is below the first limit, in µs.
LIMITS = (10, 20, 50, 100, 1_000, 10_000, 100_000)
BARRIER = "barrier"
_NS = 1000
_ROW = ["resource", "kind", "name", "share", "calls", "total", "average", "least", "most"]


@dataclass(frozen=True, slots=True)
class Region:
    """From the beginning of the first record to the end of the last, ns; 0 and 0 without any."""

    start: int
    end: int


def gap_names(limits: Sequence[int]) -> tuple[str, ...]:
    """The classes of gaps that these limits (µs, rising) divide."""
    between = (f"gap {low}-{high} us" for low, high in pairwise(limits))
    return f"gap <{limits[0]} us", *between, f"gap >={limits[-1]} us"


GAPS = gap_names(LIMITS)


def records(
    spans: pd.DataFrame,
    launches: pd.DataFrame,
    copies: pd.DataFrame,
    label: Callable[[int], str],
    sizeless: Collection[int] = (),
) -> pd.DataFrame:
    """resource kind (kernel, copy) name start end (ns): each kernel with a span, and all copies.

    ``sizeless``: processes whose tool does not record the sizes of copies, so that none is in their names.
    """
    spans = spans[spans["launch"].isin(launches.index)]
    ran = launches.loc[spans["launch"]]
    names = {gpu: label(gpu) for gpu in ran["gpu"].unique().tolist()}
    kernels = pd.DataFrame(
        {
            "resource": ran["gpu"].map(names).to_numpy(),
            "kind": "kernel",
            "name": ran["kernel"].to_numpy(),
            "start": spans["start"].to_numpy(),
            "end": spans["end"].to_numpy(),
        }
    )
    moved = pd.DataFrame(
        {
            "resource": COPIES,
            "kind": "copy",
            "name": _copy_names(copies, sizeless),
            "start": copies["start"].to_numpy(),
            "end": copies["end"].to_numpy(),
        }
    )
    table = pd.concat([kernels, moved], ignore_index=True).astype(
        {"resource": "str", "kind": "str", "name": "str", "start": np.int64, "end": np.int64}
    )
    return table.assign(end=table[["start", "end"]].max(axis=1))


def unmeasured(launches: pd.DataFrame, label: Callable[[int], str]) -> pd.DataFrame:
    """The same columns, of launches that were timed but not measured."""
    names = {gpu: label(gpu) for gpu in launches["gpu"].unique().tolist()}
    table = launches[["start", "end"]].assign(
        resource=launches["gpu"].map(names),
        kind="kernel",
        name=launches["kernel"],
        end=launches[["start", "end"]].max(axis=1),
    )
    columns = ["resource", "kind", "name", "start", "end"]
    return table[columns].astype({"resource": "str", "kind": "str", "name": "str", "start": np.int64, "end": np.int64})


def waits(barriers: pd.DataFrame, label: Callable[[int], str]) -> pd.DataFrame:
    """The same columns, of barriers at which queues of GPUs waited."""
    names = {gpu: label(gpu) for gpu in barriers["gpu"].unique().tolist()}
    table = pd.DataFrame(
        {
            "resource": barriers["gpu"].map(names),
            "kind": BARRIER,
            "name": barriers["name"].astype("str").where(barriers["name"] != "", BARRIER),
            "start": barriers["start"],
            "end": barriers["end"],
        }
    )
    return table.astype({"resource": "str", "kind": "str", "name": "str", "start": np.int64, "end": np.int64})


def within(records: pd.DataFrame, time: Region) -> pd.DataFrame:
    """What of the records lies within a time: cut at its ends."""
    kept = records[(records["end"] > time.start) & (records["start"] < time.end)]
    return kept.assign(start=kept["start"].clip(lower=time.start), end=kept["end"].clip(upper=time.end))


def region(records: pd.DataFrame) -> Region:
    """The time that shares are of."""
    if records.empty:
        return Region(0, 0)
    return Region(int(records["start"].min()), int(records["end"].max()))


def resources(
    records: pd.DataFrame, everything: pd.DataFrame | None = None, time: Region | None = None
) -> pd.DataFrame:
    """resource records start end busy (ns) busy_share (of the time, default: the region) gaps gap others (ns together),
    GPUs first

    ``everything`` has the records of the whole trace, where ``records`` are a part: ``others`` is how long only what is
    not of the part ran, from the resource's start to its end.
    """
    whole = time or region(records)
    table = _by_start(records)
    table = table.assign(records=1, busy=(table["end"] - np.maximum(table["start"], table["before"])).clip(lower=0))
    result = (
        table.groupby("resource", sort=False)
        .agg(records=("records", "sum"), start=("start", "min"), end=("end", "max"), busy=("busy", "sum"))
        .reset_index()
    )
    idle = _gaps(records, everything).groupby("resource")["gap"]
    result.insert(5, "busy_share", result["busy"] / max(whole.end - whole.start, 1))
    result["gaps"] = result["resource"].map(idle.count()).fillna(0).astype(np.int64)
    result["gap"] = result["resource"].map(idle.sum()).fillna(0).astype(np.int64)
    result["others"] = result["end"] - result["start"] - result["busy"] - result["gap"]
    return result


def by_resource(
    records: pd.DataFrame,
    everything: pd.DataFrame | None = None,
    limits: Sequence[int] = LIMITS,
    time: Region | None = None,
    *,
    critical: bool = False,
) -> pd.DataFrame:
    """resource kind (kernel, copy, barrier, gap) name share (of the time, default: the region) calls total average
    least most (ns): most time of each resource first. Gaps are by their length, and between the records of
    ``everything`` as in `resources`.

    ``critical``: of each record only the time after all that began earlier has ended, so that the rows of a resource
    add up to its whole time.
    """
    whole = time or region(records)
    table = _by_start(records)
    gaps = _gaps(records, everything)
    lengths = np.searchsorted(np.array(limits) * _NS, gaps["gap"].to_numpy(), "right")
    gaps = gaps.assign(kind="gap", name=np.array(gap_names(limits), object)[lengths], spent=gaps["gap"])
    begun = np.maximum(table["start"], table["before"]) if critical else table["start"]
    rows = pd.concat([table.assign(spent=(table["end"] - begun).clip(lower=0)), gaps], ignore_index=True)
    sums = rows.groupby(["resource", "kind", "name"], sort=False)["spent"]
    result = sums.agg(calls="count", total="sum", least="min", most="max").reset_index()
    result["share"] = result["total"] / max(whole.end - whole.start, 1)
    result["average"] = result["total"] / result["calls"]
    order = {name: number for number, name in enumerate(dict.fromkeys(table["resource"]))}
    result = result.assign(place=result["resource"].map(order))
    result = result.sort_values(["place", "total", "name"], ascending=[True, False, True], ignore_index=True)
    return result[_ROW].astype({"name": "str", "kind": "str"})


def _by_start(records: pd.DataFrame) -> pd.DataFrame:
    """The records by resource and start, with ``before``: when the resource had ended all that began earlier."""
    copies = records["resource"] == COPIES
    table = records.assign(copies=copies).sort_values(["copies", "resource", "start", "end"], ignore_index=True)
    latest = table.groupby("resource", sort=False)["end"].cummax()
    before = latest.groupby(table["resource"], sort=False).shift(1, fill_value=-1)
    # Before the first record of a resource nothing is idle.
    table["before"] = before.where(before >= 0, table["start"])
    return table.drop(columns="copies")


def _gaps(records: pd.DataFrame, everything: pd.DataFrame | None) -> pd.DataFrame:
    """resource gap (ns): how long nothing at all ran, between the first record and the last of each resource."""
    if everything is not None:
        ends = records.groupby("resource").agg(first=("start", "min"), last=("end", "max"))
        beside = everything.merge(ends, on="resource")
        beside = beside[(beside["end"] > beside["first"]) & (beside["start"] < beside["last"])]
        # What goes on at the ends may have begun before, or end later.
        clipped = beside.assign(start=beside[["start", "first"]].max(axis=1), end=beside[["end", "last"]].min(axis=1))
        records = pd.concat([records, clipped[records.columns]], ignore_index=True)
    table = _by_start(records)
    table["gap"] = table["start"] - table["before"]
    return table.loc[table["gap"] > 0, ["resource", "gap"]]


def workgroups(launches: pd.DataFrame) -> pd.DataFrame:
    """threads block_x block_y block_z kernel launches: the thread blocks of kernels, smallest first; none where the
    shape is not known."""
    axes = ["block_x", "block_y", "block_z"]
    known = launches[launches["block_x"] > 0]
    table = known.assign(threads=known[axes].prod(axis=1), launches=1)
    sums = table.groupby(["threads", *axes, "kernel"], observed=True, sort=True)["launches"].sum().reset_index()
    return sums[["threads", *axes, "kernel", "launches"]]


def _copy_names(copies: pd.DataFrame, sizeless: Collection[int]) -> pd.Series[str]:
    sizes = pd.Series("_" + copies["bytes"].astype("str").to_numpy() + "_bytes", dtype="str")
    unknown = copies["process"].isin(list(sizeless)).to_numpy()
    return _directions(copies) + sizes.mask(unknown, "")


def _directions(copies: pd.DataFrame) -> pd.Series[str]:
    source, destination = copies["source"].to_numpy(), copies["destination"].to_numpy()
    names = np.full(len(copies), "copy", object)
    known = (source != UNKNOWN) & (destination != UNKNOWN)
    names[known & (source == destination)] = "DeviceToDevice"
    names[known & (source != destination)] = "PeerToPeer"
    names[known & (source == HOST)] = "HostToDevice"
    names[known & (destination == HOST)] = "DeviceToHost"
    names[known & (source == HOST) & (destination == HOST)] = "HostToHost"
    return pd.Series(names, copies.index, dtype="str").reset_index(drop=True)


def left_out(launches: pd.DataFrame, spans: pd.DataFrame, copies: int, instrumented: bool) -> list[str]:
    """Sentences on what has no time on the GPU, of all launches and so many copies, and on what the times mean."""
    sentences = []
    if untimed := int((~launches.index.isin(spans["launch"])).sum()):
        sentences.append(f"{_things(untimed, 'launch is', 'launches are')} left out: no GPU timestamps.")
    if copies:
        sentences.append(
            f"{_things(copies, 'copy is', 'copies are')} left out: the trace has times of their calls, but no GPU "
            f"timestamps."
        )
    if instrumented and untimed < len(launches):
        sentences.append("Instrumentation slows kernels: these times are longer than without it.")
    return sentences


def _things(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
