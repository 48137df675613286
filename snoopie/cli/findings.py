"""snoopie findings: what to look at first, and what to do about it."""

import argparse
import json
import sys
from typing import Any

import pandas as pd

from snoopie.analysis.findings.numbers import said
from snoopie.api.trace import Trace
from snoopie.cli.arguments import add_traces, again, load_traces
from snoopie.cli.output import clean, json_rows, json_value, print_next
from snoopie.cli.traffic import print_losses
from snoopie.words import units

DESCRIPTION = (
    "Which traffic between GPUs is expensive, by rules with documented thresholds (docs/findings.md): the line, pair,"
    " allocation or rank, the numbers behind the finding, and how to fix it. Largest share of the traffic first."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument("--json", action="store_true", help="exact numbers for programs")


def main(arguments: argparse.Namespace) -> int:
    trace = load_traces(arguments)
    found = trace.findings()
    if arguments.json:
        json.dump(as_json(trace, found), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
        print()
        return 0
    for number, finding in enumerate(found.to_dict("records")):
        if number:
            print()
        _print(finding)
    if found.empty:
        print("No findings. docs/findings.md lists the rules and their thresholds.")
    sys.stdout.flush()
    print_losses(trace)
    print_next("view", *again(arguments), *arguments.traces)
    return 0


def _print(finding: dict[Any, Any]) -> None:
    about = "≈ " if finding["estimated"] else ""
    print(clean(f"{finding['severity'].upper()}: {about}{finding['title']}"))
    lines = [
        ("where", _where(finding)),
        *([("code", finding["code"])] if finding["code"] else []),
        ("numbers", "; ".join(said(finding["numbers"]))),
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
