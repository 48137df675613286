"""What ROCm's tracers print, rtg_tracer's text and HCC_PROFILE=2 → one trace a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import snoopie
from snoopie.errors import NotATraceError
from snoopie.importers import Imported, Progress
from snoopie.importers.amounts import check_sums
from snoopie.importers.output import run_of, trace_paths, write_all
from snoopie.importers.rocm import hcc, rtg
from snoopie.importers.rocm.recording import Recording, agents, write_recording
from snoopie.importers.text import TextFile
from snoopie.trace.writer import TraceWriter, header

__all__ = ["import_hcc", "import_rtg"]

_Read = Callable[[TextFile, Progress], tuple[dict[int, Recording], int]]


def import_rtg(
    source: Path, output: Path, *, force: bool = False, allow_truncated: bool = False,
    progress: Progress = lambda *_: None,
) -> Imported:  # fmt: skip
    """Writes the trace of each process in a text of rtg_tracer.

    ``output`` is the name of the trace, or, with several processes, of output.PID.zst. Nothing takes its name before
    all are complete. Raises SnoopieError if one exists (unless ``force``) or cannot be written, and where the text
    cannot be read; one that ends too early is read as far as it is whole with ``allow_truncated``.
    """
    return _import(TextFile(source, allow_truncated), output, force, progress, "rtg_tracer", rtg.read)


def import_hcc(
    source: Path, output: Path, *, force: bool = False, allow_truncated: bool = False,
    progress: Progress = lambda *_: None,
) -> Imported:  # fmt: skip
    """Writes the trace of what a program printed with HCC_PROFILE=2, else as `import_rtg`."""
    return _import(TextFile(source, allow_truncated), output, force, progress, "HCC_PROFILE=2", hcc.read)


def _import(text: TextFile, output: Path, force: bool, progress: Progress, tool: str, read: _Read) -> Imported:
    recordings, other = read(text, progress)
    if not recordings:
        raise NotATraceError(f"{text.path} has no line of {tool}", "give the text that it printed")
    for recording in recordings.values():
        copies = recording.copies
        check_sums(text.path, [[copy.bytes for copy in copies], [copy.end - copy.start for copy in copies]])
        check_sums(text.path, [[call.end - call.start for call in recording.calls]])
    processes = sorted(recordings)
    paths = trace_paths(text.path, output, [str(process) for process in processes])
    notices: list[str] = []

    def write(number: int, path: Path) -> None:
        recording = recordings[processes[number]]
        own = [*([text.cut] if text.cut else []), *_lacks(tool, recording, other)]
        _write(path, processes[number], text.path, tool, recording, own)
        notices.extend(sentence for sentence in own if sentence not in notices)

    write_all(paths, write, force=force, sources=[text.path])
    return Imported(paths, notices)


def _write(path: Path, pid: int, source: Path, tool: str, recording: Recording, notices: list[str]) -> None:
    start, end = recording.range()
    head = header(
        tool={"version": snoopie.__version__, "imported_from": tool},
        process={
            "host": "",
            "pid": pid,
            "program": "",
            "command": [],
            "start_ns": start,
            "run": run_of(source),
        },
        gpus=[{"uuid": f"rocm-{agent}", "name": f"agent {agent}"} for agent in agents(recording)],
        settings={"imported from": source.name, "copy_times": "device"},
    )
    with TraceWriter(path, head) as writer:
        totals = write_recording(writer, recording)
        writer.write("notices", time=start, text=np.array(notices, object))
        writer.finish(end, totals)


def _lacks(tool: str, recording: Recording, other: int) -> list[str]:
    sentences = [
        f"{tool} does not record which memory kernels access: the traffic of their loads and stores is not in "
        "this trace.",
        f"{tool} does not record the date: times count from an arbitrary moment.",
        f"{tool} identifies GPUs only by number: they are not recognised in other traces.",
    ]
    copies = recording.copies
    if tool == "rtg_tracer" and copies:
        sentences.append(
            f"{tool} does not record the sizes and ends of copies: their bytes are 0, their sources and destinations "
            "unknown."
        )
    if tool != "rtg_tracer":
        sentences.append(f"{tool} does not record host calls or the thread blocks of kernels.")
    for what, number in (
        ("Copies within the memory of one GPU", sum(copy.source == copy.destination == copy.agent for copy in copies)),
        ("Kernels whose end on the GPU is not in the text",
         sum(not kernel.end for kernel in recording.kernels)),
        ("Barriers on GPUs, skipped because they move nothing", recording.barriers),
        ("Marks and ranges of roctx, listed among the calls as roctx", recording.marks),
        (f"Lines that are damaged or not records of {tool}, skipped", other),
    ):  # fmt: skip
        if number:
            sentences.append(f"{what}: {number:,}.")
    return sentences
