"""How fast data moved and how long the links need at least, by plain loops."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from tests.plain.plain_over_time import directed
from tests.plain.plain_runs import Run

# Bytes a second that one NVLink carries in one direction, by compute capability: of NVIDIA's white papers.
_LINK = {60: 20e9, 80: 25e9, 86: 14.0625e9, 90: 25e9, 100: 50e9}


class Rate(NamedTuple):
    wire_bytes: int
    busy: int
    rate: float | None
    capacity: float | None
    capacity_share: float | None


def capacity(run: Run, place: int) -> float | None:
    if place < 0:
        return None
    sm, links = run.gpus[place]
    return links * _LINK[sm] if links > 0 and sm in _LINK else None


def between(run: Run, one: int, other: int) -> float | None:
    """What the GPU with less links can carry; none where the two reach each other by other ways."""
    both = capacity(run, one), capacity(run, other)
    if None in both or {(one, other), (other, one)} & run.apart:
        return None
    return min(value for value in both if value is not None)


def bandwidth(run: Run, over: str, initiated: str) -> dict[Any, Rate]:
    """from and to, or GPU and direction → its row."""
    moved: list[tuple[int, int, int, int, int]] = []
    if initiated != "host":
        for count in run.counts:
            if count.launch.spanned:
                for source, destination in directed(count, "flow"):
                    moved.append((source, destination, count.wire_bytes, count.launch.start, count.launch.end))
    if initiated != "device":
        moved += [
            (copy.source, copy.destination, copy.bytes, copy.start, copy.end) for copy in run.copies if copy.on_gpu
        ]
    rows: dict[Any, list[tuple[int, int, int]]] = defaultdict(list)
    for source, destination, size, start, end in moved:
        if over == "pair":
            rows[source, destination].append((size, start, end))
        elif source >= 0 and destination >= 0:
            rows[source, "out"].append((size, start, end))
            rows[destination, "in"].append((size, start, end))
    found = {}
    for key, own in rows.items():
        size, busy = sum(row[0] for row in own), covered([row[1:] for row in own])
        most = between(run, *key) if over == "pair" else capacity(run, key[0])
        rate = 1e9 * size / busy if busy else None
        share = None if rate is None or most is None else rate / most
        found[key] = Rate(size, busy, rate, most, share)
    return found


def covered(intervals: list[tuple[int, int]]) -> int:
    """How long at least one of some intervals lasts."""
    total, until = 0, 0
    for start, end in sorted(intervals):
        total += max(end - max(start, until), 0)
        until = max(until, end)
    return total


def least_times(run: Run, by: str) -> dict[Any, tuple[int, float | None]]:
    """key → wire bytes, and the time of the GPU and direction that take longest."""
    moved: dict[Any, dict[tuple[int, int], int]] = defaultdict(lambda: defaultdict(int))
    for count in run.counts:
        for pair in directed(count, "flow"):
            keys = {"pair": pair, "kernel": count.launch.kernel, "line": (count.site.file, count.site.line)}
            moved[keys[by]][pair] += count.wire_bytes
    found = {}
    for key, pairs in moved.items():
        sides: dict[tuple[int, int], int] = defaultdict(int)
        for pair, size in pairs.items():
            if between(run, *pair) is not None:
                for side in (0, 1):
                    sides[side, pair[side]] += size
        if by == "pair":
            most = between(run, *key)
            time = None if most is None else 1e9 * pairs[key] / most
        else:
            time = max((1e9 * size / (capacity(run, place) or 1) for (_, place), size in sides.items()), default=None)
        found[key] = sum(pairs.values()), time
    return found
