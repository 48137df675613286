"""Ranges and marks that the program named with NVTX → the tables ranges and marks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from snoopie.importers.nsys.export import ID_BITS, ID_MASK, LONGEST, Export, Ints
from snoopie.trace.writer import TableWriter

TABLE = "NVTX_EVENTS"
_MARK, _PUSHED, _STARTED, _DOMAIN = 34, 59, 60, 75
# A time that is none: what had not ended when the report did.
_OPEN = -LONGEST
# As the collector calls them.
_NAMELESS = "(no name)"


@dataclass(slots=True)
class Named:
    """What one process named: (name, domain's number, thread, start, end or _OPEN, pushed), and domains by number."""

    ranges: list[tuple[str, int, int, int, int, bool]] = field(default_factory=list)
    marks: list[tuple[str, int, int, int]] = field(default_factory=list)
    domains: dict[int, str] = field(default_factory=dict)


def read_named(export: Export, only: int | None) -> dict[int, Named]:
    """By process. Rows that say no process belong to the ``only`` one, if there is one."""
    found: dict[int, Named] = {}
    for text, start, end, identity, kind, domain in export.named(TABLE, "", "start end globalTid eventType domainId"):
        if not isinstance(identity, int):
            if only is None:
                continue
            identity = only << ID_BITS
        if not isinstance(start, int) or not -LONGEST < start < LONGEST:
            continue
        named, number = found.setdefault(identity >> ID_BITS, Named()), domain if isinstance(domain, int) else 0
        name, thread = str(text or _NAMELESS), identity & ID_MASK
        if kind == _DOMAIN:
            named.domains[number] = name
        elif kind == _MARK:
            named.marks.append((name, number, thread, start))
        elif kind in (_PUSHED, _STARTED):
            if end is None:
                end = _OPEN
            if isinstance(end, int) and (end == _OPEN or start <= end < LONGEST):
                named.ranges.append((name, number, thread, start, end, kind == _PUSHED))
    return found


def write_named(writer: TableWriter, named: Named, host: Callable[[Ints], Ints]) -> None:
    """Ranges in the order of their ends, those without one last, as the collector writes them."""
    if named.ranges:
        last = max(end for *_, end, _ in named.ranges) + 1
        ordered = sorted(named.ranges, key=lambda one: last if one[4] == _OPEN else one[4])
        names, domains, threads, starts, ends, pushed = zip(*ordered, strict=True)
        end = np.array(ends, np.int64)
        writer.write(
            "ranges", id=np.arange(1, len(ordered) + 1), thread=np.array(threads, np.int64),
            start=host(np.array(starts, np.int64)), end=np.where(end == _OPEN, 0, host(end)),
            name=writer.intern_all(names), domain=writer.intern_all(named.domains.get(one, "") for one in domains),
            pushed=np.array(pushed, np.int64),
        )  # fmt: skip
    if named.marks:
        texts, domains, threads, times = zip(*sorted(named.marks, key=lambda one: one[3]), strict=True)
        writer.write(
            "marks", time=host(np.array(times, np.int64)), thread=np.array(threads, np.int64),
            text=writer.intern_all(texts), domain=writer.intern_all(named.domains.get(one, "") for one in domains),
        )  # fmt: skip
