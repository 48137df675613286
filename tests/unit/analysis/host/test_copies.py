"""Copies that the host started: the table, their sums by ends and call, the matrix, and views."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snoopie
from snoopie.analysis.host import copies
from snoopie.errors import UsageError
from tests.support.encoder import HOST, START_NS, UNKNOWN, TraceBuilder
from tests.support.ring import ring_builder


def builder(**members: int) -> TraceBuilder:
    """Copies over two GPUs and the host, and one store of 128 bytes by a kernel of GPU 0 to GPU 1."""
    trace = TraceBuilder(4, **members)
    site = trace.site(trace.function("k"), "STG.E", "store", 4)
    trace.count(trace.launch(1, 0), site, 1, 1, 32, 4)
    trace.copy(HOST, 0, 1000, gpu=0, call="cuMemcpyHtoDAsync")
    trace.copy(0, 1, 300, gpu=0, call="cuMemcpyPeerAsync", stream=2**64 - 1)
    trace.copy(0, 1, 300, gpu=0, call="cuMemcpyPeerAsync")
    trace.copy(1, 0, 50, gpu=0, kind="2d", call="cuMemcpy2D")
    trace.copy(2, 3, 7, gpu=1, kind="graph", call="cuGraphLaunch")
    trace.copy(1, HOST, 20, gpu=1, call="cuMemcpyDtoH")
    return trace


@pytest.fixture
def trace(tmp_path: Path) -> snoopie.Trace:
    return snoopie.load(builder().write(tmp_path / "t.zst"))


def rows(table: pd.DataFrame, *columns: str) -> list[list[object]]:
    return table[list(columns)].to_numpy(dtype=object).tolist()


def test_the_table(trace: snoopie.Trace) -> None:
    table = trace.copies
    columns = (
        "process kind call source destination source_address destination_address bytes issuer stream thread start end "
        "stack"
    )
    assert table.columns.tolist() == columns.split()
    assert table.index.name == "copy"
    assert table.index.tolist() == [1, 2, 3, 4, 5, 6]
    assert table.loc[1].tolist() == [
        0, "linear", "cuMemcpyHtoDAsync", -1, 0, 0x7F00_0000_0000, 0x7F40_0000_0000, 1000, 0, 0, 4711,
        START_NS + 100_000, START_NS + 102_000, 0,
    ]  # fmt: skip
    assert table.loc[2, "stream"] == 2**64 - 1
    assert table["kind"].tolist() == ["linear", "linear", "linear", "2d", "graph", "linear"]
    assert table["destination"].tolist() == [0, 1, 1, 0, 3, -1]


def test_by_copy(trace: snoopie.Trace) -> None:
    table = trace.by_copy()
    assert table.columns.tolist() == ["from", "to", "kind", "call", "copies", "bytes", "host_ns"]
    assert table.to_numpy(dtype=object).tolist() == [
        ["host", "GPU 0", "linear", "cuMemcpyHtoDAsync", 1, 1000, 2000],
        ["GPU 0", "GPU 1", "linear", "cuMemcpyPeerAsync", 2, 600, 4000],
        ["GPU 1", "GPU 0", "2d", "cuMemcpy2D", 1, 50, 2000],
        ["GPU 1", "host", "linear", "cuMemcpyDtoH", 1, 20, 2000],
        ["GPU 2", "GPU 3", "graph", "cuGraphLaunch", 1, 7, 2000],
    ]


def test_single_copies(trace: snoopie.Trace) -> None:
    table = trace.single_copies()
    columns = "copy process from to issuer kind call bytes stream thread began host_ns"
    assert table.columns.tolist() == columns.split()
    assert table.loc[0].tolist() == [
        1, 0, "host", "GPU 0", "GPU 0", "linear", "cuMemcpyHtoDAsync", 1000, 0, 4711, 99_000, 2000,
    ]  # fmt: skip
    # Of equals, the one that was recorded first.
    assert table["copy"].tolist() == [1, 2, 3, 4, 6, 5]
    assert trace.single_copies("start", 2)[["copy", "began"]].to_numpy().tolist() == [[1, 99_000], [2, 199_000]]
    assert trace.select(issuers=1).single_copies()["copy"].tolist() == [6, 5]
    assert trace.select(issuers=3).single_copies().empty
    with pytest.raises(UsageError, match="cannot be ordered by 'size'"):
        trace.single_copies("size")  # type: ignore[arg-type]


def test_single_copies_by_the_time_of_their_calls(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    for spent in (5, 500, 50, -1):
        builder.copy(0, 1, 8, gpu=0, start=START_NS, end=START_NS + spent)
    table = snoopie.load(builder.write(tmp_path / "t.zst")).single_copies("host_ns", 3)
    assert table[["copy", "host_ns"]].to_numpy().tolist() == [[2, 500], [3, 50], [1, 5]]


def test_matrix_of_the_host(trace: snoopie.Trace) -> None:
    flow = trace.matrix(reading="flow", initiated="host")
    assert flow.index.tolist() == ["GPU 0", "GPU 1", "GPU 2", "GPU 3", "host"]
    assert (flow.index.name, flow.columns.name) == ("from", "to")
    assert flow.to_numpy().tolist() == [
        [0, 600, 0, 0, 0],
        [50, 0, 0, 0, 20],
        [0, 0, 0, 7, 0],
        [0, 0, 0, 0, 0],
        [1000, 0, 0, 0, 0],
    ]
    # The issuer, and the end that it is not; GPU 1 moves data from GPU 2 to GPU 3: 7 bytes for each.
    issued = trace.matrix(initiated="host")
    assert (issued.index.name, issued.columns.name) == ("issuer", "owner")
    assert issued.to_numpy().tolist() == [
        [0, 650, 0, 0, 1000],
        [0, 0, 7, 7, 20],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
    ]


def test_matrix_of_both(trace: snoopie.Trace) -> None:
    # The default stays what it was: instructions only, and no host where no instruction reached it.
    assert trace.matrix().to_numpy().tolist() == [[0, 128, 0, 0], *[[0] * 4] * 3]
    for reading in ("issued", "flow"):
        both = trace.matrix(reading=reading, initiated="both")
        expected = trace.matrix(reading=reading, initiated="host")
        expected.loc["GPU 0", "GPU 1"] += 128
        assert both.equals(expected)


def test_by_pair(trace: snoopie.Trace) -> None:
    host = trace.by_pair("flow", "host")
    assert host.columns.tolist() == ["from", "to", "copies", "bytes", "host_ns"]
    assert rows(host, "from", "to", "copies", "bytes")[:2] == [["host", "GPU 0", 1, 1000], ["GPU 0", "GPU 1", 2, 600]]
    both = trace.by_pair("flow", "both")
    assert both.columns.tolist() == ["from", "to", "bytes", "device_bytes", "host_bytes"]
    assert rows(both, *both.columns)[:2] == [["host", "GPU 0", 1000, 0, 1000], ["GPU 0", "GPU 1", 728, 128, 600]]
    assert {str(kind) for kind in both.dtypes[2:]} == {"int64"}


@pytest.mark.parametrize("initiated", ["host", "both"])
def test_copies_have_no_accesses(trace: snoopie.Trace, initiated: str) -> None:
    with pytest.raises(UsageError, match="copies that the host started have no accesses, only bytes"):
        trace.matrix("accesses", initiated=initiated)  # type: ignore[arg-type]


def test_unknown_sides(trace: snoopie.Trace) -> None:
    with pytest.raises(UsageError, match="'nic'"):
        trace.matrix(initiated="nic")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'flown'"):
        trace.by_pair("flown", "host")  # type: ignore[arg-type]


def test_summary(trace: snoopie.Trace) -> None:
    summary = trace.summary()
    assert (summary["bytes"], summary["copies"], summary["copy_bytes"]) == (128, 6, 1677)


def sizes(trace: snoopie.Trace) -> list[int]:
    assert trace.summary()["copies"] == len(trace.copies)
    return trace.copies["bytes"].tolist()


def test_views(trace: snoopie.Trace) -> None:
    assert sizes(trace.select()) == [1000, 300, 300, 50, 7, 20]
    assert sizes(trace.select(issuers=1)) == [7, 20]
    # Of the ends one suffices: a copy touches the memory of both.
    assert sizes(trace.select(owners="GPU 0")) == [1000, 300, 300, 50]
    assert sizes(trace.select(owners=["host", 3])) == [1000, 7, 20]
    assert sizes(trace.select(issuers=0, owners="host")) == [1000]
    # Narrowing twice: one end each time.
    assert sizes(trace.select(owners=0).select(owners="GPU 1")) == [300, 300, 50]
    # A copy is no part of a kernel.
    for filters in ({"kernels": "k"}, {"kernels": []}, {"operations": "store"}, {"launches": 1}, {"files": "*"}):
        assert sizes(trace.select(**filters)) == []  # type: ignore[arg-type]
    view = trace.select(issuers=1)
    assert view.matrix(initiated="host").shape == (5, 5)
    assert view.by_copy()["bytes"].tolist() == [20, 7]


def test_two_processes(tmp_path: Path) -> None:
    """The second calls the GPUs by other numbers; ids go on."""
    first = builder().write(tmp_path / "a.zst")
    second = TraceBuilder((1, 0), pid=2)
    second.copy(0, 1, 5, gpu=0, call="cuMemcpy")
    trace = snoopie.load([first, second.write(tmp_path / "b.zst")])
    assert trace.copies.index.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert rows(trace.copies.loc[[7]], "process", "source", "destination", "issuer", "call") == [
        [1, 1, 0, 1, "cuMemcpy"]
    ]
    assert trace.matrix(reading="flow", initiated="host").loc["GPU 1", "GPU 0"] == 55


def test_ends_that_are_not_known(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    builder.copy(0, 0, 3, gpu=0)
    builder.copy(1, 1, 4, gpu=0)
    builder.copy(UNKNOWN, 1, 5, gpu=UNKNOWN)
    builder.copy(HOST, HOST, 6, gpu=1, start=START_NS, end=START_NS - 9)
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    matrix = trace.matrix(initiated="host")
    assert matrix.index.tolist() == ["GPU 0", "GPU 1", "host", "unknown"]
    # Two ends in one place count once.
    assert matrix.to_numpy().tolist() == [[3, 4, 0, 0], [0, 0, 6, 0], [0, 0, 0, 0], [0, 5, 0, 0]]
    assert trace.by_copy().set_index("from").loc["host", "host_ns"] == 0


def test_sums_are_exact_beyond_what_a_float_holds(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    for size in (2**53 + 1, 2**53 + 1, 3):
        builder.copy(0, 1, size, gpu=0)
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    for initiated in ("host", "both"):
        assert trace.matrix(initiated=initiated).loc["GPU 0", "GPU 1"] == 2**54 + 5
    assert trace.by_copy()["bytes"].tolist() == [2**54 + 5]


def test_no_copies(tmp_path: Path) -> None:
    trace = snoopie.load(ring_builder().write(tmp_path / "t.zst"))
    assert trace.copies.empty
    assert trace.by_copy().empty
    assert trace.by_pair(initiated="host").empty
    assert trace.matrix(initiated="host").to_numpy().sum() == 0
    assert trace.matrix(initiated="both").equals(trace.matrix())


BLOCK = st.lists(
    st.tuples(st.integers(-3, 2), st.integers(-3, 2), st.integers(-2, 2), st.integers(0, 2**50), st.integers(0, 2**50)),
    max_size=6,
).map(
    lambda found: (
        pd.DataFrame(found, columns=["source", "destination", "issuer", "bytes", "end"]).astype("int64").assign(start=0)
    )
)


@given(one=BLOCK, two=BLOCK, three=BLOCK)
@settings(max_examples=30, deadline=None)
def test_merging_summaries_is_associative(one: pd.DataFrame, two: pd.DataFrame, three: pd.DataFrame) -> None:
    keys = ["source", "destination"]
    parts = [copies.summarise(copies.counted(block), keys) for block in (one, two, three)]
    whole: dict[tuple[int, int], list[int]] = {}
    for row in pd.concat([one, two, three]).to_dict("records"):
        sums = whole.setdefault((row["source"], row["destination"]), [0, 0, 0])
        sums[:] = [sums[0] + 1, sums[1] + row["bytes"], sums[2] + row["end"]]
    for merged in (
        copies.merge([copies.merge(parts[:2], keys), parts[2]], keys),
        copies.merge([parts[0], copies.merge(parts[1:], keys)], keys),
    ):
        assert {(s, d): sums for s, d, *sums in merged.to_numpy().tolist()} == whole


@given(block=BLOCK)
@settings(max_examples=50, deadline=None)
def test_each_end_that_is_not_the_issuer_counts_once(block: pd.DataFrame) -> None:
    expected: dict[tuple[int, int], int] = {}
    for row in block.to_dict("records"):
        others = {row["source"], row["destination"]} - {row["issuer"]} or {row["issuer"]}
        for other in others:
            pair = row["issuer"], other
            expected[pair] = expected.get(pair, 0) + row["bytes"]
    found = copies.directed(block, "issued")
    assert dict(zip(zip(found["issuer"], found["owner"], strict=True), found["bytes"], strict=True)) == expected
