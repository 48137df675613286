"""What was recorded of one process → the tables of a trace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.importers.activity.collective import Collective, columns_of
from snoopie.importers.activity.columns import NOT_KNOWN, ON_HOST, Activity
from snoopie.importers.activity.devices import Devices
from snoopie.importers.activity.values import MISSING, Ints
from snoopie.importers.call_tables import write_call_tables
from snoopie.importers.words import NAMELESS
from snoopie.trace.writer import DIRECTIONS, HOST, UNKNOWN, TraceWriter

_Columns = dict[str, NDArray[Any]]

# Rows that are written at once.
_SLICE = 1 << 17
# "Memcpy HtoD (Pageable -> Device)", "hipMemcpyDeviceToHost", "zeCommandListAppendMemoryCopy(M2D)"
_ENDS = re.compile(
    r"(?<![A-Za-z])([HDAP])to([HDAP])(?![a-z])|(Host|Device|Peer)To(Host|Device|Peer)|\(([MDS])2([MDS])\)"
)
_HOST, _PEER = "HM", "P"
_DIRECTIONS = {
    (True, False): DIRECTIONS.index("host to device"),
    (False, True): DIRECTIONS.index("device to host"),
    (True, True): DIRECTIONS.index("host to host"),
    (False, False): DIRECTIONS.index("device to device"),
}


class Work:
    """The columns of an activity, joined: what the GPU did finds the call that asked for it.

    ``base`` is added to all times; ``collectives`` are by the row of the kernel that carried them out.

    ``unsized``, ``within`` and ``homeless`` count copies without a size, those within the memory of one GPU, and
    copies and memsets without a call.
    """

    def __init__(self, recording: Activity, base: int = 0, collectives: Mapping[int, Collective] | None = None) -> None:
        self.names = list(recording.names)
        self._base = base
        self.kernels = recording.kernels.join()
        self.copies = recording.copies.join()
        self.sets = recording.sets.join()
        self.calls = recording.calls.join()
        self.memory = recording.memory.join()
        self.collectives = dict(collectives or {})
        self.wrong = recording.wrong
        self.unsized = self.within = 0
        for columns in (self.kernels, self.copies, self.calls, self.memory):
            self._place_in_time(columns)
        _reorder(self.calls, np.argsort(self.calls["start"], kind="stable"))
        self._by_correlation = np.argsort(self.calls["correlation"], kind="stable")
        self._correlations = self.calls["correlation"][self._by_correlation]
        self._join()

    def range(self) -> tuple[int, int]:
        """The first and the last of all times, 0 where there are none."""
        starts, ends = [], []
        for columns in (self.kernels, self.copies, self.calls):
            if len(columns["start"]):
                starts.append(int(columns["start"].min()))
                ends.append(int((columns["start"] + np.maximum(columns["spent"], 0)).max()))
        if len(self.memory["time"]):
            starts.append(int(self.memory["time"].min()))
            ends.append(int(self.memory["time"].max()))
        return min(starts, default=0), max(ends, default=0)

    def used(self) -> list[Ints]:
        """The numbers of the GPUs that did anything."""
        columns = [self.kernels["device"], self.sets["device"], self.memory["device"]]
        columns += [self.copies[name] for name in ("device", "source", "destination")]
        return [column.astype(np.int64) for column in columns]

    def _place_in_time(self, columns: _Columns) -> None:
        """Host times; what would be before 1970 is left out."""
        name = "start" if "start" in columns else "time"
        columns[name] += self._base
        sane = columns[name] >= 0
        if sane.all():
            return
        self.wrong += int((~sane).sum())
        if columns is self.kernels:
            places = np.cumsum(sane) - 1
            self.collectives = {int(places[row]): what for row, what in self.collectives.items() if sane[row]}
        _reorder(columns, np.flatnonzero(sane))

    def _join(self) -> None:
        self.kernels["call"] = self._behind(self.kernels["correlation"])
        self.copies["call"] = self._behind(self.copies["correlation"])
        self.sets["call"] = self._behind(self.sets["correlation"])
        own = self.calls["bytes"]
        call, size = self.copies["call"], self.copies["bytes"]
        # ROCm says the size of a copy at the call.
        if len(own):
            size = np.where((size == MISSING) & (call >= 0), own[call], size)
        sized = size != MISSING
        self.unsized = int((~sized).sum())
        self.copies["bytes"] = size
        _reorder(self.copies, np.flatnonzero(sized))
        self.homeless = int((self.copies["call"] < 0).sum() + (self.sets["call"] < 0).sum())

    def _behind(self, correlation: Ints) -> Ints:
        """The row of the first call with each correlation id, -1 where there is none."""
        found = np.searchsorted(self._correlations, correlation).clip(max=max(len(self._correlations) - 1, 0))
        if not len(self._correlations):
            return np.full(len(correlation), -1, np.int64)
        same = (self._correlations[found] == correlation) & (correlation > 0)
        return np.where(same, self._by_correlation[found], -1)


def _reorder(columns: _Columns, rows: Ints) -> None:
    for name in columns:
        columns[name] = columns[name][rows]


def write_work(writer: TraceWriter, work: Work, gpus: Devices) -> dict[str, int]:
    """Writes all tables but notices; returns the footer's totals."""
    names = _Strings(writer, work.names)
    source, destination, direction = _ends(work, gpus)
    work.within = int(((source == destination) & (source < HOST)).sum())
    _write_kernels(writer, work, gpus, names)
    _write_copies(writer, work, gpus, names, source, destination)
    _write_calls(writer, work, gpus, names, direction)
    _write_memory(writer, work, gpus)
    launches = writer.rows("launches")
    return {
        "launches_seen": launches,
        "launches_native": launches,
        "copies": writer.rows("copies"),
        "copy_bytes": int(work.copies["bytes"].sum()),
    }


class _Strings:
    """Numbers of the recording's texts → strings of the trace, where they are needed."""

    def __init__(self, writer: TraceWriter, texts: list[str]) -> None:
        self._writer, self.texts = writer, texts
        self._strings = np.zeros(len(texts), np.uint32)

    def __call__(self, numbers: NDArray[Any]) -> NDArray[np.uint32]:
        for number in np.unique(numbers).tolist():
            self._strings[number] = self._writer.intern(self.texts[number])
        strings: NDArray[np.uint32] = self._strings[numbers]
        return strings


def _slices(rows: int) -> Iterator[slice]:
    return (slice(start, start + _SLICE) for start in range(0, rows, _SLICE))


def _of(column: NDArray[Any], rows: Ints, otherwise: NDArray[Any] | int = 0) -> NDArray[Any]:
    """A column of the calls for rows of them, of which -1 is none."""
    return np.where(rows >= 0, column[rows], otherwise) if len(column) else np.broadcast_to(otherwise, rows.shape)


def _write_kernels(writer: TraceWriter, work: Work, gpus: Devices, names: _Strings) -> None:
    kernels, calls = work.kernels, work.calls
    distinct, function = np.unique(kernels["name"], return_inverse=True)
    texts = [names.texts[number] or NAMELESS for number in distinct.tolist()]
    writer.write("functions", id=np.arange(1, len(texts) + 1), name=writer.intern_all(texts), kernel=1)
    launched = _of(calls["start"], kernels["call"], kernels["start"])
    order = np.argsort(launched, kind="stable")
    group = np.zeros(len(order), np.int64)
    _write_collectives(writer, work, gpus, group)
    shape = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_memory", "stream")
    for part in _slices(len(order)):
        rows = order[part]
        ids = np.arange(part.start + 1, part.start + 1 + len(rows))
        writer.write(
            "launches", id=ids, function=function[rows] + 1, gpu=gpus.places(kernels["device"][rows].astype(np.int64)),
            thread=_of(calls["thread"], kernels["call"][rows]), time=launched[rows], group=group[rows],
            **{name: kernels[name][rows] for name in shape},
        )  # fmt: skip
        start, spent = kernels["start"][rows], kernels["spent"][rows]
        ran = spent != MISSING
        writer.write("spans", launch=ids[ran], start=start[ran], end=start[ran] + spent[ran])


def _write_collectives(writer: TraceWriter, work: Work, gpus: Devices, group: Ints) -> None:
    """Writes the calls of NCCL; ``group`` gets the number that a kernel shares with its call."""
    kernels, calls = work.kernels, work.calls
    found = list(work.collectives.items())
    for number, (row, _) in enumerate(found, start=1):
        group[row] = number
    if not found:
        return
    rows = np.array([row for row, _ in found], np.int64)
    call = kernels["call"][rows]
    start = _of(calls["start"], call, kernels["start"][rows])
    writer.write(
        "collectives", id=np.arange(1, len(rows) + 1), group=group[rows],
        gpu=gpus.places(kernels["device"][rows].astype(np.int64)), stream=kernels["stream"][rows],
        thread=_of(calls["thread"], call), start=start, end=start + _of(calls["spent"], call),
        **columns_of(writer, [what for _, what in found]),
    )  # fmt: skip


def _ends(work: Work, gpus: Devices) -> tuple[Ints, Ints, Ints]:
    """source and destination (codes of owners) and direction of each copy: as its row or else its name says."""
    copies = work.copies
    own = gpus.places(copies["device"].astype(np.int64))
    ends = [np.full(len(own), UNKNOWN, np.int64) for _ in range(2)]
    peers = np.zeros(len(own), np.bool_)
    for number in np.unique(copies["name"]).tolist():
        match = _ENDS.search(work.names[number])
        letters = [text[0] for text in match.groups() if text] if match else []
        if len(letters) != 2:
            continue
        rows = copies["name"] == number
        for letter, end in zip(letters, ends, strict=True):
            # A copy within a GPU is where it ran; of peers, one is elsewhere.
            end[rows] = HOST if letter in _HOST else UNKNOWN if letter == _PEER else own[rows]
        peers |= rows & (_PEER in letters)
    for name, end in zip(("source", "destination"), ends, strict=True):
        said = copies[name].astype(np.int64)
        end[said >= 0] = gpus.places(said[said >= 0])
        end[said == ON_HOST] = HOST
        end[said == NOT_KNOWN] = UNKNOWN
    source, destination = ends
    direction = np.zeros(len(own), np.int64)
    known = (source != UNKNOWN) & (destination != UNKNOWN)
    for (from_host, to_host), meant in _DIRECTIONS.items():
        direction[known & ((source == HOST) == from_host) & ((destination == HOST) == to_host)] = meant
    across = known & (source != destination) & (source != HOST) & (destination != HOST)
    direction[across | (peers & (direction != 0)) | (peers & ~known)] = DIRECTIONS.index("peer")
    direction[~known & ~peers] = DIRECTIONS.index("other")
    return source, destination, direction


def _write_copies(
    writer: TraceWriter, work: Work, gpus: Devices, names: _Strings, source: Ints, destination: Ints
) -> None:
    copies, calls = work.copies, work.calls
    order = np.argsort(copies["start"] + copies["spent"], kind="stable")
    for part in _slices(len(order)):
        rows = order[part]
        call = copies["call"][rows]
        writer.write(
            "copies", id=np.arange(part.start + 1, part.start + 1 + len(rows)),
            call=names(_of(calls["name"], call, copies["name"][rows])), source=source[rows],
            destination=destination[rows], bytes=copies["bytes"][rows],
            gpu=gpus.places(copies["device"][rows].astype(np.int64)), stream=copies["stream"][rows],
            thread=_of(calls["thread"], call), start=copies["start"][rows],
            end=copies["start"][rows] + copies["spent"][rows],
        )  # fmt: skip


def _write_calls(writer: TraceWriter, work: Work, gpus: Devices, names: _Strings, direction: Ints) -> None:
    """What the GPU did says what the calls were for: on which GPU, which kernel, how many bytes."""
    calls = work.calls
    rows = len(calls["start"])
    device = np.full(rows, -1, np.int32)
    kernel = np.zeros(rows, np.uint32)
    number = np.zeros(rows, np.int32)
    moved = np.zeros(rows, np.int64)
    towards = np.zeros(rows, np.uint8)
    for columns in (work.kernels, work.copies, work.sets):
        known = columns["call"] >= 0
        call = columns["call"][known]
        device[call] = columns["device"][known]
        np.add.at(number, call, 1)
    known = work.kernels["call"] >= 0
    kernel[work.kernels["call"][known]] = work.kernels["name"][known]
    # A graph that is launched has many kernels and copies: it is a call without any.
    single = number == 1
    kernel[~single] = 0
    for columns in (work.copies, work.sets):
        sized = (columns["call"] >= 0) & (columns["bytes"] != MISSING)
        np.add.at(moved, columns["call"][sized], columns["bytes"][sized])
    known = work.copies["call"] >= 0
    towards[work.copies["call"][known]] = direction[known]
    towards[~single] = 0
    moved = np.where((number == 0) & (calls["bytes"] != MISSING), calls["bytes"], np.where(single, moved, 0))
    for part in _slices(rows):
        write_call_tables(
            writer,
            {
                "call": names(calls["name"][part]), "kernel": names(kernel[part]), "thread": calls["thread"][part],
                "gpu": gpus.places(device[part].astype(np.int64)), "direction": towards[part],
                "start": calls["start"][part], "end": calls["start"][part] + calls["spent"][part],
                "code": np.zeros(len(calls["start"][part])), "bytes": moved[part],
            },
            str,
        )  # fmt: skip


def _write_memory(writer: TraceWriter, work: Work, gpus: Devices) -> None:
    """What PyTorch's allocator had taken from the GPU, and how much of it was in use."""
    memory = work.memory
    order = np.argsort(memory["time"], kind="stable")
    for part in _slices(len(order)):
        rows = order[part]
        writer.write(
            "memory_use", time=memory["time"][rows], gpu=gpus.places(memory["device"][rows].astype(np.int64)), used=-1,
            own=-1, pool_reserved=memory["reserved"][rows], pool_used=memory["allocated"][rows],
        )  # fmt: skip
