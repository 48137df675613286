"""Two sequences of launches that should be the same: which belong together, as far as that is certain.

A pair is certain if it is in the longest common subsequence whichever way that is found: from the front or the back,
taking what one sequence has more before or after what the other has. Between certain pairs, launches that are there
equally often are paired in their order; of others it is not known which is missing, and none is paired.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from snoopie.trace.tables import Ints

# Differences of two sequences that are looked at; with more, only what is there equally often is paired.
MOST_DIFFERENCES = 500
# Elements that are compared at once, at first.
_STEP = 64


def align(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    """The places in each of those elements that belong together, rising in ``one``."""
    if len(one) == len(other) and np.array_equal(one, other):
        places = np.arange(len(one))
        return places, places
    anchors = _certain(one, other)
    return _between(one, other, anchors)


def _certain(one: Ints, other: Ints) -> Ints:
    """For each element of ``one`` its place in ``other``, -1 where none is certain."""
    sure: Ints | None = None
    for backwards in (False, True):
        ends = (one[::-1].copy(), other[::-1].copy()) if backwards else (one, other)
        for insert_first in (False, True):
            found = _longest(*ends, insert_first=insert_first)
            if found is None:
                return np.full(len(one), -1, np.int64)
            if backwards:
                found = np.where(found >= 0, len(other) - 1 - found, -1)[::-1]
            sure = found if sure is None else np.where(sure == found, sure, -1)
    assert sure is not None
    return sure


def _longest(one: Ints, other: Ints, *, insert_first: bool) -> Ints | None:
    """A longest common subsequence, as in `_certain`; None if the sequences differ too much (Myers 1986)."""
    reached = {1: 0}
    history: list[dict[int, int]] = []
    for differences in range(MOST_DIFFERENCES + 1):
        history.append(dict(reached))
        for diagonal in range(-differences, differences + 1, 2):
            x = _step(reached, diagonal, differences, insert_first)
            y = x - diagonal
            if x <= len(one) and 0 <= y <= len(other):
                x += _common(one, other, x, y)
            reached[diagonal] = x
            if x >= len(one) and x - diagonal >= len(other):
                return _path(history, one, other, insert_first)
    return None


def _step(reached: dict[int, int], diagonal: int, differences: int, insert_first: bool) -> int:
    """How far one gets on a diagonal with one more difference, before what is equal."""
    if diagonal == -differences:
        return reached[diagonal + 1]
    if diagonal == differences:
        return reached[diagonal - 1] + 1
    down, right = reached[diagonal + 1], reached[diagonal - 1] + 1
    return down if down > right or (down == right and insert_first) else right


def _common(one: Ints, other: Ints, x: int, y: int) -> int:
    """How many elements from there on are equal."""
    begin, step = x, _STEP
    while x < len(one) and y < len(other):
        length = min(step, len(one) - x, len(other) - y)
        same = one[x : x + length] == other[y : y + length]
        if not same.all():
            return x - begin + int(same.argmin())
        x, y, step = x + length, y + length, 4 * step
    return x - begin


def _path(history: list[dict[int, int]], one: Ints, other: Ints, insert_first: bool) -> Ints:
    """The pairs on the way to the end, from the last back."""
    found = np.full(len(one), -1, np.int64)
    x, y = len(one), len(other)
    for differences in range(len(history) - 1, -1, -1):
        diagonal = x - y
        start = 0 if differences == 0 else _step(history[differences], diagonal, differences, insert_first)
        found[start:x] = np.arange(start, x) - diagonal
        if differences == 0:
            break
        before = history[differences]
        inserted = start == before.get(diagonal + 1) and (
            diagonal == -differences
            or (diagonal != differences and (before[diagonal + 1] > before[diagonal - 1] + 1 or insert_first))
        )
        x, y = (start, start - diagonal - 1) if inserted else (start - 1, start - diagonal)
    return found


def _between(one: Ints, other: Ints, anchors: Ints) -> tuple[Ints, Ints]:
    """The anchors, and what is there equally often between the same two of them, in its order."""
    anchored = np.flatnonzero(anchors >= 0)
    taken = np.zeros(len(other), np.bool_)
    taken[anchors[anchored]] = True
    left = [_in_gaps(one, anchors < 0), _in_gaps(other, ~taken)]
    pairs = left[0].merge(left[1], on=["gap", "key", "number", "count"])
    first = np.concatenate([anchored, pairs["place_x"].to_numpy(np.int64)])
    second = np.concatenate([anchors[anchored], pairs["place_y"].to_numpy(np.int64)])
    order = np.argsort(first, kind="stable")
    return first[order], second[order]


def _in_gaps(keys: Ints, free: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pd.DataFrame:
    """gap key place number (among its like in the gap) count (of these): what is not anchored."""
    places = np.flatnonzero(free)
    table = pd.DataFrame({"gap": np.cumsum(~free)[places], "key": keys[places], "place": places})
    groups = table.groupby(["gap", "key"], sort=False)["place"]
    return table.assign(number=groups.cumcount(), count=groups.transform("size"))
