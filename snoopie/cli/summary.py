"""snoopie summary: how busy each GPU and the copies were, and with what."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from snoopie.cli.arguments import add_traces, again, load_traces
from snoopie.cli.filters import add_filters, not_filtered, select
from snoopie.cli.formats import add_formats, add_top, print_csv, print_json, print_markdown, top
from snoopie.cli.output import clean, in_shell_words, print_next, print_table
from snoopie.words import units

if TYPE_CHECKING:
    from snoopie.api.trace import Trace

DESCRIPTION = (
    "Kernels of each GPU, copies (DATA), and the idle gaps between them by length, most time first. Shares are of the"
    " time from the first activity to the last."
)
_SHOWN = ["share", "total", "calls", "average", "least", "most", "name"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    add_top(parser, 20)
    add_formats(parser)
    add_filters(parser)


def main(arguments: argparse.Namespace) -> int:
    from snoopie.analysis.selection import LAUNCHES_BY

    trace = select(load_traces(arguments), arguments)
    if arguments.json:
        print_json(as_json(trace, arguments))
        return 0
    if arguments.csv:
        print_csv(top(trace.by_resource(), arguments))
        return 0
    if arguments.markdown:
        print_markdown(top(trace.by_resource()[["resource", *_SHOWN]], arguments))
        return 0
    busy, rows = trace.resources(), trace.by_resource()
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
        print("This trace has no GPU timestamps, so there is nothing to summarise.")
    for sentence in trace.without_device_times():
        print(in_shell_words(sentence))
    sys.stdout.flush()
    for sentence in not_filtered(arguments, "kernels as a whole", LAUNCHES_BY):
        print(f"snoopie: note: {sentence}", file=sys.stderr)
    print_next("view", *again(arguments), *arguments.traces)
    return 0


def as_json(trace: Trace, arguments: argparse.Namespace) -> dict[str, Any]:
    """What --json prints: each resource with its rows, times in ns."""
    rows = trace.by_resource()
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
            for resource in trace.resources().to_dict("records")
        ],
        "notes": trace.without_device_times(),
    }


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    # numpy's numbers are no numbers to json
    return {str(name): value.item() if hasattr(value, "item") else value for name, value in row.items()}
