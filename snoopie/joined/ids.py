"""Ids made unique over processes: those of the first stay as they are, those of later ones are moved up.

0 stays "none".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
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
        numbered = _numbered()
        highest = {name: [0] * len(sources) for name in numbered.values()}
        for number, source in enumerate(sources):
            for column, own in source.highest.items():
                name = numbered[column]
                highest[name][number] = max(highest[name][number], own)
        added, last = {}, {}
        for name, numbers in highest.items():
            *before, last[name] = accumulate(numbers, initial=0)
            added[name] = np.array(before, np.int64)
        return cls(added, last)

    def part(self, process: int) -> Ids:
        """Those of one process, as they are among all."""
        return Ids({name: numbers[process : process + 1] for name, numbers in self.added.items()}, self.last)

    def moved(self, name: str, processes: Ints, ids: Ints) -> Ints:
        """Ids, each of one of the ``processes``, as they are among all."""
        added = self.added[name]
        return np.where(ids > 0, ids + added[processes], 0) if added.any() else ids


@cache
def _numbered() -> dict[tuple[str, str], str]:
    """Of each column of ids its table, of those that have GROUPS that."""
    return {
        (table.name, column.name): GROUPS if column.role.name == GROUPS else table.name
        for table in known_tables().values()
        for column in table.columns.values()
        if column.role.name in ("id", GROUPS)
    }
