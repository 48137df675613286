"""Every table of a trace, and its traffic by every key, in one SQLite database.

Columns are INTEGER, REAL or TEXT; what is not a number is NULL, what is true 1. SQLite's integers are signed: of an
unsigned value all 64 bits are kept, so that one of 2^63 or more (no address of a GPU, but perhaps the handle of a
stream) is negative, and ``printf('%x', address)`` shows each as it was.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from snoopie.api.trace import Trace
from snoopie.errors import SnoopieError
from snoopie.exporters.tables import Pieces, chosen, flat
from snoopie.files import whole_file

# What rows are looked up by.
KEYS = ("process", "function", "site", "launch", "object", "kernel", "stack", "frame")


def export(
    trace: Trace, path: str | Path, *, table: str | None = None, lanes: bool = False, force: bool = False
) -> dict[str, int]:
    """Write all tables, or one, into one new database; returns table → rows.

    ``lanes`` adds one row per lane of every record. The file takes its name when it is complete. SnoopieError if it
    already exists (unless ``force``) or cannot be written.
    """
    path = Path(path)
    with whole_file(path, force=force) as unfinished:
        try:
            with closing(sqlite3.connect(unfinished, isolation_level=None)) as database:
                # Nobody else sees the file before it is whole: a journal protects nothing.
                database.execute("PRAGMA journal_mode = OFF")
                database.execute("PRAGMA synchronous = OFF")
                tables = chosen(table, lanes=lanes)
                return {name: _write(database, name, pieces(trace)) for name, pieces in tables.items()}
        except sqlite3.Error as error:
            raise SnoopieError(f"{path} cannot be written ({error})", "name another place, or free space") from error


def _write(database: sqlite3.Connection, name: str, pieces: Pieces) -> int:
    written, primary = 0, ""
    columns: list[str] = []
    for number, piece in enumerate(pieces):
        table = flat(piece)
        if number == 0:
            columns = [str(column) for column in table.columns]
            # An index with a name is an id.
            primary = str(piece.index.name) if piece.index.name is not None and piece.index.is_unique else ""
            _create(database, name, table, primary)
            places = ", ".join("?" * len(columns))
            insert = f'INSERT INTO "{name}" VALUES ({places})'
        database.execute("BEGIN")
        database.executemany(insert, zip(*(_values(table[column]) for column in columns), strict=True))
        database.execute("COMMIT")
        written += len(table)
    for key in KEYS:
        # After the rows: sorting once is quicker. Of one value, as of one process, an index finds nothing.
        if key in columns and key != primary and _differs(database, name, key):
            database.execute(f'CREATE INDEX "{name} by {key}" ON "{name}" ("{key}")')
    return written


def _differs(database: sqlite3.Connection, name: str, column: str) -> bool:
    """Whether a column has two values, or one and NULL."""
    least, most, some = database.execute(
        f'SELECT MIN("{column}"), MAX("{column}"), COUNT("{column}") < COUNT(*) FROM "{name}"'
    ).fetchone()
    return bool(least != most or (some and least is not None))


def _create(database: sqlite3.Connection, name: str, table: pd.DataFrame, primary: str) -> None:
    columns = [
        f'"{column}" {_type(table[column])}{" PRIMARY KEY" if column == primary else ""}' for column in table.columns
    ]
    database.execute(f'CREATE TABLE "{name}" ({", ".join(columns)})')


def _type(column: pd.Series[Any]) -> str:
    return {"i": "INTEGER", "u": "INTEGER", "b": "INTEGER", "f": "REAL"}.get(column.dtype.kind, "TEXT")


def _values(column: pd.Series[Any]) -> Iterable[Any]:
    """The values as sqlite3 takes them: Python's own."""
    if column.dtype == "uint64":
        return column.to_numpy().view("int64").tolist()
    if column.dtype.kind in "iubf":
        # NaN becomes NULL by itself.
        return column.to_numpy().tolist()
    return [str(value) for value in column]
