"""Idle gaps that a picture leaves out, and time without them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snoopie.analysis.time import activity, folding
from snoopie.analysis.time.folding import Folding
from snoopie.errors import UsageError


def long_gaps(intervals: list[tuple[int, int]], first: int, last: int) -> list[tuple[int, int]]:
    start, end = np.array(intervals, np.int64).reshape(-1, 2).T
    return folding.long_gaps(start, end, first, last)


def test_a_long_gap_is_folded_but_for_its_ends() -> None:
    """120 of 10,120 is no gap: of it, 1 stays at both ends of the gap."""
    assert long_gaps([(0, 60), (10_060, 10_120)], 0, 10_120) == [(61, 10_059)]


def test_what_is_always_idle_is_no_gap() -> None:
    """A kernel every 100, of 1 each: that is how the program runs."""
    assert long_gaps([(start, start + 1) for start in range(0, 10_000, 100)], 0, 9_901) == []
    # Until there is one that is longer than all of that.
    often = [(start, start + 1) for start in range(0, 10_000, 100)]
    assert [end - start > 80_000 for start, end in long_gaps([*often, (100_000, 100_001)], 0, 100_001)] == [True]


def test_gaps_as_long_as_one_another_are_folded_together() -> None:
    """Each is a tenth of all the time, and a hundred times as long as what ran."""
    runs = [(start, start + 10) for start in range(0, 10_001, 1000)]
    assert len(long_gaps(runs, 0, 10_010)) == 10


def test_before_the_first_and_after_the_last() -> None:
    """Nothing is there to be told apart; what begins or ends beyond the time is."""
    assert long_gaps([(5000, 5100)], 0, 10_000) == [(0, 4999), (5101, 10_000)]
    around = [(0, 0), (5000, 5100), (10_000, 10_000)]
    assert long_gaps(around, 0, 10_001) == [(1, 4999), (5101, 9999)]


def test_nothing_at_all() -> None:
    assert long_gaps([], 0, 100) == [(0, 100)]
    assert not Folding(())


def test_time_that_is_no_longer_than_a_gap_keeps_something() -> None:
    """Of old logs, which know no times, the whole is a nanosecond."""
    assert long_gaps([(0, 0)], 0, 1) == []


def test_folds_in_order() -> None:
    with pytest.raises(UsageError, match="not in order; give rising moments"):
        Folding([(5, 7), (6, 9)])
    with pytest.raises(UsageError):
        Folding([(5, 5)])


edges = st.lists(st.integers(0, 300), min_size=2, max_size=8, unique=True).map(sorted)
folds = edges.map(lambda all: list(zip(all[::2], all[1::2], strict=False)))


@given(folds, st.lists(st.integers(0, 300), max_size=30))
def test_time_and_back(parts: list[tuple[int, int]], times: list[int]) -> None:
    """As if each unit of time that is in no fold was counted."""
    made = Folding(parts)
    moments = np.array(times, np.int64)
    inside = [any(start <= moment < end for start, end in parts) for moment in range(301)]
    counted = [sum(not one for one in inside[:moment]) for moment in range(301)]
    folded = made.folded(moments)
    assert folded.tolist() == [counted[moment] for moment in times]
    for moment, there, begin, end in zip(times, folded, made.starts(folded), made.ends(folded), strict=True):
        if not inside[moment]:
            assert begin == moment
        # A moment at both ends of a fold is one of folded time.
        assert end <= moment <= begin or begin == end == moment
        assert made.folded(np.array([begin, end])).tolist() == [there, there]


@given(
    folds,
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 90)), max_size=40),
    st.integers(1, 40),
)
def test_blocks_lie_where_their_events_do(parts: list[tuple[int, int]], rows: list[tuple[int, int]], most: int) -> None:
    """All that is not in a fold is drawn, and no more than there is room for."""
    start, length = np.array(sorted(rows), np.int64).reshape(-1, 2).T
    events = pd.DataFrame({"lane": 0, "id": np.arange(1, len(start) + 1), "start": start, "end": start + length})
    made = Folding(parts)
    table = activity.blocks(events, 0, 400, most, made)
    hidden = made.hidden(start, start + length)
    assert table["count"].sum() == (~hidden).sum()
    assert len(table) <= 2 * most + 1
    assert (table["end"] >= table["start"]).all()
    begin, end = (made.folded(events[name].to_numpy()) for name in ("start", "end"))
    for block in table.itertuples():
        low, high = made.folded(np.array([block.start, block.end]))
        assert 0 <= block.busy <= high - low
        if block.count == 1:
            (own,) = np.flatnonzero(events["id"] == block.id)
            assert (low, high) == (begin[own], end[own])


@given(folds)
def test_what_lies_in_a_fold(parts: list[tuple[int, int]]) -> None:
    made = Folding(parts)
    start, end = np.array([(a, b) for a in range(0, 301, 7) for b in range(a, 301, 11)], np.int64).T
    inside = [any(low <= a and b <= high and a < high for low, high in parts) for a, b in zip(start, end, strict=True)]
    assert made.hidden(start, end).tolist() == inside
