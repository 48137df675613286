"""How often each byte was touched: sums of intervals, as pieces of equal count.

Intervals belong to groups, numbered from 0, that never meet. `added` makes of any number of intervals the fewest pieces
[start, end) with the same count; adding up pieces of several sums gives the sum of all, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snoopie.trace.tables import Ints

# Up to so many cells for each interval, counting in every cell is faster than sorting.
_DENSE = 8


class Pieces(NamedTuple):
    """Intervals [start, end) of groups, each ``times``."""

    groups: Ints
    starts: Ints
    ends: Ints
    times: Ints


def joined(pieces: Sequence[Pieces]) -> Pieces:
    """All of some pieces."""
    return Pieces(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def added(pieces: Pieces) -> Pieces:
    """The sum: disjoint, in the order of groups and starts, neighbours that differ, none of 0 times.

    What goes beyond the highest signed number is left out: no memory is there, and it may go round to 0.
    """
    real = (pieces.starts >= 0) & (pieces.ends > pieces.starts)
    groups, starts, ends, times = pieces if real.all() else Pieces(*(column[real] for column in pieces))
    if not len(groups):
        return Pieces(groups, starts, ends, times)
    number = int(groups.max()) + 1
    low, high = np.full(number, np.iinfo(np.int64).max), np.zeros(number, np.int64)
    np.minimum.at(low, groups, starts)
    own = low[groups]
    starts, ends = starts - own, ends - own
    np.maximum.at(high, groups, ends)
    # What all borders of a group are a multiple of, as a power of two.
    bits = np.zeros(number, np.int64)
    np.bitwise_or.at(bits, groups, starts | ends)
    shift = _trailing_zeros(bits)
    cells = (high >> shift) + 1
    if 0 < cells.sum(dtype=np.float64) <= _DENSE * len(groups) + 1024:
        where, position, change = _counted(groups, starts, ends, times, shift, cells)
    else:
        where, position, change = _sorted(groups, starts, ends, times, int(high.max()))
    level = np.cumsum(change)
    kept = np.flatnonzero(level > 0)
    where = where[kept]
    # The last change of a group is to 0, so a piece ends at the next change of the same group.
    return Pieces(where, position[kept] + low[where], position[kept + 1] + low[where], level[kept])


def _counted(groups: Ints, starts: Ints, ends: Ints, times: Ints, shift: Ints, cells: Ints) -> tuple[Ints, Ints, Ints]:
    """Group and place where the count changes, and by how much: by counting in cells as wide as the group allows."""
    base = np.concatenate([[0], np.cumsum(cells)])
    at, by = base[groups], shift[groups]
    # Far below 2^53, so as exact as whole numbers.
    weights = None if (times == 1).all() else times.astype(np.float64)
    edges = np.bincount(at + (starts >> by), weights, base[-1])
    edges -= np.bincount(at + (ends >> by), weights, base[-1])
    changed = np.flatnonzero(edges)
    where = np.searchsorted(base, changed, "right") - 1
    return where, (changed - base[where]) << shift[where], edges[changed].astype(np.int64)


def _sorted(groups: Ints, starts: Ints, ends: Ints, times: Ints, high: int) -> tuple[Ints, Ints, Ints]:
    """The same by sorting the borders."""
    bits = high.bit_length()
    if bits + int(groups.max()).bit_length() >= 63:
        return _sorted_by_two(groups, starts, ends, times)
    # Of millions of intervals each column counts: a border is one number, and what is not needed any more is let go.
    key = np.concatenate([starts, ends])
    key[: len(groups)] |= groups << bits
    key[len(groups) :] |= groups << bits
    order = np.argsort(key)
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    key = key[first]
    sums = np.add.reduceat(np.concatenate([times, -times])[order], first)
    del order, first
    changed = np.flatnonzero(sums)
    key = key[changed]
    return key >> bits, key & ((1 << bits) - 1), sums[changed]


def _sorted_by_two(groups: Ints, starts: Ints, ends: Ints, times: Ints) -> tuple[Ints, Ints, Ints]:
    """Where a group and a place do not fit one number."""
    where, position = np.concatenate([groups, groups]), np.concatenate([starts, ends])
    order = np.lexsort((position, where))
    where, position = where[order], position[order]
    first = np.flatnonzero(np.concatenate([[True], (np.diff(where) != 0) | (np.diff(position) != 0)]))
    sums = np.add.reduceat(np.concatenate([times, -times])[order], first)
    changed = first[sums != 0]
    return where[changed], position[changed], sums[sums != 0]


def _trailing_zeros(bits: Ints) -> Ints:
    """How many bits below the lowest that is set; 0 for 0."""
    lowest: NDArray[np.int64] = bits & -bits
    zeros: Ints = np.frexp(np.maximum(lowest, 1).astype(np.float64))[1].astype(np.int64) - 1
    return zeros
