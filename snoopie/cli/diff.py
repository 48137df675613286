"""snoopie diff: what changed from one trace to another, and whether it grew more than it may."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import snoopie
from snoopie.analysis.comparison import limits
from snoopie.analysis.comparison.limits import Limit
from snoopie.analysis.traffic.values import VALUES
from snoopie.cli.arguments import add_reading, again, load
from snoopie.cli.filters import add_filters, select
from snoopie.cli.formats import add_formats, add_top, print_csv, print_json, print_markdown, top
from snoopie.cli.output import clean, in_shell_words, json_rows, print_next, print_table
from snoopie.cli.traffic import sources
from snoopie.errors import SeveralRunsError, UsageError
from snoopie.words.columns import heading

if TYPE_CHECKING:
    import pandas as pd

    from snoopie.analysis.traffic.values import Value
    from snoopie.api.comparison import Comparison
    from snoopie.api.trace import Trace

DESCRIPTION = (
    "What changed from trace A to trace B, largest change first. Places, kernels, lines and objects are matched by "
    "name. The exit status is 0, 3 if a limit is exceeded, 1 after an error and 2 after wrong usage."
)
EXCEEDED = 3
# What --by compares beside the summary: keyword → the table of a value, and its columns.
TABLES: dict[str, tuple[Callable[[Comparison, Value], pd.DataFrame], list[str]]] = {
    "pair": (lambda both, value: both.by_pair(value), ["issuer", "owner"]),
    "kernel": (lambda both, value: both.by_kernel(value), ["kernel"]),
    "line": (lambda both, value: both.by_line(value), ["source", "kernel"]),
    "object": (lambda both, value: both.by_object(value), ["name", "source", "owner", "kind"]),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="the earlier trace: file, folder with traces, or pattern")
    parser.add_argument("b", metavar="B", help="the later trace, likewise")
    for side in ("A", "B"):
        parser.add_argument(
            f"--run-{side.lower()}", metavar="RUN",
            help=f"of several runs in {side} this one: its number, or the beginning of its ID",
        )  # fmt: skip
    parser.add_argument("--all-runs", action="store_true", help="add up several runs of A, and of B")
    parser.add_argument(
        "--by", choices=("summary", *TABLES), default="summary", help="what to compare by (default: %(default)s)"
    )
    parser.add_argument("--value", choices=VALUES, help="which amount to compare, unless by summary (default: bytes)")
    parser.add_argument(
        "--fail-if-increase",
        metavar="METRIC:AMOUNT",
        action="append",
        default=[],
        help="exit with 3 if METRIC grew by more, as in bytes:5%%, copy_bytes:10MiB or launches:0; bytes/line:10%% "
        "limits each line (pair, kernel, object), bytes(GPU 0 -> GPU 1):0 a part of the traffic; may be repeated. "
        f"METRIC is one of {', '.join(limits.METRICS)}",
    )
    parser.add_argument(
        "--fail-if-decrease", metavar="METRIC:AMOUNT", action="append", default=[],
        help="likewise, if METRIC shrank by more: traffic that should be there is missing",
    )  # fmt: skip
    add_top(parser, 20)
    add_formats(parser)
    add_filters(parser)
    add_reading(parser)


def main(arguments: argparse.Namespace) -> int:
    if arguments.value and arguments.by == "summary":
        raise UsageError("the summary has every value", "leave out --value, or choose another --by")
    # What is no limit is said before the traces are read.
    for text in (*arguments.fail_if_increase, *arguments.fail_if_decrease):
        Limit.parse(text)
    value: Value = arguments.value or "bytes"
    comparison = snoopie.compare(*(_load(side, arguments) for side in ("a", "b")))
    exceeded = comparison.exceeded(arguments.fail_if_increase, arguments.fail_if_decrease)
    _print(comparison, value, arguments, exceeded)
    sys.stdout.flush()
    for_people = not (arguments.json or arguments.csv or arguments.markdown)
    if not arguments.json:
        for sentence in comparison.remarks():
            print(f"snoopie: note: {in_shell_words(sentence)}", file=sys.stderr)
    for sentence in exceeded:
        print(f"snoopie: {clean(sentence)}", file=sys.stderr)
    # The app takes no patterns, and one run for both.
    if (
        arguments.run_a is None
        and arguments.run_b is None
        and for_people
        and not exceeded
        and all(Path(name).exists() for name in (arguments.a, arguments.b))
    ):
        print_next("view", *again(arguments), "--compare", arguments.b, arguments.a)
    return EXCEEDED if exceeded else 0


def _load(side: str, arguments: argparse.Namespace) -> Trace:
    name, run = getattr(arguments, side), getattr(arguments, f"run_{side}")
    try:
        return select(load(name, arguments, run=run, all_runs=arguments.all_runs and run is None), arguments)
    except SeveralRunsError as error:
        remedy = f"choose one with --run-{side} 0, or add them up with --all-runs"
        raise UsageError(f"{side.upper()}: {error.problem}", remedy) from None
    except UsageError as error:
        raise UsageError(f"{side.upper()}: {error.problem}", error.remedy) from None


def _print(comparison: Comparison, value: Value, arguments: argparse.Namespace, exceeded: list[str]) -> None:
    by = arguments.by
    if arguments.json:
        rows = None if by == "summary" else top(TABLES[by][0](comparison, value), arguments)
        print_json(as_json(comparison, by, value, rows) | {"exceeded": exceeded})
    elif arguments.csv:
        table = comparison.summary().reset_index() if by == "summary" else TABLES[by][0](comparison, value)
        print_csv(top(table, arguments))
    elif by == "summary":
        summary = comparison.summary_in_words().reset_index()
        (print_markdown if arguments.markdown else print_table)(top(summary, arguments))
    elif arguments.markdown:
        print_markdown(top(_changes(comparison, by, value, TABLES[by][0](comparison, value)), arguments))
    else:
        _print_changes(comparison, value, arguments)


def _changes(comparison: Comparison, by: str, value: Value, table: pd.DataFrame) -> pd.DataFrame:
    """What changed in a table, as people read it."""
    import pandas as pd

    from snoopie.analysis.comparison import side_by_side

    changed = table[table["change"] != 0]
    if "file" in changed:
        changed = changed.assign(source=sources(changed))
    words = side_by_side.in_words(changed, [value] * len(changed), comparison.about)
    return pd.concat([changed[TABLES[by][1]], words], axis=1)


def _print_changes(comparison: Comparison, value: Value, arguments: argparse.Namespace) -> None:
    by, named = arguments.by, heading(value).lower()
    table = TABLES[by][0](comparison, value)
    changed = _changes(comparison, by, value, table)
    if changed.empty:
        print(f"no difference in {named} by {by}: {_rows(len(table))} compared")
        return
    shown = top(changed, arguments, for_people=True)
    print_table(shown)
    print(f"{len(shown)} of {_rows(len(changed))} that changed in {named}, of {len(table)} compared")


def _rows(number: int) -> str:
    return f"{number} row{'' if number == 1 else 's'}"


def as_json(comparison: Comparison, by: str, value: Value, rows: pd.DataFrame | None) -> dict[str, Any]:
    """What --json prints, but for `exceeded`: amounts as they are, `null` where there is no number. ``rows`` of the
    table of `by`, unless that is the summary."""
    result: dict[str, Any] = {
        side: {"files": [str(path) for path in trace.paths], "complete": trace.complete, "estimated": trace.estimated}
        for side, trace in (("a", comparison.a), ("b", comparison.b))
    }
    result |= {"different": comparison.different, "summary": json_rows(comparison.summary().reset_index())}
    if rows is not None:
        result |= {"by": by, "value": value, "rows": json_rows(rows)}
    return result | {"remarks": comparison.remarks()}
