"""snoopie report: one file with all that a trace shows."""

import argparse
import sys
from pathlib import Path

from snoopie.cli.arguments import add_traces, load_traces
from snoopie.cli.filters import add_filters, in_words, select
from snoopie.cli.output import is_terminal, say_written, size_of
from snoopie.cli.traffic import print_losses
from snoopie.errors import SnoopieError
from snoopie.files import check_free

DESCRIPTION = """Write what a trace shows as one HTML file: it opens in any web browser without a network, and can be
sent to a colleague. It prints well and contains no script; with --interactive it is a viewer instead, whose script
filters, zooms and goes from a line to what it moved. Source is quoted as the trace holds it, else from the folders you
name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, required=True,
        help="the report, such as report.html; - for standard output",
    )  # fmt: skip
    parser.add_argument(
        "--interactive", action="store_true",
        help="a viewer with overview, source, matrix and timeline, of at most 10 MB whatever the trace",
    )  # fmt: skip
    quoted = parser.add_mutually_exclusive_group()
    quoted.add_argument(
        "--source", metavar="DIR", type=Path, action="append", default=[],
        help="quote source files that the trace does not hold from this folder; may be repeated",
    )  # fmt: skip
    quoted.add_argument("--no-source", action="store_true", help="quote no source")
    parser.add_argument("--title", default="", help="a title (default: the name of the program)")
    parser.add_argument(
        "--force", action="store_true", help="overwrite the report if it exists; a pipe or a device is written to"
    )
    add_filters(parser)


def main(arguments: argparse.Namespace) -> int:
    # It takes a second to import: other commands do without.
    from snoopie.report.file import write

    for folder in arguments.source:
        if not folder.is_dir():
            raise SnoopieError(f"there is no folder {folder}", "check the path")
    check_free(arguments.output, force=arguments.force)
    trace = select(load_traces(arguments), arguments)
    progress = _show_progress if is_terminal(sys.stderr) else None
    write(
        trace,
        arguments.output,
        None if arguments.no_source else arguments.source,
        interactive=arguments.interactive,
        title=arguments.title,
        part=in_words(arguments),
        force=arguments.force,
        progress=progress,
    )
    if progress:
        print("\r\033[K", end="", file=sys.stderr)
    say_written(arguments.output, f"wrote {arguments.output}{size_of(arguments.output)}")
    print_losses(trace)
    if arguments.output.is_file():
        print(f"Next: open {arguments.output.resolve().as_uri()} in a browser", file=sys.stderr, flush=True)
    return 0


def _show_progress(section: str) -> None:
    print(f"\r\033[Kwriting {section} …", end="", file=sys.stderr, flush=True)
