"""Ids made unique over processes: those of the first stay as they are, those of later ones are moved up.

0 stays "none".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from snoopie.trace.declaration import known_tables
from snoopie.trace.tables import Ints, Process

# Groups of collectives are no ids of rows: they are numbers that several columns share.
GROUPS = "group"


class Places:
    """Finds ids in a column of unique ids: id → row."""

    def __init__(self, ids: Ints) -> None:
        self._dense = bool(np.array_equal(ids, np.arange(1, len(ids) + 1)))
        self._order = np.empty(0, np.int64) if self._dense else np.argsort(ids)
        self._sorted = np.empty(0, np.int64) if self._dense else ids[self._order]

    def of(self, ids: Ints) -> Ints:
        """The row of each id; ids must be known and not 0 (the reader has checked that)."""
        if self._dense:
            return ids - 1
        found: Ints = self._order[np.searchsorted(self._sorted, ids)]
        return found


@dataclass(frozen=True, slots=True)
class Ids:
    """For each table of rows with ids, and for GROUPS: what is added to those of each process, and the last of all."""

    added: Mapping[str, Ints]
    last: Mapping[str, int]

    @classmethod
    def of(cls, sources: Sequence[Process]) -> Ids:
        added, last = {}, {}
        for name, columns in _numbered().items():
            highest = [max(source.highest(*column) for column in columns) for source in sources]
            *before, last[name] = accumulate(highest, initial=0)
            added[name] = np.array(before, np.int64)
        return cls(added, last)

    def part(self, process: int) -> Ids:
        """Those of one process, as they are among all."""
        return Ids({name: numbers[process : process + 1] for name, numbers in self.added.items()}, self.last)

    def moved(self, name: str, processes: Ints, ids: Ints) -> Ints:
        """Ids, each of one of the ``processes``, as they are among all."""
        added = self.added[name]
        return np.where(ids > 0, ids + added[processes], 0) if added.any() else ids


def _numbered() -> dict[str, list[tuple[str, str]]]:
    """The columns that have the ids of each table, and those that have GROUPS."""
    found: dict[str, list[tuple[str, str]]] = {}
    for table in known_tables().values():
        for column in table.columns.values():
            if column.role.name == "id":
                found[table.name] = [(table.name, column.name)]
            elif column.role.name == GROUPS:
                found.setdefault(GROUPS, []).append((table.name, column.name))
    return found
