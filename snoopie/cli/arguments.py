"""Arguments that several commands share."""

import argparse

import snoopie


def add_traces(parser: argparse.ArgumentParser) -> None:
    """TRACE… and --allow-truncated."""
    parser.add_argument("traces", metavar="TRACE", nargs="+", help="trace file, or folder with traces")
    parser.add_argument(
        "--allow-truncated", action="store_true", help="read what is whole of a trace whose end is missing"
    )


def load_traces(arguments: argparse.Namespace) -> snoopie.Trace:
    """The traces of `add_traces` as one."""
    return snoopie.load(arguments.traces, allow_truncated=arguments.allow_truncated)
