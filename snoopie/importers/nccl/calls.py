"""Calls of NCCL without anything else → the trace of a process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from snoopie.importers.activity.collective import Collective, columns_of
from snoopie.importers.amounts import check_sums
from snoopie.importers.tool import imported_from
from snoopie.trace.lacks import Lack
from snoopie.trace.writer import UNKNOWN, TraceWriter, header

# What they record besides NCCL's calls are the kernels of these, at most.
_LACKS = (
    Lack.ALLOCATIONS, Lack.FREES, Lack.CALLS, Lack.ERRORS, Lack.SHAPES, Lack.COPIES, Lack.CALL_SIZES, Lack.ACCESSES
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """A call at a host time; ``began`` and ``ended`` are when the GPU worked on it (host ns), 0 = not known."""

    what: Collective
    start: int
    end: int
    began: int = 0
    ended: int = 0


@dataclass(slots=True)
class Process:
    """``gpu`` identifies the GPU that all calls are of, "" where that is not known."""

    host: str = ""
    pid: int = 0
    rank: int | None = None
    world: int | None = None
    gpu: str = ""
    calls: list[Call] = field(default_factory=list)


def write_calls(
    path: Path, source: Path, tool: str, run: dict[str, str], process: Process, notices: Sequence[str]
) -> None:
    """Writes the trace; a call whose time on the GPU is known is a launch as well."""
    calls = sorted(process.calls, key=lambda call: call.start)
    check_sums(source, [[call.what.bytes for call in calls], [call.end - call.start for call in calls]])
    start = min((call.start for call in calls), default=0)
    end = max((max(call.end, call.ended) for call in calls), default=0)
    named = {"IMPORTED_RANK": process.rank, "IMPORTED_RANKS": process.world}
    head = header(
        tool=imported_from(tool, _LACKS),
        process={
            "host": process.host, "pid": process.pid, "program": "", "command": [], "start_ns": start,
            "ranks": {name: str(number) for name, number in named.items() if number is not None}, "run": run,
        },
        gpus=[{"uuid": process.gpu, "name": "", "nvlinks": -1}] if process.gpu else [],
        settings={"imported from": source.name},
    )  # fmt: skip
    ran = [number for number, call in enumerate(calls, start=1) if process.gpu and call.ended]
    with TraceWriter(path, head) as writer:
        functions: dict[str, int] = {}
        function = [
            functions.setdefault(f"nccl{calls[number - 1].what.operation}", len(functions) + 1) for number in ran
        ]
        writer.write(
            "functions", id=np.arange(1, len(functions) + 1), name=writer.intern_all(functions), kernel=1
        )  # fmt: skip
        ids = np.arange(1, len(ran) + 1)
        writer.write(
            "launches", id=ids, function=np.array(function, np.int64), gpu=0, group=np.array(ran, np.int64),
            time=np.array([calls[number - 1].start for number in ran], np.int64),
        )  # fmt: skip
        writer.write(
            "spans", launch=ids, start=np.array([calls[number - 1].began for number in ran], np.int64),
            end=np.array([calls[number - 1].ended for number in ran], np.int64),
        )  # fmt: skip
        writer.write(
            "collectives", id=np.arange(1, len(calls) + 1), group=np.arange(1, len(calls) + 1),
            gpu=0 if process.gpu else UNKNOWN, start=np.array([call.start for call in calls], np.int64),
            end=np.array([call.end for call in calls], np.int64),
            **columns_of(writer, [call.what for call in calls]),
        )  # fmt: skip
        writer.write("notices", time=start, text=np.array(notices, object))
        writer.finish(end, {"launches_seen": len(ran), "launches_native": len(ran)})
