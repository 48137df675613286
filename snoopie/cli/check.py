"""snoopie check: whether traces are what they should be."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snoopie.cli.formats import add_json, print_json
from snoopie.cli.output import in_shell_words
from snoopie.errors import SnoopieError

if TYPE_CHECKING:
    from snoopie.trace.check import Checked

DESCRIPTION = """Check each trace wholly: every block, id, reference and value, the limits, the footer's sums and the
order of times. Says what is right, what was lost while recording, what is suspicious and what is wrong. The exit status
is 1 if anything is wrong or suspicious, or the end of a trace is missing."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("traces", metavar="TRACE", nargs="+", help="trace file, or folder with traces")
    parser.add_argument("--allow-truncated", action="store_true", help="a trace whose end is missing may pass")
    parser.add_argument(
        "--trust", action="store_true", help="lift the limits on what a trace may hold: you trust who made it"
    )
    add_json(parser)


def main(arguments: argparse.Namespace) -> int:
    from snoopie.api.loading import paths_of

    files = [_said(path, arguments) for path in paths_of(arguments.traces)]
    if arguments.json:
        print_json({"files": files})
    else:
        for file in files:
            _print(file)
    return 0 if all(file["valid"] for file in files) else 1


def _said(path: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """What --json prints of a file."""
    from snoopie.trace.check import check
    from snoopie.trace.limits import allowed

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
    from snoopie.api.trace import Trace
    from snoopie.joined.tables import Tables

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
