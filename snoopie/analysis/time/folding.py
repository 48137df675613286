"""Idle gaps that a picture of time leaves out, so that what happened has the room; and time without them.

A fold is a part of time that is left out. Folded time stands still there: it is host time less the folds before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.errors import UsageError
from snoopie.trace.tables import Ints

# Parts of time in order that do not touch one another: from the first moment until before the second, host ns.
Folds = Sequence[tuple[int, int]]

# A gap is long that is more than this share of the time that is left without it and those that are longer; of each so
# much stays to be seen.
_LONG, _KEPT = 1 / 10, 1 / 120
# Of what is shorter (ns), nothing would stay at its ends, and of a trace that is no longer nothing at all.
_LEAST = 3
MOST = 40


def gaps(start: Ints, end: Ints, first: int, last: int) -> pd.DataFrame:
    """start end: the times from ``first`` until ``last`` in which none of some intervals lies, in their order. What has
    no length lies at its moment."""
    order = np.argsort(start, kind="stable")
    begins = np.clip(start[order], first, last)
    ends = np.clip(np.maximum.accumulate(end[order]), first, last) if len(order) else begins
    table = pd.DataFrame({"start": np.concatenate([[first], ends]), "end": np.concatenate([begins, [last]])})
    return table[table["start"] < table["end"]].reset_index(drop=True)


def long_gaps(start: Ints, end: Ints, first: int, last: int) -> list[tuple[int, int]]:
    """What to fold of the time from ``first`` until ``last``: its long `gaps`, but for a little at both their ends."""
    idle = gaps(start, end, first, last)
    length = (idle["end"] - idle["start"]).to_numpy()
    order = np.argsort(length, kind="stable")
    rising = length[order]
    # What there is without each gap and those that are longer.
    without = last - first - np.cumsum(rising[::-1])[::-1]
    long = np.flatnonzero((rising > without * _LONG) & (rising >= _LEAST))
    # Where more are long than can be told apart, they are what happens always: those are that are longer still.
    long = long[len(rising) - long <= MOST]
    if not len(long):
        return []
    rest = int(without[long[0]])
    chosen = idle.iloc[np.sort(order[long[0] :])]
    # Nothing lies before the first and after the last of all.
    whole_first, whole_last = int(start.min(initial=last)) > first, int(end.max(initial=first)) < last
    folds = []
    for begin, until in chosen.itertuples(index=False):
        kept = min(max(round(rest * _KEPT), 1), (until - begin) // 3)
        at = begin if begin == first and whole_first else begin + kept
        to = until if until == last and whole_last else until - kept
        folds.append((int(at), int(to)))
    return folds


class Folding:
    """Host time and folded time, each from the other. UsageError for parts that are not in order."""

    def __init__(self, folds: Folds) -> None:
        edges = np.array(folds, np.int64).reshape(-1, 2)
        if (np.diff(edges.ravel()) <= 0).any():
            raise UsageError("the parts of time that are left out are not in order", "give rising moments")
        self._starts, self._ends = edges[:, 0], edges[:, 1]
        self._until = np.concatenate([[0], np.cumsum(self._ends - self._starts)])
        # Where each fold is in folded time.
        self._at = self._starts - self._until[:-1]

    def __bool__(self) -> bool:
        return len(self._starts) > 0

    def folded(self, times: Ints) -> Ints:
        """Moments of host time in folded time: those of a fold are where it begins."""
        before = np.searchsorted(self._ends, times, "right")
        inside = np.searchsorted(self._starts, times, "right") > before
        # Within a fold, time stands still.
        moment = np.where(inside, self._starts[np.minimum(before, len(self._starts) - 1)], times) if self else times
        result: Ints = moment - self._until[before]
        return result

    def starts(self, times: Ints) -> Ints:
        """Moments of folded time in host time: after a fold that is there."""
        result: Ints = times + self._until[np.searchsorted(self._at, times, "right")]
        return result

    def ends(self, times: Ints) -> Ints:
        """The same, before a fold that is there."""
        result: Ints = times + self._until[np.searchsorted(self._at, times, "left")]
        return result

    def hidden(self, start: Ints, end: Ints) -> NDArray[np.bool_]:
        """Which intervals lie within a fold, all of them."""
        before = np.searchsorted(self._ends, start, "right")
        if not self:
            return np.zeros(len(start), np.bool_)
        fold = np.minimum(before, len(self._starts) - 1)
        within: NDArray[np.bool_] = (
            (before < len(self._starts)) & (self._starts[fold] <= start) & (end <= self._ends[fold])
        )
        return within
