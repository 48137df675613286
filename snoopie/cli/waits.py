"""snoopie waits: how long kernels moved and waited, for what, and who stores there."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from snoopie.cli.arguments import add_traces, again, load_traces
from snoopie.cli.filters import add_filters, select
from snoopie.cli.formats import add_formats, add_top, print_csv, print_first, print_json, print_markdown, top
from snoopie.cli.output import json_rows, print_next
from snoopie.cli.traffic import print_losses, sources
from snoopie.words import units

if TYPE_CHECKING:
    import pandas as pd

    from snoopie.api.trace import Trace

DESCRIPTION = (
    "Where kernels moved or waited: of a line that accessed other memory, how long thread blocks did so; of one that "
    "polled memory until a value changed, how long they were held and their warps waited, whose memory it is, and "
    "which GPUs and lines store there (docs/waits.md). Needs a trace recorded with WAITS=on. Times are instrumented: "
    "exact in order, approximate in length."
)
BY = ("line", "site", "kernel", "launch", "block", "owner", "awaited")
_AMOUNTS = ["waits", "waited", "longest", "held"]
_MOVED = [*_AMOUNTS, "moving"]
_WHO = ["issuer", "owner", "awaited", "stored_by", "known_by"]
_SHOWN = {
    "line": ["source", "kernel", *_WHO, *_MOVED],
    "site": ["site", "source", "kernel", *_WHO, *_MOVED, "sass"],
    "kernel": ["kernel", *_WHO, *_MOVED],
    "launch": ["launch", "kernel", *_WHO, *_MOVED],
    "block": ["launch", "first_block", "blocks", "kernel", *_WHO, *_MOVED],
    "owner": ["owner", "issuer", "awaited", "stored_by", "known_by", *_AMOUNTS],
    "awaited": ["awaited", "issuer", "owner", "stored_by", "known_by", *_AMOUNTS],
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument(
        "--by", choices=BY, default="line", help="what to sum by; awaited: the GPUs that are waited for (default: line)"
    )
    add_top(parser, 20)
    add_formats(parser)
    add_filters(parser)


def main(arguments: argparse.Namespace) -> int:
    trace = select(load_traces(arguments), arguments)
    table = trace.by_wait(arguments.by)
    if arguments.json:
        print_json(as_json(trace, table, arguments))
        return 0
    if arguments.csv:
        print_csv(top(table, arguments))
        return 0
    shown = (table.assign(source=sources(table)) if "line" in table else table)[_SHOWN[arguments.by]]
    if arguments.markdown:
        print_markdown(top(shown, arguments))
        return 0
    if table.empty:
        print(nothing(trace))
    else:
        print_first(shown, arguments)
        print(_total(table))
    sys.stdout.flush()
    print_losses(trace)
    print_next("view", *again(arguments), *arguments.traces)
    return 0


def nothing(trace: Trace) -> str:
    """Why there is nothing."""
    if any(settings.get("waits") == "on" for settings in trace.settings):
        return "no kernel waited, or accessed other memory"
    return "waits were not recorded: record with snoopie run --waits on (WAITS=on)"


def as_json(trace: Trace, table: pd.DataFrame, arguments: argparse.Namespace) -> dict[str, Any]:
    """What --json prints; times in ns."""
    return {
        "by": arguments.by,
        "rows": json_rows(top(table, arguments)),
        "stores": json_rows(top(trace.awaited_stores(), arguments)),
        "complete": trace.complete,
        "losses": trace.losses(),
    }


def _total(table: pd.DataFrame) -> str:
    waits, given_up = (int(table[name].sum()) for name in ("waits", "given_up"))
    said = f"{units.plural(waits, 'wait', 'waits')}, {units.duration(int(table['waited'].sum()))} of warps in them"
    said += f"; {given_up:,} did not end by the value" if given_up else ""
    times = [f"held for {units.duration(int(table['held'].sum()))}"]
    if "moving" in table:
        times.append(f"moving for {units.duration(int(table['moving'].sum()))}")
    return f"{said}; thread blocks were {' and '.join(times)}; instrumented times"
