"""A program, run so that its memory is recorded: under Nsight Systems where it is installed, else the collector."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from snoopie.cli import process, run_id
from snoopie.cli.output import shell_words
from snoopie.cli.output_files import output_files, run_folder
from snoopie.errors import UsageError

# What nsys records: calls of CUDA, each event of device memory, and who allocated.
_NSYS = ("profile", "--trace=cuda", "--cuda-memory-usage=true", "--cudabacktrace=memory", "--sample=process-tree")
_REPORT = "report"


def run(command: Sequence[str]) -> tuple[int, Path, list[Path]]:
    """Runs a program to its end; returns its status, a folder of this run, and its traces there."""
    if not command:
        raise UsageError("no program given", "snoopie memory --profile -- PROGRAM [ARGUMENT …]")
    program = process.find_program(command[0], os.environ.get("PATH", os.defpath))
    folder = Path.cwd() / run_folder(command[0], run_id.new())
    nsys = shutil.which("nsys")
    status = _under_nsys(nsys, [program, *command[1:]], folder) if nsys else _under_collector(command, folder)
    return status, folder, sorted(folder.glob("*.zst"))


def _under_nsys(nsys: str, command: Sequence[str], folder: Path) -> int:
    from snoopie.importers.nsys import import_nsys

    # Made if missing, or an error with a remedy.
    output_files(f"{folder}/", os.environ, Path.cwd(), "")
    report = folder / _REPORT
    words = [nsys, *_NSYS, "-o", str(report), *command]
    status = process.run(nsys, words, os.environ)
    written = report.with_suffix(".nsys-rep")
    if not written.is_file():
        print(f"snoopie: nsys wrote no report: {shell_words(words)}", file=sys.stderr)
        return status or 1
    import_nsys(written, folder / "trace.zst")
    return status


def _under_collector(command: Sequence[str], folder: Path) -> int:
    words = [sys.executable, "-m", "snoopie", "run", "-o", f"{folder}/", "--", *command]
    return process.run(sys.executable, words, os.environ)
