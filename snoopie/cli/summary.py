"""snoopie summary: how busy each GPU and the copies were, and with what."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from snoopie.cli.arguments import add_traces, again, load_traces, natural
from snoopie.cli.filters import add_filters, not_filtered, select
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
    parser.add_argument("--top", metavar="N", type=natural, default=20, help="rows of each, 0 for all (default: 20)")
    parser.add_argument("--json", action="store_true", help="exact numbers for programs, all rows, times in ns")
    add_filters(parser)


def main(arguments: argparse.Namespace) -> int:
    from snoopie.analysis.selection import LAUNCHES_BY

    trace = select(load_traces(arguments), arguments)
    if arguments.json:
        json.dump(as_json(trace), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
        print()
        return 0
    busy, rows = trace.resources(), trace.by_resource()
    for resource in busy.itertuples():
        about = f"busy {units.percent(float(str(resource.busy_share)))}, {units.duration(float(str(resource.busy)))}"
        own = rows[rows["resource"] == resource.resource]
        shown = own.head(arguments.top) if arguments.top else own
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


def as_json(trace: Trace) -> dict[str, Any]:
    """What --json prints: each resource with its rows, times in ns."""
    rows = trace.by_resource()
    return {
        "resources": [
            {
                **_plain(resource),
                "rows": [
                    _plain(row)
                    for row in rows[rows["resource"] == resource["resource"]]
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
