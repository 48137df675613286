"""The columns of several processes, one below another, each as its role says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.joined.gpus import Gpus
from snoopie.joined.ids import GROUPS, Ids, Places
from snoopie.trace.declaration import known_columns
from snoopie.trace.roles import LISTS, REFERENCES
from snoopie.trace.tables import Ints, Process

_OWNERS = frozenset({"owner", "gpu", "gpu or unknown", "set"})


class JoinedColumns:
    """Columns of ``sources``, which are numbered from ``first`` on."""

    def __init__(self, sources: Sequence[Process], ids: Ids, gpus: Gpus, first: int = 0) -> None:
        self.sources = list(sources)
        self.ids = ids
        self.gpus = gpus
        self.first = first
        self._known_lengths: dict[str, dict[int, int]] = {}

    @classmethod
    def of(cls, sources: Sequence[Process]) -> JoinedColumns:
        return cls(sources, Ids.of(sources), Gpus.of(sources))

    def part(self, process: int) -> JoinedColumns:
        """Those of one process, with the ids, places and number that it has among all."""
        one = self.sources[process : process + 1]
        return JoinedColumns(one, self.ids.part(process), self.gpus.part(process), self.first + process)

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
        return [(number, self.sources[number].column(table, column)) for number in self._lengths(table)]

    def _lengths(self, table: str) -> dict[int, int]:
        """How many rows the processes have that have some, or else the first of all."""
        if table not in self._known_lengths:
            # Of ten thousand processes most have no rows in most tables.
            some = next(iter(known_columns(table)))
            lengths = ((number, len(source.column(table, some))) for number, source in enumerate(self.sources))
            self._known_lengths[table] = {number: rows for number, rows in lengths if rows} or {0: 0}
        return self._known_lengths[table]

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
