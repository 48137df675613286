"""Reading a parquet export of Nsight Systems: a folder with a file for each table (nsys export --type parquetdir)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snoopie.errors import SnoopieError
from snoopie.importers import Progress
from snoopie.importers.nsys.export import ID_BITS, MISSING, Ints, is_time

_SUFFIX = ".parquet"
_ROWS = 1 << 16
_EXPORT = "export the report again: nsys export --type parquetdir REPORT.nsys-rep"
_SMALL = 100_000


class ParquetExport:
    """An open export: what its methods do, `Export` says."""

    def __init__(self, path: Path, progress: Progress) -> None:
        self.path = path
        self._progress = progress
        self._files = {file.stem.casefold(): file for file in path.iterdir() if file.suffix == _SUFFIX}
        self._columns: dict[str, dict[str, str]] = {}
        self._strings: tuple[Ints, pa.LargeBinaryArray] | None = None

    def close(self) -> None:
        pass

    def has(self, table: str, column: str = "") -> bool:
        if table.casefold() not in self._files:
            return False
        return not column or column.casefold() in self._names(table)

    def processes(self, columns: Sequence[tuple[str, str]]) -> list[int]:
        found: set[int] = set()
        for table, column in columns:
            for batch in self._batches(table, [column]) if self.has(table, column) else ():
                values = _integers(batch.column(0))
                found |= set((np.unique(values[values != MISSING]) >> ID_BITS).tolist())
        return sorted(found)

    def least(self, table: str, column: str) -> int | None:
        if not self.has(table, column):
            return None
        values = (_integers(batch.column(0)) for batch in self._batches(table, [column]))
        return min((int(part.min()) for part in (part[is_time(part)] for part in values) if len(part)), default=None)

    def pieces(
        self, table: str, columns: str, of: str = "", process: int = 0, only: bool = True, *, known: str = ""
    ) -> Iterator[dict[str, Ints]]:
        names = columns.split()
        held = [name for name in names if name != "rowid" and self.has(table, name)]
        owned = bool(of) and not only and self.has(table, of)
        if not held or not (owned or only or not of) or (known and known not in held):
            return
        done = 0
        for batch in self._batches(table, list(dict.fromkeys([*held, *([of] if owned else [])]))):
            found = {name: _integers(batch.column(self._names(table)[name.casefold()])) for name in held}
            found["rowid"] = np.arange(done, done + len(batch))
            done += len(batch)
            chosen = np.ones(len(batch), np.bool_)
            if owned:
                chosen = _integers(batch.column(self._names(table)[of.casefold()])) >> ID_BITS == process
            if known:
                chosen &= found[known] != MISSING
            self._progress(table, done)
            lacking = np.full(len(batch), MISSING, np.int64)
            yield {name: found.get(name, lacking)[chosen] for name in names}

    def texts(self, table: str, column: str, of: str, process: int, only: bool) -> dict[int, str]:
        owned = not only and self.has(table, of)
        if not self.has(table, column) or not (owned or only):
            return {}
        found: dict[int, str] = {}
        done = 0
        for batch in self._batches(table, [column, *([of] if owned else [])]):
            chosen = np.ones(len(batch), np.bool_)
            if owned:
                chosen = _integers(batch.column(1)) >> ID_BITS == process
            for row, text in enumerate(_cells(batch.column(0))):
                if chosen[row] and isinstance(text, str) and text:
                    found[done + row] = text
            done += len(batch)
        return found

    def named(
        self, table: str, prefix: str, columns: str, of: str = "", process: int = 0, only: bool = True
    ) -> Iterator[tuple[object, ...]]:
        owned = bool(of) and not only
        if not self.has(table) or (owned and not self.has(table, of)):
            return
        spelled = self._starting(prefix)
        wanted = dict.fromkeys(["text", "textId", *columns.split(), *([of] if owned else [])])
        names = [name for name in wanted if self.has(table, name)]
        for batch in self._batches(table, names):
            chosen = np.zeros(len(batch), np.bool_)
            cells = dict(zip(names, batch.columns, strict=True))
            if "text" in cells:
                texts = _cells(cells["text"])
                chosen |= np.array([isinstance(text, str) and text.startswith(prefix) for text in texts], np.bool_)
            if "textId" in cells:
                chosen |= np.isin(_integers(cells["textId"]), list(spelled))
            if owned:
                chosen &= _integers(cells[of]) >> ID_BITS == process
            few = batch.filter(pa.array(chosen))
            values = {
                name: _cells(column, binary=name == "binaryData")
                for name, column in zip(names, few.columns, strict=True)
            }
            for row in range(len(few)):
                own, shared = (values[name][row] if name in values else None for name in ("text", "textId"))
                if not isinstance(own, str) or not own.startswith(prefix):
                    own = spelled.get(shared) if isinstance(shared, int) else None
                yield own, *(values[column][row] if column in values else None for column in columns.split())

    def rows(self, table: str, columns: str) -> list[tuple[object, ...]]:
        if not self.has(table):
            return []
        held = [name for name in columns.split() if self.has(table, name)]
        found: list[tuple[object, ...]] = []
        for batch in self._batches(table, held) if held else ():
            cells = {name: _cells(column) for name, column in zip(held, batch.columns, strict=True)}
            lacking = [None] * len(batch)
            found += zip(*(cells.get(name, lacking) for name in columns.split()), strict=True)
            if len(found) > _SMALL:
                break
        return found[:_SMALL]

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        wanted = np.array(sorted({int(number) for number in ids} | {MISSING}), np.int64)
        held, texts = self._all_strings()
        place = np.searchsorted(held, wanted).clip(max=max(len(held) - 1, 0))
        found = dict.fromkeys(wanted.tolist(), "")
        if len(held):
            known = held[place] == wanted
            found |= zip(wanted[known].tolist(), _decoded(texts.take(pa.array(place[known]))), strict=True)
        return found

    def _starting(self, prefix: str) -> dict[int, str]:
        """The strings that begin so."""
        held, texts = self._all_strings()
        rows = np.flatnonzero(pc.starts_with(texts, pattern=prefix.encode()).to_numpy(zero_copy_only=False))
        return dict(zip(held[rows].tolist(), _decoded(texts.take(pa.array(rows))), strict=True))

    def _all_strings(self) -> tuple[Ints, pa.LargeBinaryArray]:
        """Ids, rising, and their texts as bytes: there can be millions."""
        if self._strings is None:
            there = self.has("StringIds", "id") and self.has("StringIds", "value")
            batches = list(self._batches("StringIds", ["id", "value"])) if there else []
            parts = [_bytes(batch.column(1)) for batch in batches]
            texts = pa.concat_arrays(parts) if parts else pa.array([], pa.large_binary())
            held = np.concatenate([np.empty(0, np.int64), *(_integers(batch.column(0)) for batch in batches)])
            order = np.argsort(held, kind="stable")
            self._strings = held[order], pc.fill_null(texts.take(pa.array(order)), b"")
        return self._strings

    def _names(self, table: str) -> dict[str, str]:
        key = table.casefold()
        if key not in self._columns:
            try:
                self._columns[key] = {name.casefold(): name for name in pq.read_schema(self._files[key]).names}
            except (pa.ArrowException, OSError) as error:
                raise self._damaged(key, error) from None
        return self._columns[key]

    def _batches(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        key = table.casefold()
        names = self._names(table)
        try:
            with pq.ParquetFile(self._files[key]) as file:
                for batch in file.iter_batches(_ROWS, columns=[names[column.casefold()] for column in columns]):
                    # In the order that was asked for, which the file's need not be.
                    yield batch.select([names[column.casefold()] for column in columns])
        # Two columns of one name are a KeyError.
        except (pa.ArrowException, OSError, KeyError) as error:
            raise self._damaged(key, error) from None

    def _damaged(self, key: str, error: Exception) -> SnoopieError:
        reason = " ".join(str(error).split())[:200]
        return SnoopieError(f"{self._files[key]} is damaged or incomplete ({reason})", _EXPORT)


def _integers(column: pa.Array) -> Ints:
    """A column's numbers; MISSING for what is none."""
    if not pa.types.is_integer(column.type) and not pa.types.is_boolean(column.type):
        return np.full(len(column), MISSING, np.int64)
    whole = pc.fill_null(pc.cast(column, pa.int64(), safe=False), MISSING)
    return np.asarray(whole.to_numpy(zero_copy_only=False), np.int64)


def _cells(column: pa.Array, *, binary: bool = False) -> list[Any]:
    """A column's cells. Bytes that are said to be text, and are none, are spelled out, or as ``binary`` left alone."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        raw = _bytes(column)
        return list(raw.to_pylist()) if binary else _decoded(raw)
    if pa.types.is_integer(column.type):
        # Of 64 bits with a sign, as everywhere.
        column = pc.cast(column, pa.int64(), safe=False)
    return list(column.to_pylist())


def _bytes(column: pa.Array) -> pa.LargeBinaryArray:
    """The bytes of a column of text; nulls for what is none."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type):
        column = column.cast(pa.binary())
    if pa.types.is_binary(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.large_binary())
    return column if pa.types.is_large_binary(column.type) else pa.nulls(len(column), pa.large_binary())


def _decoded(texts: pa.LargeBinaryArray) -> list[Any]:
    return [None if cell is None else cell.decode("utf-8", "replace") for cell in texts.to_pylist()]
