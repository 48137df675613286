"""Logs of the first Snoopie (2023 and 2024) → one trace a process: JSON lines, and all generations of its tables.

They have one line a lane access, sampled at an unknown rate, and no kernels, launches or times.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from snoopie.errors import NotATraceError
from snoopie.importers import Imported, Progress
from snoopie.importers.amounts import check_sums
from snoopie.importers.output import trace_paths, write_all
from snoopie.importers.snoopie_log.log import GPUS, Log, read_log
from snoopie.importers.snoopie_log.side_files import SideFiles, read_side_files
from snoopie.importers.snoopie_log.tables import OBJECT_KINDS, write_tables
from snoopie.importers.text import TextFile
from snoopie.importers.tool import imported_from
from snoopie.importers.words import counted
from snoopie.trace.lacks import Lack
from snoopie.trace.writer import TraceWriter, header

__all__ = ["import_snoopie_log"]

_LACKED = (Lack.DATE, Lack.TIMES, Lack.FREES, Lack.CALLS, Lack.ERRORS, Lack.SHAPES)
_NAME = re.compile(r"snoopie_log_(\d+)\.\w+")
_PID = re.compile(r"_(\d+)(?:\.[^.]*)?$")


def import_snoopie_log(
    source: Path, output: Path, *, force: bool = False, allow_truncated: bool = False,
    progress: Progress = lambda *_: None,
) -> Imported:  # fmt: skip
    """Writes the trace of each snoopie_log_<pid> in a folder, or of one, with what the files beside it say.

    ``output`` is the name of the trace, or, with several processes, of output.PID.zst. Nothing takes its name before
    all are complete. Raises SnoopieError if one exists (unless ``force``) or cannot be written, and where a log cannot
    be read; one that ends too early is read as far as it is whole with ``allow_truncated``.
    """
    logs = _logs(source)
    paths = trace_paths(source, output, [_pid(path) for path in logs])
    notices: list[str] = []

    def write(number: int, path: Path) -> None:
        own = _write(path, logs[number], allow_truncated, progress)
        notices.extend(text for text in own if text not in notices)

    write_all(paths, write, force=force, sources=logs)
    return Imported(paths, notices)


def _logs(source: Path) -> list[Path]:
    if not source.is_dir():
        return [source]
    found = {match[1]: path for path in sorted(source.iterdir()) if (match := _NAME.fullmatch(path.name))}
    if not found:
        raise NotATraceError(f"{source} has no log (snoopie_log_<pid>.zst)", "give the folder in which the program ran")
    return [found[pid] for pid in sorted(found, key=int)]


def _pid(path: Path) -> str:
    match = _PID.search(path.name)
    return match[1] if match else path.stem


def _write(path: Path, source: Path, allow_truncated: bool, progress: Progress) -> list[str]:
    pid = _pid(source)
    log = read_log(TextFile(source, allow_truncated), progress)
    if not log.accesses.rows and not log.copies.rows:
        raise NotATraceError(
            f"{source} has no line of a log of Snoopie", "give a snoopie_log_<pid>.zst, or the folder that has them"
        )
    check_sums(source, [[log.copies.bytes]])
    files, cut = read_side_files(source.parent, pid, allow_truncated)
    if log.side is not None:
        files = log.side
    devices = max([log.devices, *(place.device + 1 for place in files.ranges if 0 <= place.device < GPUS)])
    about = {
        "host": "",
        "pid": int(pid) if pid.isdigit() and len(pid) < 10 else 0,
        "program": "",
        "command": [],
        "start_ns": 0,
    }
    head = header(
        tool=imported_from("Snoopie 2023", [*_LACKED, Lack.COPY_SIZES] if _sizeless(log) else _LACKED),
        process=about,
        # Nothing says which GPUs these were.
        gpus=[{"uuid": f"snoopie-log-{number}"} for number in range(devices)],
        object_kinds=OBJECT_KINDS,
        settings={"imported from": source.name},
    )
    with TraceWriter(path, head) as writer:
        totals, ambiguous = write_tables(writer, log, files)
        notices = [*cut, *_lacks(log, files), *_oddities(log, files, ambiguous)]
        writer.write("notices", time=0, text=np.array(notices, object))
        writer.finish(0, totals)
    return notices


def _lacks(log: Log, files: SideFiles) -> list[str]:
    sentences = [
        "The log does not record how accesses were sampled: with SAMPLE_SIZE=N, there were about N times as many.",
        "The log has one line per lane and does not mark where an access ends: consecutive lines that are alike are "
        "counted as one access of up to 32 lanes, so numbers of accesses and wire bytes are estimates.",
        *_on_launches(log),
        "The log identifies GPUs only by their number in the process: they are not recognised in other traces.",
    ]
    if "codeline_log" in files.absent:
        sentences.append("There is no codeline_log beside the log: files of source lines are unknown.")
    if files.ranges:
        sentences.append("The log does not say when memory was allocated or freed: what was never freed is unknown.")
    if "address_range_log" in files.absent:
        sentences.append("There is no address_range_log beside the log: objects are unknown.")
    if _sizeless(log):
        sentences.append("The log is of a version that did not store the sizes of copies: they are unknown.")
    return sentences


def _sizeless(log: Log) -> bool:
    """Whether the log is of a version that did not store the sizes of copies."""
    return min(log.generations, default=11) < 10 and log.copies.rows > 0


def _on_launches(log: Log) -> list[str]:
    if any(log.kernels):
        return [
            "The log has no launches, times or thread blocks: all accesses of a GPU by one kernel are one launch, and "
            "times are unknown."
        ]
    return [
        "The log has no kernels, launches, times, thread blocks or lane numbers: all accesses of a GPU from one place "
        "in the program are one launch, and times are unknown."
    ]


def _oddities(log: Log, files: SideFiles, ambiguous: int) -> list[str]:
    sentences = [log.cut] if log.cut else []
    sentences += counted(
        (
            ("Invalid lines, skipped", log.wrong + files.wrong),
            ("Lane accesses of GPUs to their own memory, skipped because they cross no link", log.local),
            ("Copies within one memory, skipped because they cross no link", log.local_copies),
            ("Addresses allocated more than once, attributed to the last allocation there", ambiguous),
        )
    )
    return sentences
