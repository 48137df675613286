"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import snoopie
from snoopie.cli.output import in_shell_words
from snoopie.garbage import import_to_stay

if TYPE_CHECKING:
    from snoopie.api.loading import Source


def add_traces(parser: argparse.ArgumentParser, *, least: Literal[0, 1] = 1) -> None:
    """TRACE…, --run or --all-runs, and how they are read."""
    nargs = "+" if least else "*"
    parser.add_argument("traces", metavar="TRACE", nargs=nargs, help="trace file, or folder with traces")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--run", metavar="RUN", help="of several runs this one: its number, or the beginning of its ID")
    which.add_argument("--all-runs", action="store_true", help="add up several runs")
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How traces are read: --allow-truncated, --trust, and --scheduler or --scheduler-file."""
    parser.add_argument(
        "--allow-truncated", action="store_true", help="read the intact part of a trace whose end is missing"
    )
    parser.add_argument(
        "--trust", action="store_true", help="lift the limits on what a trace may hold: you trust who made it"
    )
    cluster = parser.add_mutually_exclusive_group()
    cluster.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="read the traces on the Dask cluster of this scheduler (tcp://host:8786); its workers must find them "
        "under the same paths",
    )
    cluster.add_argument(
        "--scheduler-file", metavar="FILE", type=Path, help="the same, for the scheduler that wrote this file"
    )


def load_traces(arguments: argparse.Namespace, *, times: Source | None = None) -> snoopie.Trace:
    """The traces of `add_traces` as one, with native ``times``. Says on stderr which runs are added up."""
    trace = load(arguments.traces, arguments, run=arguments.run, all_runs=arguments.all_runs, times=times)
    if len(trace.runs) > 1:
        print(f"snoopie: note: {in_shell_words(added_up(trace))}", file=sys.stderr)
    return trace


def added_up(trace: snoopie.Trace) -> str:
    """A sentence on the runs of a trace that has several."""
    return f"{len(trace.runs)} runs are added up: {', '.join(trace.runs['label'])}"


def load(
    source: Source, arguments: argparse.Namespace, *, run: str | None = None, all_runs: bool = False,
    times: Source | None = None,
) -> snoopie.Trace:  # fmt: skip
    """Traces, read as `add_reading` says."""
    return to_answer(
        source, allow_truncated=arguments.allow_truncated, run=run, all_runs=all_runs, trust=arguments.trust,
        times=times, scheduler=arguments.scheduler or arguments.scheduler_file,
    )  # fmt: skip


def to_answer(source: Source, **options: Any) -> snoopie.Trace:
    """`snoopie.load`, in a process that is over with its answer."""
    import_to_stay("snoopie.api")
    from snoopie.trace import text_columns

    text_columns.by_reference()
    return snoopie.load(source, **options)


def again(arguments: argparse.Namespace) -> list[str]:
    """The options of `add_traces` and `add_reading` as they were given, for another command on the same traces."""
    return [
        *([f"--run={arguments.run}"] if getattr(arguments, "run", None) else []),
        *(["--all-runs"] if getattr(arguments, "all_runs", False) else []),
        *(["--allow-truncated"] if arguments.allow_truncated else []),
        *(["--trust"] if arguments.trust else []),
        *([f"--scheduler={arguments.scheduler}"] if arguments.scheduler else []),
        *([f"--scheduler-file={arguments.scheduler_file}"] if arguments.scheduler_file else []),
    ]


def natural(text: str) -> int:
    """A type of arguments: a number of rows."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text} is not a number of rows")
    return int(text)
