"""Reading a database of rocpd, whatever tables and columns its version has.

The file is untrusted: it is opened read-only, and only ordinary tables are read.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

from snoopie.errors import CorruptError, NotATraceError, SnoopieError
from snoopie.importers import damage
from snoopie.importers.text import TextFile

_MAGIC = b"SQLite format 3\0"
_GZIP = b"\x1f\x8b"
_ROWS = 1 << 15
_REMEDY = "give a .rpd of rocmProfileData or a .db of rocprofv3"


class Database:
    """An open database, plain or compressed with gzip. Every method raises SnoopieError where it is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._closing = ExitStack()
        try:
            file = self._whole(path)
            self._connection = sqlite3.connect(f"file:{quote(str(file.resolve()))}?mode=ro", uri=True)
            self._closing.callback(self._connection.close)
            # Names are whatever the program's files held.
            self._connection.text_factory = lambda text: text.decode("utf-8", "replace")
            list(self.rows("PRAGMA trusted_schema = OFF"))
            self._columns: dict[str, frozenset[str]] = {}
            # Views and virtual tables have no pages of their own: what they would run is the file's choice.
            named = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 LIMIT 10000"
            for (name,) in [row for rows in self.rows(named) for row in rows]:
                columns = [row[1] for rows in self.rows(f"PRAGMA table_info({quoted(str(name))})") for row in rows]
                self._columns[str(name)] = frozenset(map(str, columns))
        except damage.ERRORS as error:
            self.close()
            raise self._damaged(error) from None
        except SnoopieError:
            self.close()
            raise

    def close(self) -> None:
        self._closing.close()

    @property
    def tables(self) -> list[str]:
        return list(self._columns)

    def has(self, table: str, column: str = "") -> bool:
        """Whether there is such a table, and in it such a column."""
        return table in self._columns and (not column or column in self._columns[table])

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a query, many at a time."""
        try:
            cursor = self._connection.execute(query, values)
            while rows := cursor.fetchmany(_ROWS):
                yield rows
        except damage.ERRORS as error:
            raise self._damaged(error) from None

    def all(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query on a small table."""
        return [row for rows in self.rows(f"{query} LIMIT 100000", values) for row in rows]

    def _whole(self, path: Path) -> Path:
        try:
            with path.open("rb") as file:
                start = file.read(len(_MAGIC))
        except OSError as error:
            raise NotATraceError(f"{path} cannot be read ({error.strerror})", "give the path of a file") from None
        if start.startswith(_GZIP):
            path = Path(self._closing.enter_context(tempfile.TemporaryDirectory())) / "unpacked"
            try:
                with path.open("w+b") as unpacked:
                    unpacked.writelines(TextFile(self.path).data())
                    unpacked.seek(0)
                    start = unpacked.read(len(_MAGIC))
            except OSError as error:
                raise SnoopieError(
                    f"{self.path} cannot be unpacked ({error.strerror})", "unpack it with gunzip where there is room"
                ) from None
        if start != _MAGIC:
            raise NotATraceError(f"{self.path} is not a database of rocpd", _REMEDY)
        return path

    def _damaged(self, error: sqlite3.Error | UnicodeDecodeError) -> SnoopieError:
        return CorruptError(
            f"{self.path} is damaged or incomplete ({damage.reason(error)})", "record it again, or copy it again"
        )


class Query:
    """A query of one table and those joined to it, of which some tables and columns may not be there."""

    def __init__(self, database: Database, table: str) -> None:
        self.database = database
        self._tables = {"e": table}
        self._joins = f"{quoted(table)} e"

    def cell(self, alias: str, column: str) -> str:
        """A column of the table ("e") or of one that was joined; NULL where there is none."""
        there = alias in self._tables and self.database.has(self._tables[alias], column)
        return f"{alias}.{quoted(column)}" if there else "NULL"

    def join(self, table: str, alias: str, column: str, to: str) -> None:
        """Joins the rows whose column equals a cell; nothing where that cannot be."""
        if self.database.has(table, column) and to != "NULL":
            self._tables[alias] = table
            own, key = quoted(table), quoted(column)
            # Rows with one id would have what refers to them stand there several times.
            if self.database.all(f"SELECT 1 FROM {own} GROUP BY {key} HAVING count(*) > 1"):
                own = f"(SELECT * FROM {own} GROUP BY {key})"
            self._joins += f" LEFT JOIN {own} {alias} ON {alias}.{key} = {to}"

    def rows(self, cells: Sequence[str], condition: str = "", value: int = 0) -> Iterator[list[tuple[Any, ...]]]:
        """The cells of the rows that meet a condition on ?1."""
        query = f"SELECT {', '.join(cells)} FROM {self._joins}" + (f" WHERE {condition}" if condition else "")
        return self.database.rows(query, [value] if "?1" in condition else [])


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
