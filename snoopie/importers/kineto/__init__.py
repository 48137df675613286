"""JSON traces of PyTorch's profiler (Kineto), of one or several ranks → one trace a process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from snoopie.errors import NotATraceError, SnoopieError
from snoopie.importers import Imported, Progress
from snoopie.importers.activity.tables import Written, write_activity
from snoopie.importers.kineto.about import MEMBERS, about, devices
from snoopie.importers.kineto.collectives import collectives
from snoopie.importers.kineto.events import EventFile
from snoopie.importers.kineto.recording import CATEGORIES, Recording
from snoopie.importers.output import run_of, source_name, trace_paths, write_all
from snoopie.importers.text import TextFile
from snoopie.importers.tool import imported_from, undated
from snoopie.importers.words import counted, timed_on_gpus, without_accesses
from snoopie.trace.lacks import Lack
from snoopie.trace.writer import Body, TraceWriter, header

__all__ = ["import_kineto", "is_kineto"]

_TOOL = "PyTorch's profiler"
_LACKS = (Lack.ALLOCATIONS, Lack.FREES, Lack.ERRORS, Lack.ACCESSES)
_RECORD_IT = "record it with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"
_SUFFIXES = (".json", ".json.gz", ".json.zst")
# Characters at the start of a file that tell what it is.
_HEAD = 1 << 20


def import_kineto(
    source: Path | Sequence[Path], output: Path, *, force: bool = False, allow_truncated: bool = False,
    progress: Progress = lambda *_: None,
) -> Imported:  # fmt: skip
    """Writes the trace of each file of PyTorch's profiler: of one, of several, or of those in a folder.

    ``output`` is the name of the trace, or, with several files, of output.FILE.zst. Nothing takes its name before all
    are complete. Raises SnoopieError if one exists (unless ``force``) or cannot be written, and where a file cannot be
    read; one that ends too early is read as far as it is whole with ``allow_truncated``.
    """
    named = [source] if isinstance(source, Path) else list(source)
    files = [file for path in named for file in _files(path)]
    paths = trace_paths(named[0], output, [source_name(file) for file in files])
    run = run_of(named[0])
    notices: list[str] = []

    def write(number: int, path: Path) -> None:
        text = TextFile(files[number], allow_truncated)
        own = _write(path, text, run, progress, alone=len(files) == 1)
        notices.extend(sentence for sentence in own if sentence not in notices)

    write_all(paths, write, force=force, sources=files)
    return Imported(paths, notices)


def is_kineto(head: str) -> bool:
    """Whether a text begins as PyTorch's profiler writes it."""
    start = head.lstrip("\ufeff \t\r\n")
    events = '"traceEvents"' in head or start.startswith("[")
    return (
        start[:1] in ("{", "[") and events and any(f'"{name}"' in head for name in (*CATEGORIES, "cpu_op", "Operator"))
    )


def _files(path: Path) -> list[Path]:
    """The file, or those in a folder that the profiler wrote."""
    if not path.is_dir():
        return [path]
    found = [file for file in sorted(path.iterdir()) if file.name.endswith(_SUFFIXES) and _begins_right(file)]
    if not found:
        raise NotATraceError(f"{path} has no trace of {_TOOL}", "give the folder with its .json or .json.gz files")
    return found


def _begins_right(file: Path) -> bool:
    try:
        head = TextFile(file, allow_truncated=True).head(_HEAD)
    except SnoopieError:
        return False
    return is_kineto(head.decode("utf-8", "replace"))


def _write(path: Path, text: TextFile, run: dict[str, str], progress: Progress, *, alone: bool) -> list[str]:
    """Writes the trace of one file; returns the sentences on what it lacks."""
    source = text.path
    file, recording = EventFile(text, CATEGORIES, MEMBERS), Recording()
    for events in file.chunks():
        recording.read(events)
        progress(source.name, file.events)
    if not file.events and "traceEvents" not in file.metadata:
        raise NotATraceError(f"{source} has no events of {_TOOL}", "give what it exported: a JSON with traceEvents")
    of = about(file.metadata)
    carried_out, bare = collectives(recording, of.rank, of.world)
    gpus = devices(of, source_name(source), run["id"], [recording.used()])
    body = Body()
    written = write_activity(body, recording, gpus, source, base=of.base, collectives=carried_out)
    recording.close()
    if written.nothing and alone:
        raise SnoopieError(f"{source} has no GPU activity", _RECORD_IT)
    start, end = written.start, written.end
    pid = recording.processes.most_common(1)[0][0] if recording.processes else 0
    pid = pid if 0 <= pid < 1 << 31 else 0
    program = recording.programs.get(pid, "")
    unknown_date = undated(start)
    head = header(
        tool=imported_from(_TOOL, (*_LACKS, *unknown_date)),
        process={
            "host": of.host,
            "pid": pid,
            "program": program,
            "command": [program] if program else [],
            "start_ns": 0 if unknown_date else start,
            "ranks": of.ranks,
            "run": run,
        },
        gpus=gpus.gpus,
        settings={"imported from": source.name, "copy_times": "device"},
    )  # fmt: skip
    with TraceWriter(path, head) as writer:
        notices = _notices(source, written, file.cut, bare, dated=not unknown_date)
        body.write("notices", time=start, text=np.array(notices, object))
        writer.append(body)
        writer.finish(end, written.totals())
    return notices


def _notices(source: Path, written: Written, cut: str, bare: int, *, dated: bool) -> list[str]:
    """What the profiler does not record, and what this file does not say."""
    sentences = [cut] if cut else []
    if written.nothing:
        sentences.append(f"{source.name} has no GPU activity: {_RECORD_IT}.")
    sentences += [
        without_accesses(_TOOL),
        f"{_TOOL} does not record allocations of GPU memory, nor what calls returned.",
        f"{_TOOL} does not record the UUIDs of GPUs: they are named by rank and number, and are not recognised in "
        "other traces.",
    ]
    if not dated and not written.nothing:
        sentences.append("The file does not say when it began: times count from an arbitrary moment.")
    if written.copies:
        sentences.append(timed_on_gpus(_TOOL))
    sentences += counted(
        (
            ("Copies within the memory of one GPU", written.within),
            ("Copies without a size, left out", written.unsized),
            ("Copies and memsets whose call is not in the file", written.homeless),
            ("Kernels of NCCL whose collective the file does not say in full, listed as launches only", bare),
            ("Events that make no sense, skipped", written.wrong),
        )
    )
    return sentences
