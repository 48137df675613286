"""The logs of Alnair's interposer → a trace: metrics.log has sums of calls, timeline.log single ones.

What a file holds follows from its lines, not from its name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import snoopie
from snoopie.errors import NotATraceError
from snoopie.importers import Imported, Progress
from snoopie.importers.amounts import LIMIT, check_sums
from snoopie.importers.call_tables import write_call_tables
from snoopie.importers.output import trace_paths, write_all
from snoopie.importers.text import TextFile
from snoopie.trace.writer import DIRECTIONS, UNKNOWN, TraceWriter, header

_MEMORY = re.compile(r"name:mem_used,\s*count:(\d{1,18})\s*", re.ASCII)
_SUM = re.compile(r"name:([^,]*),\s*count:(\d{1,15}),\s*burst:(\d{1,15})\s*", re.ASCII)
_CALL = re.compile(
    r"name:([^,]*),\s*start:(\d{1,19}),\s*burst:(\d{1,15}),\s*bytes:(\d{1,18})(?:,\s*kind:(-?\d{1,9}))?\s*", re.ASCII
)
# cudaMemcpyKind; 4 leaves it to the addresses.
_KINDS = {
    kind: DIRECTIONS.index(name)
    for kind, name in enumerate(("host to host", "host to device", "device to host", "device to device"))
}
_NS = 1000
_EVERY = 1 << 16


@dataclass(slots=True)
class _Logs:
    """``calls`` are name, start (ns), burst (µs), bytes, direction; ``sums`` calls and µs by name."""

    sums: dict[str, tuple[int, int]] = field(default_factory=dict)
    calls: list[tuple[str, int, int, int, int]] = field(default_factory=list)
    memory: int | None = None
    other: int = 0
    cut: list[str] = field(default_factory=list)


def import_alnair(
    source: Path, output: Path, *, force: bool = False, allow_truncated: bool = False,
    progress: Progress = lambda *_: None,
) -> Imported:  # fmt: skip
    """Writes one trace of a metrics.log, a timeline.log, or of both in a folder.

    Raises SnoopieError if it exists (unless ``force``) or cannot be written, and where a log cannot be read; one that
    ends too early is read as far as it is whole with ``allow_truncated``.
    """
    files = [source]
    if source.is_dir():
        files = [path for name in ("metrics.log", "timeline.log") if (path := source / name).is_file()]
    logs = _Logs()
    for file in files:
        text = TextFile(file, allow_truncated)
        _read(text, logs, progress)
        logs.cut += [text.cut] if text.cut else []
    if not logs.sums and not logs.calls and logs.memory is None:
        raise NotATraceError(
            f"{source} has no line of Alnair's logs", "give its metrics.log or timeline.log, or the folder with both"
        )
    sums = logs.sums.values()
    check_sums(source, [[call[3] for call in logs.calls], [_NS * call[2] for call in logs.calls]])
    check_sums(source, [[count for count, _ in sums], [_NS * burst for _, burst in sums]])
    paths = trace_paths(source, output, ["0"])
    notices = _notices(logs)
    write_all(paths, lambda _, path: _write(path, source.name, logs, notices), force=force, sources=files)
    return Imported(paths, notices)


def _read(text: TextFile, logs: _Logs, progress: Progress) -> None:
    for number, line in enumerate(text.lines(), start=1):
        if call := _CALL.fullmatch(line):
            name, start, burst, size, kind = call.groups()
            if 0 < int(start) < LIMIT and int(burst) < LIMIT // _NS:
                logs.calls.append((name, int(start), int(burst), int(size), _KINDS.get(int(kind), 0) if kind else 0))
            else:
                logs.other += 1
        elif total := _SUM.fullmatch(line):
            # The file is written anew again and again: what comes later is the newer.
            logs.sums[total[1]] = int(total[2]), int(total[3])
        elif memory := _MEMORY.fullmatch(line):
            logs.memory = int(memory[1])
        else:
            logs.other += bool(line.strip())
        if not number % _EVERY:
            progress(text.path.name, number)


def _write(path: Path, name: str, logs: _Logs, notices: list[str]) -> None:
    start = min((call[1] for call in logs.calls), default=0)
    end = max((call[1] + _NS * call[2] for call in logs.calls), default=0)
    head = header(
        tool={"version": snoopie.__version__, "imported_from": "Alnair"},
        process={"host": "", "pid": 0, "program": "", "command": [], "start_ns": start},
        # The interposer does not say on which GPU the calls worked; memory in use is that of one.
        gpus=[] if logs.memory is None else [{"uuid": "alnair", "name": ""}],
        settings={"imported from": name},
    )
    with TraceWriter(path, head) as writer:
        calls, times, bursts, sizes, directions = (
            (list(column) for column in zip(*logs.calls, strict=True)) if (logs.calls) else ([], [], [], [], [])
        )
        starts = np.array(times, np.int64)
        write_call_tables(
            writer,
            {
                "call": writer.intern_all(str(call) for call in calls), "kernel": np.zeros(len(calls)),
                "thread": np.zeros(len(calls)), "gpu": np.full(len(calls), UNKNOWN), "direction": directions,
                "start": starts, "end": starts + _NS * np.array(bursts, np.int64), "code": np.zeros(len(calls)),
                "bytes": sizes,
            },
            str,
            totals=not logs.sums,
        )  # fmt: skip
        if logs.sums:
            writer.write(
                "call_totals", time=end, call=writer.intern_all(logs.sums), gpu=UNKNOWN,
                calls=np.array([count for count, _ in logs.sums.values()], np.int64),
                total=np.array([_NS * burst for _, burst in logs.sums.values()], np.int64),
            )  # fmt: skip
        if logs.memory is not None:
            writer.write("memory_use", time=end, gpu=0, used=-1, own=logs.memory, pool_reserved=-1, pool_used=-1)
        writer.write("notices", time=start, text=np.array(notices, object))
        writer.finish(end, {})


def _notices(logs: _Logs) -> list[str]:
    sentences = [
        *logs.cut,
        "Alnair's logs have the times and numbers of calls, but no threads, GPUs, kernels or results, nor what kernels "
        "accessed.",
    ]
    if logs.sums:
        sentences.append("metrics.log has only sums: the shortest and longest calls are unknown and shown as 0.")
    if logs.memory is not None:
        sentences.append("metrics.log does not say when memory was in use, nor on which GPU: it is shown for one GPU.")
    if not logs.calls:
        sentences.append("There is no timeline.log: single calls and times are unknown.")
    if logs.calls and not logs.sums:
        sentences.append("There is no metrics.log: the sums are those of the calls in timeline.log.")
    if logs.other:
        sentences.append(f"Invalid lines, skipped: {logs.other:,}.")
    return sentences
