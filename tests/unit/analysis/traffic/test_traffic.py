"""Analyses of counts, against the arithmetic of tests/support/ring.py and sums written out by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snoopie
from snoopie.analysis.traffic import counts
from snoopie.errors import UsageError
from tests.support import ring
from tests.support.encoder import TraceBuilder

VALUES = ["accesses", "lanes", "bytes", "wire_units", "wire_bytes"]


@pytest.fixture(params=["one process", "two processes"])
def trace(request: pytest.FixtureRequest, tmp_path: Path) -> snoopie.Trace:
    """The ring by one process and by two: every analysis but those by site and launch must be the same."""
    if request.param == "one process":
        return snoopie.load(ring.write_ring(tmp_path))
    return snoopie.load(ring.write_two_processes(tmp_path))


def rows(table: pd.DataFrame, *columns: str) -> list[list[object]]:
    return table[list(columns)].to_numpy(dtype=object).tolist()


def test_summary(trace: snoopie.Trace) -> None:
    summary = trace.summary()
    assert {name: summary[name] for name in ring.TOTALS} == ring.TOTALS
    assert summary["wire_efficiency"] == 53440 / 101376
    assert [summary[name] for name in ("launches", "kernels", "gpus", "records")] == [11, 3, 4, 224]


def test_matrix(trace: snoopie.Trace) -> None:
    matrix = trace.matrix()
    assert matrix.to_numpy().tolist() == ring.ISSUED_BYTES
    assert matrix.index.tolist() == matrix.columns.tolist() == ["GPU 0", "GPU 1", "GPU 2", "GPU 3"]
    assert (matrix.index.name, matrix.columns.name) == ("issuer", "owner")
    assert set(matrix.dtypes) == {np.dtype("int64")}


def test_matrix_of_the_flow(trace: snoopie.Trace) -> None:
    matrix = trace.matrix(reading="flow")
    assert matrix.to_numpy().tolist() == ring.FLOW_BYTES
    assert (matrix.index.name, matrix.columns.name) == ("from", "to")
    # Atomics count in both directions: 48 × 4 bytes more than in the sums.
    assert matrix.to_numpy().sum() == ring.TOTALS["bytes"] + 192


def test_matrix_of_other_values(trace: snoopie.Trace) -> None:
    # A put and a get are 16 accesses each, as are the two bumps.
    assert trace.matrix("accesses").to_numpy().tolist() == [
        [0, 32, 0, 0],
        [32, 0, 32, 0],
        [32, 0, 0, 32],
        [64, 0, 0, 0],
    ]
    for value in counts.VALUES:
        assert trace.matrix(value).to_numpy().sum() == ring.TOTALS[value]


def test_efficiency_of_each_pair(trace: snoopie.Trace) -> None:
    matrix = trace.matrix("wire_efficiency")
    assert matrix.loc["GPU 0", "GPU 1"] == 10240 / 24576
    # 16 loads touch 32 wire units each, and data comes back: 8192 + 2048 bytes at GPU 0's neighbour are two flows.
    flow = trace.matrix("wire_efficiency", "flow")
    assert (flow.loc["GPU 1", "GPU 2"], flow.loc["GPU 2", "GPU 1"]) == (1.0, 0.125)
    assert (matrix.notna() == (trace.matrix() > 0)).all(axis=None)
    with pytest.raises(UsageError, match="have no wire_efficiency"):
        trace.matrix("wire_efficiency", initiated="both")


def test_unknown_values_and_readings(trace: snoopie.Trace) -> None:
    with pytest.raises(UsageError, match="wire_efficiency"):
        trace.matrix("sector")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="flown"):
        trace.by_pair("flown")  # type: ignore[arg-type]


def test_by_pair(trace: snoopie.Trace) -> None:
    table = trace.by_pair()
    assert rows(table, "issuer", "owner", "bytes") == [
        ["GPU 3", "GPU 0", 14400],
        ["GPU 0", "GPU 1", 10240],
        ["GPU 1", "GPU 2", 10240],
        ["GPU 2", "GPU 3", 10240],
        ["GPU 1", "GPU 0", 4160],
        ["GPU 2", "GPU 0", 4160],
    ]
    assert table.columns.tolist() == ["issuer", "owner", *VALUES, "wire_efficiency"]
    # 16 stores of 512 and 16 loads of 128 bytes, over 16 × 512 and 16 × 1024 bytes of wire.
    assert table["wire_efficiency"][1] == 10240 / 24576


def test_by_pair_of_the_flow(trace: snoopie.Trace) -> None:
    table = trace.by_pair("flow")
    cells = {(one, other): amount for one, other, amount in rows(table, "from", "to", "bytes")}
    assert cells == {
        (f"GPU {row}", f"GPU {column}"): amount
        for row, cells in enumerate(ring.FLOW_BYTES)
        for column, amount in enumerate(cells)
        if amount
    }


def test_by_kernel(trace: snoopie.Trace) -> None:
    assert rows(trace.by_kernel(), "kernel", "launches", *VALUES) == [
        [ring.PUT, 4, 64, 2048, 32768, 1024, 32768],
        [ring.BUMP, 3, 96, 1584, 12480, 96, 3072],
        [ring.GET, 4, 64, 2048, 8192, 2048, 65536],
    ]


def test_by_line(trace: snoopie.Trace) -> None:
    table = trace.by_line()
    assert rows(table, "file", "line", "kernel", "bytes", "wire_bytes", "wire_efficiency") == [
        [ring.RING_CU, 6, ring.PUT, 32768, 32768, 1.0],
        [ring.RING_CU, 19, ring.BUMP, 12288, 1536, 8.0],
        [ring.SHIFT_H, 4, ring.GET, 8192, 65536, 0.125],
        [ring.RING_CU, 18, ring.BUMP, 192, 1536, 0.125],
    ]
    assert table.columns.tolist() == ["file", "line", "kernel", *VALUES, "wire_efficiency"]


def test_by_operation(trace: snoopie.Trace) -> None:
    assert rows(trace.by_operation(), "operation", *VALUES) == [
        ["store", 64, 2048, 32768, 1024, 32768],
        ["reduction", 48, 1536, 12288, 48, 1536],
        ["load", 64, 2048, 8192, 2048, 65536],
        ["atomic", 48, 48, 192, 48, 1536],
    ]


def test_by_several_keys(trace: snoopie.Trace) -> None:
    table = trace.by("kernel", "line", "operation", "issuer", "owner")
    assert table.columns.tolist() == ["kernel", "line", "operation", "issuer", "owner", *VALUES, "wire_efficiency"]
    assert table["bytes"].is_monotonic_decreasing
    for keys, alone in ((["kernel"], trace.by_kernel()), (["issuer", "owner"], trace.by_pair())):
        sums = table.groupby(keys)[VALUES].sum()
        assert sums.to_dict() == alone.set_index(keys)[VALUES].to_dict()
    assert rows(trace.by("operation"), "operation", *VALUES) == rows(trace.by_operation(), "operation", *VALUES)
    (loaded,) = {tuple(row) for row in rows(table[table["operation"] == "load"], "kernel", "line")}
    assert loaded == (ring.GET, 4)


@pytest.mark.parametrize("keys", [(), ("line", "line"), ("kernel", "launch")])
def test_by_keys_that_cannot_be(trace: snoopie.Trace, keys: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="kernel, file, line, operation, issuer"):
        trace.by(*keys)  # type: ignore[arg-type]


def test_by_site(ring_path: Path) -> None:
    trace = snoopie.load(ring_path)
    table = trace.by_site()
    keys = ["site", "kernel", "function", "file", "line", "offset", "opcode", "operation", "width", "wire_unit", "sass"]
    assert table.columns.tolist() == [*keys, *VALUES, "wire_efficiency"]
    assert rows(table, "site", "operation", "width", "bytes") == [
        [1, "store", 16, 32768],
        [5, "reduction", 8, 12288],
        [3, "load", 4, 8192],
        [4, "atomic", 4, 192],
    ]
    assert rows(table, *keys)[0] == [
        1, ring.PUT, ring.PUT, ring.RING_CU, 6, 16, "STG.E.128", "store", 16, 32, "STG.E.128 [R2.64], R4"
    ]  # fmt: skip


def test_by_launch(ring_path: Path) -> None:
    table = snoopie.load(ring_path).by_launch()
    assert rows(table, "launch", "kernel", "issuer", "bytes")[:5] == [
        [1, ring.PUT, "GPU 0", 8192],
        [3, ring.PUT, "GPU 1", 8192],
        [6, ring.PUT, "GPU 2", 8192],
        [9, ring.PUT, "GPU 3", 8192],
        [5, ring.BUMP, "GPU 1", 4160],
    ]
    assert len(table) == 11


def test_lines_of_a_file(trace: snoopie.Trace) -> None:
    assert rows(trace.file_lines(ring.RING_CU), "line", "kernel", "bytes") == [
        [6, ring.PUT, 32768],
        [18, ring.BUMP, 192],
        [19, ring.BUMP, 12288],
    ]
    assert trace.file_lines("other.cu").empty


def test_sites_and_matrix_of_a_line(trace: snoopie.Trace) -> None:
    sites = trace.line_sites(ring.SHIFT_H, 4)
    assert set(sites["opcode"]) == {"LDG.E"}
    assert sites["bytes"].sum() == 8192
    assert trace.line_matrix(ring.SHIFT_H, 4).to_numpy().tolist() == [
        [0, 2048, 0, 0],
        [0, 0, 2048, 0],
        [0, 0, 0, 2048],
        [2048, 0, 0, 0],
    ]
    assert trace.line_matrix(ring.SHIFT_H, 4, "wire_units", "flow").to_numpy().tolist() == [
        [0, 0, 0, 512],
        [512, 0, 0, 0],
        [0, 512, 0, 0],
        [0, 0, 512, 0],
    ]
    assert trace.line_matrix(ring.RING_CU, 1).to_numpy().sum() == 0
    assert trace.line_sites(ring.RING_CU, 1).empty


def device_function_trace(tmp_path: Path) -> snoopie.Trace:
    """One site in a device function that two kernels call, one site without a line, host and unknown owners."""
    trace = TraceBuilder(2)
    one, two = trace.function("one()"), trace.function("two()")
    helper = trace.function("helper()", kernel=False)
    shared = trace.site(helper, "LDG.E.64", "load", 8, line=trace.line("h.cu", 5))
    bare = trace.site(two, "RED", "reduction", 4)
    first, second = trace.launch(one, 0), trace.launch(two, 1)
    trace.count(first, shared, 1, 1, 32, 8)
    trace.count(second, shared, 0, 2, 64, 16)
    trace.count(second, bare, 254, 3, 3, 3)
    trace.count(second, bare, 255, 4, 4, 0)
    return snoopie.load(trace.write(tmp_path / "t.zst"))


def test_the_kernel_of_a_count_is_the_one_launched(tmp_path: Path) -> None:
    trace = device_function_trace(tmp_path)
    assert rows(trace.by_kernel(), "kernel", "bytes") == [["two()", 512 + 12 + 16], ["one()", 256]]
    assert rows(trace.by_line(), "file", "line", "kernel", "bytes") == [
        ["h.cu", 5, "one(), two()", 768],
        ["", 0, "two()", 28],
    ]
    assert rows(trace.by_site(), "site", "kernel", "function", "line") == [
        [1, "one(), two()", "helper()", 5],
        [2, "two()", "two()", 0],
    ]
    assert len(trace.line_sites("", 0)) == 1


def test_host_and_unknown_owners(tmp_path: Path) -> None:
    trace = device_function_trace(tmp_path)
    matrix = trace.matrix()
    assert matrix.columns.tolist() == matrix.index.tolist() == ["GPU 0", "GPU 1", "host", "unknown"]
    assert matrix.to_numpy().tolist() == [[0, 256, 0, 0], [512, 0, 12, 16], [0, 0, 0, 0], [0, 0, 0, 0]]
    flow = trace.matrix(reading="flow")
    assert flow.to_numpy().tolist() == [[0, 512, 0, 0], [256, 0, 12, 16], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert trace.counts["owner"].tolist() == [1, 0, -1, -2]
    assert trace.select(owners="host").summary()["bytes"] == 12
    # A view keeps the shape, so that pictures of views can be compared.
    assert trace.select(owners=[0]).matrix().shape == (4, 4)


def test_efficiency_where_nothing_went_over_a_wire(tmp_path: Path) -> None:
    table = device_function_trace(tmp_path).select(owners="unknown").by_operation()
    assert table["wire_bytes"].tolist() == [0]
    assert math.isnan(table["wire_efficiency"][0])


def test_sums_are_exact_beyond_what_a_float_holds(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    site = trace.site(trace.function("k"), "STG.E.U8", "store", 1)
    for lanes in (2**53 + 1, 2**53 + 1, 3):
        trace.count(trace.launch(1, 0), site, 1, 1, lanes, 0)
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    assert loaded.matrix()["GPU 1"]["GPU 0"] == 2**54 + 5
    assert loaded.by_line()["bytes"].tolist() == [2**54 + 5]
    assert loaded.summary()["lanes"] == 2**54 + 5


def test_nothing_at_all(tmp_path: Path) -> None:
    trace = snoopie.load(TraceBuilder(3).write(tmp_path / "t.zst"))
    assert trace.matrix().to_numpy().tolist() == [[0, 0, 0]] * 3
    for table in (trace.by_pair(), trace.by_pair("flow"), trace.by_kernel(), trace.by_line(), trace.by_site(),
                  trace.by_operation(), trace.by_launch()):  # fmt: skip
        assert table.empty
        assert {"bytes", "wire_efficiency"} <= set(table.columns)
    assert trace.summary()["bytes"] == 0
    assert math.isnan(trace.summary()["wire_efficiency"])


BLOCK = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), *[st.integers(0, 2**50)] * 5), max_size=6).map(
    lambda found: pd.DataFrame(found, columns=["kernel", "owner", *VALUES]).astype(dict.fromkeys(VALUES, "int64"))
)


@given(one=BLOCK, two=BLOCK, three=BLOCK)
@settings(max_examples=30, deadline=None)
def test_merging_summaries_is_associative(one: pd.DataFrame, two: pd.DataFrame, three: pd.DataFrame) -> None:
    keys = ["kernel", "owner"]
    parts = [counts.summarise(block, keys) for block in (one, two, three)]
    whole: dict[tuple[object, object], dict[str, int]] = {}
    for row in pd.concat([one, two, three]).to_dict("records"):
        place = whole.setdefault((row["kernel"], row["owner"]), dict.fromkeys(VALUES, 0))
        for value in VALUES:
            place[value] += row[value]
    for merged in (
        counts.merge([counts.merge(parts[:2], keys), parts[2]], keys),
        counts.merge([parts[0], counts.merge(parts[1:], keys)], keys),
        counts.merge(parts[::-1], keys),
    ):
        found = {(row["kernel"], row["owner"]): {v: row[v] for v in VALUES} for row in merged.to_dict("records")}
        assert found == whole
