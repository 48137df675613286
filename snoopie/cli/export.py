"""snoopie export: every table as Parquet, CSV or SQLite, or a timeline."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from snoopie.cli.arguments import add_traces, load_traces
from snoopie.cli.output import is_terminal, shell_words
from snoopie.errors import UsageError

if TYPE_CHECKING:
    from snoopie.api.trace import Trace

DESCRIPTION = """Write every table of a trace, and its traffic by every key, as DIR/TABLE.FORMAT (parquet, csv) or in
one database (sqlite); or a timeline for Perfetto and chrome://tracing (chrome)."""
_READERS = {"parquet": "read_parquet", "csv": "read_csv"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument("--format", required=True, choices=(*_READERS, "sqlite", "chrome"), help="kind of file")
    parser.add_argument(
        "-o", "--output", metavar="DIR", required=True,
        help="folder for the files, made if missing; with sqlite, the file; with chrome, too: x.json, or x.json.gz to "
        "compress it",
    )  # fmt: skip
    parser.add_argument(
        "--lanes", action="store_true", help="add lane_accesses, one row per lane of every record, with its address"
    )
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")


def main(arguments: argparse.Namespace) -> int:
    if arguments.format == "chrome" and arguments.lanes:
        raise UsageError("a timeline has no lanes", "leave --lanes out, or choose another format")
    trace = load_traces(arguments)
    if arguments.format == "chrome":
        return _timeline(trace, arguments)
    return _database(trace, arguments) if arguments.format == "sqlite" else _tables(trace, arguments)


def _tables(trace: Trace, arguments: argparse.Namespace) -> int:
    from snoopie.exporters.tables import export

    paths = export(trace, Path(arguments.output), arguments.format, lanes=arguments.lanes, force=arguments.force)
    size = sum(path.stat().st_size for path in paths.values())
    print(f"wrote {len(paths)} tables, {size:,} bytes, to {arguments.output}", flush=True)
    path = json.dumps(str(paths["traffic_by_pair"]), ensure_ascii=False)
    code = f"import pandas; print(pandas.{_READERS[arguments.format]}({path}))"
    print(f"Next: {shell_words(['python3', '-c', code])}", file=sys.stderr)
    return 0


def _database(trace: Trace, arguments: argparse.Namespace) -> int:
    from snoopie.exporters import sqlite

    path = Path(arguments.output)
    tables = sqlite.export(trace, path, lanes=arguments.lanes, force=arguments.force)
    print(f"wrote {len(tables)} tables, {path.stat().st_size:,} bytes, to {arguments.output}", flush=True)
    code = f"import sqlite3; print(*sqlite3.connect({str(path)!r}).execute('select * from traffic_by_pair'), sep='\\n')"
    print(f"Next: {shell_words(['python3', '-c', code])}", file=sys.stderr)
    return 0


def _timeline(trace: Trace, arguments: argparse.Namespace) -> int:
    from snoopie.exporters import chrome

    path = Path(arguments.output)
    progress = _show_progress if is_terminal(sys.stderr) else None
    events = chrome.export(trace, path, force=arguments.force, progress=progress)
    if progress:
        print("\r\033[K", end="", file=sys.stderr)
    print(f"wrote {events:,} events, {path.stat().st_size:,} bytes, to {arguments.output}", flush=True)
    print(
        "Next: open it in https://ui.perfetto.dev (its bytes stay in the browser) or chrome://tracing", file=sys.stderr
    )
    return 0


def _show_progress(done: int, expected: int) -> None:
    print(f"\r{done:,} of about {expected:,} events", end="", file=sys.stderr, flush=True)
