"""How busy each resource was, by plain loops over the moments at which something begins or ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tests.plain.plain_runs import HOST, UNKNOWN, Copy, Launch, Run, label

DATA = "DATA"
LIMITS = (10, 20, 50, 100, 1_000, 10_000, 100_000)
Between = tuple[int, int] | None


class Record(NamedTuple):
    resource: str
    kind: str
    name: str
    start: int
    end: int


class Busy(NamedTuple):
    """As a row of `resources`, without the share."""

    records: int
    start: int
    end: int
    busy: int
    gaps: int
    gap: int
    others: int


class Row(NamedTuple):
    calls: int
    total: int
    least: int
    most: int


def copy_name(copy: Copy) -> str:
    if UNKNOWN in (copy.source, copy.destination):
        direction = "copy"
    elif copy.source == HOST:
        direction = "HostToHost" if copy.destination == HOST else "HostToDevice"
    elif copy.destination == HOST:
        direction = "DeviceToHost"
    else:
        direction = "DeviceToDevice" if copy.source == copy.destination else "PeerToPeer"
    return f"{direction}_{copy.bytes}_bytes" if copy.sized else direction


def records(launches: Iterable[Launch], copies: Iterable[Copy]) -> list[Record]:
    """Those with times on the GPU."""
    found = [
        Record(label(launch.gpu), "kernel", launch.kernel, launch.start, launch.end)
        for launch in launches
        if launch.spanned
    ]
    return found + [Record(DATA, "copy", copy_name(copy), copy.start, copy.end) for copy in copies if copy.on_gpu]


def every_record(run: Run, barriers: bool, between: Between) -> list[Record]:
    found = records(run.launches, run.copies)
    found += [Record(label(ran.gpu), "kernel", ran.name, ran.start, ran.end) for ran in run.unmeasured]
    if barriers:
        found += [Record(label(ran.gpu), "barrier", ran.name or "barrier", ran.start, ran.end) for ran in run.barriers]
    return cut(found, between)


def cut(every: list[Record], between: Between) -> list[Record]:
    """What lies from the first moment until before the second; what lasts no time lies at its moment."""
    if between is None:
        return every
    first, last = between
    return [
        record._replace(start=max(record.start, first), end=min(record.end, last))
        for record in every
        if record.start < last and (record.end > first or record.start == record.end == first)
    ]


def idle(own: list[Record], others: Sequence[Record] = ()) -> list[tuple[int, int]]:
    """The gaps from the first start to the last end: each ends where something begins, if only for a moment."""
    first, last = min(record.start for record in own), max(record.end for record in own)
    beside = [record for record in others if record.start < last and record.end > first]
    every = [*own, *beside]
    edges = {min(max(time, first), last) for record in every for time in (record.start, record.end)}
    return [
        (one, other)
        for one, other in pairwise(sorted(edges))
        if not any(record.start <= one and record.end >= other for record in every)
    ]


def running(own: list[Record]) -> int:
    """How long at least one ran."""
    edges = sorted({time for record in own for time in (record.start, record.end)})
    covered = [
        other - one
        for one, other in pairwise(edges)
        if any(record.start <= one and record.end >= other for record in own)
    ]
    return sum(covered)


def resources(every: list[Record], whole: Sequence[Record] | None = None) -> dict[str, Busy]:
    """``whole``: the records of all, where ``every`` are those of a view."""
    found = {}
    for resource in {record.resource for record in every}:
        own = [record for record in every if record.resource == resource]
        others = [record for record in whole or () if record.resource == resource]
        start, end = min(record.start for record in own), max(record.end for record in own)
        gaps = idle(own, others)
        gap = sum(until - begin for begin, until in gaps)
        busy = running(own)
        found[resource] = Busy(len(own), start, end, busy, len(gaps), gap, end - start - busy - gap)
    return found


def gap_class(length: int, limits: Sequence[int]) -> str:
    """The class of a gap of so many ns; limits in µs."""
    if length < limits[0] * 1000:
        return f"gap <{limits[0]} us"
    for low, high in pairwise(limits):
        if length < high * 1000:
            return f"gap {low}-{high} us"
    return f"gap >={limits[-1]} us"


def by_resource(
    every: list[Record],
    limits: Sequence[int] = LIMITS,
    *,
    critical: bool = False,
    whole: Sequence[Record] | None = None,
) -> dict[tuple[str, str, str], Row]:
    """resource, kind and name → its row. Of records that begin at once the shorter is the earlier."""
    times: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for resource in {record.resource for record in every}:
        own = sorted((record for record in every if record.resource == resource), key=lambda record: record[3:])
        for place, (_, kind, name, start, end) in enumerate(own):
            before = max((other.end for other in own[:place]), default=start) if critical else start
            times[resource, kind, name].append(max(end - max(start, before), 0))
        for begin, until in idle(own, [record for record in whole or () if record.resource == resource]):
            times[resource, "gap", gap_class(until - begin, limits)].append(until - begin)
    return {key: Row(len(own), sum(own), min(own), max(own)) for key, own in times.items()}


def undecided(every: list[Record]) -> set[str]:
    """Resources of which records of different names begin and end at once: which of them was first is not told."""
    names: dict[tuple[str, int, int], set[tuple[str, str]]] = defaultdict(set)
    for resource, kind, name, start, end in every:
        names[resource, start, end].add((kind, name))
    return {resource for (resource, _, _), own in names.items() if len(own) > 1}


def workgroups(run: Run) -> dict[tuple[int, int, int, int, str], int]:
    found: dict[tuple[int, int, int, int, str], int] = defaultdict(int)
    for launch in run.launches:
        x, y, z = launch.shape
        if x:
            found[x * y * z, x, y, z, launch.kernel] += 1
    return dict(found)
