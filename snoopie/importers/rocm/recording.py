"""What was recorded of one process → the tables of a trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from snoopie.errors import SnoopieError
from snoopie.importers.call_tables import write_call_tables
from snoopie.trace.writer import HOST, MOST_GPUS, UNKNOWN, TraceWriter

Shape = tuple[int, int, int]


class Kernel(NamedTuple):
    """A kernel, with ``start`` and ``end`` on the GPU (ns, 0 = not known), ``grid`` in blocks and ``block`` in threads.

    ``time`` is that of the dispatch by the host.
    """

    name: str
    agent: str
    queue: str
    start: int
    end: int
    time: int
    thread: int = 0
    grid: Shape = (0, 0, 0)
    block: Shape = (0, 0, 0)


class Copy(NamedTuple):
    """A copy; ``source`` and ``destination`` are agents, "host", or "" for unknown; times are on the GPU."""

    name: str
    agent: str
    queue: str
    start: int
    end: int
    source: str = ""
    destination: str = ""
    bytes: int = 0


class Call(NamedTuple):
    """A call by the host; ``kernel`` is the name of the one that it launches."""

    name: str
    kernel: str
    thread: int
    start: int
    end: int
    code: int


@dataclass(slots=True)
class Recording:
    """One process; ``barriers`` and ``marks`` are how many there were."""

    kernels: list[Kernel] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    barriers: int = 0
    marks: int = 0

    def range(self) -> tuple[int, int]:
        """The first and the last of all times."""
        times = [kernel.start or kernel.time for kernel in self.kernels] + [kernel.time for kernel in self.kernels]
        times += [copy.start for copy in self.copies] + [call.start for call in self.calls]
        ends = [kernel.end for kernel in self.kernels]
        ends += [copy.end for copy in self.copies] + [call.end for call in self.calls]
        return min(times, default=0), max([*ends, *times], default=0)


def agents(recording: Recording) -> list[str]:
    """The GPUs, by their numbers where they are numbers. SnoopieError where there are too many."""
    found = {kernel.agent for kernel in recording.kernels} | {copy.agent for copy in recording.copies}
    if len(found) > MOST_GPUS:
        raise SnoopieError(
            f"the text names {len(found)} GPUs, more than a trace can hold", "import the text of one machine"
        )
    return sorted(found, key=lambda agent: (handle(agent), agent))


def handle(text: str) -> int:
    """The number that a text spells, in any of the usual ways; 0 for none."""
    try:
        number = int(text, 0) if len(text) <= 20 else 0
    except ValueError:
        return 0
    return number if 0 <= number < 1 << 64 else 0


def write_recording(writer: TraceWriter, recording: Recording) -> dict[str, int]:
    """Writes all tables but notices; returns the footer's totals."""
    places = {agent: number for number, agent in enumerate(agents(recording))}
    _write_kernels(writer, recording.kernels, places)
    copy_bytes = _write_copies(writer, recording.copies, places)
    calls = recording.calls
    write_call_tables(
        writer,
        {
            "call": writer.intern_all(call.name for call in calls),
            "kernel": writer.intern_all(call.kernel for call in calls),
            **{
                name: np.array([getattr(call, name) for call in calls], np.int64)
                for name in ("thread", "start", "end", "code")
            },
            "gpu": np.full(len(calls), UNKNOWN),
            "direction": np.zeros(len(calls), np.int64),
            "bytes": np.zeros(len(calls), np.int64),
        },
        lambda code: f"error {code}",
    )
    launches = writer.rows("launches")
    return {
        "launches_seen": launches,
        "launches_native": launches,
        "copies": writer.rows("copies"),
        "copy_bytes": copy_bytes,
    }


def _write_kernels(writer: TraceWriter, kernels: list[Kernel], places: dict[str, int]) -> None:
    kernels = sorted(kernels, key=lambda kernel: (kernel.time, kernel.start))
    functions: dict[str, int] = {}
    function = [functions.setdefault(kernel.name, len(functions) + 1) for kernel in kernels]
    names = writer.intern_all(name or "(a kernel without a name)" for name in functions)
    writer.write("functions", id=np.arange(1, len(functions) + 1), name=names, kernel=1)
    ids = np.arange(1, len(kernels) + 1)
    shapes = np.array([(*kernel.grid, *kernel.block) for kernel in kernels], np.int64).reshape(-1, 6)
    geometry = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
    writer.write(
        "launches", id=ids, function=np.array(function, np.int64),
        gpu=np.array([places[kernel.agent] for kernel in kernels], np.int64),
        stream=np.array([handle(kernel.queue) for kernel in kernels], np.uint64),
        thread=np.array([kernel.thread for kernel in kernels], np.int64),
        time=np.array([kernel.time for kernel in kernels], np.int64),
        **dict(zip(geometry, shapes.T, strict=True)),
    )  # fmt: skip
    start, end = (np.array([getattr(kernel, name) for kernel in kernels], np.int64) for name in ("start", "end"))
    ran = end > 0
    writer.write("spans", launch=ids[ran], start=start[ran], end=end[ran])


def _write_copies(writer: TraceWriter, copies: list[Copy], places: dict[str, int]) -> int:
    copies = sorted(copies, key=lambda copy: (copy.end, copy.start))
    ends = {**places, "host": HOST, "": UNKNOWN}
    writer.write(
        "copies", id=np.arange(1, len(copies) + 1), call=writer.intern_all(copy.name for copy in copies),
        gpu=np.array([places[copy.agent] for copy in copies], np.int64),
        stream=np.array([handle(copy.queue) for copy in copies], np.uint64),
        source=np.array([ends[copy.source] for copy in copies], np.int64),
        destination=np.array([ends[copy.destination] for copy in copies], np.int64),
        **{
            name: np.array([getattr(copy, name) for copy in copies], np.int64)
            for name in ("bytes", "start", "end")
        },
    )  # fmt: skip
    return sum(copy.bytes for copy in copies)
