"""When bytes moved within launches: the clocks of GPUs against the host's, and what else ran meanwhile."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import snoopie
from snoopie import cli
from snoopie.analysis.time import clocks
from tests.support.encoder import START_NS, TraceBuilder

US = 1000
AT = START_NS + 1000 * US
AHEAD = 300 * US  # of the GPUs' clocks
STEP, BESIDE = "step()", "beside()"


def builder(*, sampled: bool = False) -> TraceBuilder:
    """`step` runs on GPU 0 for 100 µs, 200 µs apart, and stores 128 bytes on GPU 1 at its start, at 50 µs
    and at its end; the second of these lies under `beside`, which runs from 40 to 60 µs of the second launch alone."""
    trace = TraceBuilder(2)
    step, beside = trace.function(STEP), trace.function(BESIDE)
    store = trace.site(step, "STG.E", "store", 4, line=trace.line("/src/step.cu", 7))
    other = trace.site(step, "STG.E.64", "store", 8, line=trace.line("/src/step.cu", 9))
    for number in range(2):
        start = AT + 200 * US * number
        launch = trace.launch(step, 0, time=start - 5 * US)
        trace.add("spans", launch=launch, start=start, end=start + 100 * US)
        times = [0, 50 * US, 100 * US]
        for time in times[1 if sampled else 0 :]:
            trace.record(launch, store, 1, 0x7F00_0000_0000, 4, time=start + time + AHEAD)
        trace.count(launch, store, 1, 3, 96, 12)
        # Of this one there are only sums.
        trace.count(launch, other, 1, 1, 32, 8)
    launch = trace.launch(beside, 0, time=AT + 235 * US)
    trace.add("spans", launch=launch, start=AT + 240 * US, end=AT + 260 * US)
    return trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return builder().write(tmp_path / "t.zst")


def test_clocks_are_known_as_well_as_the_launches_allow(path: Path) -> None:
    found = snoopie.load(path).clocks()
    assert found[["gpu", "launches", "ahead", "error"]].to_numpy().tolist() == [["GPU 0", 2, AHEAD, 0]]


def test_bytes_are_where_their_accesses_were(path: Path) -> None:
    trace = snoopie.load(path)
    first = AT
    moved = trace.traffic_by_moment(100, first=first, last=first + 100 * US)
    by_bin = dict(zip((moved["start"] - first) // US, moved["bytes"], strict=True))
    # 128 bytes of each record in its µs, and the 256 without a record evenly over all.
    assert sum(by_bin.values()) == 3 * 128 + 256
    assert [place for place, amount in by_bin.items() if amount > 100] == [0, 50, 99]
    assert max(amount for place, amount in by_bin.items() if place not in (0, 50, 99)) == 3
    lines = trace.lines_by_moment(1).groupby("line")["bytes"].sum()
    assert lines.to_dict() == {"step.cu:7": 2 * 3 * 128, "step.cu:9": 2 * 256}
    assert trace.about_moments() == [
        "Bytes are where their accesses were recorded, to a µs; the clocks are known to ± 0 ns.",
        "Of 40 % of the bytes only sums are known: spread over their launches.",
    ]


def test_what_lies_under_another_kernel(path: Path) -> None:
    trace = snoopie.load(path)
    rows = trace.overlap().set_index("launch")
    assert rows[["bytes", "moving", "ran", "under"]].to_numpy().tolist() == [
        [384, 3 * US, 100 * US, 0],
        [384, 3 * US, 100 * US, 128],
    ]
    assert rows["spread"].tolist() == [0.03, 0.03]
    # Under it for sure: the clocks are known.
    assert rows[["under_least", "under_most"]].to_numpy().tolist() == [[0, 0], [128, 128]]
    assert rows[["began", "ended"]].to_numpy().tolist() == 2 * [[0, 100 * US]]
    by_kernel = trace.overlap("kernel")
    assert by_kernel[["kernel", "issuer", "owner", "launches", "bytes", "under"]].to_numpy().tolist() == [
        [STEP, "GPU 0", "GPU 1", 2, 768, 128]
    ]
    # 4 units of 32 bytes in a µs.
    assert by_kernel["densest"].tolist() == [128e6]
    # A filter leaves what ran beside it where it was.
    assert trace.select(kernels=STEP).overlap("kernel")["under"].tolist() == [128]


def test_a_launch_without_a_time_can_have_moved_under_another(tmp_path: Path) -> None:
    """Called while another ran, it is not the one that ran."""
    trace = builder()
    store = trace.site(1, "STG.E", "store", 4)
    known, unknown = (trace.launch(1, 0, time=AT + 1000 * US) for _ in range(2))
    trace.add("spans", launch=known, start=AT + 1000 * US, end=AT + 1100 * US)
    trace.rows["launches"][unknown - 1]["time"] = AT + 1050 * US
    # All that is known of the clock: the launches allow 10 µs.
    trace.rows["spans"] = [row for row in trace.rows["spans"] if row["launch"] == known]
    for launch, time in ((known, 1005), (known, 1095), (unknown, 1052)):
        trace.record(launch, store, 1, 0x7F00_0000_0000, 4, time=AT + time * US + AHEAD)
    for launch in (known, unknown):
        trace.count(launch, store, 1, 1, 32, 8)
    table = snoopie.load(trace.write(tmp_path / "t.zst")).overlap().set_index("launch")
    assert table.loc[unknown, ["under_least", "under", "under_most", "error"]].tolist() == [128, 128, 128, 5 * US]


def test_an_access_of_no_bytes_has_no_part_of_what_moved(tmp_path: Path) -> None:
    """Were the only records of a sum such ones, each had all of it."""
    trace = builder()
    bulk = trace.site(1, "UBLKCP", "store", 1)
    trace.count(1, bulk, 1, 3, 4096, 256)
    for time in (20 * US, 30 * US):
        trace.bulk(1, bulk, 1, 0x7F00_0000_0000, 0, time=AT + time + AHEAD)
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    assert loaded.overlap()["bytes"].tolist() == [3 * 128, 3 * 128]
    assert loaded.traffic_by_moment()["bytes"].sum() == loaded.counts["bytes"].sum()


def test_sampled_records_are_scaled(tmp_path: Path) -> None:
    trace = snoopie.load(builder(sampled=True).write(tmp_path / "t.zst"))
    assert trace.overlap("kernel")["bytes"].tolist() == [768]
    assert "66.7 % of these bytes were recorded: records are scaled." in trace.about_moments()


def test_without_times_only_sums_are_known(tmp_path: Path) -> None:
    trace = builder()
    trace.rows["spans"].clear()
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    assert loaded.clocks().empty
    assert loaded.overlap().empty
    assert loaded.traffic_by_moment(10)["bytes"].sum() == 2 * (384 + 256)
    assert loaded.about_moments()[0].startswith("When bytes moved within a launch is not known")


def test_a_clock_that_was_set_begins_a_new_stretch() -> None:
    """Four launches of 10 µs, each with records over 8 µs of it; after the second the clock jumps."""
    when = pd.DataFrame({"process": 0, "gpu": 0, "start": [0, 20_000, 40_000, 60_000], "spanned": True})
    when["end"] = when["start"] + 10_000
    ahead = pd.Series([5000, 5000, 9000, 9000])
    recorded = pd.DataFrame({"first": when["start"] + 1000 + ahead, "last": when["start"] + 9000 + ahead})
    found = clocks.clocks(recorded, when)
    assert found[["start", "launches", "ahead", "error"]].to_numpy().tolist() == [
        [0, 2, 5000, 1000],
        [40_000, 2, 9000, 1000],
    ]
    of_launches = clocks.of_launches(found, when.rename_axis("launch"))
    assert of_launches["ahead"].tolist() == [5000, 5000, 9000, 9000]


def test_a_clock_far_from_the_host_s_is_exact() -> None:
    """Also where another GPU's is not known: as floats, times since 1970 are known to 256 ns."""
    when = pd.DataFrame({"process": 0, "gpu": [0, 1], "start": AT, "end": AT + 10, "spanned": True}, index=[1, 2])
    ahead = 12_345 - AT
    recorded = pd.DataFrame({"first": [AT + ahead], "last": [AT + 10 + ahead]}, index=[1])
    found = clocks.of_launches(clocks.clocks(recorded, when), when.rename_axis("launch"))
    assert found["ahead"].to_dict() == {1: ahead}


def test_the_links_need_at_least_so_long(tmp_path: Path) -> None:
    trace = builder()
    for gpu in trace.header["gpus"]:
        gpu |= {"sm": 90, "nvlinks": 18}
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    wire = 2 * (12 + 8) * 32
    needed = wire / 450e9 * 1e9
    assert loaded.least_times("pair").to_numpy().tolist() == [["GPU 0", "GPU 1", wire, needed]]
    assert loaded.least_times("kernel")[["kernel", "least_time"]].to_numpy().tolist() == [[STEP, needed]]
    lines = loaded.least_times("line")
    assert lines[["line", "wire_bytes"]].to_numpy().tolist() == [[7, 768], [9, 512]]
    assert lines["least_time"].sum() == pytest.approx(needed)


def test_the_command(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["summary", "--overlap", str(path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].split() == ["GPU", "0", "GPU", "1", "2", "768", "B", "6", "µs", "200", "µs", "3", "%", "128", "MB/s",
                              "128", "B", STEP]  # fmt: skip
    assert "known to ± 0 ns" in out[2]
    assert cli.main(["summary", "--overlap", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["overlap"][0]["under"] == 128
