"""Every table of a trace, and its traffic by every key, as Parquet or CSV files."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from snoopie.api.trace import Trace
from snoopie.errors import SnoopieError, UsageError
from snoopie.exporters.formulas import write_csv

# A table in pieces, of which there is at least one: records can be more than fit in memory.
Pieces = Iterable[pd.DataFrame]

TABLES: dict[str, Callable[[Trace], Pieces]] = {
    "processes": lambda trace: [trace.processes],
    "gpus": lambda trace: [trace.gpus],
    "sets": lambda trace: [trace.sets],
    "links": lambda trace: [trace.links],
    "functions": lambda trace: [trace.functions],
    "lines": lambda trace: [trace.lines],
    "sites": lambda trace: [trace.sites],
    "launches": lambda trace: [trace.launches],
    "counts": lambda trace: [trace.counts],
    "spans": lambda trace: [trace.spans],
    "records": lambda trace: _pieces(trace.select(launches=[]).records, trace.record_blocks()),
    "copies": lambda trace: [trace.copies],
    "collectives": lambda trace: [trace.collectives],
    "call_totals": lambda trace: [trace.call_totals],
    "call_times": lambda trace: [trace.call_times],
    "call_errors": lambda trace: [trace.call_errors],
    "calls": lambda trace: [trace.calls],
    "objects": lambda trace: [trace.objects],
    "notices": lambda trace: [trace.notices],
    "not_measured": lambda trace: [trace.not_measured()],
    "traffic_by_pair": lambda trace: [trace.by_pair()],
    "flow_by_pair": lambda trace: [trace.by_pair(reading="flow")],
    "traffic_by_kernel": lambda trace: [trace.by_kernel()],
    "traffic_by_line": lambda trace: [trace.by_line()],
    "traffic_by_site": lambda trace: [trace.by_site()],
    "traffic_by_operation": lambda trace: [trace.by_operation()],
    "traffic_by_launch": lambda trace: [trace.by_launch()],
    "traffic_by_collective": lambda trace: [trace.by_collective()],
    "copies_by_call": lambda trace: [trace.by_copy()],
    "calls_by_call": lambda trace: [trace.by_call()],
    "calls_by_thread": lambda trace: [trace.by_thread()],
    "launches_by_kernel": lambda trace: [trace.by_launched_kernel()],
    "copies_by_direction": lambda trace: [trace.by_direction()],
    "calls_by_error": lambda trace: [trace.by_error()],
}
# The only table with the addresses of scattered accesses; up to 32 rows a record, so on request.
LANES: dict[str, Callable[[Trace], Pieces]] = {
    "lane_accesses": lambda trace: _pieces(trace.lane_accesses(limit=0), trace.lane_access_blocks())
}


def _pieces(empty: pd.DataFrame, blocks: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    yield empty
    yield from blocks


def _write_parquet(pieces: Pieces, path: Path) -> None:
    writer: pa.parquet.ParquetWriter | None = None
    try:
        for piece in pieces:
            schema = None if writer is None else writer.schema
            table = pa.Table.from_pandas(flat(piece), schema=schema, preserve_index=False)
            if writer is None:
                writer = pa.parquet.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _write_csv(pieces: Pieces, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        for number, piece in enumerate(pieces):
            write_csv(flat(piece), file, header=number == 0)


_WRITERS: dict[str, Callable[[Pieces, Path], None]] = {"parquet": _write_parquet, "csv": _write_csv}
FORMATS = tuple(_WRITERS)


def flat(table: pd.DataFrame) -> pd.DataFrame:
    """An index with a name is an id, and becomes the first column."""
    return table.reset_index() if table.index.name is not None else table


def export(
    trace: Trace, folder: str | Path, format: str, *, lanes: bool = False, force: bool = False
) -> dict[str, Path]:
    """Write folder/<table>.<format> for every table; returns table → path.

    `lanes` adds one row per lane of every record. All files are complete before the first takes its name. SnoopieError
    if one already exists (unless `force`) or cannot be written.
    """
    write = _WRITERS.get(format)
    if write is None:
        raise UsageError(f"there is no format {format}", f"choose {' or '.join(FORMATS)}")
    tables = TABLES | LANES if lanes else TABLES
    folder = Path(folder)
    paths = {name: folder / f"{name}.{format}" for name in tables}
    existing = [path for path in paths.values() if path.exists()]
    if existing and not force:
        more = f", and {len(existing) - 1} more" if existing[1:] else ""
        raise SnoopieError(f"{existing[0]} already exists{more}", "name another folder, or overwrite with --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # In the same folder, so that the renames stay within one file system.
        unfinished = Path(tempfile.mkdtemp(prefix=".snoopie-export-", dir=folder))
        try:
            for name, pieces in tables.items():
                write(pieces(trace), unfinished / paths[name].name)
            for path in paths.values():
                os.replace(unfinished / path.name, path)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SnoopieError(f"{folder} cannot be written ({reason})", "name another folder, or free space") from error
    return paths
