"""The columns of several processes, one below another, each as its role says."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.joined.gpus import Gpus
from snoopie.joined.ids import GROUPS, Ids, Places
from snoopie.trace.columns import Columns
from snoopie.trace.declaration import known_columns
from snoopie.trace.roles import LISTS, REFERENCES
from snoopie.trace.tables import Ints, Process

_OWNERS = frozenset({"owner", "gpu", "gpu or unknown", "set"})
# Rows of small processes that are read as one part: a job's ranks can be ten thousand.
_TOGETHER = 1 << 14


class JoinedColumns:
    """Columns of ``sources``, which are numbered from ``first`` on."""

    def __init__(self, sources: Sequence[Process], ids: Ids, gpus: Gpus, first: int = 0) -> None:
        self.sources = list(sources)
        self.ids = ids
        self.gpus = gpus
        self.first = first
        self._known_lengths: dict[str, dict[int, int]] = {}
        # Columns of one table that were read already, of each process.
        self._read: tuple[str, dict[int, Columns]] | None = None

    @classmethod
    def of(cls, sources: Sequence[Process]) -> JoinedColumns:
        return cls(sources, Ids.of(sources), Gpus.of(sources))

    def part(self, process: int) -> JoinedColumns:
        """Those of one process, with the ids, places and number that it has among all."""
        one = self.sources[process : process + 1]
        return JoinedColumns(one, self.ids.part(process), self.gpus.part(process), self.first + process)

    def read(self, table: str, names: Collection[str]) -> JoinedColumns:
        """The same, with these columns of a table read at once: a large one is decoded once for all of them."""
        return self._of_several(table, list(self._lengths(table)), names)

    def readers(self, table: str, names: Collection[str]) -> Iterator[Callable[[], JoinedColumns]]:
        """Part after part of a table, of which these columns are there once it is called for: no more is in memory."""
        # Each part would look for them itself.
        _ = self._strings
        for numbers in self._together(table):
            if len(numbers) > 1:
                yield partial(self._of_several, table, numbers, names)
                continue
            for read in self.sources[numbers[0]].readers(table, names):
                yield partial(self._part_of, table, numbers[0], read)

    def _together(self, table: str) -> Iterator[list[int]]:
        """The processes with rows, one after another: those with few in one list."""
        numbers: list[int] = []
        rows = 0
        for number, own in self._lengths(table).items():
            if numbers and rows + own > _TOGETHER:
                yield numbers
                numbers, rows = [], 0
            numbers.append(number)
            rows += own
        yield numbers

    def parts(self, table: str, names: Collection[str]) -> Iterator[JoinedColumns]:
        """The same, part after part."""
        return (read() for read in self.readers(table, names))

    def _part_of(self, table: str, number: int, read: Callable[[], Columns]) -> JoinedColumns:
        return self._with(table, {number: read()})

    def _of_several(self, table: str, numbers: Sequence[int], names: Collection[str]) -> JoinedColumns:
        return self._with(table, {number: self.sources[number].columns(table, names) for number in numbers})

    def _with(self, table: str, read: dict[int, Columns]) -> JoinedColumns:
        own = copy.copy(self)
        own._read = table, read
        lengths = {number: len(next(iter(columns.values()))) for number, columns in read.items()}
        own._known_lengths = self._known_lengths | {table: lengths}
        return own

    def length(self, table: str, but: Collection[int] = ()) -> int:
        """How many rows all processes have, ``but`` some."""
        return sum(rows for number, rows in self._lengths(table).items() if number not in but)

    def process(self, table: str) -> Ints:
        """The number of the process of each row."""
        return self.first + self._numbers(table)

    def raw(self, table: str, column: str) -> NDArray[Any]:
        """A column as it was written."""
        return np.concatenate([values for _, values in self._each(table, column)])

    def joined(self, table: str, column: str) -> NDArray[Any]:
        """A column: ids are unique, owners are places, and strings, names and flags are themselves."""
        role = known_columns(table)[column].role
        if role.ref == "strings":
            return self._texts(self._ids(table, column, "strings"))
        if role.name in REFERENCES:
            return self._ids(table, column, role.ref)
        if role.name == "id":
            return self._ids(table, column, table)
        if role.name == GROUPS:
            return self._ids(table, column, GROUPS)
        if role.name in _OWNERS:
            parts = [self.gpus.owner(number, codes) for number, codes in self._each(table, column)]
            return np.concatenate(parts)
        if role.name in LISTS:
            return self._names(table, column, role.name)
        raw = self.raw(table, column)
        return raw != 0 if role.name == "flag" else raw

    def _each(self, table: str, column: str) -> list[tuple[int, NDArray[Any]]]:
        if self._read is not None and self._read[0] == table and column in next(iter(self._read[1].values())):
            return [(number, columns[column]) for number, columns in self._read[1].items()]
        return [(number, self.sources[number].column(table, column)) for number in self._lengths(table)]

    def _lengths(self, table: str) -> dict[int, int]:
        """How many rows the processes have that have some, or else the first of all."""
        return self._known_lengths.get(table) or self._all_lengths.get(table, {0: 0})

    @cached_property
    def _all_lengths(self) -> dict[str, dict[int, int]]:
        # Of ten thousand processes most have no rows in most tables.
        found: dict[str, dict[int, int]] = {}
        for number, source in enumerate(self.sources):
            for table, rows in source.lengths():
                if rows:
                    found.setdefault(table, {})[number] = rows
        return found

    def _numbers(self, table: str) -> Ints:
        """The place in `sources` of each row's process."""
        lengths = self._lengths(table)
        return np.repeat(np.array(list(lengths), np.int64), list(lengths.values()))

    def _ids(self, table: str, column: str, target: str) -> Ints:
        return self.ids.moved(target, self._numbers(table), self.raw(table, column))

    def _names(self, table: str, column: str, list_: str) -> NDArray[Any]:
        names = [np.array([*source.header.codes.lists[list_], ""], dtype=object) for source in self.sources]
        return np.concatenate([names[number][places] for number, places in self._each(table, column)])

    @cached_property
    def _strings(self) -> tuple[Places, NDArray[Any]]:
        return Places(self._ids("strings", "id", "strings")), self.raw("strings", "text")

    def _texts(self, ids: Ints) -> NDArray[Any]:
        """The strings of ids, "" for none."""
        places, texts = self._strings
        result = np.full(len(ids), "", dtype=object)
        result[ids > 0] = texts[places.of(ids[ids > 0])]
        return result
