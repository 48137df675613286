"""What ran when: lanes, blocks that can be seen apart, what fills a part of time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snoopie
from snoopie.analysis.time import activity
from snoopie.errors import UsageError
from tests.support.encoder import HOST, START_NS, TraceBuilder

AT = START_NS + 1_000_000


def builder() -> TraceBuilder:
    """GPU 0: two kernels on a stream and one on another, one that only has a call; a copy, a collective, two calls."""
    trace = TraceBuilder(2)
    put = trace.function("put(int*)")
    store = trace.site(put, "STG.E", "store", 4)
    for stream, start, end in ((7, 0, 1000), (7, 1500, 2500), (9, 500, 2000)):
        launch = trace.launch(put, 0, time=AT + start - 100, stream=stream)
        trace.count(launch, store, 1, 1, 32, 4)
        trace.add("spans", launch=launch, start=AT + start, end=AT + end)
    trace.launch(put, 1, time=AT + 700, stream=7)
    trace.copy(HOST, 1, 1001, gpu=1, stream=7, start=AT + 3000, end=AT + 4000)
    trace.collective(1, "AllReduce", 256, gpu=0, stream=9, start=AT + 100, end=AT + 200)
    for start in (0, 600):
        trace.add(
            "calls", call=trace.string("cuLaunchKernel"), thread=4711, gpu=0, start=AT + start, end=AT + start + 300
        )
    return trace


@pytest.fixture
def trace(tmp_path: Path) -> snoopie.Trace:
    return snoopie.load(builder().write(tmp_path / "x.zst"))


def test_lanes(trace: snoopie.Trace) -> None:
    lanes = trace.activity_lanes()
    lanes[["start", "end"]] -= AT
    columns = ["what", "place", "process", "line", "events", "start", "end"]
    assert lanes[columns].to_numpy(dtype=object).tolist() == [
        ["kernel", "GPU 0", 0, 7, 2, 0, 2500],
        ["kernel", "GPU 0", 0, 9, 1, 500, 2000],
        ["collective", "GPU 0", 0, 9, 1, 100, 200],
        ["launch", "GPU 1", 0, 7, 1, 700, 700],
        ["copy call", "GPU 1", 0, 7, 1, 3000, 4000],
        ["call", "host", 0, 4711, 2, 0, 900],
    ]
    lanes = trace.activity_lanes(streams=False)
    assert lanes[["what", "place", "process", "line", "events"]].to_numpy(dtype=object).tolist() == [
        ["kernel", "GPU 0", -1, -1, 3],
        ["collective", "GPU 0", -1, -1, 1],
        ["launch", "GPU 1", -1, -1, 1],
        ["copy call", "GPU 1", -1, -1, 1],
        ["call", "host", 0, -1, 2],
    ]


def drawn(table: pd.DataFrame) -> list[list[object]]:
    columns = ["lane", "start", "end", "count", "busy", "id", "name"]
    return table.assign(start=table["start"] - AT, end=table["end"] - AT)[columns].to_numpy(dtype=object).tolist()


def test_blocks(trace: snoopie.Trace) -> None:
    # Each is longer than 1/100 of the time, but for the launch, which has no length at all.
    assert drawn(trace.activity_blocks(AT, AT + 4000, 100)) == [
        [0, 0, 1000, 1, 1000, 1, "put(int*)"],
        [0, 1500, 2500, 1, 1000, 2, "put(int*)"],
        [1, 500, 2000, 1, 1500, 3, "put(int*)"],
        [2, 100, 200, 1, 100, 1, "AllReduce"],
        [3, 700, 700, 1, 0, 4, "put(int*)"],
        [4, 3000, 4000, 1, 1000, 1, "host → GPU 1"],
        [5, 0, 300, 1, 300, 1, "cuLaunchKernel"],
        [5, 600, 900, 1, 300, 2, "cuLaunchKernel"],
    ]
    # Two parts of 2000: what is shorter and begins in the same one is one block.
    assert drawn(trace.activity_blocks(AT, AT + 4000, 2, streams=False)) == [
        [0, 0, 2500, 3, 2500, 0, "put(int*)"],
        [1, 100, 200, 1, 100, 1, "AllReduce"],
        [2, 700, 700, 1, 0, 4, "put(int*)"],
        [3, 3000, 4000, 1, 1000, 1, "host → GPU 1"],
        [4, 0, 900, 2, 600, 0, "cuLaunchKernel"],
    ]
    # Cut at the ends of the time; what ends where it begins is not in it.
    assert drawn(trace.activity_blocks(AT + 1000, AT + 1600, 10, lanes=[0, 1])) == [
        [0, 1500, 1600, 1, 100, 2, "put(int*)"],
        [1, 1000, 1600, 1, 600, 3, "put(int*)"],
    ]
    assert trace.activity_blocks(AT - 10, AT, 10).empty


def test_what_fills_a_part_of_time(trace: snoopie.Trace) -> None:
    table = trace.activity_within(AT + 900, AT + 2000, limit=3)
    table[["start", "end"]] -= AT
    assert table.to_numpy(dtype=object).tolist() == [
        ["kernel", 3, "put(int*)", "GPU 0", 0, 9, 4711, 500, 2000, 1500, 128],
        ["kernel", 2, "put(int*)", "GPU 0", 0, 7, 4711, 1500, 2500, 1000, 128],
        ["kernel", 1, "put(int*)", "GPU 0", 0, 7, 4711, 0, 1000, 1000, 128],
    ]
    rest = trace.activity_within(AT, AT + 4000, lanes=[2, 3, 4, 5])
    assert rest[["what", "id", "thread", "duration", "bytes"]].to_numpy(dtype=object).tolist() == [
        ["copy call", 1, 4711, 1000, 1001],
        ["call", 1, 4711, 300, 0],
        ["call", 2, 4711, 300, 0],
        ["collective", 1, 4711, 100, 1024],
        ["launch", 4, 4711, 0, 0],
    ]


def test_blocks_without_the_folds(trace: snoopie.Trace) -> None:
    """From 1600 on until 3900, nothing but what is folded: kernels go on behind it, the copy begins there."""
    folds = [(AT + 1600, AT + 3900)]
    drawn = trace.activity_blocks(AT, AT + 4000, 1700, lanes=[0, 1, 3, 5], folds=folds)
    drawn[["start", "end"]] -= AT
    assert drawn[["lane", "start", "end", "count", "busy", "id"]].to_numpy().tolist() == [
        [0, 0, 1000, 1, 1000, 1],
        [0, 1500, 1600, 1, 100, 2],
        [1, 500, 1600, 1, 1100, 3],
        [3, 700, 700, 1, 0, 4],
        [5, 0, 300, 1, 300, 1],
        [5, 600, 900, 1, 300, 2],
    ]
    # What lies within a fold is left out.
    assert trace.activity_blocks(AT, AT + 4000, 10, lanes=[5], folds=[(AT - 1, AT + 1000)]).empty


def test_gaps_of_what_gpus_do(trace: snoopie.Trace) -> None:
    """Kernels end at 2500, the copy begins at 3000; the calls do not count."""
    assert trace.activity_gaps(AT, AT + 4000) == [(AT + 2500 + 29, AT + 3000 - 29)]
    assert trace.activity_gaps(AT, AT + 2000) == []


def test_sums_of_a_part_of_time(trace: snoopie.Trace) -> None:
    table = trace.activity_sums(AT + 900, AT + 3500)
    assert table.to_numpy(dtype=object).tolist() == [
        ["kernel", "put(int*)", 3, 100 + 1000 + 1100, 3 * 128],
        ["copy call", "host → GPU 1", 1, 500, 1001],
    ]
    only = trace.activity_sums(AT, AT + 1000, lanes=[5, 2])
    assert only[["name", "count", "total"]].to_numpy(dtype=object).tolist() == [
        ["cuLaunchKernel", 2, 600],
        ["AllReduce", 1, 100],
    ]
    # What runs at once counts once.
    busy = trace.activity_busy(AT + 900, AT + 3500, lanes=[0, 1, 4])
    assert busy.to_numpy(dtype=object).tolist() == [["GPU 0", 1600], ["GPU 1", 500]]


def test_a_search_by_name(trace: snoopie.Trace) -> None:
    def found(*question: object) -> list[tuple[str, int, int, int]]:
        rows = trace.activity_search("PUT", *question)  # type: ignore[arg-type]
        return [(row.what, row.id, row.number, row.events) for row in rows.itertuples()]

    assert found() == [("kernel", 1, 1, 4)]
    assert [found(number)[0][:2] for number in (1, 2, 3, 4)] == [
        ("kernel", 1),
        ("kernel", 3),
        ("launch", 4),
        ("kernel", 2),
    ]
    # The first that ends after a moment; after the last, the first of all.
    assert found(0, AT + 2200) == [("kernel", 2, 4, 4)]
    assert found(0, AT + 9000) == [("kernel", 1, 1, 4)]
    assert trace.activity_search("nothing").empty
    assert trace.activity_search("").empty
    some = trace.activity_blocks(AT, AT + 4000, 2000, text="Reduce")
    assert some["name"].tolist() == ["AllReduce"]


def test_one_of_them(trace: snoopie.Trace) -> None:
    (found,) = trace.activity_of("kernel", 3).itertuples()
    assert (found.name, found.start - AT, found.duration, found.bytes) == ("put(int*)", 500, 1500, 128)
    assert trace.activity_of("launch", 3).empty
    assert trace.activity_of("call", 9).empty


def test_views_have_what_they_select(trace: snoopie.Trace) -> None:
    view = trace.select(issuers="GPU 1")
    assert view.activity_lanes()["what"].tolist() == ["launch", "copy call"]


def test_nothing(tmp_path: Path) -> None:
    trace = snoopie.load(TraceBuilder(2).write(tmp_path / "x.zst"))
    assert trace.activity_lanes().empty
    assert trace.activity_lanes(streams=False).empty
    assert trace.activity_blocks(0, 10).empty
    assert trace.activity_within(0, 10).empty


def test_wrong_questions(trace: snoopie.Trace) -> None:
    with pytest.raises(UsageError, match="a lane cannot be drawn in 0 blocks; use 1 to 100000"):
        trace.activity_blocks(0, 10, 0)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1000), st.integers(0, 300)), max_size=60),
    st.integers(0, 500),
    st.integers(1, 900),
    st.integers(1, 40),
)
def test_blocks_hold_all_events_of_the_time(
    rows: list[tuple[int, int, int]], first: int, length: int, most: int
) -> None:
    last = first + length
    lane, start, size = np.array(sorted(rows), np.int64).reshape(-1, 3).T
    events = pd.DataFrame({"lane": lane, "id": np.arange(1, len(lane) + 1), "start": start, "end": start + size})
    table = activity.blocks(events, first, last, most)
    for number in range(3):
        own, blocks = events[events["lane"] == number], table[table["lane"] == number]
        shown = [
            (max(begin, first), min(end, last))
            for begin, end in zip(own["start"], own["end"], strict=True)
            if begin < last and max(end, begin + 1) > first
        ]
        assert blocks["count"].sum() == len(shown)
        assert len(blocks) <= 2 * most + 1
        assert {moment for begin, end in shown for moment in range(begin, end)} <= {
            moment for block in blocks.itertuples() for moment in range(block.start, block.end)
        }
    for block in table.itertuples():
        assert first <= block.start <= block.end <= last
        assert 0 <= block.busy <= block.end - block.start
        if block.count == 1:
            (event,) = events[events["id"] == block.id].itertuples()
            assert (block.lane, block.busy) == (event.lane, block.end - block.start)
        else:
            assert block.id == 0


def test_many_that_run_at_once_are_one_block_at_last() -> None:
    longest = 1 << 62
    events = pd.DataFrame({"lane": 0, "id": range(1, 101), "start": 0, "end": longest})
    assert activity.blocks(events, 0, longest, 10).to_numpy().tolist() == [[0, 0, longest, 100, longest, 0, 1]]
