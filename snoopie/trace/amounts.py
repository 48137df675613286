"""What the tables of one process amount to beyond their rows: how deep chains go, and how long their texts are.

A few bytes can name a million rows' worth of either, so both are measured before anybody follows them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.trace import chains
from snoopie.trace.declaration import known_columns, known_tables
from snoopie.trace.limits import Limits, check_number, check_ratio

Ints = NDArray[np.int64]


class Columns(Protocol):
    """The columns of the tables of a process: whole, or part by part."""

    def column(self, table: str, name: str) -> NDArray[Any]: ...

    def parts(self, table: str, names: Collection[str]) -> Iterator[dict[str, NDArray[Any]]]: ...


# The tables whose rows form chains: what one link is, and its limit.
_CHAINS = {
    ("lines", "inlined_at"): ("has {} functions inlined into one another", "inlined"),
    ("stacks", "caller"): ("has call stacks of {} frames", "callers"),
    ("objects", "inside"): ("has allocations {} deep inside one another", "nested"),
}


# No row names more texts than this.
_MOST_TEXTS = 8


def check(name: str, size: int, rows: int, columns: Columns, limits: Limits) -> None:
    """Refuses chains and texts beyond the limits; ``size``: bytes of the file, ``rows``: of all tables. Raises
    LimitError."""
    for (table, link), (holds, limit) in _CHAINS.items():
        ids, most = columns.column(table, "id"), getattr(limits, limit)
        # No chain is longer than its table.
        if len(ids) > most:
            outward = pd.Index(ids).get_indexer(pd.Index(columns.column(table, link)))
            check_number(name, holds, int(chains.depths(outward).max()) + 1, most)
    longest = max(map(len, columns.column("strings", "text")), default=0)
    text = _MOST_TEXTS * longest * rows
    if text > limits.small_text:
        text = written_out(columns)
    check_ratio(name, "has tables of {} of text", text, size, limits.small_text, limits.text_ratio)


def written_out(columns: Columns) -> int:
    """Letters of all small tables where each row has its own texts, and the names of its kernel and source file."""
    column = columns.column
    texts = column("strings", "text")
    if not len(texts):
        return 0
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    string = _Amounts(column("strings", "id"), lengths)
    of_function = _Amounts(column("functions", "id"), string.of(column("functions", "name")))
    of_line = _Amounts(column("lines", "id"), string.of(column("lines", "file")))
    amounts = {"strings": string, "functions": of_function, "lines": of_line}
    total = 0
    for table in known_tables():
        referring = {
            name: amounts[declared.role.ref]
            for name, declared in known_columns(table).items()
            if declared.role.ref in amounts and declared.role.name in ("row", "row or none")
        }
        for part in columns.parts(table, referring) if referring else ():
            total += sum(int(amount.of(part[name]).sum(dtype=np.float64)) for name, amount in referring.items())
    return total


class _Amounts:
    """An amount for each id, 0 for none."""

    def __init__(self, ids: Ints, amounts: Ints) -> None:
        self._ids, self._amounts = ids, amounts
        self._dense = bool(np.array_equal(ids, np.arange(1, len(ids) + 1)))
        if self._dense:
            self._amounts = np.concatenate([[0], amounts])
        else:
            order = np.argsort(ids)
            self._ids = np.concatenate([[0], ids[order]])
            self._amounts = np.concatenate([[0], amounts[order]])

    def of(self, ids: Ints) -> Ints:
        places = ids if self._dense else np.searchsorted(self._ids, ids)
        found: Ints = self._amounts[places]
        return found
