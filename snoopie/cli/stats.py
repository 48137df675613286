"""snoopie stats: traffic by pair of GPUs, kernel, source line or instruction; copies and collectives."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from snoopie.cli.arguments import add_traces, again, load_traces
from snoopie.cli.filters import add_filters, not_filtered, select
from snoopie.cli.output import json_rows, json_value, print_next
from snoopie.cli.traffic import TABLES, print_beside_traffic, print_losses, print_traffic
from snoopie.errors import UsageError

if TYPE_CHECKING:
    from snoopie.api.trace import Trace

DESCRIPTION = "Traffic between GPUs. Issued: the GPU that executed the access, and the GPU that owns the memory."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument("--by", choices=tuple(TABLES), default="pair", help="what to sum by (default: pair)")
    parser.add_argument("--flow", action="store_true", help="pairs by direction of the data instead of by issuer")
    parser.add_argument("--json", action="store_true", help="exact numbers for programs")
    add_filters(parser)


def main(arguments: argparse.Namespace) -> int:
    if arguments.flow and arguments.by != "pair":
        raise UsageError("--flow works only for pairs of GPUs", "leave out --by, or --flow")
    trace = select(load_traces(arguments), arguments)
    reading = "flow" if arguments.flow else "issued"
    if arguments.json:
        json.dump(as_json(trace, arguments.by, reading), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
        print()
        return 0
    print_traffic(trace, arguments.by, reading)
    if arguments.by == "pair":
        print_beside_traffic(trace)
    sys.stdout.flush()
    for sentence in _not_filtered(trace, arguments):
        print(f"snoopie: note: {sentence}", file=sys.stderr)
    print_losses(trace)
    print_next("view", *again(arguments), *arguments.traces)
    return 0


def _not_filtered(trace: Trace, arguments: argparse.Namespace) -> list[str]:
    """Which options do not apply to what is printed."""
    from snoopie.analysis.selection import COLLECTIVES_BY, UNMEASURED_BY

    beside = arguments.by == "pair"
    sentences = []
    if len(trace.collectives) and (beside or arguments.by == "collective"):
        sentences += not_filtered(arguments, "NCCL calls, only to their kernels' traffic", COLLECTIVES_BY)
    if beside and len(trace.not_measured()):
        sentences += not_filtered(arguments, "instructions that were not measured", UNMEASURED_BY)
    return sentences


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
