"""Arguments that several commands share."""

import argparse
from pathlib import Path

import snoopie
from snoopie.api.loading import Source


def add_traces(parser: argparse.ArgumentParser) -> None:
    """TRACE…, and how they are read."""
    parser.add_argument("traces", metavar="TRACE", nargs="+", help="trace file, or folder with traces")
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


def load_traces(arguments: argparse.Namespace) -> snoopie.Trace:
    """The traces of `add_traces` as one."""
    return load(arguments.traces, arguments)


def load(source: Source, arguments: argparse.Namespace) -> snoopie.Trace:
    """Traces, read as `add_reading` says."""
    scheduler = arguments.scheduler or arguments.scheduler_file
    return snoopie.load(source, allow_truncated=arguments.allow_truncated, trust=arguments.trust, scheduler=scheduler)


def again(arguments: argparse.Namespace) -> list[str]:
    """The options of `add_reading` as they were given, for another command on the same traces."""
    return [
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
