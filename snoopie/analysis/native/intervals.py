"""Sets of times: sorted intervals that do not touch one another, a row each of starts and ends."""

from __future__ import annotations

import numpy as np

from snoopie.trace.tables import Ints


def union(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """The times in which at least one ran."""
    kept = end > start
    start, end = start[kept], end[kept]
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    latest = np.maximum.accumulate(end)
    new = np.ones(len(start), np.bool_)
    new[1:] = start[1:] > latest[:-1]
    last = np.append(new[1:], True)[: len(new)]
    return start[new], latest[last]


def length(times: tuple[Ints, Ints]) -> int:
    """How long they are together."""
    return int((times[1] - times[0]).sum())


def common(one: tuple[Ints, Ints], other: tuple[Ints, Ints]) -> int:
    """How long both are."""
    every = union(np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]]))
    return length(one) + length(other) - length(every)
