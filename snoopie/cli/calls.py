"""snoopie calls: what the program asked of the CUDA driver; also while it runs."""

from __future__ import annotations

import argparse
import datetime
import shutil
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from snoopie.cli.arguments import add_traces, again, load_traces
from snoopie.cli.filters import add_filters, given, not_filtered, select
from snoopie.cli.formats import add_formats, add_top, print_csv, print_first, print_json, print_markdown, top
from snoopie.cli.output import is_terminal, json_rows, print_next
from snoopie.cli.traffic import print_losses
from snoopie.errors import UsageError
from snoopie.words import units

if TYPE_CHECKING:
    import pandas as pd

    from snoopie.cli.call_sums import Live, Sums

DESCRIPTION = (
    "The program's CUDA driver calls: how often, how long they took its threads, and which failed. Times are host "
    "times: an asynchronous call returns before its work is done."
)

BY: dict[str, Callable[[Sums], pd.DataFrame]] = {
    "call": lambda sums: sums.by_call("call"),
    "kernel": lambda sums: sums.by_kernel(),
    "direction": lambda sums: sums.by_direction(),
    "thread": lambda sums: sums.by_call("process", "thread"),
    "error": lambda sums: sums.by_error(),
}
# What is printed after the calls where nothing was chosen, each under its title.
_BESIDE = {"kernel": "Launches", "direction": "Copies", "error": "Errors"}
_NOTHING = {
    "kernel": "no launch was recorded",
    "direction": "no copy was recorded",
    "error": "no call failed",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument("--by", choices=tuple(BY), help="only one table: what to sum by (default: all but thread)")
    add_top(parser)
    add_formats(parser)
    parser.add_argument(
        "--live",
        metavar="SECONDS",
        nargs="?",
        type=_seconds,
        const=2.0,
        help="while the program runs: print the sums so far repeatedly (default: every 2 seconds)",
    )
    add_filters(parser)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds from 0.1 to 86400")
    return seconds


def main(arguments: argparse.Namespace) -> int:
    from snoopie.analysis.selection import CALLS_BY
    from snoopie.cli.call_sums import Sums

    if arguments.live is not None:
        if arguments.scheduler or arguments.scheduler_file:
            raise UsageError("--live reads the traces itself", "leave out the scheduler, or --live")
        if arguments.csv or arguments.markdown or given(arguments):
            raise UsageError("--live has no filters, CSV or Markdown", "leave them out, or --live")
        return _follow([Path(path) for path in arguments.traces], arguments)
    trace = select(load_traces(arguments), arguments)
    sums = Sums(trace)
    if arguments.json:
        print_json(
            as_json(sums, arguments)
            | {"complete": trace.complete, "losses": trace.losses(), "unknown": trace.unknown()}
        )
        return 0
    if arguments.csv or arguments.markdown:
        table = top(BY[arguments.by or "call"](sums), arguments)
        print_csv(table) if arguments.csv else print_markdown(table)
        return 0
    print_calls(sums, arguments, sys.stdout)
    sys.stdout.flush()
    for sentence in not_filtered(arguments, "sums of driver calls", CALLS_BY):
        print(f"snoopie: note: {sentence}", file=sys.stderr)
    print_losses(trace)
    print_next("stats", *again(arguments), *arguments.traces)
    return 0


def as_json(sums: Sums, arguments: argparse.Namespace) -> dict[str, Any]:
    """What --json prints: `rows` as the table of `by`, `null` where there is no number."""
    by = arguments.by or "call"
    return {"by": by, "rows": json_rows(top(BY[by](sums), arguments))}


def print_calls(sums: Sums, arguments: argparse.Namespace, stream: TextIO) -> None:
    """Print one table, or where none was chosen those that have rows, with the total."""
    if sums.totals.empty:
        why = sums.no_calls or "no driver call was recorded: CALLS=off, or a collector too old to record them"
        print(why, file=stream)
        return
    if (by := arguments.by) is not None:
        table = BY[by](sums)
        if table.empty:
            print(sums.no_errors if by == "error" and sums.no_errors else _NOTHING[by], file=stream)
        else:
            print_first(_for_people(table), arguments, stream)
        return
    print_first(_for_people(BY["call"](sums)), arguments, stream)
    number, failed, spent = (int(sums.totals[name].sum()) for name in ("calls", "errors", "total"))
    print(
        f"{number:,} {'call' if number == 1 else 'calls'}, "
        f"{'how many failed is unknown' if sums.no_errors else f'{failed:,} failed'}; {units.duration(spent)} in them",
        file=stream,
    )
    for other, title in _BESIDE.items():
        table = BY[other](sums)
        if len(table):
            print(f"\n{title}", file=stream)
            print_first(table, arguments, stream)


def _for_people(table: pd.DataFrame) -> pd.DataFrame:
    from snoopie.analysis.host.calls import shown

    return table[shown(table, table.columns)]


# --- While the program runs ---


class _Screen(StringIO):
    """What is to be drawn on a terminal."""

    def isatty(self) -> bool:
        return True


def _follow(sources: list[Path], arguments: argparse.Namespace) -> int:
    from snoopie.cli.call_sums import Live
    from snoopie.trace.limits import allowed

    live = Live(sources, arguments.run, all_runs=arguments.all_runs, limits=allowed(arguments.trust))
    try:
        while True:
            more = live.look()
            _show(live, arguments)
            if not more:
                break
            time.sleep(arguments.live)
    except KeyboardInterrupt:
        pass
    finally:
        live.close()
    print_next("calls", *again(arguments), *arguments.traces)
    return 0


def _show(live: Live, arguments: argparse.Namespace) -> None:
    now = datetime.datetime.now().astimezone().isoformat(" ", "seconds")
    if arguments.json:
        result = {"time": now, "running": live.running}
        if live.sums is not None:
            print_json(result | as_json(live.sums, arguments), indent=None)
            sys.stdout.flush()
        return
    drawn = is_terminal(sys.stdout)
    text = _Screen() if drawn else StringIO()
    print(f"{now}  {live.known} {'process' if live.known == 1 else 'processes'}, {live.running} running", file=text)
    if live.sums is None or live.sums.totals.empty:
        print("no driver call yet", file=text)
    else:
        print_calls(live.sums, arguments, text)
    if drawn:
        lines = text.getvalue().splitlines()[: shutil.get_terminal_size().lines - 1]
        print("\033[H\033[J" + "\n".join(lines), flush=True)
    else:
        print(text.getvalue(), flush=True)
