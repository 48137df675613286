"""What ROCm's tracers print, rtg_tracer's text and HCC_PROFILE=2 → one trace a process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from snoopie.errors import NotATraceError
from snoopie.importers import Imported, Progress
from snoopie.importers.output import run_of, trace_paths, write_all
from snoopie.importers.rocm import hcc, rtg
from snoopie.importers.rocm.recording import Recording, Recordings
from snoopie.importers.text import TextFile
from snoopie.importers.tool import imported_from
from snoopie.importers.words import counted, without_accesses
from snoopie.trace.lacks import Lack
from snoopie.trace.writer import TraceWriter, header
from snoopie.words import units

__all__ = ["import_hcc", "import_rtg"]

_Read = Callable[[Sequence[TextFile], Progress], tuple[Recordings, int]]
_RTG, _HCC = "rtg_tracer", "HCC_PROFILE=2"
_LACKS = {
    _RTG: (Lack.DATE, Lack.ALLOCATIONS, Lack.FREES, Lack.ACCESSES),
    _HCC: (Lack.DATE, Lack.ALLOCATIONS, Lack.FREES, Lack.CALLS, Lack.ERRORS, Lack.SHAPES, Lack.ACCESSES),
}


def import_rtg(
    source: Path, output: Path, *, force: bool = False, allow_truncated: bool = False,
    progress: Progress = lambda *_: None,
) -> Imported:  # fmt: skip
    """Writes the trace of each process in a text of rtg_tracer, or in a folder with a text of each thread.

    ``output`` is the name of the trace, or, with several processes, of output.PID.zst. Nothing takes its name before
    all are complete. Raises SnoopieError if one exists (unless ``force``) or cannot be written, and where the text
    cannot be read; one that ends too early is read as far as it is whole with ``allow_truncated``.
    """
    return _import(source, output, force, allow_truncated, progress, _RTG, rtg.read)


def import_hcc(
    source: Path, output: Path, *, force: bool = False, allow_truncated: bool = False,
    progress: Progress = lambda *_: None,
) -> Imported:  # fmt: skip
    """Writes the trace of what a program printed with HCC_PROFILE=2, else as `import_rtg`."""
    return _import(source, output, force, allow_truncated, progress, _HCC, hcc.read)


def _import(
    source: Path, output: Path, force: bool, allow_truncated: bool, progress: Progress, tool: str, read: _Read
) -> Imported:  # fmt: skip
    texts = [TextFile(path, allow_truncated) for path in _files(source)]
    recordings, other = read(texts, progress) if texts else (Recordings(), 0)
    # Only a part of the processes that turn up have anything.
    recordings = Recordings({pid: own for pid, own in recordings.items() if own.end or own.counts["untimed"]})
    if not recordings:
        raise NotATraceError(f"{source} has no line of {tool}", "give the text that it printed, or its folder")
    processes = sorted(recordings)
    paths = trace_paths(source, output, [str(process) for process in processes])
    notices: list[str] = []

    def write(number: int, path: Path) -> None:
        recording = recordings[processes[number]]
        cut = [text.cut for text in texts if text.cut]
        own = [*cut, *_lacks(tool, recording, other)]
        _write(path, processes[number], source, tool, recording, own)
        notices.extend(sentence for sentence in own if sentence not in notices)

    write_all(paths, write, force=force, sources=[text.path for text in texts])
    return Imported(paths, notices)


def _files(source: Path) -> list[Path]:
    """The texts: with a folder, of all threads, also where it holds such folders of several processes."""
    if not source.is_dir():
        return [source]
    return sorted(path for path in source.rglob("*.txt") if path.is_file())


def _write(path: Path, pid: int, source: Path, tool: str, recording: Recording, notices: list[str]) -> None:
    totals = recording.finish(lambda code: f"error {code}")
    start = recording.start
    head = header(
        tool=imported_from(tool, (*_LACKS[tool], *recording.lacks)),
        process={
            "host": "",
            "pid": pid,
            "program": "",
            "command": [],
            "start_ns": start,
            "run": run_of(source),
        },
        gpus=[{"uuid": f"rocm-{name}", "name": f"agent {name}"} for name in recording.agents.names],
        settings={"imported from": source.name, "copy_times": "device"},
    )
    with TraceWriter(path, head) as writer:
        writer.append(recording.body)
        writer.write("notices", time=start, text=np.array(notices, object))
        writer.finish(recording.end, totals)


def _lacks(tool: str, recording: Recording, other: int) -> list[str]:
    sentences = [
        without_accesses(tool),
        f"{tool} does not record the date: times count from an arbitrary moment.",
        f"{tool} identifies GPUs only by number: they are not recognised in other traces.",
    ]
    counts = recording.counts
    if tool == _RTG and counts["sizeless copies"]:
        sentences.append(
            f"{tool} does not record the sizes and ends of copies: their bytes, sources and destinations are unknown."
        )
    if tool == _HCC:
        sentences.append(f"{tool} does not record host calls or the thread blocks of kernels.")
    if counts["untimed ns"]:
        spent = units.duration(counts["untimed ns"])
        sentences.append(f"Records without times took {spent} in all; how long each of them took is in no table.")
    sentences += counted(
        (
            ("Copies within the memory of one GPU", counts["local copies"]),
            ("Kernels whose end on the GPU is not in the text", counts["untimed"]),
            ("Barriers on GPUs, which move nothing and stand in the table barriers", counts["barriers"]),
            ("Marks and ranges of roctx, listed among the calls as roctx", counts["marks"]),
            (f"Lines that are damaged or not records of {tool}, skipped", other),
        )
    )  # fmt: skip
    return sentences
