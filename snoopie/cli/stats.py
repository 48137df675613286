"""snoopie stats: who moved how much, by pair of GPUs, kernel, source line and other keys; copies and collectives."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from snoopie.analysis.traffic.reading import READINGS
from snoopie.cli import native
from snoopie.cli.arguments import add_traces, again, load_traces
from snoopie.cli.filters import add_filters, not_filtered, select
from snoopie.cli.formats import add_formats, add_top, print_csv, print_json, print_markdown, top
from snoopie.cli.output import json_rows, json_value, print_next
from snoopie.cli.traffic import (
    TABLES,
    for_people,
    print_beside_traffic,
    print_losses,
    print_traffic,
    traffic_table,
)
from snoopie.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from snoopie.analysis.traffic.reading import Reading
    from snoopie.api.trace import Trace

DESCRIPTION = "Traffic between GPUs. Issued: the GPU that executed the access, and the GPU that owns the memory."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument("--by", choices=tuple(TABLES), default="pair", help="what to sum by (default: pair)")
    parser.add_argument(
        "--reading", choices=READINGS, help="of pairs: who issued, or where data flowed (default: issued)"
    )
    parser.add_argument(
        "--times",
        metavar="CLEAN",
        help="a clean recording of the same program, or an import of nsys or PyTorch's profiler: pairs, kernels, lines "
        "and launches gain native time and bandwidth (default: that beside the traces, as of snoopie run --with-times)",
    )
    add_top(parser)
    add_formats(parser)
    add_filters(parser)


def main(arguments: argparse.Namespace) -> int:
    by: str = arguments.by
    reading: Reading = arguments.reading or "issued"
    if arguments.reading and by != "pair":
        raise UsageError("--reading is of pairs of GPUs", "leave out --by, or --reading")
    trace = select(load_traces(arguments, times=arguments.times), arguments)
    if not (arguments.json or arguments.csv or arguments.markdown):
        _print(trace, arguments, reading)
        return 0
    rows = top(traffic_table(trace, by, reading), arguments)
    if arguments.json:
        print_json(as_json(trace, by, reading, rows))
    elif arguments.csv:
        print_csv(rows)
    else:
        print_markdown(top(for_people(trace, traffic_table(trace, by, reading), by, reading), arguments))
    return 0


def _print(trace: Trace, arguments: argparse.Namespace, reading: Reading) -> None:
    print_traffic(trace, arguments.by, reading, top=arguments.top or 0)
    if arguments.by == "pair":
        print_beside_traffic(trace)
    if trace.clean is not None:
        native.print_native(trace)
    sys.stdout.flush()
    for sentence in _not_filtered(trace, arguments):
        print(f"snoopie: note: {sentence}", file=sys.stderr)
    print_losses(trace)
    if trace.clean is not None:
        native.print_native_losses(trace)
    print_next("view", *again(arguments), *arguments.traces)


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


def as_json(trace: Trace, by: str, reading: Reading, rows: pd.DataFrame) -> dict[str, Any]:
    """What --json prints, with rows of the table of `by`: amounts as integers, `null` where there is no number.

    `copies`, `collectives` and `not_measured` are there whatever `by` says, `native` only where there are native times.
    """
    gpus = trace.gpus.reset_index()
    return {
        "by": by,
        "reading": reading,
        "complete": trace.complete,
        "estimated": trace.estimated,
        "summary": {name: json_value(value) for name, value in trace.summary().items()},
        "gpus": json_rows(gpus[["label", "uuid", "name", "host"]]),
        "rows": json_rows(rows),
        "copies": json_rows(trace.by_copy()),
        "collectives": json_rows(trace.by_collective()),
        "not_measured": json_rows(trace.not_measured()),
        "losses": trace.losses(),
        **({} if trace.clean is None else native.as_json(trace)),
    }
