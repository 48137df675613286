"""snoopie findings: what to look at first, and what to do about it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from snoopie.cli.arguments import add_traces, again, load_traces
from snoopie.cli.filters import add_filters, select
from snoopie.cli.formats import add_formats, add_top, print_csv, print_json, print_markdown, top
from snoopie.cli.output import clean, json_rows, json_value, print_next
from snoopie.cli.traffic import print_losses, sources
from snoopie.words import units

if TYPE_CHECKING:
    import pandas as pd

    from snoopie.api.trace import Trace

DESCRIPTION = (
    "Which traffic between GPUs is expensive, by rules with documented thresholds (docs/findings.md): the line, pair,"
    " allocation or rank, the numbers behind the finding, and how to fix it. Largest share of the traffic first."
)
_IN_A_TABLE = ["severity", "title", "source", "kernel", "issuer", "owner", "bytes", "share", "remedy"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    add_top(parser)
    add_formats(parser)
    add_filters(parser)


def main(arguments: argparse.Namespace) -> int:
    trace = select(load_traces(arguments), arguments)
    every = trace.findings()
    found = top(every, arguments)
    if arguments.json:
        print_json(as_json(trace, found))
        return 0
    if arguments.csv:
        print_csv(found)
        return 0
    if arguments.markdown:
        print_markdown(found.assign(source=sources(found))[_IN_A_TABLE])
        return 0
    for number, finding in enumerate(found.to_dict("records")):
        if number:
            print()
        _print(finding)
    if found.empty:
        print("No findings. docs/findings.md lists the rules and their thresholds.")
    if len(found) < len(every):
        print(f"\n… and {len(every) - len(found):,} more")
    sys.stdout.flush()
    print_losses(trace)
    print_next("view", *again(arguments), *arguments.traces)
    return 0


def _print(finding: dict[Any, Any]) -> None:
    from snoopie.analysis.findings.numbers import said

    about = "≈ " if finding["estimated"] else ""
    print(clean(f"{finding['severity'].upper()}: {about}{finding['title']}"))
    lines = [
        ("where", _where(finding)),
        *([("code", finding["code"])] if finding["code"] else []),
        ("numbers", "; ".join(said(finding["numbers"]))),
        *([("saves", f"at most {units.duration(finding['saved'])} on the links")] if finding["saved"] > 0 else []),
        ("threshold", finding["threshold"]),
        ("remedy", finding["remedy"]),
    ]
    for name, text in lines:
        print(f"  {name:<9}  {clean(text)}")


def _where(finding: dict[Any, Any]) -> str:
    """The finding's line, kernels and places, as far as it has some, and its share."""
    ends = " → ".join(end for end in (finding["issuer"], finding["owner"]) if end)
    parts = [
        f"{finding['file']}:{finding['line']}" if finding["line"] else "",
        finding["kernel"],
        ends,
        f"{units.bytes(finding['bytes'])}; {units.percent(finding['share'])} of what {finding['rule']} looks at",
    ]
    return "; ".join(part for part in parts if part)


def as_json(trace: Trace, found: pd.DataFrame) -> dict[str, Any]:
    """What --json prints; `null` where there is no number."""
    rows = json_rows(found)
    for row in rows:
        row["numbers"] = {name: json_value(value) for name, value in row["numbers"].items()}
    return {"complete": trace.complete, "findings": rows, "losses": trace.losses()}
