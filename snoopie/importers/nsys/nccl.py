"""NCCL's calls: NVTX ranges with payloads that say communicator, bytes and peer → collectives, and sends as copies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.importers.amounts import LIMIT
from snoopie.importers.nsys.devices import Devices
from snoopie.importers.nsys.export import ID_BITS, ID_MASK, LONGEST, Export, Ints
from snoopie.importers.nsys.gpu_work import Copies
from snoopie.importers.nsys.payloads import Payloads
from snoopie.trace.writer import UNKNOWN, TableWriter

RANGES = "NVTX_EVENTS"
_PREFIX = "nccl"
_CALL = re.compile(r"nccl([A-Z]\w*)")
_MOVING = frozenset({"AllReduce", "AllGather", "AllToAll", "AlltoAll", "Broadcast", "Bcast", "Gather", "Reduce",
                     "ReduceScatter", "Scatter", "Send", "Recv"})  # fmt: skip
# Of these, the size is that of one rank's part.
_IN_PARTS = ("AllGather", "ReduceScatter", "AllToAll", "AlltoAll")
_BEGIN, _END = "GroupStart", "GroupEnd"
_REDUCTION = "Reduction operation"
# Entries of payloads, the column that they are, and below what they are.
_ENTRIES = {
    "NCCL communicator ID": ("communicator", 0),
    "Message size [bytes]": ("size", LIMIT),
    "Peer rank": ("peer", 1 << 31),
    "Root": ("peer", 1 << 31),
    "No. of ranks": ("ranks", 1 << 31),
    "Rank": ("rank", 1 << 31),
    "CUDA device": ("device", 1 << 31),
}
_REDUCTIONS = ("", "sum", "prod", "max", "min", "avg", "custom")

# Rows that are decoded at once.
_AT_ONCE = 1 << 16

# A communicator and a rank in it.
Member = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Joined:
    """That a process became a member of a communicator, with a device of its own."""

    process: int
    communicator: int
    rank: int
    ranks: int
    device: int


@dataclass(frozen=True, slots=True)
class Ranges:
    """Calls of NCCL; -1 is what is not known. ``communicator`` has the bits of one, 0 for none.

    ``name`` is without nccl, ``reduction`` a place in _REDUCTIONS.
    """

    process: Ints
    start: Ints
    end: Ints
    thread: Ints
    name: NDArray[np.object_]
    communicator: Ints
    size: Ints
    peer: Ints
    ranks: Ints
    rank: Ints
    device: Ints
    reduction: Ints

    def __len__(self) -> int:
        return len(self.start)

    def of(self, rows: NDArray[Any]) -> Ranges:
        """Some of the rows."""
        return Ranges(*(getattr(self, column.name)[rows] for column in fields(self)))

    def joined(self) -> list[Joined]:
        """The members of communicators, each once."""
        said = (self.communicator != 0) & (self.rank >= 0) & (self.ranks > 0) & (self.device >= 0)
        rows = zip(*(column[said].tolist() for column in (self.process, self.communicator, self.rank, self.ranks,
                                                          self.device)), strict=True)  # fmt: skip
        return [Joined(*row) for row in dict.fromkeys(rows)]


def read_ranges(export: Export, only: int | None) -> Ranges:
    """The calls of NCCL in a report. Rows that say no process belong to the ``only`` one, if there is one."""
    payloads = Payloads(export)
    rows = export.named(RANGES, _PREFIX, "start end globalTid jsonText jsonTextId binaryData")
    parts = [_decoded(export, payloads, only, [])]
    while some := list(islice(rows, _AT_ONCE)):
        parts.append(_decoded(export, payloads, only, some))
    return Ranges(*(np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(Ranges)))


def _decoded(export: Export, payloads: Payloads, only: int | None, cells: Iterable[tuple[object, ...]]) -> Ranges:
    names, identities, own, shared, binary = [], [], [], [], []
    times: list[tuple[int, int]] = []
    spellings: dict[object, str] = {}
    for text, start, end, identity, spelled, spelled_id, payload in cells:
        if text not in spellings:
            match = _CALL.fullmatch(str(text).strip())
            spellings[text] = match[1] if match else ""
        # What is open at the end of the report, or a mark, is no range.
        if not (isinstance(start, int) and isinstance(end, int) and -LONGEST < start <= end < LONGEST):
            continue
        if not spellings[text] or (not isinstance(identity, int) and only is None):
            continue
        names.append(spellings[text])
        times.append((start, end))
        identities.append(identity if isinstance(identity, int) else (only or 0) << ID_BITS)
        own.append(spelled)
        shared.append(spelled_id)
        binary.append(payload)
    rows = len(names)
    found = {column: np.full(rows, -1, np.int64) for column, _ in _ENTRIES.values()}
    found["communicator"], found["reduction"] = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    meanings = payloads.meanings(_REDUCTION)
    for entry, places, values in payloads.decode(binary):
        if entry == _REDUCTION:
            codes = {value: _reduction(meanings.get(value, value)) for value in np.unique(values).tolist()}
            found["reduction"][places] = [codes[value] for value in values.tolist()]
        elif entry in _ENTRIES:
            column, below = _ENTRIES[entry]
            found[column][places] = np.where((values >= 0) & (values < below) | (below == 0), values, -1)
    _from_json(export, own, shared, found)
    identity = np.array(identities, np.int64)
    begin, end_ = np.array(times, np.int64).reshape(rows, 2).T
    return Ranges(
        process=identity >> ID_BITS,
        start=begin,
        end=end_,
        thread=identity & ID_MASK,
        name=np.array(names, object),
        **found,
    )


def _from_json(export: Export, own: Sequence[object], shared: Sequence[object], found: dict[str, Ints]) -> None:
    """Fills in what payloads that are spelled out say."""
    texts = export.strings(number for number in shared if isinstance(number, int))
    for row, (text, number) in enumerate(zip(own, shared, strict=True)):
        spelled = text if isinstance(text, str) else texts.get(number, "") if isinstance(number, int) else ""
        if spelled[:1] != "{":
            continue
        try:
            said = json.loads(spelled)
        except (ValueError, RecursionError):
            continue
        for entry, value in said.items() if isinstance(said, dict) else ():
            if entry == _REDUCTION:
                found["reduction"][row] = _reduction(value)
            elif entry in _ENTRIES and isinstance(value, int):
                column, below = _ENTRIES[entry]
                if 0 <= value < (below or 1 << 64):
                    # The bits of a communicator.
                    found[column][row] = value if value < 1 << 63 else value - (1 << 64)


def _reduction(value: object) -> int:
    """A place in _REDUCTIONS."""
    if isinstance(value, int):
        return value + 1 if 0 <= value < len(_REDUCTIONS) - 2 else len(_REDUCTIONS) - 1
    word = str(value).casefold().removeprefix("nccl")
    known = (
        place
        for place, name in enumerate(_REDUCTIONS)
        if name and word.startswith((name, name.replace("avg", "average")))
    )
    return next(known, len(_REDUCTIONS) - 1)


class Collectives:
    """The calls of a process that move data, in the order of their starts, with their groups.

    ``size`` is that of the larger of a rank's buffers, of one part if the number of parts is not known; ``member`` says
    as which rank the process called: -1 if it may be several.
    """

    def __init__(self, ranges: Ranges, process: int) -> None:
        ranges = ranges.of(ranges.process == process)
        ranges = ranges.of(np.lexsort((-ranges.end, ranges.start)))
        # thread → starts, ends and groups of the spans in which kernels of a group are launched.
        self._launching: dict[int, NDArray[np.int64]] = {}
        rows: list[int] = []
        groups: list[int] = []
        number = 0
        for thread in np.unique(ranges.thread).tolist():
            number = self._group(ranges, thread, number, rows, groups)
        order = np.argsort(np.array(rows, np.int64), kind="stable")
        self.groups = np.array(groups, np.int64)[order]
        self.calls = ranges.of(np.array(rows, np.int64)[order])
        members: dict[int, set[tuple[int, int, int]]] = {}
        for one in ranges.joined():
            members.setdefault(one.communicator, set()).add((one.rank, one.ranks, one.device))
        distinct, place = np.unique(self.calls.communicator, return_inverse=True)
        of_each = [members.get(communicator, set()) for communicator in distinct.tolist()]
        single = np.array([(*own,)[0] if len(own) == 1 else (-1, -1, -1) for own in of_each], np.int64).reshape(-1, 3)
        self.member, self.ranks, self.device = single[place].T
        in_parts = np.isin(self.calls.name, _IN_PARTS) & (self.ranks > 0) & (self.calls.size >= 0)
        parts = np.where(in_parts, self.ranks, 1)
        self.size = np.where(self.calls.size < LIMIT // parts, self.calls.size * parts, self.calls.size)

    def _group(self, ranges: Ranges, thread: int, number: int, rows: list[int], groups: list[int]) -> int:
        """Finds the groups of a thread; returns the number of groups so far."""
        own = np.flatnonzero(ranges.thread == thread)
        depth, inside = 0, -LONGEST
        spans: list[tuple[int, int, int]] = []
        columns = (own, ranges.name[own], ranges.start[own], ranges.end[own])
        for row, name, start, end in zip(*(column.tolist() for column in columns), strict=True):
            if name == _BEGIN:
                depth += 1
                number += depth == 1
                continue
            if name == _END:
                depth = max(depth - 1, 0)
            # What one call of NCCL does by another is not two.
            elif name in _MOVING and start >= inside:
                number += depth == 0
                inside = end
                rows.append(row)
                groups.append(number)
            else:
                continue
            if number and depth == 0:
                spans.append((start, end, number))
        self._launching[thread] = np.array(spans, np.int64).reshape(-1, 3).T
        return number

    def group_of(self, threads: Ints, times: Ints) -> Ints:
        """The group that launches of these threads at these times belong to, 0 for none."""
        found = np.zeros(len(times), np.int64)
        for thread, (starts, ends, numbers) in self._launching.items():
            rows = np.flatnonzero(threads == thread)
            if len(rows) and len(starts):
                place = np.searchsorted(starts, times[rows], "right") - 1
                found[rows] = np.where((place >= 0) & (times[rows] <= ends[place]), numbers[place], 0)
        return found

    def __len__(self) -> int:
        return len(self.calls)

    def places(self, devices: Devices, launched_on: Mapping[int, int]) -> NDArray[np.uint8]:
        """The GPU of each call: that on which the kernels of its group ran, or else its rank's."""
        own = devices.places(self.device)
        distinct, place = np.unique(self.groups, return_inverse=True)
        ran = np.array([launched_on.get(group, UNKNOWN) for group in distinct.tolist()], np.uint8)[place]
        return np.where(ran != UNKNOWN, ran, own)


def write_collectives(
    writer: TableWriter, made: Collectives, gpu: NDArray[np.uint8], host: Callable[[Ints], Ints]
) -> None:
    """Writes the calls; ``gpu`` says where each was made."""
    if not len(made):
        return
    calls = made.calls
    distinct, place = np.unique(calls.name.astype(np.str_), return_inverse=True)
    writer.write(
        "collectives", id=np.arange(1, len(calls) + 1), group=made.groups,
        operation=writer.intern_all(distinct.tolist())[place],
        reduction=writer.intern_all(_REDUCTIONS)[calls.reduction], count=-1, bytes=made.size, peer=calls.peer,
        communicator=calls.communicator.view(np.uint64), rank=made.member.clip(0), ranks=made.ranks.clip(0), gpu=gpu,
        thread=calls.thread, start=host(calls.start), end=host(calls.end),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sends:
    """Calls that sent to other GPUs: rows of the collectives, and from which place to which."""

    rows: Ints
    source: NDArray[np.uint8]
    destination: NDArray[np.uint8]


def sends(made: Collectives, gpu: NDArray[np.uint8], place_of: Callable[[Member], int]) -> Sends:
    """What was sent. The receiver does not say it again, so that nothing counts twice."""
    calls = made.calls
    rows = np.flatnonzero((calls.name == "Send") & (calls.peer >= 0) & (calls.size >= 0))
    peers = list(zip(calls.communicator[rows].tolist(), calls.peer[rows].tolist(), strict=True))
    there = {member: place_of(member) for member in dict.fromkeys(peers)}
    destination = np.array([there[member] for member in peers], np.uint8)
    crossing = (gpu[rows] == UNKNOWN) | (gpu[rows] != destination)
    return Sends(rows[crossing], gpu[rows][crossing], destination[crossing])


def copies_of(writer: TableWriter, made: Collectives, sent: Sends) -> Copies:
    """Sends as copies from GPU to GPU."""
    some = made.calls.of(sent.rows)
    nothing = np.zeros(len(some), np.int64)
    return Copies(
        kind=nothing,
        call=nothing + (writer.intern("ncclSend") if len(some) else 0),
        source=sent.source,
        destination=sent.destination,
        bytes=some.size,
        gpu=sent.source,
        stream=nothing.astype(np.uint64),
        thread=some.thread,
        start=some.start,
        end=some.end,
        stack=nothing,
    )
