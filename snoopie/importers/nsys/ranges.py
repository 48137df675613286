"""Ranges and marks that the program named with NVTX → the tables ranges and marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.importers.nsys.export import ID_BITS, ID_MASK, LONGEST, Export, Ints
from snoopie.importers.spool import Spool, together
from snoopie.trace.writer import TableWriter

TABLE = "NVTX_EVENTS"
_MARK, _PUSHED, _STARTED, _DOMAIN = 34, 59, 60, 75
# A time that is none: what had not ended when the report did.
_OPEN = -LONGEST
# As the collector calls them.
_NAMELESS = "(no name)"
_COLUMNS = {"name": np.uint32, "domain": np.int64, "thread": np.int64, "start": np.int64, "end": np.int64,
            "pushed": np.uint8}  # fmt: skip
# Rows that are looked at at once.
_AT_ONCE = 1 << 16
# ns that are one key, as a power of two: what ended within 67 ms, 2^14 keys, is sorted together.
_TICK = 12

_Columns = dict[str, NDArray[Any]]


def write_named(writer: TableWriter, export: Export, process: int, only: bool, host: Callable[[Ints], Ints]) -> None:
    """Ranges in the order of their ends, those without one last, as the collector writes them, and marks by time."""
    named = _Named(writer)
    rows = export.named(TABLE, "", "start end globalTid eventType domainId", "globalTid", process, only)
    while some := list(islice(rows, _AT_ONCE)):
        named.add(some, process)
    named.write(host)


class _Named:
    """What a process named. Domains have their names in rows of their own, so that all others wait for the last."""

    def __init__(self, writer: TableWriter) -> None:
        self._writer = writer
        self._domains: dict[int, str] = {}
        self._ended, self._open, self._marks = (Spool(_COLUMNS) for _ in range(3))

    def add(self, rows: Iterable[tuple[object, ...]], process: int) -> None:
        """Takes in rows: text start end globalTid eventType domainId. Those that say no process are this one's."""
        found: list[tuple[int, ...]] = []
        for text, start, end, identity, kind, domain in rows:
            if not isinstance(identity, int):
                identity = process << ID_BITS
            if identity >> ID_BITS != process or not isinstance(start, int) or not -LONGEST < start < LONGEST:
                continue
            number, name = domain if isinstance(domain, int) else 0, str(text or _NAMELESS)
            if kind == _DOMAIN:
                self._domains[number] = name
                continue
            if kind == _MARK:
                end = start
            elif end is None:
                end = _OPEN
            if isinstance(end, int) and (end == _OPEN or start <= end < LONGEST) and kind in (_MARK, _PUSHED, _STARTED):
                found.append((self._writer.intern(name), number, identity & ID_MASK, start, end, kind))
        if not found:
            return
        columns = dict(zip(_COLUMNS, np.array(found, np.int64).T, strict=True))
        marks, still = columns["pushed"] == _MARK, columns["end"] == _OPEN
        columns["pushed"] = columns["pushed"] == _PUSHED
        for spool, chosen in ((self._marks, marks), (self._open, still), (self._ended, ~marks & ~still)):
            some = {name: values[chosen] for name, values in columns.items()}
            spool.add((some["end"] + LONGEST >> _TICK) + 1, some)

    def write(self, host: Callable[[Ints], Ints]) -> None:
        for spool, ended in ((self._ended, True), (self._open, False)):
            for rows in self._in_order(spool):
                first = self._writer.rows("ranges") + 1
                self._writer.write(
                    "ranges", id=np.arange(first, first + len(rows["end"])), thread=rows["thread"],
                    start=host(rows["start"]), end=host(rows["end"]) if ended else 0, name=rows["name"],
                    domain=self._names(rows["domain"]), pushed=rows["pushed"],
                )  # fmt: skip
        for rows in self._in_order(self._marks):
            self._writer.write(
                "marks", time=host(rows["start"]), thread=rows["thread"], text=rows["name"],
                domain=self._names(rows["domain"]),
            )  # fmt: skip

    def _in_order(self, spool: Spool) -> Iterable[_Columns]:
        """The rows of a spool by their ends, some at a time."""
        for groups in together([spool]) if spool.rows else ():
            rows = spool.read(groups)
            order = np.argsort(rows["end"], kind="stable")
            yield {name: values[order] for name, values in rows.items()}
        spool.close()

    def _names(self, domains: Ints) -> NDArray[np.uint32]:
        distinct, places = np.unique(domains, return_inverse=True)
        return self._writer.intern_all(self._domains.get(number, "") for number in distinct.tolist())[places]
