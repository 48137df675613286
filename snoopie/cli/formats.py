"""What commands print for programs and documents: JSON, CSV and Markdown, on standard output."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from snoopie.cli.arguments import natural
from snoopie.cli.output import clean, json_rows, print_data, print_table
from snoopie.words import markdown, units
from snoopie.words.columns import heading, kind, say
from snoopie.words.text import in_json

if TYPE_CHECKING:
    import pandas as pd

# Of all JSON. It grows when something is taken away or changes its meaning; docs/output.schema.json says what there is.
VERSION = 1


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json, for what is no single list."""
    parser.add_argument("--json", action="store_true", help=_HELP["json"])


def add_formats(parser: argparse.ArgumentParser) -> None:
    """--json, --csv and --markdown, of which one can be chosen."""
    group = parser.add_mutually_exclusive_group()
    for name, text in _HELP.items():
        group.add_argument(f"--{name}", action="store_true", help=text)


_HELP = {
    "json": "exact numbers for programs (docs/output.schema.json); times in ns",
    "csv": "the list as CSV, with exact numbers",
    "markdown": "the list as a table in Markdown",
}


def add_top(parser: argparse.ArgumentParser, default: int = 0) -> None:
    """--top, of which `top` knows what was given."""
    shown = f"{default}; CSV, JSON and Markdown: all" if default else "all"
    parser.add_argument("--top", metavar="N", type=natural, help=f"the first N rows of each list (default: {shown})")
    parser.set_defaults(top_for_people=default)


def top(table: pd.DataFrame, arguments: argparse.Namespace, *, for_people: bool = False) -> pd.DataFrame:
    """The rows that --top leaves; 0 leaves all."""
    most = arguments.top
    if most is None:
        most = arguments.top_for_people if for_people else 0
    return table.head(most) if most else table


def print_first(table: pd.DataFrame, arguments: argparse.Namespace, stream: TextIO | None = None) -> None:
    """Print the rows that --top leaves, for people, and how many more there are."""
    shown = top(table, arguments, for_people=True)
    print_table(shown, stream)
    if more := len(table) - len(shown):
        print(f"… and {units.plural(more, 'more row', 'more rows')}: --top 0 shows all", file=stream or sys.stdout)


def print_json(result: Mapping[str, Any], *, indent: int | None = 2) -> None:
    """Print a result with the version of this JSON."""
    print(in_json(json.dumps({"version": VERSION, **result}, indent=indent, ensure_ascii=False, allow_nan=False)))


def print_csv(table: pd.DataFrame) -> None:
    """Print a table with the names of its columns and its values as they are, but for a "'" before what a spreadsheet
    would run; what is not a number is empty."""
    import pandas as pd

    from snoopie.exporters.formulas import write_csv

    rows = [[_plain(value) for value in row.values()] for row in json_rows(table)]
    text = io.StringIO()
    # Of no type, so that numbers beside what is empty stay as they are.
    write_csv(pd.DataFrame(rows, columns=table.columns, dtype=object), text, header=True)
    print_data(text.getvalue())


def print_markdown(table: pd.DataFrame) -> None:
    """Print a table as people read it."""
    names = [str(name) for name in table.columns]
    columns = [[_cell(say(name, value)) for value in table[name].tolist()] for name in names]
    numbers = [kind(name).is_number or table[name].dtype.kind in "iuf" for name in names]
    _print_row(_cell(heading(name)) for name in names)
    _print_row("---:" if number else "---" for number in numbers)
    for row in zip(*columns, strict=True):
        _print_row(row)


def _plain(value: Any) -> Any:
    # What a finding's numbers are.
    return in_json(json.dumps(value, ensure_ascii=False)) if isinstance(value, (dict, list, tuple)) else value


def _cell(text: str) -> str:
    return markdown.cell(clean(text))


def _print_row(cells: Iterable[str]) -> None:
    print(f"| {' | '.join(cells)} |")
