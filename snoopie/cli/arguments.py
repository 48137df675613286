"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import snoopie

if TYPE_CHECKING:
    from snoopie.api.loading import Source


def add_traces(parser: argparse.ArgumentParser) -> None:
    """TRACE…, --allow-truncated, and --scheduler or --scheduler-file."""
    parser.add_argument("traces", metavar="TRACE", nargs="+", help="trace file, or folder with traces")
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How traces are read: --allow-truncated, and --scheduler or --scheduler-file."""
    parser.add_argument(
        "--allow-truncated", action="store_true", help="read the intact part of a trace whose end is missing"
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


def load_traces(arguments: argparse.Namespace) -> snoopie.Trace:
    """The traces of `add_traces` as one."""
    return load(arguments.traces, arguments)


def load(source: Source, arguments: argparse.Namespace) -> snoopie.Trace:
    """Traces, read as `add_reading` says."""
    scheduler = arguments.scheduler or arguments.scheduler_file
    return snoopie.load(source, allow_truncated=arguments.allow_truncated, scheduler=scheduler)


def again(arguments: argparse.Namespace) -> list[str]:
    """The options of `add_reading` as they were given, for another command on the same traces."""
    return [
        *(["--allow-truncated"] if arguments.allow_truncated else []),
        *([f"--scheduler={arguments.scheduler}"] if arguments.scheduler else []),
        *([f"--scheduler-file={arguments.scheduler_file}"] if arguments.scheduler_file else []),
    ]


def natural(text: str) -> int:
    """A type of arguments: a number of rows."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text} is not a number of rows")
    return int(text)
