"""What is done with each column of a declared table as it is read.

Worked out once for all files that declare the same.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.trace.columns import Column, Columns, TableSchema
from snoopie.trace.declaration import known_columns
from snoopie.trace.roles import CODED, REFERENCES, Role

# Columns of records that need no more bits than they were written with.
_AS_WRITTEN = frozenset({"pattern", "warp", "sm"})
# Of the tables that traces declare in one process; others are worked out again.
_MOST_PLANS = 1024


@dataclass(frozen=True, slots=True)
class _Kept:
    """How one column is kept in memory: its lowest and highest number, None where it cannot be stored beyond that.

    ``written`` says that the values stay as they are, ``absent`` that the trace does not have them: all are 0.
    """

    name: str
    kind: type[Any]
    low: int | None = None
    high: int | None = None
    written: bool = False
    absent: bool = False

    def values(self, table: str, values: NDArray[Any]) -> NDArray[Any]:
        """Raises ValueError where a number is none of the type that the column has here."""
        if self.high is not None and values.size and int(values.max()) > self.high:
            raise ValueError(f"has a value in {table}.{self.name} of 2^{self.high.bit_length()} or more")
        if self.low is not None and values.size and int(values.min()) < self.low:
            raise ValueError(f"has a value in {table}.{self.name} below {self.low}")
        if self.written:
            return values
        # Of the same size, they are the same bits.
        return values.view(self.kind) if values.dtype.itemsize == 8 else values.astype(self.kind)


@dataclass(frozen=True, slots=True)
class Plan:
    """The columns of a table that are kept, and, by name, those that are looked at as they are read.

    ``numbered``: ids and groups. ``references``: the table that each refers to, and whether 0 says none. ``coded``:
    those of which not every number means something.
    """

    table: str
    kept: tuple[_Kept, ...]
    numbered: tuple[str, ...]
    references: tuple[tuple[str, str, bool], ...]
    coded: tuple[tuple[str, Role], ...]

    def columns(self, decoded: Columns, rows: int, only: Collection[str] | None = None) -> Columns:
        """What a block holds, as it is kept, or ``only`` some. Raises ValueError."""
        return {
            column.name: np.zeros(rows, column.kind)
            if column.absent
            else column.values(self.table, decoded[column.name])
            for column in self.kept
            if only is None or column.name in only
        }


@lru_cache(_MOST_PLANS)
def plan_of(table: TableSchema) -> Plan:
    """The plan of a table that this package knows."""
    known = known_columns(table.name)
    roles = {name: column.role for name, column in table.columns.items() if name in known}
    return Plan(
        table.name,
        tuple(_kept(column, table.columns.get(name)) for name, column in known.items()),
        tuple(name for name, role in roles.items() if role.name in ("id", "group")),
        tuple((name, role.ref, REFERENCES[role.name]) for name, role in roles.items() if role.name in REFERENCES),
        tuple((name, role) for name, role in roles.items() if role.name in CODED),
    )


def _kept(known: Column, declared: Column | None) -> _Kept:
    if declared is None:
        return _Kept(known.name, known.kept, absent=True)
    if known.stored.dtype is None or declared.stored.dtype is None:
        return _Kept(known.name, known.kept, written=True)
    here, there = (np.iinfo(type_) for type_ in (known.kept, known.stored.dtype))
    stored = np.iinfo(declared.stored.dtype)
    low, high = max(int(here.min), int(there.min)), min(int(here.max), int(there.max))
    return _Kept(
        known.name,
        known.kept,
        low if low > int(stored.min) else None,
        high if high < int(stored.max) else None,
        known.name in _AS_WRITTEN,
    )
