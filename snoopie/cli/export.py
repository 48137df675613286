"""snoopie export: every table as Parquet or CSV."""

import argparse
import json
import sys
from pathlib import Path

from snoopie.cli.arguments import add_traces, load_traces
from snoopie.cli.output import shell_words
from snoopie.exporters.tables import FORMATS, export

DESCRIPTION = "Write every table of a trace, and its traffic by every key, as DIR/TABLE.FORMAT."
_READERS = {"parquet": "read_parquet", "csv": "read_csv"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument("--format", required=True, choices=FORMATS, help="kind of file")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="folder for the files; made if missing")
    parser.add_argument(
        "--lanes", action="store_true", help="add lane_accesses, one row per lane of every record, with its address"
    )
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")


def main(arguments: argparse.Namespace) -> int:
    trace = load_traces(arguments)
    paths = export(trace, Path(arguments.output), arguments.format, lanes=arguments.lanes, force=arguments.force)
    size = sum(path.stat().st_size for path in paths.values())
    print(f"wrote {len(paths)} tables, {size:,} bytes, to {arguments.output}", flush=True)
    path = json.dumps(str(paths["traffic_by_pair"]), ensure_ascii=False)
    code = f"import pandas; print(pandas.{_READERS[arguments.format]}({path}))"
    print(f"Next: {shell_words(['python3', '-c', code])}", file=sys.stderr)
    return 0
