"""snoopie export: every table as Parquet, CSV or SQLite, a timeline, or a flame graph."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from snoopie.analysis.traffic.values import VALUES
from snoopie.cli.arguments import add_traces, load_traces
from snoopie.cli.filters import add_filters, in_words, select
from snoopie.cli.output import clean, is_terminal, say_written, shell_words, size_of
from snoopie.errors import UsageError
from snoopie.files import check_free, to_standard_output
from snoopie.words import units

if TYPE_CHECKING:
    from snoopie.analysis.traffic.values import Value
    from snoopie.api.trace import Trace

DESCRIPTION = """Write every table of a trace, and its traffic by every key, as DIR/TABLE.FORMAT (parquet, csv) or in
one database (sqlite); a timeline for Perfetto and chrome://tracing (chrome); or a flame graph, from the functions that
launched kernels to the memory that these reached, as SVG (flamegraph), for speedscope.app (speedscope) or as text
(collapsed)."""
_READERS = {"parquet": "read_parquet", "csv": "read_csv"}
_FLAMES = {
    "flamegraph": "open it in a browser; names and amounts stand in its tooltips",
    "speedscope": "open it in https://www.speedscope.app (its bytes stay in the browser)",
    "collapsed": "flamegraph.pl and other tools for collapsed stacks read it",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument(
        "--format", required=True, choices=(*_READERS, "sqlite", "chrome", *_FLAMES), help="kind of file"
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", required=True,
        help="folder for the files, made if missing; with --table, and for all but parquet and csv, the file: x.csv, "
        "x.sqlite, x.json, or x.json.gz to compress it; - for standard output",
    )  # fmt: skip
    parser.add_argument("--table", metavar="NAME", help="this table alone, such as counts or traffic_by_pair")
    parser.add_argument(
        "--lanes", action="store_true", help="add lane_accesses, one row per lane of every record, with its address"
    )
    parser.add_argument(
        "--kernel-names", action="store_true", help="chrome: name the call of a launch as the kernel that it launches"
    )
    parser.add_argument(
        "--group", choices=("gpu", "process"),
        help="chrome: show kernels with their GPU (default), or with the process that launched them",
    )  # fmt: skip
    parser.add_argument("--value", choices=VALUES, help="the amount that a flame graph shows (default: bytes)")
    parser.add_argument(
        "--force", action="store_true", help="overwrite files that exist; a pipe or a device is written to"
    )
    add_filters(parser)


def main(arguments: argparse.Namespace) -> int:
    from snoopie.exporters.tables import chosen

    _check(arguments)
    # What is wrong is said before the traces are read.
    chosen(arguments.table)
    path = Path(arguments.output)
    if arguments.table or arguments.format not in _READERS:
        check_free(path, force=arguments.force)
    elif to_standard_output(path):
        raise UsageError("a stream can hold only one table", "choose one with --table, or name a folder")
    trace = select(load_traces(arguments), arguments)
    if part := in_words(arguments):
        print(f"snoopie: note: {part} Tables that these filters do not divide are whole.", file=sys.stderr)
    if arguments.format in _FLAMES:
        return _flame(trace, path, arguments)
    if arguments.format == "chrome":
        return _timeline(trace, path, arguments)
    if arguments.format == "sqlite":
        return _database(trace, path, arguments)
    return _table(trace, path, arguments) if arguments.table else _tables(trace, path, arguments)


def _check(arguments: argparse.Namespace) -> None:
    """UsageError for options that the format does not have."""
    of_tables = arguments.format in (*_READERS, "sqlite")
    what = "timeline" if arguments.format == "chrome" else "flame graph"
    for option, given, things in (("--lanes", arguments.lanes, "lanes"), ("--table", arguments.table, "tables")):
        if given and not of_tables:
            raise UsageError(f"a {what} has no {things}", f"leave {option} out, or choose another format")
    for option, given in (("--kernel-names", arguments.kernel_names), ("--group", arguments.group)):
        if given and arguments.format != "chrome":
            raise UsageError(f"{option} is for a timeline", "leave it out, or choose --format chrome")
    if arguments.value and arguments.format not in _FLAMES:
        raise UsageError("only a flame graph shows one amount", "leave --value out, or choose another format")


def _tables(trace: Trace, folder: Path, arguments: argparse.Namespace) -> int:
    from snoopie.exporters.folder import export

    paths = export(trace, folder, arguments.format, lanes=arguments.lanes, force=arguments.force)
    size = sum(path.stat().st_size for path in paths.values())
    print(clean(f"wrote {len(paths)} tables, {size:,} bytes, to {arguments.output}"), flush=True)
    _next_in_pandas(arguments.format, paths["traffic_by_pair"])
    return 0


def _table(trace: Trace, path: Path, arguments: argparse.Namespace) -> int:
    from snoopie.exporters.folder import export_table

    export_table(trace, arguments.table, path, arguments.format, force=arguments.force)
    say_written(path, f"wrote table {arguments.table}{size_of(path)}, to {path}")
    if path.is_file():
        _next_in_pandas(arguments.format, path)
    return 0


def _next_in_pandas(format: str, path: Path) -> None:
    code = f"import pandas; print(pandas.{_READERS[format]}({json.dumps(str(path), ensure_ascii=False)}))"
    print(f"Next: {shell_words(['python3', '-c', code])}", file=sys.stderr)


def _database(trace: Trace, path: Path, arguments: argparse.Namespace) -> int:
    from snoopie.exporters import sqlite

    tables = sqlite.export(trace, path, table=arguments.table, lanes=arguments.lanes, force=arguments.force)
    number = units.plural(len(tables), "table", "tables")
    say_written(path, f"wrote {number}{size_of(path)}, to {path}")
    if path.is_file():
        shown = arguments.table or "traffic_by_pair"
        code = f"import sqlite3; print(*sqlite3.connect({str(path)!r}).execute('select * from {shown}'), sep='\\n')"
        print(f"Next: {shell_words(['python3', '-c', code])}", file=sys.stderr)
    return 0


def _timeline(trace: Trace, path: Path, arguments: argparse.Namespace) -> int:
    from snoopie.exporters import chrome

    progress = _show_progress if is_terminal(sys.stderr) else None
    events = chrome.export(
        trace, path, force=arguments.force, progress=progress, kernel_names=arguments.kernel_names,
        by_process=arguments.group == "process",
    )  # fmt: skip
    if progress:
        print("\r\033[K", end="", file=sys.stderr)
    say_written(path, f"wrote {events:,} events{size_of(path)}, to {path}")
    if not to_standard_output(path):
        print(
            "Next: open it in https://ui.perfetto.dev (its bytes stay in the browser) or chrome://tracing",
            file=sys.stderr,
        )
    return 0


def _show_progress(done: int, expected: int) -> None:
    print(f"\r{done:,} of about {expected:,} events", end="", file=sys.stderr, flush=True)


def _flame(trace: Trace, path: Path, arguments: argparse.Namespace) -> int:
    from snoopie.exporters import flame

    value: Value = arguments.value or "bytes"
    paths = flame.export(trace, path, arguments.format, value=value, force=arguments.force)
    say_written(path, f"wrote {units.plural(paths, 'path', 'paths')}{size_of(path)}, to {path}")
    if not to_standard_output(path):
        print(f"Next: {_FLAMES[arguments.format]}", file=sys.stderr)
    return 0
