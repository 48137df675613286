"""The tables as Parquet or CSV files: all in a folder, or one by itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from snoopie.api.trace import Trace
from snoopie.errors import SnoopieError, UsageError
from snoopie.exporters.formulas import write_csv
from snoopie.exporters.tables import Pieces, chosen, flat
from snoopie.files import whole_file, whole_files


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


def export(
    trace: Trace, folder: str | Path, format: str, *, lanes: bool = False, force: bool = False
) -> dict[str, Path]:
    """Write folder/<table>.<format> for every table; returns table → path.

    `lanes` adds one row per lane of every record. All files are complete before the first takes its name. SnoopieError
    if one already exists (unless `force`) or cannot be written.
    """
    write = _writer(format)
    tables = chosen(lanes=lanes)
    folder = Path(folder)
    paths = {name: folder / f"{name}.{format}" for name in tables}
    existing = [path for path in paths.values() if os.path.lexists(path)]
    if existing[1:] and not force:
        raise SnoopieError(
            f"{existing[0]} already exists, and {len(existing) - 1} more",
            "name another folder, or overwrite with --force",
        )
    with whole_files(list(paths.values()), force=force, named=folder, other="another folder") as unfinished:
        for pieces, path in zip(tables.values(), unfinished, strict=True):
            write(pieces(trace), path)
    return paths


def export_table(trace: Trace, table: str, path: str | Path, format: str, *, force: bool = False) -> None:
    """Write one table as one file, ``-`` for standard output. Errors as `export`, UsageError for no such table."""
    write = _writer(format)
    (pieces,) = chosen(table).values()
    with whole_file(Path(path), force=force) as unfinished:
        write(pieces(trace), unfinished)


def _writer(format: str) -> Callable[[Pieces, Path], None]:
    if format not in _WRITERS:
        raise UsageError(f"there is no format {format}", f"choose {' or '.join(FORMATS)}")
    return _WRITERS[format]
