"""Records and the lane accesses in them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pandas as pd
import pytest

import snoopie
from snoopie.analysis.traffic import accesses
from snoopie.trace import parallel
from tests.support import ring
from tests.support.encoder import START_NS, TraceBuilder


@pytest.fixture
def builder() -> TraceBuilder:
    """Four accesses: strided forward with holes, strided backward, scattered, by no lane."""
    trace = TraceBuilder(2)
    kernel = trace.function("k")
    store = trace.site(kernel, "STG.E", "store", 4)
    load = trace.site(kernel, "LDG.E.64", "load", 8)
    launch = trace.launch(kernel, 1)
    trace.record(launch, store, 0, 0x7F0000001000, 16, mask=0b1011_0000, block=9, warp=3, time=START_NS + 1)
    trace.record(launch, load, 0, 0x7F0000002000, -8, mask=0b111, time=START_NS + 2)
    trace.scattered(launch, load, 0, {31: 0xFFFF_FFFF_FFFF_FFF8, 2: 0x10, 30: 0x20}, time=START_NS + 3)
    trace.record(launch, store, 254, 0x10, 4, mask=0, time=START_NS + 4)
    return trace


@pytest.fixture
def bulk_builder(builder: TraceBuilder) -> TraceBuilder:
    """Two more accesses, bulk: one of more bytes than 32 bits hold, one by no lane at all."""
    copy = builder.site(1, "UBLKCP.S.G", "load", 16)
    builder.bulk(1, copy, 0, 2**64 - 32, 2**40, mask=0b1000, time=START_NS + 5, block=7)
    builder.bulk(1, copy, 254, 0x40, 16, mask=0, time=START_NS + 6)
    return builder


def test_bulk_accesses(bulk_builder: TraceBuilder, tmp_path: Path) -> None:
    trace = snoopie.load(bulk_builder.write(tmp_path / "t.zst"))
    bulk = trace.records.tail(2)
    assert bulk["shape"].tolist() == ["bulk", "bulk"]
    assert bulk["base"].tolist() == [2**64 - 32, 0x40]
    assert bulk["stride"].tolist() == [0, 0]
    assert bulk["lanes"].tolist() == [1, 0]
    assert trace.records["bytes"].tolist() == [12, 24, 0, 24, 2**40, 16]
    assert trace.summary()["records"] == 6
    lanes = trace.lane_accesses()
    assert lanes.tail(2)[["lane", "address", "width", "block", "owner"]].to_numpy(dtype=object).tolist() == [
        [3, 2**64 - 32, 2**40, 7, 0],
        [0, 0x40, 16, 0, -1],
    ]
    assert len(lanes) == 11
    assert lanes["address"].dtype == "uint64"
    assert lanes["width"].dtype == "int64"
    view = trace.select(owners="host")
    assert view.records["bytes"].tolist() == [0, 16]
    assert view.lane_accesses()["width"].tolist() == [16]
    assert trace.losses() == []


def test_records(builder: TraceBuilder, tmp_path: Path) -> None:
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    records = trace.records
    columns = "launch site issuer owner process time block warp multiprocessor mask lanes shape base stride bytes"
    assert records.columns.tolist() == columns.split()
    # In the order of the file: the strided ones are in an earlier block.
    assert records["shape"].tolist() == ["strided", "strided", "strided", "scattered"]
    assert records["lanes"].tolist() == [3, 3, 0, 3]
    assert records["base"].tolist() == [0x7F0000001000, 0x7F0000002000, 0x10, 0x10]
    assert records["stride"].tolist() == [16, -8, 4, 0]
    assert records["issuer"].tolist() == [1, 1, 1, 1]
    assert records["owner"].tolist() == [0, 0, -1, 0]
    assert records["block"].tolist() == [9, 0, 0, 0]
    assert records["warp"].tolist() == [3, 0, 0, 0]
    assert sum(len(block) for block in trace.record_blocks()) == 4


def test_lane_accesses(builder: TraceBuilder, tmp_path: Path) -> None:
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    table = trace.lane_accesses()
    assert table.columns.tolist() == list(accesses.COLUMNS)
    found = list(zip(table["site"], table["lane"], table["address"], table["width"], strict=True))
    assert found == [
        (1, 4, 0x7F0000001000, 4),
        (1, 5, 0x7F0000001010, 4),
        (1, 7, 0x7F0000001030, 4),
        (2, 0, 0x7F0000002000, 8),
        (2, 1, 0x7F0000001FF8, 8),
        (2, 2, 0x7F0000001FF0, 8),
        (2, 2, 0x10, 8),
        (2, 30, 0x20, 8),
        (2, 31, 0xFFFF_FFFF_FFFF_FFF8, 8),
    ]
    assert table["time"].tolist() == [START_NS + time for time in (1, 1, 1, 2, 2, 2, 3, 3, 3)]
    assert table["address"].dtype == "uint64"


@pytest.mark.parametrize("limit", [0, 1, 6, 7, 9, 10, 100])
def test_limits(bulk_builder: TraceBuilder, tmp_path: Path, limit: int) -> None:
    trace = snoopie.load(bulk_builder.write(tmp_path / "t.zst", block_rows=1))
    whole = trace.lane_accesses()
    table = trace.lane_accesses(limit)
    assert table.equals(whole.head(limit))
    assert (table.dtypes == whole.dtypes).all()


def test_large_blocks_are_handed_out_in_parts(ring_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = snoopie.load(ring_path).lane_accesses()
    monkeypatch.setattr(accesses, "_STEP", 5)
    trace = snoopie.load(ring_path)
    parts = list(trace.lane_access_blocks())
    assert max(map(len, parts)) <= 5 * 32
    assert trace.lane_accesses().equals(whole)
    assert sum(map(len, parts)) == ring.TOTALS["lanes"]


def test_records_agree_with_counts_when_every_access_has_one(two_process_folder: Path) -> None:
    trace = snoopie.load(two_process_folder)
    lanes = trace.lane_accesses()
    by_site = lanes.groupby("site")["width"].sum()
    assert trace.records.groupby("site")["bytes"].sum().to_dict() == by_site.to_dict()
    assert by_site.to_dict() == trace.by_site().set_index("site")["bytes"].to_dict()
    # Distinct wire units of 32 bytes of each access; no lane of the ring asks for more.
    touched = lanes.assign(sector=lanes["address"] // 32, access=lanes["time"]).groupby(["process", "access"])["sector"]
    assert touched.nunique().sum() == ring.TOTALS["wire_units"]


def test_no_records(tmp_path: Path) -> None:
    trace = snoopie.load(TraceBuilder().write(tmp_path / "t.zst"))
    assert trace.records.empty
    assert trace.records["base"].dtype == "uint64"
    assert trace.lane_accesses().columns.tolist() == list(accesses.COLUMNS)


def test_many_masks(tmp_path: Path) -> None:
    """Every lane of every record, in order, with the columns of its record."""
    trace, random = TraceBuilder(2), Random(4711)
    site = trace.site(trace.function("k"), "STG.E", "store", 4)
    launch = trace.launch(1, 1)
    expected = []
    for row in range(600):
        mask = random.choice([0xFFFF_FFFF, 0, 1 << 31, random.getrandbits(32)])
        active = [lane for lane in range(32) if mask >> lane & 1]
        if row % 3:
            base, stride = random.getrandbits(63), random.choice([0, 4, -16, 1 << 40])
            trace.record(launch, site, 0, base, stride, mask=mask, block=row, warp=row % 7, time=START_NS + row)
            addresses = [(base + stride * (lane - active[0])) % 2**64 for lane in active]
        else:
            addresses = [random.getrandbits(64) for _ in active]
            trace.scattered(launch, site, 0, dict(zip(active, addresses, strict=True)), block=row, warp=row % 7)
        expected += [(row, row % 7, lane, address) for lane, address in zip(active, addresses, strict=True)]
    lanes = snoopie.load(trace.write(tmp_path / "t.zst")).lane_accesses()
    # Each shape is in blocks of its own.
    lanes = lanes.sort_values(["block", "lane"], ignore_index=True)
    assert list(lanes[["block", "warp", "lane", "address"]].itertuples(index=False, name=None)) == expected
    assert (lanes["width"] == 4).all()


@pytest.mark.parametrize("cores", [1, 3])
def test_threads_change_nothing(
    bulk_builder: TraceBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    path = tmp_path / "t.zst"
    path.write_bytes(bulk_builder.encode(block_rows=1))
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    records, lanes = snoopie.load(path).records, snoopie.load(path).lane_accesses()
    monkeypatch.setattr(parallel, "cores", lambda: cores)
    trace = snoopie.load(path)
    pd.testing.assert_frame_equal(trace.records, records)
    pd.testing.assert_frame_equal(trace.lane_accesses(), lanes)
    pd.testing.assert_frame_equal(pd.concat(trace.record_blocks(), ignore_index=True), records)
    pd.testing.assert_frame_equal(trace.lane_accesses(limit=5), lanes.head(5))
    assert trace.select(owners="host").summary()["records"] == 2
