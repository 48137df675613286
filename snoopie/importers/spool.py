"""Rows of other tools' tables, set aside by a key that joins them, and read back some keys at a time.

So that what refers to one another can be joined in bounded memory, however many rows there are and in whatever order
they come: they wait in a temporary file.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.errors import SnoopieError

Ints = NDArray[np.int64]

# Keys that lie together, as a power of two: they are read at once or not at all.
_TOGETHER = 14
# Rows that are joined at once, where their keys allow it.
_AT_ONCE = 1 << 18
# Bytes that are kept in memory before there is a file.
_SMALL = 8 << 20


class Spool:
    """Rows with columns of these types, in the order in which they are added."""

    def __init__(self, kinds: Mapping[str, Any]) -> None:
        self.kinds = dict(kinds)
        self.rows = 0
        self._row = np.dtype([(name, np.dtype(kind)) for name, kind in self.kinds.items()])
        self._file = tempfile.SpooledTemporaryFile(_SMALL)  # noqa: SIM115 - as long as the spool
        # Where rows of keys that lie together stand in the file: their first byte, and how many.
        self._held: dict[int, list[tuple[int, int]]] = {}
        self._latest = 0

    def add(self, key: Ints, columns: Mapping[str, NDArray[Any]]) -> None:
        """Sets rows aside. Those whose key is not positive join nothing: they stay with those before them."""
        if not len(key):
            return
        rows = np.empty(len(key), self._row)
        for name in self.kinds:
            rows[name] = columns[name]
        group = key >> _TOGETHER
        joins = key > 0
        group[~joins] = self._latest
        self._latest = int(group[joins][-1]) if joins.any() else self._latest
        order = np.argsort(group, kind="stable")
        distinct, first = np.unique(group[order], return_index=True)
        rows = rows[order]
        try:
            at = self._file.seek(0, 2)
            self._file.write(rows.tobytes())
        except OSError as error:
            folder = tempfile.gettempdir()
            raise SnoopieError(f"{folder} cannot be written ({error.strerror})", "set TMPDIR to another") from None
        for number, begin, end in zip(distinct.tolist(), first.tolist(), [*first.tolist()[1:], len(rows)], strict=True):
            self._held.setdefault(number, []).append((at + begin * self._row.itemsize, end - begin))
        self.rows += len(rows)

    def sizes(self) -> Counter[int]:
        """How many rows each group of keys has."""
        return Counter({group: sum(rows for _, rows in held) for group, held in self._held.items()})

    def read(self, groups: Iterable[int]) -> dict[str, NDArray[Any]]:
        """The rows of some groups, in the order in which they were added."""
        found = sorted(held for group in groups for held in self._held.get(group, ()))
        parts = []
        for at, rows in found:
            self._file.seek(at)
            parts.append(self._file.read(rows * self._row.itemsize))
        rows_ = np.frombuffer(b"".join(parts), self._row)
        return {name: rows_[name].copy() for name in self.kinds}

    def close(self) -> None:
        self._file.close()


def together(spools: Iterable[Spool], most: int = 0) -> Iterator[list[int]]:
    """Groups of keys that are read at once, rising; at least one list.

    ``most``: of how many rows, where that is possible; 0 for as many as usual.
    """
    sizes: Counter[int] = sum((spool.sizes() for spool in spools), Counter())
    groups: list[int] = []
    rows = 0
    for group in sorted(sizes):
        if groups and rows + sizes[group] > (most or _AT_ONCE):
            yield groups
            groups, rows = [], 0
        groups.append(group)
        rows += sizes[group]
    yield groups
