"""Calls of NCCL: the table, and the traffic of the kernels that carried them out."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snoopie
from snoopie.analysis.traffic import collectives
from snoopie.analysis.traffic.counts import VALUES
from tests.support.encoder import START_NS, UNKNOWN, TraceBuilder
from tests.support.ring import ring_builder

SIGNATURE = collectives.SIGNATURE
A, B = 0xA, 0xFFFF_FFFF_FFFF_FFFB
COMMUNICATOR_A, COMMUNICATOR_B = "0x000000000000000a", "0xfffffffffffffffb"


class Nccl(TraceBuilder):
    """A process whose kernel "nccl()" stores 4 bytes a lane."""

    def __init__(self, ordinals: tuple[int, ...] = (0, 1), pid: int = 1) -> None:
        super().__init__(ordinals, pid=pid)
        self.put = self.site(self.function("nccl()"), "STG.E", "store", 4)

    def kernel(self, group: int, gpu: int, lanes: int) -> int:
        launch = self.launch(1, gpu, group=group)
        if lanes:
            self.count(launch, self.put, 1 - gpu, 1, lanes, 1)
        return launch


def builder(ordinals: tuple[int, ...] = (0, 1), pid: int = 1) -> Nccl:
    """All-reduces one by one, two at once, a Send with a Recv, and a kernel that is none of NCCL's calls."""
    trace = Nccl(ordinals, pid)
    for group in (1, 2):
        for gpu in (0, 1):
            trace.collective(group, "AllReduce", 1000, gpu=gpu, reduction="sum", communicator=A)
            trace.kernel(group, gpu, 100 * group)
    trace.collective(3, "AllReduce", 10, gpu=0, reduction="sum", communicator=A)
    trace.collective(3, "AllReduce", 20, gpu=0, reduction="max", type="int32", communicator=A)
    trace.kernel(3, 0, 7)
    trace.collective(4, "Send", 5, gpu=0, peer=1, communicator=B)
    trace.collective(4, "Recv", 6, gpu=0, peer=1, communicator=B)
    trace.kernel(4, 0, 3)
    trace.kernel(4, 0, 2)
    trace.kernel(0, 1, 9999)
    return trace


@pytest.fixture
def trace(tmp_path: Path) -> snoopie.Trace:
    return snoopie.load(builder().write(tmp_path / "t.zst"))


def rows(table: pd.DataFrame, *columns: str) -> list[list[object]]:
    return table[list(columns)].to_numpy(dtype=object).tolist()


def test_the_table(trace: snoopie.Trace) -> None:
    table = trace.collectives
    assert table.index.name == "collective"
    assert table.columns.tolist() == [
        "process", "operation", "reduction", "type", "count", "bytes", "peer", "communicator", "rank", "ranks",
        "issuer", "stream", "thread", "start", "end", "group",
    ]  # fmt: skip
    assert table.loc[1].tolist() == [
        0, "AllReduce", "sum", "float32", 1000, 4000, -1, COMMUNICATOR_A, 0, 4, 0, 0, 4711, START_NS + 100_000,
        START_NS + 103_000, 1,
    ]  # fmt: skip
    assert rows(table.tail(2), "operation", "reduction", "peer", "communicator") == [
        ["Send", "", 1, COMMUNICATOR_B],
        ["Recv", "", 1, COMMUNICATOR_B],
    ]
    assert trace.launches["group"].tolist() == [1, 1, 2, 2, 3, 4, 4, 0]


def test_by_collective(trace: snoopie.Trace) -> None:
    table = trace.by_collective()
    assert table.columns.tolist() == [*SIGNATURE, "calls", "launches", "call_bytes", *VALUES, "wire_efficiency"]
    assert rows(table, *SIGNATURE, "calls", "launches", "call_bytes", "accesses", "bytes", "wire_bytes") == [
        ["AllReduce", "sum", "float32", COMMUNICATOR_A, 4, 4, 16000, 4, 2400, 128],
        # One kernel for two calls: nobody can say which byte was whose.
        ["2 × AllReduce", "max, sum", "float32, int32", COMMUNICATOR_A, 2, 1, 120, 1, 28, 32],
        ["Recv + Send", "", "float32", COMMUNICATOR_B, 2, 2, 44, 2, 20, 64],
    ]
    assert table["wire_efficiency"][0] == 2400 / 128
    assert {str(kind) for kind in table.dtypes[4:-1]} == {"int64"}


def test_calls_behind_a_row(trace: snoopie.Trace) -> None:
    by_row = [
        trace.calls_behind(*signature)["collective"].tolist()
        for signature in trace.by_collective()[SIGNATURE].itertuples(index=False)
    ]
    assert by_row == [[1, 2, 3, 4], [5, 6], [7, 8]]
    table = trace.calls_behind("Recv + Send", "", "float32", COMMUNICATOR_B)
    assert table.columns.tolist() == [
        "collective", "process", "issuer", "operation", "reduction", "type", "count", "bytes", "peer", "communicator",
        "rank", "ranks", "stream", "thread", "began", "host_ns", "group",
    ]  # fmt: skip
    assert table.loc[0].tolist() == [
        7, 0, "GPU 0", "Send", "", "float32", 5, 20, 1, COMMUNICATOR_B, 0, 4, 0, 4711, 699_000, 3000, 4,
    ]  # fmt: skip
    assert trace.calls_behind("AllReduce", "sum", "float32", COMMUNICATOR_A, 3)["collective"].tolist() == [1, 2, 3]
    assert trace.select(issuers=1).calls_behind("AllReduce", "sum", "float32", COMMUNICATOR_A)["began"].tolist() == [
        199_000,
        399_000,
    ]
    for nothing in (("Send", "", "float32", COMMUNICATOR_B), ("", "", "", "")):
        assert trace.calls_behind(*nothing).empty


def test_groups_are_unique_over_processes(tmp_path: Path) -> None:
    """One process a GPU: the same groups, another's calls."""
    paths = [builder(pid=1).write(tmp_path / "1.zst"), builder((1, 0), pid=2).write(tmp_path / "2.zst")]
    trace = snoopie.load(paths)
    assert sorted(set(trace.collectives["group"])) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert trace.launches["group"].tolist() == [1, 1, 2, 2, 3, 4, 4, 0, 5, 5, 6, 6, 7, 8, 8, 0]
    assert trace.by_collective()["bytes"].tolist() == [4800, 56, 40]
    assert trace.by_collective()["calls"].tolist() == [8, 4, 4]


def test_groups_that_only_launches_have(tmp_path: Path) -> None:
    """Calls that are not in the trace lend no name, and their launches no other's."""
    trace = Nccl()
    trace.kernel(900, 0, 5)
    trace.collective(901, "Broadcast", 1, gpu=1)
    trace.kernel(901, 0, 6)
    # Without a GPU, or without a group, a call has no kernel.
    trace.collective(901, "Reduce", 1, gpu=UNKNOWN)
    trace.collective(0, "Gather", 1, gpu=0)
    trace.collective(0, "Gather", 1, gpu=0)
    first = trace.write(tmp_path / "1.zst")
    second = Nccl(pid=2)
    second.collective(1, "Scatter", 1, gpu=0)
    second.kernel(1, 0, 1)
    loaded = snoopie.load([first, second.write(tmp_path / "2.zst")])
    assert loaded.collectives["group"].tolist() == [901, 901, 0, 0, 902]
    assert rows(loaded.by_collective(), "operation", "calls", "launches", "bytes") == [
        ["", 0, 2, 44],
        ["Scatter", 1, 1, 4],
        ["Broadcast", 1, 0, 0],
        ["Gather", 2, 0, 0],
        ["Reduce", 1, 0, 0],
    ]
    assert math.isnan(loaded.by_collective()["wire_efficiency"].iloc[-1])


def test_views(trace: snoopie.Trace) -> None:
    def calls(view: snoopie.Trace) -> list[list[object]]:
        return rows(view.by_collective(), "operation", "calls", "launches", "bytes")

    assert calls(trace.select()) == calls(trace)
    assert calls(trace.select(issuers=1)) == [["AllReduce", 2, 2, 1200]]
    # The launch of group 1 on GPU 1, and the call there.
    assert calls(trace.select(launches=2)) == [["AllReduce", 1, 1, 400]]
    assert trace.select(launches=2).collectives.index.tolist() == [2]
    assert calls(trace.select(launches=8)) == []
    assert calls(trace.select(kernels="nccl()")) == calls(trace)
    assert calls(trace.select(kernels="other")) == []
    # Whose memory it was says nothing of the call.
    assert calls(trace.select(owners="GPU 0")) == [
        ["AllReduce", 4, 4, 1200],
        ["2 × AllReduce", 2, 1, 0],
        ["Recv + Send", 2, 2, 0],
    ]


def test_sizes_that_are_not_known(tmp_path: Path) -> None:
    """One of two All-reduces: of their sum nothing is known, but of all others."""
    trace = builder()
    trace.collective(9, "AllReduce", -1, bytes=-1, gpu=0, reduction="sum", communicator=A)
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    sizes = {tuple(row[:2]): row[2] for row in rows(loaded.by_collective(), "operation", "reduction", "call_bytes")}
    assert math.isnan(sizes["AllReduce", "sum"])
    assert sizes["Recv + Send", ""] == 44
    behind = loaded.calls_behind("AllReduce", "sum", "float32", COMMUNICATOR_A)
    assert behind["bytes"].tolist() == [4000] * 4 + [-1]


def test_no_collectives(tmp_path: Path) -> None:
    trace = snoopie.load(ring_builder().write(tmp_path / "t.zst"))
    assert trace.collectives.empty
    table = trace.by_collective()
    assert table.empty
    assert {"operation", "calls", "bytes", "wire_efficiency"} <= set(table.columns)


def test_sums_are_exact_beyond_what_a_float_holds(tmp_path: Path) -> None:
    trace = Nccl()
    for lanes in (2**53 + 1, 2**53 + 1, 3):
        trace.collective(1, "AllReduce", 1, gpu=0, bytes=lanes)
        trace.kernel(1, 0, lanes)
    table = snoopie.load(trace.write(tmp_path / "t.zst")).by_collective()
    assert rows(table, "operation", "call_bytes", "lanes", "bytes") == [
        ["3 × AllReduce", 2**54 + 5, 2**54 + 5, 4 * (2**54 + 5)]
    ]


CALLS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["AllReduce", "Send"]), st.integers(0, 1), st.integers(0, 2**50)),
    max_size=8,
)
KERNELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 2**50)), max_size=8)


@given(calls=CALLS, kernels=KERNELS)
@settings(max_examples=50, deadline=None)
def test_nothing_is_lost_and_nothing_counts_twice(
    calls: list[tuple[int, str, int, int]], kernels: list[tuple[int, int, int]]
) -> None:
    launches = pd.DataFrame(kernels, columns=["group", "gpu", "bytes"]).astype("int64")
    launches.index = pd.RangeIndex(1, len(kernels) + 1)
    counts = dict.fromkeys(VALUES, launches["bytes"].to_numpy()) | {"launch": launches.index}
    table = pd.DataFrame(calls, columns=["group", "operation", "issuer", "bytes"])
    table = table.astype({"group": "int64", "operation": "str", "issuer": "int64", "bytes": "int64"})
    table = table.assign(reduction="", type="float32", communicator="0x1")
    found = collectives.by_collective(pd.DataFrame(counts), launches, table)
    carried = [size for group, _, size in kernels if group]
    assert (found["launches"].sum(), found["bytes"].sum()) == (len(carried), sum(carried))
    assert (found["calls"].sum(), found["call_bytes"].sum()) == (len(calls), sum(size for *_, size in calls))
    assert found[SIGNATURE].drop_duplicates().shape == (len(found), 4)


def test_no_calls_are_behind_a_row_where_the_trace_has_none(tmp_path: Path) -> None:
    trace = Nccl()
    trace.kernel(1, 0, 5)
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    (row,) = loaded.by_collective()[SIGNATURE].itertuples(index=False, name=None)
    assert loaded.calls_behind(*row).empty
