"""What ran when, in lanes, by plain loops over all that has a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tests.plain import plain_ranges, plain_waits
from tests.plain.plain_over_time import Folds, folded, unfolded
from tests.plain.plain_rates import covered
from tests.plain.plain_runs import HOST, Run, label
from tests.plain.plain_waits import Waiting

OF_THREADS = ("range", "call")
OF_GPUS = ("kernel", "launch", "copy", "copy call")
SEVERAL = -1
Lane = tuple[str, int, int, int]


class Event(NamedTuple):
    """``at``: the place of its lane, where ``place`` is its own."""

    what: str
    id: int
    name: str
    place: int
    process: int
    stream: int
    thread: int
    start: int
    end: int
    bytes: int
    at: int

    def lane(self, streams: bool) -> Lane:
        of_thread = self.what in OF_THREADS
        line = self.thread if of_thread else self.stream
        return (self.what, self.at, self.process, line) if streams else (
            self.what, self.at, self.process if of_thread else SEVERAL, SEVERAL
        )  # fmt: skip

    @property
    def row(self) -> tuple[Any, ...]:
        """As `activity_within` has it."""
        length = self.end - self.start
        return (*self[:3], label(self.place), *self[4:9], length, self.bytes)

    def touches(self, first: int, last: int) -> bool:
        """What lasts no time is there at its moment."""
        return self.start < last and (self.end > first or self.start >= first)

    def filled(self, first: int, last: int) -> int:
        return min(self.end, last) - max(self.start, first)


def events(known: Waiting, moved: Mapping[int, str], waited: Mapping[int, str]) -> list[Event]:
    """``moved`` and ``waited`` are what moves and waits are called, by their launches."""
    run = known.run
    launches = {launch: _bytes(run, launch.id, launch.process) for launch in run.launches}
    moves, waits = plain_waits.times(known, known.moves), plain_waits.times(known, known.waits)
    found = []
    for launch, size in launches.items():
        own = launch.gpu, launch.process, launch.stream, launch.thread
        what = "kernel" if launch.spanned else "launch"
        found.append(Event(what, launch.id, launch.kernel, *own, launch.start, launch.end, size, launch.gpu))
        if launch in moves:
            found.append(Event("move", launch.id, moved[launch.id], *own, *moves[launch][:2], size, launch.gpu))
        if launch in waits:
            found.append(Event("wait", launch.id, waited[launch.id], *own, *waits[launch][:2], -1, launch.gpu))
    for copy in run.copies:
        what, name = "copy" if copy.on_gpu else "copy call", f"{label(copy.source)} → {label(copy.destination)}"
        size = copy.bytes if copy.sized else -1
        found.append(Event(what, copy.id, name, copy.issuer, copy.process, *copy[6:10], size, copy.issuer))
    for one in run.collectives:
        found.append(
            Event("collective", one.id, one.operation, one.issuer, one.process, *one[5:9], one.bytes, one.issuer)
        )
    until = plain_ranges.last_moment(run)
    for range_ in run.ranges:
        end = max(range_.end or until, range_.start)
        own = HOST, range_.process, 0, range_.thread
        found.append(Event("range", range_.id, range_.name, *own, range_.start, end, -1, HOST))
    for call in run.calls:
        own = call.gpu, call.process, 0, call.thread
        # Another tool that has no sums of calls does not know their sizes.
        size = -1 if run.imported[call.process] else call.bytes
        found.append(Event("call", call.id, call.call, *own, call.start, call.end, size, HOST))
    return found


def _bytes(run: Run, launch: int, process: int) -> int:
    """What a launch moved; where another tool recorded it, nothing is known of one without counts."""
    own = [count.bytes for count in run.counts if count.launch.id == launch]
    return sum(own) if own or not run.imported[process] else -1


def stream_names(run: Run) -> list[tuple[int, int, str]]:
    """What is no address keeps its number; addresses get the next that is free, in the order of their first use."""
    used: dict[int, dict[int, int]] = defaultdict(dict)
    for process, stream, time in (
        *((one.process, one.stream, one.called) for one in run.launches),
        *((one.process, one.stream, one.start) for one in (*run.copies, *run.collectives)),
    ):
        used[process][stream] = min(time, used[process].get(stream, time))
    found = []
    for process, streams in sorted(used.items()):
        number = 0
        for _, stream in sorted((time, stream) for stream, time in streams.items()):
            if stream < 3:
                name = ("default stream", "default stream", "default streams of threads")[stream]
            elif stream < 1 << 16:
                name = f"stream {stream}"
            else:
                number += 1
                while number in streams and number > 2:
                    number += 1
                name = f"stream {number}"
            found.append((process, stream, name))
    return found


def gaps(every: Sequence[Event], first: int, last: int) -> list[tuple[int, int]]:
    """What can be left out: gaps that are long against the time without them and those that are longer.

    Only what GPUs did counts, unless nothing is known of that.
    """
    of_gpus = [event for event in every if event.what in OF_GPUS]
    shown = [event for event in of_gpus or every if event.touches(first, last)]
    edges = {first, last, *(min(max(time, first), last) for event in shown for time in (event.start, event.end))}
    ordered = sorted(edges)
    idle = [
        (one, other)
        for one, other in pairwise(ordered)
        if not any(event.start <= one and event.end >= other for event in shown)
    ]
    chosen: list[tuple[int, int]] = []
    rest = 0
    for number in range(min(len(idle), 40), 0, -1):
        longest = sorted(idle, key=lambda gap: gap[1] - gap[0])[-number:]
        shortest, rest = longest[0][1] - longest[0][0], last - first - sum(end - start for start, end in longest)
        if 10 * shortest > rest and shortest >= 3:
            chosen = sorted(longest)
            break
    found = []
    for start, end in chosen:
        kept = min(max(round(rest / 120), 1), (end - start) // 3)
        # Nothing is to be seen before the first of all and after the last.
        outer = start == first and all(event.start > first for event in shown)
        last_of_all = end == last and all(event.end < last for event in shown)
        found.append((start if outer else start + kept, end if last_of_all else end - kept))
    return found


class Block(NamedTuple):
    lane: Lane
    start: int
    end: int
    count: int
    busy: int
    id: int


def blocks(
    every: Sequence[Event], first: int, last: int, most: int, streams: bool, folds: Folds
) -> dict[Block, list[set[str]]]:
    """Each block with the names that it can have: of the longest in it, of which there can be several.

    What is shorter than 1/most of the time is one with all that is so short and begins in the same part.
    """
    lanes: dict[Lane, list[tuple[int, int, Event]]] = defaultdict(list)
    for event in every:
        start, end = max(event.start, first), min(event.end, last)
        if event.touches(first, last) and not any(low <= start < high and end <= high for low, high in folds):
            lanes[event.lane(streams)].append((folded(start, folds), folded(end, folds), event))
    begin, until = folded(first, folds), folded(last, folds)
    found: dict[Block, list[set[str]]] = defaultdict(list)
    for lane, own in lanes.items():
        width = max(-(-(until - begin) // most), 1)
        # Where too many are long enough, it is longer.
        while sum(end - start >= width for start, end, _ in own) > most + 1:
            width = 2 * width + 1
        groups: dict[Any, list[tuple[int, int, Event]]] = defaultdict(list)
        for place, (start, end, event) in enumerate(own):
            groups[("long", place) if end - start >= width else ("short", (start - begin) // width)].append(
                (start, end, event)
            )
        for group in groups.values():
            start, end = min(one[0] for one in group), max(one[1] for one in group)
            longest = max(one[1] - one[0] for one in group)
            low, high = unfolded(start, folds, behind=True), unfolded(end, folds, behind=False)
            block = Block(
                lane, low, max(low, high), len(group), covered([one[:2] for one in group]),
                group[0][2].id if len(group) == 1 else 0,
            )  # fmt: skip
            found[block].append({event.name for low, high, event in group if high - low == longest})
    return dict(found)


def sums(every: Collection[Event], first: int, last: int) -> dict[tuple[str, str], tuple[int, int, int]]:
    """what and name → count, total, bytes."""
    groups: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in every:
        if event.touches(first, last):
            groups[event.what, event.name].append(event)
    found = {}
    for key, own in groups.items():
        size = -1 if any(event.bytes < 0 for event in own) else sum(event.bytes for event in own)
        found[key] = len(own), sum(event.filled(first, last) for event in own), size
    return found


def busy(every: Collection[Event], first: int, last: int) -> dict[str, int]:
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for event in every:
        if event.touches(first, last):
            places[label(event.at)].append((max(event.start, first), min(event.end, last)))
    return {place: covered(own) for place, own in places.items()}
