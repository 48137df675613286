"""snoopie summary: how busy each GPU and the copies were, and with what."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from snoopie.cli.arguments import add_traces, again, load_traces
from snoopie.cli.filters import add_filters, not_filtered, select
from snoopie.cli.formats import add_formats, add_top, print_csv, print_first, print_json, print_markdown, top
from snoopie.cli.output import clean, in_shell_words, json_rows, print_next, print_table
from snoopie.cli.traffic import print_losses
from snoopie.errors import UsageError
from snoopie.trace.lacks import Lack
from snoopie.words import units

if TYPE_CHECKING:
    import pandas as pd

    from snoopie.api.trace import Trace

DESCRIPTION = (
    "Kernels of each GPU, copies (DATA), and the idle gaps between them by length, most time first. Shares are of the"
    " time from the first activity to the last."
)
_MARK = (
    "what is summarised {} at the program's mark that matches TEXT, a regular expression; 2%%TEXT for the second such"
)
_OVERLAP = ["issuer", "owner", "launches", "bytes", "moving", "ran", "spread", "densest", "under", "kernel"]
_SHOWN = ["share", "total", "calls", "average", "least", "most", "name"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument("--from", metavar="TEXT", dest="mark", help=_MARK.format("begins"))
    parser.add_argument("--to", metavar="TEXT", help=_MARK.format("ends"))
    parser.add_argument(
        "--gaps", metavar="US,US,…", type=_limits, help="where the classes of gaps begin, in µs (default: 10,20,50,…)"
    )
    parser.add_argument("--barriers", action="store_true", help="count barriers of queues as work of their GPU")
    parser.add_argument(
        "--critical",
        action="store_true",
        help="of each row only the time in which nothing that began earlier still ran, as rpt does",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--workgroups", action="store_true", help="list the sizes of thread blocks by kernel instead")
    instead.add_argument(
        "--overlap",
        action="store_true",
        help="list instead when kernels moved their bytes, and how much of that while other kernels ran on the GPU",
    )
    add_top(parser, 20)
    add_formats(parser)
    add_filters(parser)


def main(arguments: argparse.Namespace) -> int:
    from snoopie.analysis.selection import LAUNCHES_BY

    trace = _between_marks(select(load_traces(arguments), arguments), arguments)
    if arguments.workgroups:
        return _workgroups(trace, arguments)
    if arguments.overlap:
        return _overlap(trace, arguments)
    if arguments.json:
        print_json(as_json(trace, arguments))
        return 0
    rows = _rows(trace, arguments)
    if arguments.csv:
        print_csv(top(rows, arguments))
        return 0
    if arguments.markdown:
        print_markdown(top(rows[["resource", *_SHOWN]], arguments))
        return 0
    busy = trace.resources(barriers=arguments.barriers)
    for resource in busy.itertuples():
        about = f"busy {units.percent(float(str(resource.busy_share)))}, {units.duration(float(str(resource.busy)))}"
        if others := int(str(resource.others)):
            about += f"; others {units.duration(others)}"
        own = rows[rows["resource"] == resource.resource]
        shown = top(own, arguments, for_people=True)
        print(f"{clean(resource.resource)}: {about}, {len(shown)} of {len(own)} rows")
        print_table(shown[_SHOWN])
        print()
    if busy.empty:
        unknown = trace.lacks(Lack.LAUNCHES)
        print(f"This trace has no GPU timestamps{f': {unknown}' if unknown else ', so there is nothing to summarise'}.")
    for sentence in trace.without_device_times():
        print(in_shell_words(sentence))
    sys.stdout.flush()
    print_losses(trace)
    for sentence in not_filtered(arguments, "kernels as a whole", LAUNCHES_BY):
        print(f"snoopie: note: {sentence}", file=sys.stderr)
    print_next("view", *again(arguments), *arguments.traces)
    return 0


def _limits(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts):
        raise argparse.ArgumentTypeError(f"{text} is not a list of µs, such as 10,100,1000")
    return sorted({int(part) for part in parts})


def _between_marks(trace: Trace, arguments: argparse.Namespace) -> Trace:
    """The part of a trace from one mark of the program until before another."""
    if arguments.mark is None and arguments.to is None:
        return trace
    first, after = trace.period
    start = first if arguments.mark is None else trace.marked(arguments.mark)
    end = after if arguments.to is None else trace.marked(arguments.to)
    if start >= end:
        raise UsageError("--to is not after --from", "choose a later mark, such as 2%TEXT for the second")
    return trace.select(between=(start, end))


def _rows(trace: Trace, arguments: argparse.Namespace) -> pd.DataFrame:
    return trace.by_resource(arguments.gaps, barriers=arguments.barriers, critical=arguments.critical)


def _workgroups(trace: Trace, arguments: argparse.Namespace) -> int:
    table = trace.by_workgroup()
    if arguments.json:
        print_json({"workgroups": json_rows(top(table, arguments))})
    elif arguments.csv or arguments.markdown:
        (print_csv if arguments.csv else print_markdown)(top(table, arguments))
    elif table.empty:
        print(in_shell_words(trace.lacks(Lack.SHAPES) or "no launch with a known shape"))
    else:
        print_first(table, arguments)
    return 0


def _overlap(trace: Trace, arguments: argparse.Namespace) -> int:
    table, notes = trace.overlap("kernel"), trace.about_moments()
    if arguments.json:
        print_json({"overlap": json_rows(top(table, arguments)), "notes": notes})
    elif arguments.csv or arguments.markdown:
        (print_csv if arguments.csv else print_markdown)(top(table, arguments))
    else:
        if len(table):
            print_first(table[_OVERLAP], arguments)
        for sentence in notes or ["No kernel reached memory outside its GPU."]:
            print(in_shell_words(sentence))
    return 0


def as_json(trace: Trace, arguments: argparse.Namespace) -> dict[str, Any]:
    """What --json prints: each resource with its rows, times in ns."""
    rows = _rows(trace, arguments)
    return {
        "resources": [
            {
                **_plain(resource),
                "rows": [
                    _plain(row)
                    for row in top(rows[rows["resource"] == resource["resource"]], arguments)
                    .drop(columns="resource")
                    .to_dict("records")
                ],
            }
            for resource in trace.resources(barriers=arguments.barriers).to_dict("records")
        ],
        "notes": trace.without_device_times(),
    }


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    # numpy's numbers are no numbers to json
    return {str(name): value.item() if hasattr(value, "item") else value for name, value in row.items()}
