"""How long the rows of a matrix are that lies in an object, guessed from which of its bytes were touched."""

from __future__ import annotations

from math import gcd

import numpy as np

from snoopie.trace.tables import Ints

# Of so many runs the lengths are compared, and with so many that follow: a row may be touched in several places.
_RUNS = 1 << 16
_APART = 8
# Rows that have so much in common are rows.
_AGREE = 0.9
_FEWEST = 4
# A row is at most so many times as long as its inner part.
_BORDERED = 1.25
# What is shorter is no row, but an element or what one warp touches.
_LEAST = 64


def guess(starts: Ints, ends: Ints, size: int) -> int:
    """Bytes of a row, or 0 where nothing tells. ``starts`` and ``ends``: what was touched, as offsets, in any order.

    Columns, tiles and borders are touched again and again at the distance of a row; whole rows begin and end at its
    multiples.
    """
    begin, end = _runs(starts, ends)
    for apart in range(1, min(_APART, len(begin) // _FEWEST) + 1):
        distances, number = np.unique(begin[apart:] - begin[:-apart], return_counts=True)
        if number.max() >= _AGREE * number.sum():
            length = int(distances[number.argmax()])
            return length if _LEAST <= length < size else 0
    # The object's own end is where its allocator rounded it to.
    borders = [int(border) for border in np.concatenate([begin, end]) if 0 < border < size]
    length = gcd(*borders) if borders else 0
    if length >= _LEAST and size >= 2 * length:
        return length
    return _nearly_whole(begin, end, size)


def _nearly_whole(begin: Ints, end: Ints, size: int) -> int:
    """The length of rows of which all but a border was touched: a little more than what was, and a divisor of how far
    the touched ones are apart. Of several that of which the object holds whole ones."""
    if len(begin) < 2 or len(np.unique(end - begin)) > 1:
        return 0
    touched, apart = int(end[0] - begin[0]), gcd(*map(int, np.diff(begin)))
    if touched < _LEAST:
        return 0
    most = int(touched * _BORDERED)
    found = [apart // rows for rows in range(max(apart // most, 1), apart // touched + 1) if apart % rows == 0]
    fitting = [length for length in found if touched <= length <= most]
    return min(fitting, key=lambda length: (size % length > 0, length), default=0)


def _runs(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """The same without gaps of no bytes and overlaps, as far as it is looked at."""
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order]) if len(ends) else ends
    first = np.flatnonzero(np.concatenate([[True], starts[1:] > ends[:-1]])) if len(starts) else np.empty(0, np.int64)
    last = np.concatenate([first[1:] - 1, [len(starts) - 1]]).astype(np.int64) if len(first) else first
    return starts[first][:_RUNS], ends[last][:_RUNS]
