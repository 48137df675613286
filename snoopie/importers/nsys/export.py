"""What an export of Nsight Systems is to those who read it, whatever its format and whatever tables its version has.

An export is untrusted: a cell that is not what its column should hold is MISSING.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

# A cell that is NULL or no integer, and every cell of a column that the export lacks.
MISSING = -(1 << 63)
# globalPid and globalTid: bits of the machine, 24 bits of the process, 24 bits of the thread.
ID_BITS = 24
ID_MASK = (1 << ID_BITS) - 1
# Nobody profiles for two years: a time further from the start of the session, in ns, is none.
LONGEST = 1 << 56

# What a call and what it had the GPU do have in common.
CORRELATION = "correlationId"

# Rows that are written at once.
_AT_ONCE = 1 << 17

HOW = "nsys export --type sqlite --include-blobs true REPORT.nsys-rep"


class Export(Protocol):
    """An open export. Every method raises SnoopieError where a file turns out to be damaged.

    ``path`` is what the user named. Tables and columns are found whatever the case of their letters.
    """

    path: Path

    def close(self) -> None: ...

    def has(self, table: str, column: str = "") -> bool:
        """Whether there is such a table, and in it such a column."""

    def processes(self, columns: Sequence[tuple[str, str]]) -> list[int]:
        """The processes that columns of globalPid or globalTid name: ``id >> 24``, each once, rising."""

    def least(self, table: str, column: str) -> int | None:
        """The lowest of a column of times, None where there is none."""

    def pieces(
        self, table: str, columns: str, of: str = "", process: int = 0, only: bool = True, *, known: str = ""
    ) -> Iterator[dict[str, Ints]]:
        """Columns of integers, named in one string, some rows at a time; of a process, or where ``of`` is "" of all.

        ``of`` is the column that says whose a row is. All rows belong to the ``only`` process, if it is that. With
        ``known``, rows that have something in this column.
        """

    def texts(self, table: str, column: str, of: str, process: int, only: bool) -> dict[int, str]:
        """rowid → text, of the rows of a process that have one."""

    def named(
        self, table: str, prefix: str, columns: str, of: str = "", process: int = 0, only: bool = True
    ) -> Iterator[tuple[object, ...]]:
        """Rows whose ``text``, or else the string of whose ``textId``, begins so: that text, and these cells.

        Of a process, as in `pieces`. Cells of binaryData are bytes; a column that the table lacks has None.
        """

    def rows(self, table: str, columns: str) -> list[tuple[object, ...]]:
        """The rows of a small table; None for every cell of a column that it lacks."""

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        """The texts of StringIds; "" for an id without."""


def numbers(
    export: Export, table: str, columns: str, of: str = "", process: int = 0, only: bool = True, *, known: str = ""
) -> dict[str, Ints]:
    """The same as `Export.pieces`, all rows at once."""
    parts: dict[str, list[Ints]] = {name: [np.empty(0, np.int64)] for name in columns.split()}
    for piece in export.pieces(table, columns, of, process, only, known=known):
        for name, values in piece.items():
            parts[name].append(values)
    return {name: np.concatenate(parts.pop(name)) for name in columns.split()}


def joined(pieces: Iterable[Mapping[str, NDArray[Any]]], none: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Pieces of columns as whole ones; ``none`` has their types, for when there is no piece."""
    parts: dict[str, list[NDArray[Any]]] = {name: [np.empty(0, kind)] for name, kind in none.items()}
    for piece in pieces:
        for name, values in parts.items():
            values.append(np.asarray(piece[name], none[name]))
    return {name: np.concatenate(parts.pop(name)) for name in none}


def slices(rows: int) -> Iterator[slice]:
    """All rows, some at a time: what is made to write them is never more than of these."""
    return (slice(start, start + _AT_ONCE) for start in range(0, rows, _AT_ONCE))


def small(values: Ints, otherwise: int = 0) -> Ints:
    """Numbers from 0 to 2^31 - 1, ``otherwise`` for what is none."""
    return np.where((values >= 0) & (values < 1 << 31), values, otherwise)


def is_time(values: Ints) -> NDArray[np.bool_]:
    """Which values can be times of a report."""
    return (values > -LONGEST) & (values < LONGEST)
