"""Views of a trace by process, time and range of launches: each analysis has just what was selected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import snoopie
from snoopie.errors import UsageError
from tests.support import mixed, ring
from tests.support.encoder import HOST, START_NS, UNKNOWN, TraceBuilder


@pytest.fixture
def ringed(ring_path: Path) -> snoopie.Trace:
    """Launches 1 to 11 of no length, each 1 µs after the one before."""
    return snoopie.load(ring_path)


@pytest.fixture
def ranks(tmp_path: Path) -> snoopie.Trace:
    return snoopie.load(mixed.write_mixed(tmp_path))


def at(launch: int) -> int:
    """When that launch of the ring was called."""
    return START_NS + 1000 * launch


def accesses(trace: snoopie.Trace) -> int:
    number = trace.summary()["accesses"]
    # Whatever is asked for, it is of the same accesses.
    assert number == trace.matrix("accesses").to_numpy().sum()
    for table in (trace.by_kernel(), trace.by_line(), trace.by_site(), trace.by_operation(), trace.by_launch()):
        assert number == table["accesses"].sum()
    assert number == trace.counts["accesses"].sum() == trace.by_object()["accesses"].sum()
    assert len(trace.records) == trace.summary()["records"]
    return int(number)


# launches


def test_a_range_of_launches(ringed: snoopie.Trace) -> None:
    view = ringed.select(launches=range(3, 6))
    assert view.launches.index.tolist() == view.timeline().index.tolist() == [3, 4, 5]
    # put, get and bump of GPU 1.
    assert accesses(view) == len(view.records) == 16 + 16 + 32
    assert view.by_pair()[["issuer", "owner", "bytes"]].to_numpy().tolist() == [
        ["GPU 1", "GPU 2", 10240],
        ["GPU 1", "GPU 0", 4160],
    ]
    assert view.select(launches=[5, 6]).launches.index.tolist() == [5]
    assert view.not_measured()["accesses"].tolist() == [16]


def test_a_range_can_be_longer_than_the_trace(ringed: snoopie.Trace) -> None:
    assert accesses(ringed.select(launches=range(10, 1 << 62))) == 48
    assert accesses(ringed.select(launches=range(-5, 1))) == accesses(ringed.select(launches=range(5, 4))) == 0
    assert ringed.select(launches=range(1, 12, 5)).launches.index.tolist() == [1, 6, 11]


# time


def test_launches_without_a_span_are_selected_by_their_call(ringed: snoopie.Trace) -> None:
    view = ringed.select(between=(at(3), at(6)))
    assert view.launches.index.tolist() == [3, 4, 5]
    assert accesses(view) == 64
    # The end is not in it, and neighbours share nothing.
    assert [accesses(ringed.select(between=times)) for times in ((at(3), at(3) + 1), (at(3) + 1, at(4)))] == [16, 0]
    first, after = ringed.period
    halves = [accesses(ringed.select(between=times)) for times in ((first, at(5)), (at(5), after))]
    assert halves == [16 + 16 + 16 + 16, 224 - 64]


def test_views_narrow_further(ringed: snoopie.Trace) -> None:
    view = ringed.select(between=(at(3), at(9)))
    assert view.select(between=(at(5), at(20))).launches.index.tolist() == [5, 6, 7, 8]
    assert accesses(view.select(between=(at(10), at(20)))) == 0
    assert view.select(operations="load", issuers="GPU 2").by_launch()["launch"].tolist() == [7]


def test_a_time_that_ends_before_it_begins(ringed: snoopie.Trace) -> None:
    assert accesses(ringed.select(between=(at(3), at(3)))) == 0
    with pytest.raises(UsageError, match="before it begins"):
        ringed.select(between=(at(3), at(2)))


def timed() -> TraceBuilder:
    """A launch that ran from 10 to 20 µs, one called at 30 µs, one of which no time is known; copies and NCCL calls."""
    trace = TraceBuilder(2)
    put = trace.function("put")
    site = trace.site(put, "STG.E", "store", 4)
    for time, accesses_ in ((5_000, 1), (30_000, 2), (None, 4)):
        launch = trace.launch(put, 0, time=0 if time is None else START_NS + time, group=launch_group(time))
        trace.count(launch, site, 1, accesses_, 32, 4)
    trace.add("spans", launch=1, start=START_NS + 10_000, end=START_NS + 20_000)
    for start in (12_000, 40_000):
        trace.copy(HOST, 1, start, gpu=1, start=START_NS + start, end=START_NS + start + 1000)
    for group, start in ((1, 4_000), (2, 29_000)):
        begun = START_NS + start
        trace.collective(group, f"AllReduce{group}", 8, gpu=0, start=begun, end=begun + 500)
    return trace


def launch_group(time: int | None) -> int:
    return {5_000: 1, 30_000: 2}.get(time or 0, 0)


@pytest.mark.parametrize(
    ("between", "launches", "copies", "collectives"),
    [
        ((0, 10_000), [], [], [1]),
        ((9_000, 10_001), [1], [], [1]),
        ((15_000, 16_000), [1], [], [1]),
        ((12_500, 20_000), [1], [1], [1]),
        ((20_000, 30_000), [], [], [2]),
        ((30_000, 30_001), [2], [], [2]),
        ((0, 10**9), [1, 2], [1, 2], [1, 2]),
    ],
)
def test_what_was_under_way_at_a_time(
    tmp_path: Path, between: tuple[int, int], launches: list[int], copies: list[int], collectives: list[int]
) -> None:
    """A launch that is called before it runs is where it ran; a call of NCCL is also where its kernels are."""
    whole = snoopie.load(timed().write(tmp_path / "t.zst"))
    view = whole.select(between=(START_NS + between[0], START_NS + between[1]))
    assert view.launches.index.tolist() == launches
    assert view.copies.index.tolist() == copies
    assert view.collectives.index.tolist() == collectives
    # Half of a launch is not known: its traffic is there as a whole.
    assert accesses(view) == sum({1: 1, 2: 2}[launch] for launch in launches)
    assert set(view.by_collective()["operation"]) == {f"AllReduce{number}" for number in collectives}
    assert len(view.single_copies()) == len(copies)


def test_the_period_of_a_trace(tmp_path: Path, ringed: snoopie.Trace) -> None:
    whole = snoopie.load(timed().write(tmp_path / "t.zst"))
    assert whole.period == whole.select(kernels=[]).period == (START_NS + 4_000, START_NS + 41_001)
    # Objects are there from the start on; the last free is a second later.
    assert ringed.period == (START_NS, START_NS + 1_000_000_001)
    assert snoopie.load(TraceBuilder(2).write(tmp_path / "e.zst")).period == (0, 0)


def test_a_time_of_a_sampled_trace_is_an_estimate(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    kernel = trace.function("often")
    site = trace.site(kernel, "STG.E", "store", 4)
    for number in (1, 2):
        trace.count(trace.launch(kernel, 0, time=START_NS + number), site, 1, number, 32, 4)
    trace.add("sampling", function=kernel, gpu=0, launches=20, measured=2)
    whole = snoopie.load(trace.write(tmp_path / "t.zst"))
    first = whole.select(between=(START_NS, START_NS + 2))
    assert first.estimated
    assert first.summary()["accesses"] == 10
    # Those that are named stand for themselves.
    assert whole.select(launches=range(1, 2)).summary()["accesses"] == 1


# processes


def test_processes(ranks: snoopie.Trace) -> None:
    # By the table of tests/support/mixed.py; rank 0 also stores 256 bytes somewhere.
    assert [ranks.select(processes=number).summary()["bytes"] for number in (0, 1)] == [44800, 44544]
    assert accesses(ranks.select(processes=[0, 1])) == 218
    one = ranks.select(processes=1)
    assert accesses(one) == 108
    assert one.by_pair("flow", "both")["bytes"].sum() == 44544 + (1 << 20) + 2 * 65536 + 4096
    for table in (one.launches, one.copies, one.collectives, one.single_copies(), one.by_launch(), one.counts):
        assert table["process"].unique().tolist() == [1]
    assert (len(one.launches), len(one.copies), len(one.collectives)) == (3, 4, 3)
    assert one.by_collective()["calls"].tolist() == [1, 2]
    assert one.not_measured()["accesses"].tolist() == [12, 0]
    assert one.by_object()["copied_in"].sum() == 0
    assert accesses(ranks.select(processes=2)) == accesses(one.select(processes=0)) == 0


def test_the_same_traffic_by_process(two_process_folder: Path) -> None:
    whole = snoopie.load(two_process_folder)
    assert whole.select(processes=0).matrix().to_numpy().tolist() == [*ring.ISSUED_BYTES[:2], [0] * 4, [0] * 4]
    assert whole.select(processes=1).summary()["records"] == 2 * 64
    # Ids of launches go on from process to process.
    assert whole.select(launches=range(6, 9)).launches["process"].unique().tolist() == [1]


# driver calls


def called() -> TraceBuilder:
    trace = TraceBuilder(2)
    for gpu, calls in ((0, 1), (1, 2), (UNKNOWN, 4)):
        key = {"call": trace.string("cuLaunchKernel"), "thread": 1, "gpu": gpu}
        sums = {"calls": calls, "errors": calls, "total": 1000 * calls, "least": 10, "most": 10}
        trace.add("call_totals", **key, **sums, kernel=trace.string("put"), direction=1, bytes=8, time=START_NS + 500)
        trace.add("call_times", **key, log2=3, calls=calls)
        trace.add("call_errors", **key, code=2, name=trace.string("CUDA_ERROR_OUT_OF_MEMORY"), calls=calls)
        trace.add("calls", **key, start=START_NS + 100 * calls, end=START_NS + 100 * calls + 10)
    trace.launch(trace.function("put"), 0)
    return trace


def test_driver_calls_of_a_view(tmp_path: Path) -> None:
    called().write(tmp_path / "0.zst")
    other = called()
    other.header["process"]["pid"] += 1
    other.write(tmp_path / "1.zst")
    whole = snoopie.load(tmp_path)

    def calls(**filters: Any) -> list[int]:
        view = whole.select(**filters)
        tables = (view.by_call(), view.by_thread(), view.by_direction(), view.by_error())
        numbers = {int(table["calls"].sum()) for table in tables}
        numbers.add(int(view.by_launched_kernel()["errors"].sum()))
        (number,) = numbers
        return [number, len(view.calls)]

    assert calls() == [14, 6]
    assert calls(processes=1) == [7, 3]
    assert calls(issuers="GPU 1") == [4, 2]
    assert calls(issuers=["GPU 0", "GPU 1"], processes=0) == [3, 2]
    # Of these nothing is known.
    assert calls(kernels="none", operations="load", owners="host", launches=[]) == [14, 6]
    # Sums have no times; single calls do.
    assert calls(between=(START_NS + 205, START_NS + 206)) == [14, 2]
    assert calls(between=(START_NS + 205, START_NS + 206), processes=0) == [7, 1]


# memory


@pytest.fixture
def memory(tmp_path: Path) -> snoopie.Trace:
    """GPU 0: 100 bytes from 10 on, of which 40 to 20; GPU 1: 8 bytes from 15 to 30."""
    trace = TraceBuilder(2)
    trace.allocation("device", 60, 0, 10)
    trace.allocation("device", 40, 0, 10, 20)
    trace.allocation("device", 8, 1, 15, 30)
    for time in (12, 25):
        trace.memory_use(0, time, 1000 + time)
    return snoopie.load(trace.write(tmp_path / "m.zst"))


def usage(trace: snoopie.Trace) -> list[list[object]]:
    table = trace.memory_usage()
    return table.assign(time=table["time"] - START_NS)[["time", "device", "bytes"]].to_numpy(dtype=object).tolist()


def test_memory_at_a_time(memory: snoopie.Trace) -> None:
    assert usage(memory) == [[10, "GPU 0", 100], [15, "GPU 1", 8], [20, "GPU 0", 60], [30, "GPU 1", 0]]
    view = memory.select(between=(START_NS + 20, START_NS + 30))
    # What was there before is there from the beginning.
    assert usage(view) == [[20, "GPU 0", 60], [20, "GPU 1", 8]]
    assert view.memory_watermark()[["device", "peak"]].to_numpy().tolist() == [["GPU 0", 60], ["GPU 1", 8]]
    assert view.memory_agreement()[["used", "allocated_by_process"]].to_numpy().tolist() == [[1025, 60]]
    assert memory.select(between=(START_NS + 31, START_NS + 40)).memory_usage()["bytes"].tolist() == [60]
    assert usage(memory.select(between=(START_NS, START_NS + 10))) == []


def test_leaks_of_a_time_are_what_was_made_then(memory: snoopie.Trace) -> None:
    assert memory.leaks()["bytes"].tolist() == [60]
    assert memory.select(between=(START_NS + 10, START_NS + 11)).leaks()["bytes"].tolist() == [60]
    assert memory.select(between=(START_NS + 11, START_NS + 40)).leaks().empty


def test_memory_of_an_owner_or_a_process(memory: snoopie.Trace, two_process_folder: Path) -> None:
    assert usage(memory.select(owners="GPU 1")) == [[15, "GPU 1", 8], [30, "GPU 1", 0]]
    assert memory.select(owners="GPU 1").memory_agreement().empty
    # Nothing says who issued, or by which kernel, what made an allocation.
    for filters in ({"issuers": "GPU 1"}, {"kernels": "none"}, {"operations": "load"}, {"launches": []}):
        assert usage(memory.select(**filters)) == usage(memory)  # type: ignore[arg-type]
    whole = snoopie.load(two_process_folder)
    assert whole.select(processes=1).memory_usage()["process"].unique().tolist() == [1]
    pd.testing.assert_frame_equal(whole.select(processes=1).memory_usage(), whole.memory_usage(process=1))


# what is read


def test_records_are_read_once_for_all_views(ringed: snoopie.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ringed.by_object()
    ringed.count_records()
    monkeypatch.setattr(ringed._tables.records, "each", None)
    view = ringed.select(operations="load", between=(at(3), at(9)))
    assert view.by_object()["accesses"].sum() == view.summary()["records"] == 32
    assert view.by_object()["accesses"].sum() < whole["accesses"].sum()
