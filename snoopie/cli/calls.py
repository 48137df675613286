"""snoopie calls: what the program asked of the CUDA driver; also while it runs."""

import argparse
import contextlib
import datetime
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from snoopie.analysis.host import calls
from snoopie.api.trace import Trace
from snoopie.cli.arguments import add_traces, again, load_traces
from snoopie.cli.output import is_terminal, json_rows, print_next, print_table
from snoopie.cli.traffic import print_losses
from snoopie.errors import TruncatedError, UsageError
from snoopie.joined.tables import Tables
from snoopie.trace.growing import Growing
from snoopie.trace.limits import LIMITS, Limits, allowed
from snoopie.words import units

DESCRIPTION = (
    "The program's CUDA driver calls: how often, how long they took its threads, and which failed. Times are host "
    "times: an asynchronous call returns before its work is done."
)

# The sums behind all tables, and what distinguishes their rows.
_TABLES = ("call_totals", "call_times", "call_errors")
_TOTALS = ("process", "thread", "gpu", "call", "kernel", "direction")
_TIMES = ("process", "thread", "gpu", "call")


class Sums:
    """The calls of some processes, to which more can be added."""

    def __init__(self, tables: Trace | Tables) -> None:
        self.label = tables.label
        self.totals = calls.summarise(tables.call_totals, _TOTALS)
        self.times = calls.summarise_times(tables.call_times, _TIMES)
        self.errors = calls.summarise_errors(tables.call_errors, _TIMES)

    def add(self, more: "Sums") -> None:
        """Adds what came later, whose processes and GPUs have the same numbers."""
        self.label = more.label
        self.totals = calls.merge([self.totals, more.totals], _TOTALS)
        self.times = calls.merge_times([self.times, more.times], _TIMES)
        self.errors = calls.merge_errors([self.errors, more.errors], _TIMES)


_BY: dict[str, Callable[[Sums], pd.DataFrame]] = {
    "call": lambda sums: calls.by_call(sums.totals, sums.times, sums.label, ["call"]),
    "kernel": lambda sums: calls.by_kernel(sums.totals, sums.label),
    "direction": lambda sums: calls.by_direction(sums.totals, sums.label),
    "thread": lambda sums: calls.by_call(sums.totals, sums.times, sums.label, ["process", "thread"]),
    "error": lambda sums: calls.by_error(sums.errors, sums.label),
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
    parser.add_argument("--by", choices=tuple(_BY), help="only one table: what to sum by (default: all but thread)")
    parser.add_argument("--json", action="store_true", help="exact numbers for programs, in ns and bytes")
    parser.add_argument(
        "--live",
        metavar="SECONDS",
        nargs="?",
        type=_seconds,
        const=2.0,
        help="while the program runs: print the sums so far repeatedly (default: every 2 seconds)",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds from 0.1 to 86400")
    return seconds


def main(arguments: argparse.Namespace) -> int:
    if arguments.live is not None:
        if arguments.scheduler or arguments.scheduler_file:
            raise UsageError("--live reads the traces itself", "leave out the scheduler, or --live")
        return _follow([Path(path) for path in arguments.traces], arguments)
    trace = load_traces(arguments)
    sums = Sums(trace)
    if arguments.json:
        result = as_json(sums, arguments.by or "call") | {"complete": trace.complete, "losses": trace.losses()}
        json.dump(result, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
        print()
        return 0
    print_calls(sums, arguments.by, sys.stdout)
    sys.stdout.flush()
    print_losses(trace)
    print_next("stats", *again(arguments), *arguments.traces)
    return 0


def as_json(sums: Sums, by: str) -> dict[str, Any]:
    """What --json prints: `rows` as the table of `by`, `null` where there is no number."""
    return {"by": by, "rows": json_rows(_BY[by](sums))}


def print_calls(sums: Sums, by: str | None, stream: TextIO) -> None:
    """Print one table, or where none was chosen those that have rows, with the total."""
    if sums.totals.empty:
        print("no driver call was recorded: CALLS=off, or a collector too old to record them", file=stream)
        return
    if by is not None:
        table = _BY[by](sums)
        if table.empty:
            print(_NOTHING[by], file=stream)
        else:
            print_table(table, stream)
        return
    print_table(_BY["call"](sums), stream)
    number, failed, spent = (int(sums.totals[name].sum()) for name in ("calls", "errors", "total"))
    print(
        f"{number:,} {'call' if number == 1 else 'calls'}, {failed:,} failed; {units.duration(spent)} in them",
        file=stream,
    )
    for other, title in _BESIDE.items():
        table = _BY[other](sums)
        if len(table):
            print(f"\n{title}", file=stream)
            print_table(table, stream)


# --- While the program runs ---


class Live:
    """The calls of processes that still run, as far as their traces go: files, and all that come into folders."""

    def __init__(self, sources: Iterable[Path], limits: Limits = LIMITS) -> None:
        self._sources = list(sources)
        self._limits = limits
        self._processes: dict[Path, Growing] = {}
        self.sums: Sums | None = None

    @property
    def running(self) -> int:
        """How many of the processes have not ended."""
        return sum(not process.ended for process in self._processes.values())

    @property
    def known(self) -> int:
        """How many processes there are or were."""
        return len(self._processes)

    def look(self) -> bool:
        """Reads what is new. Returns whether more can come."""
        self._find()
        # Asked first: what a process wrote before it was gone is then there to be read.
        more = not self._processes or self.running > 0
        for process in self._processes.values():
            process.advance()
        if self._processes:
            new = Sums(Tables(list(self._processes.values())))
            if self.sums is None:
                self.sums = new
            else:
                self.sums.add(new)
        return more and (not self._processes or any(process.footer is None for process in self._processes.values()))

    def close(self) -> None:
        """Closes the files."""
        for process in self._processes.values():
            process.close()

    def _find(self) -> None:
        for source in self._sources:
            for path in sorted(source.glob("*.zst")) if source.is_dir() else [source]:
                real = path.resolve()
                if real in self._processes:
                    continue
                # A file whose header is still being written is for the next time.
                with contextlib.suppress(TruncatedError):
                    self._processes[real] = Growing(path, _TABLES, limits=self._limits)


class _Screen(StringIO):
    """What is to be drawn on a terminal."""

    def isatty(self) -> bool:
        return True


def _follow(sources: list[Path], arguments: argparse.Namespace) -> int:
    live = Live(sources, allowed(arguments.trust))
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
    print_next("calls", *arguments.traces)
    return 0


def _show(live: Live, arguments: argparse.Namespace) -> None:
    now = datetime.datetime.now().astimezone().isoformat(" ", "seconds")
    if arguments.json:
        result = {"time": now, "running": live.running}
        if live.sums is not None:
            result |= as_json(live.sums, arguments.by or "call")
            print(json.dumps(result, ensure_ascii=False, allow_nan=False), flush=True)
        return
    drawn = is_terminal(sys.stdout)
    text = _Screen() if drawn else StringIO()
    print(f"{now}  {live.known} {'process' if live.known == 1 else 'processes'}, {live.running} running", file=text)
    if live.sums is None or live.sums.totals.empty:
        print("no driver call yet", file=text)
    else:
        print_calls(live.sums, arguments.by, text)
    if drawn:
        lines = text.getvalue().splitlines()[: shutil.get_terminal_size().lines - 1]
        print("\033[H\033[J" + "\n".join(lines), flush=True)
    else:
        print(text.getvalue(), flush=True)
