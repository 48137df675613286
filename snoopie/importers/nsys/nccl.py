"""NCCL's calls: NVTX ranges with payloads that say communicator, bytes and peer → collectives, and sends as copies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from snoopie.importers.amounts import LIMIT
from snoopie.importers.nsys.devices import Devices
from snoopie.importers.nsys.export import ID_BITS, ID_MASK, LONGEST, Export, Ints
from snoopie.importers.nsys.gpu_work import Copies
from snoopie.importers.nsys.payloads import Payloads
from snoopie.trace.writer import UNKNOWN, TraceWriter

RANGES = "NVTX_EVENTS"
_PREFIX = "nccl"
_CALL = re.compile(r"nccl([A-Z]\w*)")
_MOVING = frozenset({"AllReduce", "AllGather", "AllToAll", "AlltoAll", "Broadcast", "Bcast", "Gather", "Reduce",
                     "ReduceScatter", "Scatter", "Send", "Recv"})  # fmt: skip
# Of these, the size is that of one rank's part.
_IN_PARTS = frozenset({"AllGather", "ReduceScatter", "AllToAll", "AlltoAll"})
_BEGIN, _END = "GroupStart", "GroupEnd"
_COMMUNICATOR, _SIZE, _REDUCTION = "NCCL communicator ID", "Message size [bytes]", "Reduction operation"
_PEERS = ("Peer rank", "Root")
_RANKS, _RANK, _DEVICE = "No. of ranks", "Rank", "CUDA device"
_REDUCTIONS = ("sum", "prod", "max", "min", "avg")

# A communicator and a rank in it.
Member = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Call:
    """A range of NCCL's."""

    start: int
    end: int
    thread: int
    name: str
    said: Mapping[str, Any]

    def number(self, name: str, least: int, below: int) -> int | None:
        value = self.said.get(name)
        return value if isinstance(value, int) and least <= value < below else None

    @property
    def communicator(self) -> int:
        return self.number(_COMMUNICATOR, 0, 1 << 64) or 0


@dataclass(frozen=True, slots=True)
class Joined:
    """That a process became a member of a communicator, with a device of its own."""

    process: int
    communicator: int
    rank: int
    ranks: int
    device: int


@dataclass(slots=True)
class Ranges:
    """The calls of NCCL in a report by process, and the members of its communicators."""

    calls: dict[int, list[_Call]] = field(default_factory=dict)
    joined: list[Joined] = field(default_factory=list)


def read_ranges(export: Export, only: int | None) -> Ranges:
    """All of a report. Rows that say no process belong to the ``only`` one, if there is one."""
    found = Ranges()
    for process, call in _calls(export, only):
        found.calls.setdefault(process, []).append(call)
        rank, ranks = call.number(_RANK, 0, 1 << 31), call.number(_RANKS, 1, 1 << 31)
        device = call.number(_DEVICE, 0, 1 << 31)
        if call.communicator and rank is not None and ranks is not None and device is not None:
            found.joined.append(Joined(process, call.communicator, rank, ranks, device))
    return found


def _calls(export: Export, only: int | None) -> Iterator[tuple[int, _Call]]:
    columns = "start end globalTid domainId jsonText jsonTextId binaryData"
    payloads = Payloads(export)
    rows = list(export.named(RANGES, _PREFIX, columns))
    spelled = export.strings(row[6] for row in rows if isinstance(row[6], int))
    for text, start, end, identity, domain, own, shared, binary in rows:
        name = _CALL.fullmatch(str(text).strip())
        # What is open at the end of the report, or a mark, is no range.
        if name is None or not (isinstance(start, int) and isinstance(end, int) and -LONGEST < start <= end < LONGEST):
            continue
        process = identity >> ID_BITS if isinstance(identity, int) else only
        if process is None:
            continue
        spelling = own if isinstance(own, str) else spelled.get(shared, "") if isinstance(shared, int) else ""
        said = _from_json(spelling) or payloads.decode(domain, binary)
        yield process, _Call(start, end, identity & ID_MASK if isinstance(identity, int) else 0, name[1], said)


def _from_json(text: str) -> Mapping[str, Any]:
    try:
        said = json.loads(text) if text[:1] == "{" else {}
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


class Collectives:
    """The calls of a process that move data, in the order of their starts, with their groups."""

    def __init__(self, calls: Iterable[_Call], joined: Iterable[Joined], process: int) -> None:
        self.calls: list[_Call] = []
        self.groups: list[int] = []
        # thread → starts, ends and groups of the spans in which kernels of a group are launched.
        self._launching: dict[int, tuple[list[int], list[int], list[int]]] = {}
        self._members: dict[int, list[Joined]] = {}
        for one in joined:
            if one.process == process:
                members = self._members.setdefault(one.communicator, [])
                if one not in members:
                    members.append(one)
        by_thread: dict[int, list[_Call]] = {}
        for call in sorted(calls, key=lambda call: (call.start, -call.end)):
            by_thread.setdefault(call.thread, []).append(call)
        found: list[tuple[_Call, int]] = []
        groups = 0
        for thread, own in by_thread.items():
            groups = self._group(thread, own, groups, found)
        for call, group in sorted(found, key=lambda pair: pair[0].start):
            self.calls.append(call)
            self.groups.append(group)

    def _group(self, thread: int, calls: list[_Call], groups: int, found: list[tuple[_Call, int]]) -> int:
        """Finds the groups of a thread; returns the number of groups so far."""
        depth, inside = 0, -LONGEST
        starts, ends, numbers = self._launching.setdefault(thread, ([], [], []))
        for call in calls:
            if call.name == _BEGIN:
                depth += 1
                groups += depth == 1
            elif call.name == _END:
                depth = max(depth - 1, 0)
            # What one call of NCCL does by another is not two.
            elif call.name in _MOVING and call.start >= inside:
                groups += depth == 0
                inside = call.end
                found.append((call, groups))
            else:
                continue
            if groups and depth == 0 and call.name != _BEGIN:
                starts.append(call.start)
                ends.append(call.end)
                numbers.append(groups)
        return groups

    def group_of(self, threads: Ints, times: Ints) -> Ints:
        """The group that launches of these threads at these times belong to, 0 for none."""
        found = np.zeros(len(times), np.int64)
        for thread, (starts, ends, numbers) in self._launching.items():
            rows = np.flatnonzero(threads == thread)
            if len(rows) and starts:
                place = np.searchsorted(np.array(starts, np.int64), times[rows], "right") - 1
                inside = (place >= 0) & (times[rows] <= np.array(ends, np.int64)[place])
                found[rows] = np.where(inside, np.array(numbers, np.int64)[place], 0)
        return found

    def member(self, call: _Call) -> Joined | None:
        """As whom the process made a call, None where that is not known: it may be several ranks."""
        members = self._members.get(call.communicator, [])
        return members[0] if len(members) == 1 else None

    def size(self, call: _Call) -> int:
        """Bytes of the larger of this rank's buffers, -1 where unknown; of one part if the number of parts is not."""
        size = call.number(_SIZE, 0, LIMIT)
        if size is None:
            return -1
        member = self.member(call)
        whole = size * member.ranks if member and call.name in _IN_PARTS else size
        return whole if whole < LIMIT else size

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def unsized(self) -> int:
        """How many calls do not say how many bytes they move."""
        return sum(self.size(call) < 0 for call in self.calls)

    @property
    def nameless(self) -> int:
        """How many calls were made as an unknown rank."""
        return sum(self.member(call) is None for call in self.calls)


def write_collectives(
    writer: TraceWriter, made: Collectives, devices: Devices, gpus: Mapping[int, int], host: Callable[[Ints], Ints]
) -> None:
    """Writes the calls; ``gpus`` has for groups the GPU that their kernels ran on."""
    if not len(made):
        return
    calls, members = made.calls, [made.member(call) for call in made.calls]
    on = [_gpu(member, devices, gpus.get(group)) for member, group in zip(members, made.groups, strict=True)]
    writer.write(
        "collectives", id=np.arange(1, len(calls) + 1), group=np.array(made.groups),
        operation=writer.intern_all(call.name for call in calls),
        reduction=writer.intern_all(_reduction(call) for call in calls),
        bytes=np.array([max(made.size(call), 0) for call in calls], np.int64),
        peer=np.array([_peer(call) for call in calls]),
        communicator=np.array([call.communicator for call in calls], np.uint64),
        rank=np.array([member.rank if member else 0 for member in members]),
        ranks=np.array([member.ranks if member else 0 for member in members]),
        gpu=np.array(on), thread=np.array([call.thread for call in calls]),
        start=host(np.array([call.start for call in calls])), end=host(np.array([call.end for call in calls])),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Route:
    """A send: from which place to which, how many bytes."""

    source: int
    destination: int
    call: _Call
    bytes: int


def routes(
    made: Collectives, devices: Devices, gpus: Mapping[int, int], place_of: Callable[[Member], int]
) -> list[Route]:
    """What was sent to other GPUs. The receiver does not say it again, so that nothing counts twice."""
    found = []
    for call, group in zip(made.calls, made.groups, strict=True):
        peer, size = _peer(call), made.size(call)
        if call.name == "Send" and peer >= 0 and size >= 0:
            source = _gpu(made.member(call), devices, gpus.get(group))
            destination = place_of((call.communicator, peer))
            if source == UNKNOWN or source != destination:
                found.append(Route(source, destination, call, size))
    return found


def sends(writer: TraceWriter, sent: Sequence[Route]) -> Copies:
    """Sends as copies from GPU to GPU."""
    source = np.array([route.source for route in sent], np.uint8)
    nothing = np.zeros(len(sent), np.int64)
    return Copies(
        kind=nothing,
        call=nothing + (writer.intern("ncclSend") if sent else 0),
        source=source,
        destination=np.array([route.destination for route in sent], np.uint8),
        bytes=np.array([route.bytes for route in sent], np.int64),
        gpu=source,
        stream=nothing.astype(np.uint64),
        thread=np.array([route.call.thread for route in sent], np.int64),
        start=np.array([route.call.start for route in sent], np.int64),
        end=np.array([route.call.end for route in sent], np.int64),
        stack=nothing,
    )


def _gpu(member: Joined | None, devices: Devices, launched_on: int | None) -> int:
    if launched_on is not None:
        return launched_on
    return int(devices.places(np.array([member.device], np.int64))[0]) if member else UNKNOWN


def _peer(call: _Call) -> int:
    found = (call.number(name, 0, 1 << 31) for name in _PEERS)
    return next((number for number in found if number is not None), -1)


def _reduction(call: _Call) -> str:
    value = call.said.get(_REDUCTION)
    if isinstance(value, int):
        return _REDUCTIONS[value] if 0 <= value < len(_REDUCTIONS) else "custom"
    word = str(value or "").casefold().removeprefix("nccl")
    return next((name for name in _REDUCTIONS if word.startswith((name, {"avg": "average"}.get(name, name)))), word)
