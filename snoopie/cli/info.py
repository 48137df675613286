"""snoopie info: what a trace holds, and what it does not."""

from __future__ import annotations

import argparse
import datetime
import sys
from typing import TYPE_CHECKING, Any

from snoopie.cli.arguments import add_traces, again, load
from snoopie.cli.formats import add_json, print_json
from snoopie.cli.output import in_shell_words, json_rows, json_value, print_next, print_pairs_of_values, print_table
from snoopie.cli.traffic import print_not_measured
from snoopie.trace.lacks import Lack
from snoopie.words import units

if TYPE_CHECKING:
    import pandas as pd

    from snoopie.api.trace import Trace

DESCRIPTION = "What a trace holds: processes, GPUs, links between them, settings, totals, and what was lost."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    add_json(parser)


def main(arguments: argparse.Namespace) -> int:
    # To look at several runs is no sum of them.
    trace = load(arguments.traces, arguments, run=arguments.run, all_runs=arguments.run is None)
    if arguments.json:
        print_json(as_json(trace))
        return 0
    several = len(trace.runs) > 1
    if several:
        _section("Runs", _runs(trace))
        print()
    _section("Processes", _processes(trace))
    for title, table in (
        ("GPUs", _gpus(trace)),
        ("Links reported by the driver", _links(trace)),
        ("Settings", _settings(trace)),
    ):
        print()
        _section(title, table)
    print(f"\nTotals{' of all runs' if several else ''}")
    print_pairs_of_values(_totals(trace))
    print("\nInstructions that were not measured")
    _not_measured(trace.not_measured())
    print("\nWhat the trace lacks")
    for sentence in trace.losses() or ["nothing"]:
        print(in_shell_words(sentence))
    sys.stdout.flush()
    chosen = ["--run=0"] if several and not arguments.all_runs else []
    print_next("stats", "--by", "line", *chosen, *again(arguments), *arguments.traces)
    return 0


def _section(title: str, table: pd.DataFrame) -> None:
    print(title)
    if table.empty:
        print("none")
    else:
        print_table(table)


def _not_measured(unmeasured: pd.DataFrame) -> None:
    from snoopie.analysis import losses

    ran = losses.that_ran(unmeasured)
    if len(ran):
        print_not_measured(ran)
    if idle := losses.that_did_not_run(unmeasured):
        print(idle)
    elif ran.empty:
        print("none")


def _runs(trace: Trace) -> pd.DataFrame:
    table = trace.runs.reset_index()
    table["started"] = [_date(ns) for ns in table["start_ns"]]
    return table[["run", "run_id", "program", "processes", "hosts", "started"]]


def _processes(trace: Trace) -> pd.DataFrame:
    table = trace.processes.copy()
    table["started"] = [_date(ns) for ns in table["start_ns"]]
    table["ran"] = [
        ("unknown, its end is missing" if not complete else units.duration(end - start) if start else units.UNKNOWN)
        for start, end, complete in zip(table["start_ns"], table["end_ns"], table["complete"], strict=True)
    ]
    table["process"] = table.index
    ranks = [name for name in ("rank", "local_rank", "ranks") if (table[name] >= 0).any()]
    run = ["run"] if len(trace.runs) > 1 else []
    return table[["process", *run, *ranks, "host", "pid", "started", "ran", "command"]]


def _date(ns: int) -> str:
    if not units.is_date(ns):
        return units.UNKNOWN
    try:
        return datetime.datetime.fromtimestamp(ns // 10**9).astimezone().isoformat(" ")
    except (OverflowError, OSError, ValueError):
        return units.NOTHING


def _gpus(trace: Trace) -> pd.DataFrame:
    table = trace.gpus[["label", "name", "sm", "memory", "nvlinks", "host", "pci", "uuid"]].copy()
    if not trace.gpus["visible"].all():
        table["visible"] = trace.gpus["visible"]
    return table


def _links(trace: Trace) -> pd.DataFrame:
    label = trace.gpus["label"]
    links = trace.links.assign(issuer=trace.links["issuer"].map(label), owner=trace.links["owner"].map(label))
    return links.rename(columns={"rank": "link_rank"})


def _settings(trace: Trace) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(trace.settings).astype(object)
    table.insert(0, "process", trace.processes.index)
    # Most runs give all processes the same settings, but for the file's name, which `Processes` identifies anyway.
    same = table.drop(columns=["process", "output"], errors="ignore")
    if len(same.map(str).drop_duplicates()) == 1:
        return same.head(1)
    return table.drop(columns="output", errors="ignore")


def _totals(trace: Trace) -> list[tuple[str, str]]:
    amounts = trace.summary()
    about = "≈ " if trace.estimated else ""
    unknown = trace.lacks(Lack.ACCESSES)
    rows = (
        [(name, unknown) for name in ("accesses", "bytes", "wire bytes")]
        if unknown
        else [
            ("accesses", f"{about}{amounts['accesses']:,}"),
            ("bytes", f"{about}{units.bytes(amounts['bytes'])} ({amounts['bytes']:,})"),
            ("wire bytes", f"{about}{units.bytes(amounts['wire_bytes'])} ({amounts['wire_bytes']:,})"),
            ("wire efficiency", about + units.efficiency(amounts["wire_efficiency"])),
        ]
    )
    if trace.estimated:
        rows.append(("launches", f"{amounts['launches']:,}, of which {amounts['measured']:,} were measured"))
    if amounts["copies"]:
        size = trace.lacks(Lack.COPY_SIZES) or f"{units.bytes(amounts['copy_bytes'])} ({amounts['copy_bytes']:,})"
        rows += [("copies by the host", f"{amounts['copies']:,}"), ("bytes of copies", size)]
    elif unknown := trace.lacks(Lack.COPIES):
        rows.append(("copies by the host", unknown))
    return rows + [(name.replace("_", " "), f"{value:,}") for name, value in trace.totals.items() if name != "accesses"]


def as_json(trace: Trace) -> dict[str, Any]:
    """What --json prints: the tables whole, `null` where there is no number."""
    return {
        "complete": trace.complete,
        "estimated": trace.estimated,
        "runs": json_rows(trace.runs.reset_index()),
        "processes": json_rows(trace.processes.reset_index()),
        "gpus": json_rows(trace.gpus.reset_index()),
        "links": json_rows(_links(trace)),
        # The collector names them, and may have more than this version knows.
        "settings": {str(process): own for process, own in zip(trace.processes.index, trace.settings, strict=True)},
        "summary": {name: json_value(value) for name, value in trace.summary().items()},
        "totals": dict(trace.totals),
        "not_measured": json_rows(trace.not_measured()),
        "losses": trace.losses(),
        "unknown": trace.unknown(),
    }
