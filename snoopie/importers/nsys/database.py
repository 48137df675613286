"""Reading an SQLite export of Nsight Systems, whatever tables and columns its version has.

The file is untrusted: it is opened read-only, only ordinary tables are read, and a cell that is not what its column
should hold is MISSING.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from snoopie.errors import EmptyError, SnoopieError
from snoopie.importers import Progress

Ints = NDArray[np.int64]

# A cell that is NULL or no integer, and every cell of a column that the export lacks.
MISSING = -(1 << 63)
# globalPid and globalTid: bits of the machine, 24 bits of the process, 24 bits of the thread.
ID_BITS = 24
ID_MASK = (1 << ID_BITS) - 1

_MAGIC = b"SQLite format 3\0"
_ROWS = 1 << 15
_EXPORT = "make one with: nsys export --type sqlite REPORT.nsys-rep"


class Database:
    """An open export. Every method raises SnoopieError where the file turns out to be damaged."""

    def __init__(self, path: Path, progress: Progress) -> None:
        self.path = path
        self._progress = progress
        _check_file(path)
        try:
            self._connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
        except sqlite3.Error as error:
            raise self._damaged(error) from None
        # Names are whatever the program's files held.
        self._connection.text_factory = lambda text: text.decode("utf-8", "replace")
        self._columns: dict[str, dict[str, str]] = {}
        try:
            self._query("PRAGMA trusted_schema = OFF")
            # Views and virtual tables have no pages of their own: what they would run is the file's choice.
            for (name,) in self._query("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"):
                columns = [str(row[1]) for row in self._query(f"PRAGMA table_info({_quoted(str(name))})")]
                self._columns[str(name).casefold()] = {column.casefold(): column for column in columns}
        except SnoopieError:
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def has(self, table: str, column: str = "") -> bool:
        """Whether there is such a table, and in it such a column."""
        columns = self._columns.get(table.casefold())
        return columns is not None and (not column or column.casefold() in columns)

    def processes(self, columns: Sequence[tuple[str, str]]) -> list[int]:
        """The processes that columns of globalPid or globalTid name: ``id >> 24``, each once, rising."""
        found: set[int] = set()
        for table, column in columns:
            if self.has(table, column):
                rows = self._query(f"SELECT DISTINCT {_quoted(column)} >> {ID_BITS} FROM {_quoted(table)}")
                found |= {row[0] for row in rows if isinstance(row[0], int)}
        return sorted(found)

    def numbers(self, table: str, columns: str, of: str = "", process: int = 0, only: bool = True) -> dict[str, Ints]:
        """Columns of integers, named in one string; of a process, or where ``of`` is "" of all.

        ``of`` is the column that says whose a row is. Rows that do not say it belong to the ``only`` process, if it is
        that.
        """
        names = columns.split()
        known = [name for name in names if name == "rowid" or self.has(table, name)]
        found = np.empty((len(known), 0), np.int64)
        if known and self.has(table) and (self.has(table, of) or only):
            cells = ", ".join(f"IFNULL({_quoted(name) if name != 'rowid' else name}, ?1)" for name in known)
            condition, values = self._condition(table, of, process, only)
            found = self._read(table, f"SELECT {cells} FROM {_quoted(table)}{condition}", values, len(known))
        lacking = np.full(found.shape[1], MISSING, np.int64)
        return {name: found[known.index(name)] if name in known else lacking for name in names}

    def texts(self, table: str, column: str, of: str, process: int, only: bool) -> dict[int, str]:
        """rowid → text, of the rows of a process that have one."""
        if not self.has(table, column) or not (self.has(table, of) or only):
            return {}
        condition, values = self._condition(table, of, process, only)
        rows = self._query(f"SELECT rowid, {_quoted(column)}, ?1 FROM {_quoted(table)}{condition}", values)
        return {row: text for row, text, _ in rows if isinstance(row, int) and isinstance(text, str) and text}

    def rows(self, table: str, columns: str) -> list[tuple[object, ...]]:
        """The rows of a small table; None for every cell of a column that it lacks."""
        if not self.has(table):
            return []
        cells = [_quoted(name) if self.has(table, name) else "NULL" for name in columns.split()]
        return list(self._query(f"SELECT {', '.join(cells)} FROM {_quoted(table)} LIMIT 100000"))

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        """The texts of StringIds; "" for an id without."""
        wanted = sorted({int(number) for number in ids} - {MISSING})
        found = dict.fromkeys([*wanted, MISSING], "")
        if self.has("StringIds", "id") and self.has("StringIds", "value"):
            for start in range(0, len(wanted), 500):
                some = wanted[start : start + 500]
                marks = ", ".join("?" * len(some))
                for number, text in self._query(f"SELECT id, value FROM StringIds WHERE id IN ({marks})", some):
                    if number in found and isinstance(text, str):
                        found[number] = text
        return found

    def _condition(self, table: str, of: str, process: int, only: bool) -> tuple[str, list[int | None]]:
        if not of or not self.has(table, of):
            return "", [MISSING]
        condition = f" WHERE IFNULL({_quoted(of)} >> {ID_BITS}, ?2) = ?3"
        return condition, [MISSING, process if only else None, process]

    def _read(self, table: str, sql: str, values: Sequence[int | None], width: int) -> Ints:
        parts = [np.empty((width, 0), np.int64)]
        done = 0
        try:
            cursor = self._connection.execute(sql, values)
            while rows := cursor.fetchmany(_ROWS):
                parts.append(_integers(rows, width))
                done += len(rows)
                self._progress(table, done)
        except sqlite3.Error as error:
            raise self._damaged(error) from None
        return np.concatenate(parts, axis=1)

    def _query(self, sql: str, values: Sequence[int | None] = ()) -> Iterable[tuple[object, ...]]:
        try:
            yield from self._connection.execute(sql, values)
        except sqlite3.Error as error:
            raise self._damaged(error) from None

    def _damaged(self, error: sqlite3.Error) -> SnoopieError:
        return SnoopieError(f"{self.path} is damaged or incomplete ({error})", f"export the report again; {_EXPORT}")


def _check_file(path: Path) -> None:
    try:
        if not path.exists():
            raise SnoopieError(f"there is no file {path}", f"name an SQLite export of Nsight Systems; {_EXPORT}")
        if not path.is_file():
            raise SnoopieError(f"{path} is not a file", f"name an SQLite export of Nsight Systems; {_EXPORT}")
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SnoopieError(f"{path} cannot be opened ({reason})", "name a readable file") from None
    if not start:
        raise EmptyError(f"{path} is empty (0 bytes)", f"export the report again; {_EXPORT}")
    if start != _MAGIC:
        raise SnoopieError(f"{path} is not an SQLite export of Nsight Systems", _EXPORT)


def _integers(rows: Sequence[tuple[object, ...]], width: int) -> Ints:
    """The cells of some rows, column by column."""
    cells = chain.from_iterable(rows)
    try:
        numbers = np.fromiter(cells, np.int64, len(rows) * width)
    except (TypeError, ValueError, OverflowError):
        cells = chain.from_iterable(rows)
        whole = (cell if isinstance(cell, int) else MISSING for cell in cells)
        numbers = np.fromiter(whole, np.int64, len(rows) * width)
    return numbers.reshape(len(rows), width).T


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
