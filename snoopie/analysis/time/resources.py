"""How busy each resource was: GPUs by their kernels, and the copies between memories ("DATA"); with the gaps between.

The table that users of ROCm know from rpt. A resource is busy while at least one of its records runs; what runs at the
same time counts once. Only times on the GPU count. Of a part of a trace, what ran beside it is neither busy nor idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.time.ran import COPIES
from snoopie.analysis.time.sweep import Part, Swept, swept
from snoopie.trace.tables import Ints

# Gaps by their length: the first class is below the first limit, in µs.
LIMITS = (10, 20, 50, 100, 1_000, 10_000, 100_000)
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


def within(parts: Iterable[Part], time: Region) -> Iterator[Part]:
    """What of the records lies within a time: cut at its ends."""
    return (Part(max(part.first, time.start), partial(_cut, part, time)) for part in parts if part.first < time.end)


def _cut(part: Part, time: Region) -> pd.DataFrame:
    records = part.records()
    # What lasts no time is there at its moment.
    until = np.maximum(records["end"], records["start"] + 1)
    kept = records[(until > time.start) & (records["start"] < time.end)]
    return kept.assign(start=kept["start"].clip(lower=time.start), end=kept["end"].clip(upper=time.end))


def summed(
    parts: Iterable[Part],
    everything: Iterable[Part] | None = None,
    limits: Sequence[int] = LIMITS,
    *,
    critical: bool = False,
) -> Swept:
    """What `resources` and `by_resource` are made of. The classes of gaps begin at ``limits`` (µs, rising).

    ``everything`` has the records of the whole trace, where ``parts`` are of a part of it: a gap is where none of them
    ran. ``critical``: of each record only the time after all that began earlier has ended, so that the rows of a
    resource add up to its whole time.
    """
    names, ends = np.array(gap_names(limits), object), np.array(limits) * _NS

    def gap_class(lengths: Ints) -> NDArray[np.object_]:
        return names[np.searchsorted(ends, lengths, "right")]

    if everything is None:
        return swept(parts, gap_class, critical=critical)
    own = list(parts)
    found = swept(own, gap_class, critical=critical)
    lasted = found.busy.set_index("resource")[["start", "end"]]
    beside = (Part(part.first, partial(_beside, part, lasted)) for part in everything)
    # Idle is only when nothing at all ran.
    return replace(found, gaps=swept([*own, *beside], gap_class).gaps)


def resources(found: Swept, time: Region | None = None) -> pd.DataFrame:
    """resource records start end busy (ns) busy_share (of the time, default: from the first start to the last end) gaps
    gap others (ns together), GPUs first

    ``others``: of a part of a trace, how long only what is not of it ran, from the resource's start to its end.
    """
    result = found.busy.iloc[_gpus_first(found.busy["resource"])].reset_index(drop=True)
    idle = found.gaps.groupby("resource")[["calls", "total"]].sum().reindex(result["resource"], fill_value=0)
    result["busy_share"] = result["busy"] / _length(found, time)
    result["gaps"], result["gap"] = idle["calls"].to_numpy(np.int64), idle["total"].to_numpy(np.int64)
    result["others"] = result["end"] - result["start"] - result["busy"] - result["gap"]
    return result


def by_resource(found: Swept, time: Region | None = None) -> pd.DataFrame:
    """resource kind (kernel, copy, barrier, gap) name share (of the time, as in `resources`) calls total average least
    most (ns): most time of each resource first. Gaps are by their length.
    """
    result = pd.concat([found.rows, found.gaps], ignore_index=True)
    result["share"] = result["total"] / _length(found, time)
    result["average"] = result["total"] / result["calls"]
    names = found.busy["resource"].iloc[_gpus_first(found.busy["resource"])]
    result["place"] = result["resource"].map({name: number for number, name in enumerate(names)})
    result = result.sort_values(["place", "total", "name"], ascending=[True, False, True], ignore_index=True)
    return result[_ROW].astype({"name": "str", "kind": "str"})


def _beside(part: Part, lasted: pd.DataFrame) -> pd.DataFrame:
    """What of the records ran between the first and the last of each resource: what goes on then may have begun before,
    or end later."""
    records = part.records()
    records = records[records["resource"].isin(lasted.index)]
    first, last = (lasted[name].loc[records["resource"]].to_numpy(np.int64) for name in ("start", "end"))
    kept = (records["end"].to_numpy() > first) & (records["start"].to_numpy() < last)
    first, last = first[kept], last[kept]
    ran = records[kept]
    return ran.assign(start=np.maximum(ran["start"], first), end=np.minimum(ran["end"], last))


def _gpus_first(names: pd.Series[str]) -> Ints:
    return np.lexsort([names.to_numpy(object), (names == COPIES).to_numpy()])


def _length(found: Swept, time: Region | None) -> int:
    """The ns that shares are of."""
    if time is None:
        time = Region(int(found.busy["start"].min()), int(found.busy["end"].max())) if len(found.busy) else Region(0, 0)
    return max(time.end - time.start, 1)


def workgroups(launches: pd.DataFrame) -> pd.DataFrame:
    """threads block_x block_y block_z kernel launches: the thread blocks of kernels, smallest first; none where the
    shape is not known."""
    axes = ["block_x", "block_y", "block_z"]
    known = launches[launches["block_x"] > 0]
    table = known.assign(threads=known[axes].prod(axis=1), launches=1)
    sums = table.groupby(["threads", *axes, "kernel"], observed=True, sort=True)["launches"].sum().reset_index()
    return sums[["threads", *axes, "kernel", "launches"]]


def left_out(launches: int, untimed: int, copies: int, instrumented: bool) -> list[str]:
    """Sentences on what has no time on the GPU, of so many launches and copies, and on what the times mean."""
    sentences = []
    if untimed:
        sentences.append(f"{_things(untimed, 'launch is', 'launches are')} left out: no GPU timestamps.")
    if copies:
        sentences.append(
            f"{_things(copies, 'copy is', 'copies are')} left out: the trace has times of their calls, but no GPU "
            f"timestamps."
        )
    if instrumented and untimed < launches:
        sentences.append("Instrumentation slows kernels: these times are longer than without it.")
    return sentences


def _things(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
