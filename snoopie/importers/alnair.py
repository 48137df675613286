"""The logs of Alnair's interposer → a trace: one has sums of calls, the other single ones.

What a file holds follows from its lines, not from its name: in September 2022 the two changed places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from snoopie.errors import NotATraceError
from snoopie.garbage import uncollected
from snoopie.importers import Imported, Progress
from snoopie.importers.amounts import LIMIT, check_sums
from snoopie.importers.call_tables import CallTables, codes_of
from snoopie.importers.output import trace_paths, write_all
from snoopie.importers.text import TextFile
from snoopie.importers.tool import imported_from
from snoopie.trace.lacks import Lack
from snoopie.trace.writer import DIRECTIONS, UNKNOWN, Body, TraceWriter, header

# A line begins with the newline before it: all of them are searched for at once.
_MEMORY = re.compile(r"\nname:mem_used,[ \t]*count:(\d{1,18})(?=[ \t\r]*\n)", re.ASCII)
# The first version put name, count and burst on lines of their own, and had no commas between times and no bytes.
_SUM = re.compile(
    r"\nname:([^,\s]*)(?:,[ \t]*|[ \t\r]*\n)count:(\d{1,15})(?:,[ \t]*|[ \t\r]*\n)burst:(\d{1,15})(?=[ \t\r]*\n)",
    re.ASCII,
)
_CALL = re.compile(
    r"\nname:([^,\s]*),?[ \t]*start:(\d{1,19}),?[ \t]*burst:(\d{1,19})(?:,[ \t]*bytes:(\d{1,18}))?"
    r"(?:,[ \t]*kind:(-?\d{1,9}))?(?=[ \t\r]*\n)",
    re.ASCII,
)
_BLANK = re.compile(r"\n[ \t\r]*(?=\n)")
# cudaMemcpyKind; 4 leaves it to the addresses.
_KINDS = {
    str(kind): DIRECTIONS.index(name)
    for kind, name in enumerate(("host to host", "host to device", "device to host", "device to device"))
}
_NS = 1000
# µs. Some versions never set the burst of cudaMemcpyAsync: what stands there is an address.
_LONGEST = 7 * 24 * 3600 * 10**6


@dataclass(slots=True)
class _Logs:
    """What was read: single calls are written at once. ``sums`` are calls and µs by name."""

    body: Body = field(default_factory=Body)
    sums: dict[str, tuple[int, int]] = field(default_factory=dict)
    with_sums: list[str] = field(default_factory=list)
    with_calls: list[str] = field(default_factory=list)
    memory: int | None = None
    start: int = 0
    end: int = 0
    calls: int = 0
    endless: int = 0
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
    calls = CallTables(logs.body)
    for file in files:
        text = TextFile(file, allow_truncated)
        for piece in text.texts():
            with uncollected():
                _read(piece, file, logs, calls)
            progress(file.name, logs.calls)
        logs.cut += [text.cut] if text.cut else []
    if not logs.sums and not logs.calls and logs.memory is None:
        raise NotATraceError(
            f"{source} has no line of Alnair's logs", "give its metrics.log or timeline.log, or the folder with both"
        )
    sums = logs.sums.values()
    check_sums(source, [calls.amounts("bytes"), calls.amounts("total")])
    check_sums(source, [[count for count, _ in sums], [_NS * burst for _, burst in sums]])
    for name, (count, burst) in logs.sums.items():
        calls.add_sums(logs.body.intern(name), count, _NS * burst)
    calls.finish(str)
    paths = trace_paths(source, output, ["0"])
    notices = _notices(logs, calls)
    write_all(paths, lambda _, path: _write(path, source.name, logs, notices), force=force, sources=files)
    return Imported(paths, notices)


def _read(piece: str, file: Path, logs: _Logs, calls: CallTables) -> None:
    text = "\n" + piece
    lines = text.count("\n") - 1 - len(_BLANK.findall(text))
    memory = _MEMORY.findall(text)
    if memory:
        logs.memory = int(memory[-1])
    sums = list(_SUM.finditer(text))
    for found in sums:
        # The file is written anew again and again: what comes later is the newer.
        logs.sums[found[1]] = int(found[2]), int(found[3])
    single = _calls(_CALL.findall(text), logs, calls)
    if (sums or memory) and file.name not in logs.with_sums:
        logs.with_sums.append(file.name)
    if single and file.name not in logs.with_calls:
        logs.with_calls.append(file.name)
    logs.other += lines - len(memory) - single - sum(found[0].count("\n") for found in sums)


def _calls(rows: list[tuple[str, ...]], logs: _Logs, calls: CallTables) -> int:
    if not rows:
        return 0
    names, starts, bursts, sizes, kinds = zip(*rows, strict=True)
    start, burst = (np.fromiter(map(int, texts), np.uint64, len(texts)) for texts in (starts, bursts))
    good = (start > 0) & (start < LIMIT)
    ended = burst < _LONGEST
    begin = np.where(good, start, 0).astype(np.int64)[good]
    spent = np.where(ended, burst, 0).astype(np.int64)[good]
    end = np.where(ended[good], begin + _NS * spent, 0)
    if not len(begin):
        return 0
    size = np.fromiter((int(text or 0) for text in sizes), np.int64, len(sizes))[good]
    direction = np.fromiter((_KINDS.get(kind, 0) for kind in kinds), np.int64, len(kinds))[good]
    none = np.zeros(len(begin), np.int64)
    calls.add(
        {
            "call": codes_of(names, logs.body.intern_all)[good], "kernel": none, "thread": none,
            "gpu": np.full(len(begin), UNKNOWN), "direction": direction, "start": begin, "end": end, "code": none,
            "bytes": size,
        }
    )  # fmt: skip
    logs.calls += len(begin)
    logs.endless += int((end == 0).sum())
    logs.start = min(logs.start or LIMIT, int(begin.min()))
    logs.end = max(logs.end, int(begin.max()), int(end.max()))
    return len(begin)


def _write(path: Path, name: str, logs: _Logs, notices: list[str]) -> None:
    lacks = [Lack.ALLOCATIONS, Lack.FREES, Lack.ERRORS, Lack.LAUNCHES, Lack.COPIES, Lack.ACCESSES]
    head = header(
        tool=imported_from("Alnair", lacks if logs.calls else [*lacks, Lack.DATE, Lack.TIMES]),
        process={"host": "", "pid": 0, "program": "", "command": [], "start_ns": logs.start},
        # The interposer does not say on which GPU the calls worked; memory in use is that of one.
        gpus=[] if logs.memory is None else [{"uuid": "alnair", "name": ""}],
        settings={"imported from": name},
    )
    with TraceWriter(path, head) as writer:
        writer.append(logs.body)
        if logs.memory is not None:
            writer.write(
                "memory_use", time=logs.end, gpu=0, used=-1, own=logs.memory, pool_reserved=-1, pool_used=-1
            )  # fmt: skip
        writer.write("notices", time=logs.start, text=np.array(notices, object))
        writer.finish(logs.end, {})


def _notices(logs: _Logs, calls: CallTables) -> list[str]:
    sums, single = " and ".join(logs.with_sums), " and ".join(logs.with_calls)
    sentences = [
        *logs.cut,
        "Alnair's logs have the times and numbers of calls, but no threads, GPUs, kernels or results, nor what kernels "
        "accessed.",
    ]
    if logs.endless:
        sentences.append(
            f"Calls in {single} whose duration the interposer never set, so that it is unknown: {logs.endless:,}."
        )
    if calls.sums_alone:
        sentences.append(
            f"Calls of which {sums} has only sums, so that their sizes, shortest and longest are unknown, and "
            f"percentiles are those of the single calls: {calls.sums_alone:,}."
        )
    if logs.memory is not None:
        sentences.append(f"{sums} does not say when memory was in use, nor on which GPU: it is shown for one GPU.")
    if not logs.calls:
        sentences.append("There is no log of single calls (timeline.log): their times and sizes are unknown.")
    if logs.calls and not logs.sums:
        sentences.append(f"There is no log of sums (metrics.log): the sums are those of the calls in {single}.")
    if logs.other:
        sentences.append(f"Invalid lines, skipped: {logs.other:,}.")
    return sentences
