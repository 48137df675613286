"""Chains of rows, each of which names the row that follows: callers, inlined functions, parts of allocations.

``outward`` has for each row the place of the next one, -1 for none. Nothing goes round in a circle: the reader has
checked that. Each step doubles the distance, so chains may be as long as they like.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def depths(outward: Ints) -> Ints:
    """How many rows follow each."""
    depth: Ints = (outward >= 0).astype(np.int64)
    for going, at in _steps(outward):
        depth[going] += depth[at]
    return depth


def lowest(values: Ints, outward: Ints) -> Ints:
    """The lowest value of each row and all that follow."""
    low = values.copy()
    for going, at in _steps(outward):
        low[going] = np.minimum(low[going], low[at])
    return low


def first_highest(values: Ints, outward: Ints) -> Ints:
    """The place of the first row with the highest value, among each row and all that follow."""
    best: Ints = np.arange(len(values), dtype=np.int64)
    for going, at in _steps(outward):
        own, other = best[going], best[at]
        best[going] = np.where(values[other] > values[own], other, own)
    return best


def _steps(outward: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Rows, and for each the row after all that were taken into account for it: next 1, then 2, 4, 8 …"""
    above = np.asarray(outward, np.int64).copy()
    going = np.flatnonzero(above >= 0)
    while len(going):
        at = above[going]
        yield going, at
        above[going] = above[at]
        going = going[above[going] >= 0]
