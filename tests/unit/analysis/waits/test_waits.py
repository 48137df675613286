"""Waits: added up by what one asks for, and joined with who stores to what they poll."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import snoopie
from snoopie.analysis.waits.by_wait import KEYS
from tests.support.encoder import HOST
from tests.support.mixed import mixed_builder
from tests.support.waiting import (
    AHEAD,
    BEGUN,
    BOX,
    FLAG,
    LONG,
    NOWHERE,
    RING_CU,
    ROUND,
    ROUNDS,
    SYNC_CUH,
    US,
    round_builder,
    write_round,
    write_waiting,
)


@pytest.fixture
def trace(tmp_path: Path) -> snoopie.Trace:
    return snoopie.load(write_waiting(tmp_path))


def rows(table: pd.DataFrame, *columns: str) -> list[list[object]]:
    return list(table[list(columns)].to_numpy(dtype=object).tolist())


def test_by_line(trace: snoopie.Trace) -> None:
    table = trace.by_wait()
    assert rows(table, "file", "line", "waits", "given_up", "waited", "longest", "blocks") == [
        [RING_CU, 7, 3, 0, 5500, 4000, 2],
        [RING_CU, 20, 1, 0, 250, 250, 1],
        [RING_CU, 30, 1, 1, 100, 100, 1],
    ]
    assert rows(table, "kernel", "issuer", "owner", "awaited", "stored_by", "known_by") == [
        ["ring(int*, int)", "GPU 1", "GPU 1", "GPU 0", "ring.cu:9", "address"],
        ["ring(int*, int)", "GPU 0", "GPU 0", "GPU 1", "ring.cu:22, ring.cu:23", "object"],
        ["ring(int*, int)", "GPU 0", "GPU 1", "GPU 0", "ring.cu:9", "owner"],
    ]


def test_by_others(trace: snoopie.Trace) -> None:
    assert rows(trace.by_wait("awaited"), "awaited", "issuer", "waited") == [
        ["GPU 0", "GPU 0, GPU 1", 5600],
        ["GPU 1", "GPU 0", 250],
    ]
    assert rows(trace.by_wait("owner"), "owner", "waited", "known_by") == [
        ["GPU 1", 5600, "owner"],
        ["GPU 0", 250, "object"],
    ]
    assert rows(trace.by_wait("block"), "launch", "first_block", "waited", "longest") == [
        [2, 3, 4000, 4000],
        [2, 0, 1500, 1000],
        [1, 0, 350, 250],
    ]
    assert rows(trace.by_wait("site"), "sass", "waits")[0] == ["LDG.E.STRONG.SYS R4, [R2.64]", 3]
    for by in KEYS:
        assert trace.by_wait(by)["waited"].sum() == 5850


def test_stores(trace: snoopie.Trace) -> None:
    """Of the record that reaches the flag, the one lane that stores to it."""
    table = trace.awaited_stores()
    assert rows(table, "address", "known_by", "issuer", "line", "operation", "accesses", "bytes") == [
        [BOX + 8, "object", "GPU 1", 23, "reduction", 2, 256],
        [BOX + 8, "object", "GPU 1", 22, "store", 1, 128],
        [NOWHERE, "owner", "GPU 0", 9, "store", 2, 256],
        [FLAG, "address", "GPU 0", 9, "store", 1, 4],
    ]


def test_margin_of_a_listing(trace: snoopie.Trace) -> None:
    assert rows(trace.file_waits(RING_CU), "line", "waited") == [[7, 5500], [20, 250], [30, 100]]


def test_views(trace: snoopie.Trace) -> None:
    # The stores of another launch are still known.
    assert rows(trace.select(launches=2).by_wait(), "line", "stored_by") == [[7, "ring.cu:9"]]
    assert rows(trace.select(owners=0).by_wait(), "line", "waited") == [[20, 250]]
    assert trace.select(issuers=0).waits["waited"].tolist() == [250, 100]


def test_processes_see_memory_at_different_addresses(tmp_path: Path) -> None:
    """The other process stores to the waiting one's GPU: all that can be told."""
    for rank in (0, 1):
        builder = mixed_builder(rank)
        if rank == 0:
            poll = builder.site(1, "LD.E.STRONG.SYS", "load", 4)
            builder.add("waits", launch=1, site=poll, owner=0, blocks=1, waits=1, waited=10, longest=10, address=64)
        builder.write(tmp_path / f"{rank}.zst")
    table = snoopie.load(tmp_path).by_wait("site")
    assert rows(table, "issuer", "owner", "awaited", "known_by") == [["GPU 0", "GPU 0", "GPU 1", "owner"]]
    assert "exchange.cu:7" in table.loc[0, "stored_by"]


def test_by_launch(tmp_path: Path) -> None:
    """A launch waits within the time that it ran: the clocks follow."""
    trace = snoopie.load(write_round(tmp_path))
    table = trace.waits_by_launch()
    assert len(table) == 4 * ROUNDS
    assert rows(table[:4], "gpu", "awaited", "name", "file", "line") == [
        [f"GPU {gpu}", f"GPU {below}", f"for GPU {below} at sync.cuh:12", SYNC_CUH, 12]
        for gpu, below in ((0, 3), (1, 0), (2, 1), (3, 2))
    ]
    assert rows(table[2:4], "waits", "waited", "longest") == [[4, 200 * US, 50 * US], [1, 698 * US, 698 * US]]
    begun = [BEGUN + number * ROUND + US for number in range(ROUNDS) for _ in range(4)]
    assert table["start"].tolist() == begun
    assert table["end"].tolist() == [start + LONG - 2 * US for start in begun]
    assert set(table["error"]) == {US}
    own = trace.select(issuers=3)
    assert set(own.waits_by_launch()["gpu"]) == {"GPU 3"}
    lanes = own.activity_lanes()
    assert rows(lanes, "what", "place", "events") == [["kernel", "GPU 3", ROUNDS], ["wait", "GPU 3", ROUNDS]]
    within = trace.activity_of("wait", 4)
    assert rows(within, "name", "duration", "bytes") == [["for GPU 2 at sync.cuh:12", 698 * US, -1]]


def test_of_several_places_where_a_launch_waited_most(tmp_path: Path) -> None:
    builder = round_builder()
    function = builder.function("other()")
    for waited in (100 * US, 698 * US + 1):
        site = builder.site(function, "LDG.E.STRONG.SYS", "load", 4, line=builder.line(RING_CU, 50 + waited % US))
        # Whom it waits for is not known: nobody stores to the host.
        builder.add(
            "waits",
            launch=4,
            site=site,
            owner=HOST,
            blocks=1,
            waits=1,
            waited=waited,
            longest=waited,
            first=BEGUN + AHEAD + 9 * US,
            last=BEGUN + AHEAD + 9 * US + waited,
        )
    table = snoopie.load(builder.write(tmp_path / "t.zst")).waits_by_launch()
    assert rows(table.loc[[4]], "name", "awaited", "waits", "longest") == [["at ring.cu:51", "", 3, 698 * US + 1]]


def test_without_times_of_launches_nothing_is_known_of_when(trace: snoopie.Trace) -> None:
    assert trace.waits_by_launch().empty
    assert trace.about_waits() == ["Kernels waited, but not when is known: their launches have no GPU timestamps."]
    assert "wait" not in set(trace.activity_lanes()["what"])


def test_files_that_only_waited_are_in_the_tree(tmp_path: Path) -> None:
    trace = snoopie.load(write_round(tmp_path))
    assert rows(trace.file_tree(), "path", "bytes") == [
        ["/home/u/ring/", 80 * 128],
        [RING_CU, 80 * 128],
        ["/home/u/ring/include/", 0],
        [SYNC_CUH, 0],
    ]
    assert trace.by_file()["file"].tolist() == [RING_CU]


def test_no_waits(ring_path: Path) -> None:
    trace = snoopie.load(ring_path)
    assert trace.waits.empty
    assert trace.awaited_stores().empty
    assert trace.waits_by_launch().empty
    assert trace.about_waits() == []
    for by in KEYS:
        assert list(trace.by_wait(by).columns) and trace.by_wait(by).empty
