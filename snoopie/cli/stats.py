"""snoopie stats: traffic by pair of GPUs, kernel, source line or instruction; copies and collectives."""

import argparse
import json
import sys
from typing import Any

from snoopie.analysis.names import choose_kernels
from snoopie.api import Trace
from snoopie.cli.arguments import add_traces, again, load_traces
from snoopie.cli.output import json_rows, json_value, print_next
from snoopie.cli.traffic import TABLES, print_beside_traffic, print_losses, print_traffic
from snoopie.errors import UsageError

DESCRIPTION = (
    "Who moved how much between GPUs. Issued: the GPU that executed the access, and the one whose memory it was."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument("--by", choices=tuple(TABLES), default="pair", help="what to sum by (default: pair)")
    parser.add_argument("--flow", action="store_true", help="pairs in the direction of the data instead of who issued")
    parser.add_argument(
        "-k",
        "--kernel",
        metavar="NAME",
        action="append",
        help="only this kernel, or those that fit NAME*; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="exact numbers for programs")


def main(arguments: argparse.Namespace) -> int:
    if arguments.flow and arguments.by != "pair":
        raise UsageError("--flow is about pairs of GPUs", "leave out --by, or --flow")
    trace = load_traces(arguments)
    if arguments.kernel:
        trace = trace.select(kernels=choose_kernels(arguments.kernel, trace.launches["kernel"]))
    reading = "flow" if arguments.flow else "issued"
    if arguments.json:
        json.dump(as_json(trace, arguments.by, reading), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
        print()
        return 0
    print_traffic(trace, arguments.by, reading)
    if arguments.by == "pair":
        print_beside_traffic(trace)
    sys.stdout.flush()
    print_losses(trace)
    print_next("view", *again(arguments), *arguments.traces)
    return 0


def as_json(trace: Trace, by: str, reading: str) -> dict[str, Any]:
    """What --json prints: `rows` as the table of `by`, amounts as integers, `null` where there is no number.

    `copies`, `collectives` and `not_measured` are there whatever `by` says.
    """
    table = trace.by_pair(reading="flow") if reading == "flow" else TABLES[by](trace)
    gpus = trace.gpus.reset_index()
    return {
        "by": by,
        "reading": reading,
        "complete": trace.complete,
        "estimated": trace.estimated,
        "summary": {name: json_value(value) for name, value in trace.summary().items()},
        "gpus": json_rows(gpus[["label", "uuid", "name", "host"]]),
        "rows": json_rows(table),
        "copies": json_rows(trace.by_copy()),
        "collectives": json_rows(trace.by_collective()),
        "not_measured": json_rows(trace.not_measured()),
        "losses": trace.losses(),
    }
