"""snoopie check: whether traces are what they should be."""

import argparse
import json
from pathlib import Path
from typing import Any

from snoopie.api.loading import paths_of
from snoopie.api.trace import Trace
from snoopie.cli.output import in_shell_words
from snoopie.errors import SnoopieError
from snoopie.joined.tables import Tables
from snoopie.trace.check import Checked, check
from snoopie.trace.limits import allowed

DESCRIPTION = """Check each trace wholly: every block, id, reference and value, the limits, the footer's sums and the
order of times. Says what is right, what was lost while recording, what is suspicious and what is wrong. The exit status
is 1 if anything is wrong or suspicious, or the end of a trace is missing."""
# Of what --json prints.
VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("traces", metavar="FILE", nargs="+", help="trace file, or folder with traces")
    parser.add_argument("--allow-truncated", action="store_true", help="a trace whose end is missing may pass")
    parser.add_argument(
        "--trust", action="store_true", help="lift the limits on what a trace may hold: you trust who made it"
    )
    parser.add_argument("--json", action="store_true", help="the same for programs")


def main(arguments: argparse.Namespace) -> int:
    files = [_said(path, arguments) for path in paths_of(arguments.traces)]
    if arguments.json:
        print(json.dumps({"version": VERSION, "files": files}, indent=2, ensure_ascii=False))
    else:
        for file in files:
            _print(file)
    return 0 if all(file["valid"] for file in files) else 1


def _said(path: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """What --json prints of a file."""
    checked = check(path, allowed(arguments.trust))
    lost = _lost(checked)
    valid = not (checked.wrong or checked.suspicious or (checked.truncated and not arguments.allow_truncated))
    rows = {} if checked.process is None else checked.process.rows
    return {
        "path": str(path),
        "valid": valid,
        "complete": checked.process is not None and checked.process.complete,
        "rows": rows,
        "right": checked.right,
        "lost": lost,
        "suspicious": checked.suspicious,
        "wrong": checked.wrong,
    }


def _lost(checked: Checked) -> list[str]:
    """What the trace says that it lacks; what only its analyses find wrong is added to the rest."""
    if checked.process is None or checked.wrong:
        return []
    try:
        return Trace(Tables([checked.process])).losses()
    except SnoopieError as error:
        checked.wrong.append(error.problem)
        return []


def _print(file: dict[str, Any]) -> None:
    print(in_shell_words(f"{file['path']}: {'valid' if file['valid'] else 'NOT VALID'}"))
    for kind in ("right", "lost", "suspicious", "wrong"):
        for sentence in file[kind]:
            print(in_shell_words(f"  {kind:<10}  {sentence}"))
