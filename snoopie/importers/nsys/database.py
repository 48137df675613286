"""Reading an SQLite export of Nsight Systems. It is opened read-only, and only ordinary tables are read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from urllib.parse import quote

import numpy as np

from snoopie.errors import EmptyError, SnoopieError
from snoopie.importers import Progress, damage
from snoopie.importers.nsys.export import HOW, ID_BITS, LONGEST, MISSING, Ints

MAGIC = b"SQLite format 3\0"
_ROWS = 1 << 15
_EXPORT = f"make one with: {HOW}"


class Database:
    """An open export: what its methods do, `Export` says.

    ``file`` is where it lies, if that is not the ``path`` that the user named.
    """

    def __init__(self, path: Path, progress: Progress, file: Path | None = None) -> None:
        self.path = path
        self._progress = progress
        file = file or path
        _check_file(file)
        try:
            self._connection = sqlite3.connect(f"file:{quote(str(file.resolve()))}?mode=ro", uri=True)
        except damage.ERRORS as error:
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
        columns = self._columns.get(table.casefold())
        return columns is not None and (not column or column.casefold() in columns)

    def processes(self, columns: Sequence[tuple[str, str]]) -> list[int]:
        found: set[int] = set()
        for table, column in columns:
            if self.has(table, column):
                rows = self._query(f"SELECT DISTINCT {_quoted(column)} >> {ID_BITS} FROM {_quoted(table)}")
                found |= {row[0] for row in rows if isinstance(row[0], int)}
        return sorted(found)

    def least(self, table: str, column: str) -> int | None:
        if not self.has(table, column):
            return None
        name = _quoted(column)
        condition = f"WHERE typeof({name}) = 'integer' AND {name} > {-LONGEST}"
        (row,) = self._query(f"SELECT min({name}) FROM {_quoted(table)} {condition}")
        return row[0] if isinstance(row[0], int) else None

    def pieces(
        self, table: str, columns: str, of: str = "", process: int = 0, only: bool = True, *, known: str = ""
    ) -> Iterator[dict[str, Ints]]:
        names = columns.split()
        held = [name for name in names if name == "rowid" or self.has(table, name)]
        if not held or not self.has(table) or not (self.has(table, of) or only) or (known and known not in held):
            return
        cells = ", ".join(f"IFNULL({_quoted(name) if name != 'rowid' else name}, ?1)" for name in held)
        condition, values = self._condition(table, of, process, only)
        if known:
            condition += f"{' AND' if condition else ' WHERE'} {_quoted(known)} IS NOT NULL"
        done = 0
        try:
            cursor = self._connection.execute(f"SELECT {cells} FROM {_quoted(table)}{condition}", values)
            while rows := cursor.fetchmany(_ROWS):
                found = _integers(rows, len(held))
                lacking = np.full(len(rows), MISSING, np.int64)
                done += len(rows)
                self._progress(table, done)
                yield {name: found[held.index(name)] if name in held else lacking for name in names}
        except damage.ERRORS as error:
            raise self._damaged(error) from None

    def texts(self, table: str, column: str, of: str, process: int, only: bool) -> dict[int, str]:
        if not self.has(table, column) or not (self.has(table, of) or only):
            return {}
        condition, values = self._condition(table, of, process, only)
        rows = self._query(f"SELECT rowid, {_quoted(column)}, ?1 FROM {_quoted(table)}{condition}", values)
        return {row: text for row, text, _ in rows if isinstance(row, int) and isinstance(text, str) and text}

    def named(
        self, table: str, prefix: str, columns: str, of: str = "", process: int = 0, only: bool = True
    ) -> Iterator[tuple[object, ...]]:
        owned = bool(of) and not only
        if owned and not self.has(table, of):
            return
        texts, ids = self.has(table, "text"), self.has(table, "textId") and self.has("StringIds", "id")
        ids = ids and self.has("StringIds", "value")
        if not texts and not ids:
            return
        strings = (
            "SELECT id, value FROM StringIds WHERE substr(value, 1, ?2) = ?1" if ids else "SELECT NULL id, NULL value"
        )
        own = "CASE WHEN substr(n.text, 1, ?2) = ?1 THEN n.text END" if texts else "NULL"
        joined = "n.textId" if ids else "NULL"
        name = f"coalesce({own}, s.value)"
        sql = (
            f"SELECT {', '.join([name, *(self._cell(table, column) for column in columns.split())])} "
            f"FROM {_quoted(table)} n LEFT JOIN ({strings}) s ON s.id = {joined} WHERE {name} IS NOT NULL"
        )
        if owned:
            sql += f" AND n.{_quoted(of)} >> {ID_BITS} = ?3"
        yield from self._query(sql, (prefix, len(prefix), *([process] if owned else [])))

    def _cell(self, table: str, column: str) -> str:
        if not self.has(table, column):
            return "NULL"
        # Versions differ in whether they say that these bytes are text.
        return f"CAST(n.{_quoted(column)} AS BLOB)" if column == "binaryData" else f"n.{_quoted(column)}"

    def rows(self, table: str, columns: str) -> list[tuple[object, ...]]:
        if not self.has(table):
            return []
        cells = [_quoted(name) if self.has(table, name) else "NULL" for name in columns.split()]
        return list(self._query(f"SELECT {', '.join(cells)} FROM {_quoted(table)} LIMIT 100000"))

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
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
        # Of the only process are all rows.
        if not of or only:
            return "", [MISSING]
        return f" WHERE {_quoted(of)} >> {ID_BITS} = ?2", [MISSING, process]

    def _query(self, sql: str, values: Sequence[int | str | None] = ()) -> Iterator[tuple[object, ...]]:
        try:
            yield from self._connection.execute(sql, values)
        except damage.ERRORS as error:
            raise self._damaged(error) from None

    def _damaged(self, error: sqlite3.Error | UnicodeDecodeError) -> SnoopieError:
        return SnoopieError(
            f"{self.path} is damaged or incomplete ({damage.reason(error)})", f"export the report again; {_EXPORT}"
        )


def _check_file(path: Path) -> None:
    try:
        if not path.exists():
            raise SnoopieError(f"there is no file {path}", f"name an SQLite export of Nsight Systems; {_EXPORT}")
        if not path.is_file():
            raise SnoopieError(f"{path} is not a file", f"name an SQLite export of Nsight Systems; {_EXPORT}")
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SnoopieError(f"{path} cannot be opened ({reason})", "name a readable file") from None
    if not start:
        raise EmptyError(f"{path} is empty (0 bytes)", f"export the report again; {_EXPORT}")
    if start != MAGIC:
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
