"""What happened when: spans of launches, bytes and memory over time, intervals that overlap."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import snoopie
from snoopie.analysis.time import timeline
from snoopie.errors import UsageError
from tests.support.encoder import HOST, START_NS, TraceBuilder
from tests.support.many import write_many
from tests.support.ring import ring_builder

AT = START_NS + 1_000_000


def builder() -> TraceBuilder:
    """GPU 0 stores 40000 bytes on GPU 1 in 10 µs and adds atomically to 8 there at an unknown time; a copy."""
    trace = TraceBuilder(2)
    put = trace.function("put")
    store, atomic = trace.site(put, "STG.E", "store", 4), trace.site(put, "ATOMG", "atomic", 4)
    first = trace.launch(put, 0, time=AT - 500)
    trace.count(first, store, 1, 1000, 10_000, 2000)
    trace.add("spans", launch=first, start=AT, end=AT + 10_000)
    second = trace.launch(put, 0, time=AT + 30_000)
    trace.count(second, atomic, 1, 2, 2, 2)
    trace.copy(HOST, 1, 1001, gpu=1, start=AT + 39_000, end=AT + 41_000)
    return trace


@pytest.fixture
def trace(tmp_path: Path) -> snoopie.Trace:
    return snoopie.load(builder().write(tmp_path / "x.zst"))


def test_a_launch_without_a_span_is_when_it_was_called(trace: snoopie.Trace) -> None:
    assert trace.timeline()[["called", "start", "end", "spanned"]].to_numpy(dtype=object).tolist() == [
        [AT - 500, AT, AT + 10_000, True],
        [AT + 30_000, AT + 30_000, AT + 30_000, False],
    ]
    assert trace.select(launches=2).timeline().index.tolist() == [2]


def cells(table: pd.DataFrame) -> list[tuple[str, str, int, int, int]]:
    first, second = table.columns[:2]
    columns = zip(table[first], table[second], table["start"] - AT, table["end"] - AT, table["bytes"], strict=True)
    return [(a, b, int(start), int(end), int(size)) for a, b, start, end, size in columns]


def test_bytes_are_spread_over_the_time_that_the_launch_ran(trace: snoopie.Trace) -> None:
    assert cells(trace.traffic_over_time(8)) == [
        ("GPU 0", "GPU 1", 0, 3751, 15_004),
        ("GPU 0", "GPU 1", 3751, 7502, 15_004),
        ("GPU 0", "GPU 1", 7502, 11_253, 9992),
        ("GPU 0", "GPU 1", 26_257, 30_008, 8),
    ]


def test_flow_and_copies(trace: snoopie.Trace) -> None:
    # Of its 2 µs the copy is 60 ns in the first of two bins; a bin has whole bytes.
    assert cells(trace.traffic_over_time(21, "flow", "both")) == [
        ("host", "GPU 1", 37_107, 39_060, 30),
        ("host", "GPU 1", 39_060, 41_013, 971),
        *(("GPU 0", "GPU 1", 1953 * k, 1953 * (k + 1), 7812) for k in range(5)),
        ("GPU 0", "GPU 1", 9765, 11_718, 940),
        ("GPU 0", "GPU 1", 29_295, 31_248, 8),
        ("GPU 1", "GPU 0", 29_295, 31_248, 8),
    ]
    assert cells(trace.traffic_over_time(1, "issued", "host")) == [("GPU 1", "host", 39_000, 41_001, 1001)]


def test_traffic_of_a_part_of_time(trace: snoopie.Trace) -> None:
    # 40000 bytes in 10 µs: 4 a ns. The atomics at 30 µs are no longer in it.
    assert cells(trace.traffic_over_time(2, first=AT + 5000, last=AT + 9000)) == [
        ("GPU 0", "GPU 1", 5000, 7000, 8000),
        ("GPU 0", "GPU 1", 7000, 9000, 8000),
    ]
    assert cells(trace.traffic_over_time(1, first=AT + 9999, last=AT + 30_001)) == [
        ("GPU 0", "GPU 1", 9999, 30_001, 12)
    ]
    assert trace.traffic_over_time(5, first=AT + 10_000, last=AT + 30_000).empty
    assert cells(trace.traffic_over_time(1, "flow", "host", AT + 40_000, AT + 50_000)) == [
        ("host", "GPU 1", 40_000, 50_000, 501)
    ]


@pytest.mark.parametrize("cut", [1, 333, 5000, 9999, 30_000, 30_001, 40_001])
def test_parts_of_time_add_up(trace: snoopie.Trace, cut: int) -> None:
    parts = [(AT, AT + cut), (AT + cut, AT + 41_000)]
    tables = [trace.traffic_over_time(7, "flow", "both", *part) for part in parts]
    assert sum(table["bytes"].sum() for table in tables) == 40_000 + 2 * 8 + 1001


@pytest.mark.parametrize("initiated", ["device", "host", "both"])
@pytest.mark.parametrize("reading", ["issued", "flow"])
def test_nothing_is_lost_in_the_bins(trace: snoopie.Trace, initiated: str, reading: str) -> None:
    for bins in (1, 7, 1000):
        table = trace.traffic_over_time(bins, reading, initiated)
        assert table["bytes"].sum() == trace.by_pair(reading, initiated)["bytes"].sum()


def test_wrong_questions(trace: snoopie.Trace) -> None:
    with pytest.raises(UsageError, match="time cannot be divided into 0 bins; use 1 to 100000"):
        trace.traffic_over_time(0)
    with pytest.raises(UsageError, match="no reading 'x'"):
        trace.traffic_over_time(1, "x")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="nothing is initiated by 'x'"):
        trace.traffic_over_time(1, "flow", "x")  # type: ignore[arg-type]


def test_no_traffic(tmp_path: Path) -> None:
    table = snoopie.load(TraceBuilder(2).write(tmp_path / "x.zst")).traffic_over_time(10)
    assert list(table.columns) == ["issuer", "owner", "start", "end", "bytes"]
    assert table.empty


def test_sampled_launches_are_not_scaled(tmp_path: Path) -> None:
    trace = ring_builder()
    trace.add("sampling", function=1, gpu=0, launches=10, measured=1)
    loaded = snoopie.load(trace.write(tmp_path / "x.zst"))
    assert loaded.estimated
    assert loaded.traffic_over_time(10)["bytes"].sum() == loaded.counts["bytes"].sum()
    assert loaded.pairs_by_launch()["bytes"].sum() == loaded.counts["bytes"].sum()


def test_what_one_launch_moved(trace: snoopie.Trace) -> None:
    columns = ["launch", "from", "to", "bytes"]
    assert trace.pairs_by_launch("flow")[columns].to_numpy(dtype=object).tolist() == [
        [1, "GPU 0", "GPU 1", 40_000],
        [2, "GPU 0", "GPU 1", 8],
        [2, "GPU 1", "GPU 0", 8],
    ]


@given(
    st.lists(
        st.tuples(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 1 << 60), st.integers(0, 2)), max_size=30
    ),
    st.integers(1, 3000),
)
def test_shares_are_whole_and_add_up(rows: list[tuple[int, int, int, int]], bins: int) -> None:
    start, length, amount, group = np.array(rows, np.int64).reshape(-1, 4).T
    amount = amount // max(len(rows), 1)
    end = start + length
    width = max(-(-int(end.max(initial=0) + 1) // bins), 1)
    spread = timeline._spread(start, end, amount, width, bins, group, 3)
    assert (spread >= 0).all()
    for number in range(3):
        assert spread[number].sum() == amount[group == number].sum()
    for row, (begin, stop) in enumerate(zip(start, end, strict=True)):
        alone = timeline._spread(start[[row]], end[[row]], amount[[row]], width, bins, np.zeros(1, np.int64), 1)[0]
        touched = np.flatnonzero(alone)
        assert all(begin // width <= place <= max(stop - 1, begin) // width for place in touched)
        # Evenly, to the rounding of both ends of a bin and the precision of a float.
        inner = alone[begin // width + 1 : max(stop - 1, begin) // width]
        assert len(inner) == 0 or inner.max() - inner.min() <= 2 + amount[row] * 2.0**-50


@pytest.mark.parametrize("cells", [1, 50, 1000])
def test_pairs_may_be_taken_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    trace = snoopie.load(write_many(tmp_path))
    whole = trace.traffic_over_time(20, "flow")
    assert len(whole[["from", "to"]].drop_duplicates()) > 100
    monkeypatch.setattr(timeline, "_CELLS_AT_ONCE", cells)
    pd.testing.assert_frame_equal(snoopie.load(tmp_path).traffic_over_time(20, "flow"), whole)


def test_memory_over_time(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    kinds = trace.header["object_kinds"]
    for time, size, owner, kind, inside in (
        (10, 1000, 0, "device", 0),
        (20, 500, 1, "device", 0),
        (20, 64, 0, "pool", 0),
        (30, 10, 0, "pool", 3),
        (30, 100, 0, "device", 3),
        (40, 1, 0, "device", 0),
    ):
        trace.add("objects", bytes=size, owner=owner, kind=kinds.index(kind), time=AT + time, inside=inside)
    trace.add("frees", object=1, time=AT + 40)
    # Freed before it was there: it never was.
    trace.add("frees", object=6, time=AT + 5)
    loaded = snoopie.load(trace.write(tmp_path / "x.zst"))
    usage = timeline.memory_over_time(loaded.objects, loaded.processes, ["owner", "kind"])
    end = START_NS + 2_000_000_000 - AT
    assert usage.assign(time=usage["time"] - AT).to_numpy(dtype=object).tolist() == [
        [0, "device", 10, 1000],
        [0, "device", 30, 1100],
        [0, "device", 40, 100],
        [0, "device", end, 0],
        [0, "pool", 20, 64],
        [0, "pool", end, 0],
        [1, "device", 20, 500],
        [1, "device", end, 0],
    ]


def lanes(intervals: list[tuple[int, int]], nested: bool = False) -> list[int]:
    start, end = np.array(intervals, np.int64).T
    return timeline.lanes(start, end, np.zeros(len(start), np.int64), nested=nested).tolist()


def test_lanes() -> None:
    assert lanes([(0, 10), (10, 20), (20, 20)]) == [0, 0, 0]
    assert lanes([(0, 10), (5, 20), (10, 15), (12, 13)]) == [0, 1, 0, 2]
    assert lanes([(0, 10), (2, 4), (4, 10), (4, 5)], nested=True) == [0, 0, 0, 0]
    assert lanes([(0, 10), (5, 11), (6, 7), (12, 13)], nested=True) == [0, 1, 0, 0]
    assert timeline.lanes(*np.zeros((3, 0), np.int64)).tolist() == []


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 30), st.integers(0, 2)), min_size=1), st.booleans())
def test_nothing_overlaps_on_a_lane(rows: list[tuple[int, int, int]], nested: bool) -> None:
    start, length, track = np.array(rows, np.int64).T
    end = start + length
    lane = timeline.lanes(start, end, track, nested=nested)
    for one in range(len(rows)):
        for other in range(one):
            if (track[one], lane[one]) != (track[other], lane[other]):
                continue
            apart = end[one] <= start[other] or end[other] <= start[one]
            first, second = sorted((one, other), key=lambda row: (start[row], -end[row]))
            within = nested and lane[one] == 0 and end[second] <= end[first]
            assert apart or within
