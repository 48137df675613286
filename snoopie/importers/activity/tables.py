"""What was recorded of one process → the tables of a trace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.importers.activity.collective import Collective, columns_of
from snoopie.importers.activity.columns import NOT_KNOWN, ON_HOST, Activity
from snoopie.importers.activity.devices import Devices
from snoopie.importers.activity.values import MISSING, Ints
from snoopie.importers.amounts import check_sums
from snoopie.importers.call_tables import write_call_tables
from snoopie.importers.spool import together
from snoopie.importers.words import NAMELESS
from snoopie.trace.writer import DIRECTIONS, HOST, UNKNOWN, TableWriter

_Columns = dict[str, NDArray[Any]]

# Rows that are written at once.
_SLICE = 1 << 17
# What has to add up to what a machine can do.
_AMOUNTS = (("copies", "bytes"), ("sets", "bytes"), ("calls", "bytes"),
            ("kernels", "spent"), ("copies", "spent"), ("calls", "spent"))  # fmt: skip
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


@dataclass(slots=True)
class Written:
    """What was written of an activity: ``start`` and ``end`` are the first and the last of all times, 0 without any.

    ``unsized``, ``within`` and ``homeless`` count copies without a size, those within the memory of one GPU, and
    copies and memsets without a call; ``wrong``, rows that make no sense. ``launches``, ``copies`` and ``calls`` are
    those that are in the trace, with so many ``copy_bytes``.
    """

    start: int = 0
    end: int = 0
    wrong: int = 0
    unsized: int = 0
    within: int = 0
    homeless: int = 0
    launches: int = 0
    copies: int = 0
    calls: int = 0
    copy_bytes: int = 0

    @property
    def nothing(self) -> bool:
        return not (self.launches or self.copies or self.calls)

    def totals(self) -> dict[str, int]:
        """The footer's."""
        return {
            "launches_seen": self.launches, "launches_native": self.launches, "copies": self.copies,
            "copy_bytes": self.copy_bytes,
        }  # fmt: skip


def write_activity(
    writer: TableWriter, recording: Activity, gpus: Devices, source: Path, *, base: int = 0,
    collectives: Mapping[int, Collective] | None = None,
) -> Written:  # fmt: skip
    """Writes all tables but notices, some correlation ids at a time; memory does not grow with the recording.

    ``base`` is added to all times; ``collectives`` are by the numbers that kernels have. Raises SnoopieError where
    amounts of ``source`` add up to more than any machine can move.
    """
    written = Written(wrong=recording.wrong)
    state = _State(writer, list(recording.names), gpus, dict(collectives or {}))
    amounts = np.zeros(len(_AMOUNTS))
    for groups in together(table.spool for table in recording.tables):
        work = Work(recording, groups, base)
        amounts += [float(np.maximum(getattr(work, table)[name], 0).sum(dtype=float)) for table, name in _AMOUNTS]
        check_sums(source, [[amount] for amount in amounts])
        _write(state, work)
        first, last = work.range()
        written.start = min(filter(None, (written.start, first)), default=0)
        written.end = max(written.end, last)
        for name in ("wrong", "unsized", "within", "homeless"):
            setattr(written, name, getattr(written, name) + getattr(work, name))
        written.copy_bytes += int(work.copies["bytes"].sum())
    written.launches, written.copies, written.calls = map(writer.rows, ("launches", "copies", "calls"))
    return written


class Work:
    """A part of an activity, joined: what the GPU did finds the call that asked for it.

    ``unsized``, ``within``, ``homeless`` and ``wrong`` count as in `Written`.
    """

    def __init__(self, recording: Activity, groups: Sequence[int], base: int) -> None:
        self._base = base
        self.kernels, self.copies, self.sets, self.calls, self.memory = (
            table.spool.read(groups) for table in recording.tables
        )
        self.wrong = self.unsized = self.within = 0
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

    def _place_in_time(self, columns: _Columns) -> None:
        """Host times; what would be before 1970 is left out."""
        name = "start" if "start" in columns else "time"
        columns[name] += self._base
        sane = columns[name] >= 0
        if sane.all():
            return
        self.wrong += int((~sane).sum())
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


class _State:
    """What the parts of a recording have in common: ids of strings and functions, and where they are written."""

    def __init__(
        self, writer: TableWriter, texts: list[str], gpus: Devices, collectives: Mapping[int, Collective]
    ) -> None:
        self.writer = writer
        self.gpus = gpus
        self.collectives = collectives
        self.names = _Strings(writer, texts)
        self._functions = np.zeros(len(texts), np.int64)
        self._last = 0

    def functions(self, names: NDArray[Any]) -> Ints:
        """The ids of kernels by their names, which are numbers of the recording's texts."""
        fresh = [number for number in np.unique(names).tolist() if not self._functions[number]]
        if fresh:
            self._functions[fresh] = np.arange(self._last + 1, self._last + 1 + len(fresh))
            texts = [self.names.texts[number] or NAMELESS for number in fresh]
            self.writer.write("functions", id=self._functions[fresh], name=self.writer.intern_all(texts), kernel=1)
            self._last += len(fresh)
        ids: Ints = self._functions[names]
        return ids


def _write(state: _State, work: Work) -> None:
    source, destination, direction = _ends(work, state.names.texts, state.gpus)
    work.within = int(((source == destination) & (source < HOST)).sum())
    _write_kernels(state, work)
    _write_copies(state, work, source, destination)
    _write_calls(state, work, direction)
    _write_memory(state, work)


class _Strings:
    """Numbers of the recording's texts → strings of the trace, where they are needed."""

    def __init__(self, writer: TableWriter, texts: list[str]) -> None:
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


def _write_kernels(state: _State, work: Work) -> None:
    writer, kernels, calls = state.writer, work.kernels, work.calls
    function = state.functions(kernels["name"])
    launched = _of(calls["start"], kernels["call"], kernels["start"])
    order = np.argsort(launched, kind="stable")
    group = _write_collectives(state, work)
    shape = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_memory", "stream")
    for part in _slices(len(order)):
        rows = order[part]
        first = writer.rows("launches") + 1
        ids = np.arange(first, first + len(rows))
        writer.write(
            "launches", id=ids, function=function[rows],
            gpu=state.gpus.places(kernels["device"][rows].astype(np.int64)),
            thread=_of(calls["thread"], kernels["call"][rows]), time=launched[rows], group=group[rows],
            **{name: kernels[name][rows] for name in shape},
        )  # fmt: skip
        start, spent = kernels["start"][rows], kernels["spent"][rows]
        ran = spent != MISSING
        writer.write("spans", launch=ids[ran], start=start[ran], end=start[ran] + spent[ran])


def _write_collectives(state: _State, work: Work) -> Ints:
    """Writes the calls of NCCL; returns the number that each kernel shares with its call, 0 for none."""
    writer, kernels, calls = state.writer, work.kernels, work.calls
    said = kernels["collective"]
    group = np.zeros(len(said), np.int64)
    rows = np.flatnonzero(np.isin(said, list(state.collectives)))
    if not len(rows):
        return group
    first = writer.rows("collectives") + 1
    group[rows] = ids = np.arange(first, first + len(rows))
    call = kernels["call"][rows]
    start = _of(calls["start"], call, kernels["start"][rows])
    writer.write(
        "collectives", id=ids, group=ids, gpu=state.gpus.places(kernels["device"][rows].astype(np.int64)),
        stream=kernels["stream"][rows], thread=_of(calls["thread"], call), start=start,
        end=start + _of(calls["spent"], call),
        **columns_of(writer, [state.collectives[number] for number in said[rows].tolist()]),
    )  # fmt: skip
    return group


def _ends(work: Work, texts: Sequence[str], gpus: Devices) -> tuple[Ints, Ints, Ints]:
    """source and destination (codes of owners) and direction of each copy: as its row or else its name says."""
    copies = work.copies
    own = gpus.places(copies["device"].astype(np.int64))
    ends = [np.full(len(own), UNKNOWN, np.int64) for _ in range(2)]
    peers = np.zeros(len(own), np.bool_)
    for number in np.unique(copies["name"]).tolist():
        match = _ENDS.search(texts[number])
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


def _write_copies(state: _State, work: Work, source: Ints, destination: Ints) -> None:
    writer, copies, calls = state.writer, work.copies, work.calls
    order = np.argsort(copies["start"] + copies["spent"], kind="stable")
    for part in _slices(len(order)):
        rows = order[part]
        call = copies["call"][rows]
        first = writer.rows("copies") + 1
        writer.write(
            "copies", id=np.arange(first, first + len(rows)),
            call=state.names(_of(calls["name"], call, copies["name"][rows])), source=source[rows],
            destination=destination[rows], bytes=copies["bytes"][rows],
            gpu=state.gpus.places(copies["device"][rows].astype(np.int64)), stream=copies["stream"][rows],
            thread=_of(calls["thread"], call), start=copies["start"][rows],
            end=copies["start"][rows] + copies["spent"][rows],
        )  # fmt: skip


def _write_calls(state: _State, work: Work, direction: Ints) -> None:
    """What the GPU did says what the calls were for: on which GPU, which kernel, how many bytes."""
    calls, names = work.calls, state.names
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
            state.writer,
            {
                "call": names(calls["name"][part]), "kernel": names(kernel[part]), "thread": calls["thread"][part],
                "gpu": state.gpus.places(device[part].astype(np.int64)), "direction": towards[part],
                "start": calls["start"][part], "end": calls["start"][part] + calls["spent"][part],
                "code": np.zeros(len(calls["start"][part])), "bytes": moved[part],
            },
            str,
        )  # fmt: skip


def _write_memory(state: _State, work: Work) -> None:
    """What PyTorch's allocator had taken from the GPU, and how much of it was in use."""
    memory = work.memory
    order = np.argsort(memory["time"], kind="stable")
    for part in _slices(len(order)):
        rows = order[part]
        state.writer.write(
            "memory_use", time=memory["time"][rows],
            gpu=state.gpus.places(memory["device"][rows].astype(np.int64)), used=-1, own=-1,
            pool_reserved=memory["reserved"][rows], pool_used=memory["allocated"][rows],
        )  # fmt: skip
