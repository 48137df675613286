"""How busy GPUs and copies were: the sums are those of the definition, computed record by record."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snoopie
from snoopie import cli
from snoopie.analysis.time import resources, sweep
from snoopie.analysis.time.sweep import Part
from snoopie.trace.writer import HOST, TraceWriter, header

EPOCH = 1_790_000_000_000_000_001
RECORDS = st.lists(
    st.tuples(st.sampled_from(["GPU 0", "GPU 1", "DATA"]), st.integers(0, 10**9), st.integers(0, 10**6)), max_size=30
)
LIMITS = [10, 20, 50, 100, 1000, 10_000, 100_000]


def table(rows: list[tuple[str, int, int]]) -> list[Part]:
    records = pd.DataFrame(
        {
            "resource": pd.Series([row[0] for row in rows], dtype="str"),
            "kind": pd.Series("kernel", range(len(rows)), dtype="str"),
            "name": pd.Series(["k"] * len(rows), dtype="str"),
            "start": np.array([EPOCH + row[1] for row in rows], np.int64),
            "end": np.array([EPOCH + row[1] + row[2] for row in rows], np.int64),
        }
    )
    return Part.of(records)


def by_hand(rows: list[tuple[str, int, int]]) -> tuple[int, list[int]]:
    """busy and gaps of one resource: sorted by start, keeping the largest stop so far."""
    busy, gaps, latest = 0, [], None
    for start, stop in sorted((row[1], row[1] + row[2]) for row in rows):
        if latest is not None and start > latest:
            gaps.append(start - latest)
        busy += max(stop - (start if latest is None else max(start, latest)), 0)
        latest = stop if latest is None else max(latest, stop)
    return busy, gaps


@settings(deadline=None, max_examples=50)
@given(RECORDS)
def test_busy_and_gaps_are_those_of_the_definition(rows: list[tuple[str, int, int]]) -> None:
    records = table(rows)
    sums = resources.summed(records)
    found = resources.resources(sums).set_index("resource")
    names = resources.by_resource(sums)
    assert set(found.index) == {row[0] for row in rows}
    whole = max((row[1] + row[2] for row in rows), default=0) - min((row[1] for row in rows), default=0)
    for resource in found.index:
        own = [row for row in rows if row[0] == resource]
        busy, gaps = by_hand(own)
        assert found.loc[resource, ["records", "busy", "gaps", "gap"]].tolist() == [
            len(own),
            busy,
            len(gaps),
            sum(gaps),
        ]
        assert found.loc[resource, "busy_share"] == busy / max(whole, 1)
        rest = names[names["resource"] == resource]
        kernels = rest[rest["kind"] == "kernel"].iloc[0]
        lengths = [row[2] for row in own]
        assert kernels[["calls", "total", "least", "most"]].tolist() == [
            *(len(own), sum(lengths), min(lengths), max(lengths))
        ]
        idle = rest[rest["kind"] == "gap"]
        classes = [sum(gap >= 1000 * limit for limit in LIMITS) for gap in gaps]
        assert dict(zip(idle["name"], idle["calls"], strict=True)) == {
            resources.GAPS[number]: classes.count(number) for number in set(classes)
        }


@settings(deadline=None, max_examples=50)
@given(st.lists(RECORDS, max_size=6))
def test_parts_in_any_order_and_over_one_another_are_as_one(parts: list[list[tuple[str, int, int]]]) -> None:
    whole = resources.summed(table([row for part in parts for row in part]))
    with pytest.MonkeyPatch.context() as patch:
        # So that pieces are smaller than what overlaps.
        patch.setattr(sweep, "_ROWS", 4)
        found = resources.summed(part for rows in parts for part in table(rows))
    pd.testing.assert_frame_equal(resources.resources(found), resources.resources(whole))
    pd.testing.assert_frame_equal(resources.by_resource(found), resources.by_resource(whole))


TIMES = st.lists(st.tuples(st.just("GPU 0"), st.integers(0, 60), st.integers(0, 20)), min_size=1, max_size=8)


@settings(deadline=None, max_examples=50)
@given(TIMES, TIMES)
def test_what_runs_beside_a_part_is_neither_busy_nor_idle(
    part: list[tuple[str, int, int]], others: list[tuple[str, int, int]]
) -> None:
    sums = resources.summed(table(part), table(part + others))
    found = resources.resources(sums).iloc[0]
    busy, running = (
        {moment for _, start, ns in rows for moment in range(start, start + ns)} for rows in (part, others)
    )
    whole = set(range(min(start for _, start, _ in part), max(start + ns for _, start, ns in part)))
    assert found[["busy", "gap", "others"]].tolist() == [
        len(busy), len(whole - busy - running), len((whole & running) - busy)
    ]  # fmt: skip
    rows = resources.by_resource(sums)
    assert rows[rows["kind"] == "gap"]["total"].sum() == found["gap"]


def test_gaps_are_named_by_microseconds() -> None:
    assert (
        *("gap <10 us", "gap 10-20 us", "gap 20-50 us", "gap 50-100 us", "gap 100-1000 us", "gap 1000-10000 us"),
        *("gap 10000-100000 us", "gap >=100000 us"),
    ) == resources.GAPS
    rows = resources.by_resource(resources.summed(table([("GPU 0", 0, 5), ("GPU 0", 10_005, 5)])))
    assert rows["name"].tolist() == ["gap 10-20 us", "k"]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two kernels of GPU 1 with 30 µs between, one whose time is not known, two copies."""
    path = tmp_path / "t.zst"
    process = {"host": "n", "pid": 1, "program": "", "command": [], "start_ns": EPOCH}
    head = header(tool={"version": "1", "imported_from": "X"}, process=process, settings={"copy_times": "device"},
                  gpus=[{"uuid": f"GPU-{number}"} for number in range(2)])  # fmt: skip
    with TraceWriter(path, head) as writer:
        writer.write("functions", id=1, name=writer.intern("step"), kernel=1)
        writer.write("launches", id=[1, 2, 3], function=1, gpu=1)
        writer.write("spans", launch=[1, 2], start=[EPOCH, EPOCH + 40_000], end=[EPOCH + 10_000, EPOCH + 60_000])
        writer.write("copies", id=[1, 2], source=[HOST, 0], destination=[1, 1], bytes=[100, 200], gpu=1,
                     start=[EPOCH, EPOCH + 70_000], end=[EPOCH + 5, EPOCH + 100_000])  # fmt: skip
        writer.finish(EPOCH, {"copies": 2, "copy_bytes": 300})
    return path


def test_a_trace(trace: Path) -> None:
    loaded = snoopie.load(trace)
    busy = loaded.resources()
    assert busy["resource"].tolist() == ["GPU 1", "DATA"]
    assert busy["busy"].tolist() == [30_000, 30_005]
    assert busy["busy_share"].tolist() == [0.3, 0.30005]
    rows = loaded.by_resource()
    assert rows[["resource", "kind", "name", "calls", "total"]].to_numpy().tolist() == [
        ["GPU 1", "gap", "gap 20-50 us", 1, 30_000],
        ["GPU 1", "kernel", "step", 2, 30_000],
        ["DATA", "gap", "gap 50-100 us", 1, 69_995],
        ["DATA", "copy", "PeerToPeer_200_bytes", 1, 30_000],
        ["DATA", "copy", "HostToDevice_100_bytes", 1, 5],
    ]
    assert loaded.without_device_times() == ["1 launch is left out: no GPU timestamps."]
    only = loaded.select(kernels="step")
    assert only.resources()["resource"].tolist() == ["GPU 1"]


def test_a_part_of_the_time(trace: Path) -> None:
    """From the middle of the first kernel to the middle of the second: 5 µs, 30 µs idle, 10 µs."""
    part = EPOCH + 5_000, EPOCH + 50_000
    busy = snoopie.load(trace).resources(between=part)
    assert busy[["resource", "busy", "gap", "start", "end"]].to_numpy().tolist() == [["GPU 1", 15_000, 30_000, *part]]
    assert busy["busy_share"].tolist() == [1 / 3]
    rows = snoopie.load(trace).by_resource(between=part)
    assert rows[["name", "total"]].to_numpy().tolist() == [["gap 20-50 us", 30_000], ["step", 15_000]]
    assert rows["share"].tolist() == [2 / 3, 1 / 3]


def test_what_lasts_no_time_is_in_the_part_that_it_begins() -> None:
    """A kernel that ends then is not."""
    first = EPOCH + 10
    parts = resources.within(
        table([("GPU 0", 10, 0), ("GPU 0", 0, 10), ("GPU 0", 12, 5)]), resources.Region(first, first + 9)
    )
    busy = resources.resources(resources.summed(parts))
    assert busy[["records", "start", "busy", "gaps"]].to_numpy().tolist() == [[2, first, 5, 1]]


def test_what_runs_beside_a_view_on_another_gpu_alone_makes_no_gaps() -> None:
    """Times since 1970 are exact where a GPU has nothing of the view: as floats they are 256 ns apart."""
    own = [("GPU 0", 199, 1), ("GPU 0", 1000, 1)]
    every = [("GPU 0", 0, 1000), *own, ("GPU 1", 0, 5)]
    busy = resources.resources(resources.summed(table(own), table(every)))
    assert busy[["busy", "gaps", "gap", "others"]].to_numpy().tolist() == [[2, 0, 0, 800]]


def test_the_command(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["summary", "--top", "1", str(trace)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "GPU 1: busy 30 %, 30 µs, 1 of 2 rows"
    assert out[2].split() == ["30", "%", "30", "µs", "1", *3 * ["30", "µs"], "gap", "20-50", "us"]
    assert cli.main(["summary", "--json", str(trace)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [resource["busy"] for resource in told["resources"]] == [30_000, 30_005]
    assert told["resources"][0]["rows"][1] == {
        "kind": "kernel", "name": "step", "share": 0.3, "calls": 2, "total": 30_000, "average": 15_000.0,
        "least": 10_000, "most": 20_000,
    }  # fmt: skip
    with pytest.raises(SystemExit):
        cli.main(["summary", "--top", "-1", str(trace)])


def test_a_trace_without_times_on_gpus_says_so(mixed_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert snoopie.load(mixed_folder).resources().empty
    assert cli.main(["summary", str(mixed_folder)]) == 0
    out = capsys.readouterr().out
    assert "no GPU timestamps" in out
    assert "copies are left out" in out
