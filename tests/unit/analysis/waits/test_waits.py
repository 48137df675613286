"""Waits: added up by what one asks for, and joined with who stores to what they poll."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import snoopie
from snoopie.analysis.waits.by_wait import KEYS
from tests.support.encoder import HOST, TraceBuilder
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
    waiting_builder,
    write_moving,
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
    assert rows(table[:3], "file", "line", "waits", "given_up", "waited", "held", "longest", "blocks") == [
        [RING_CU, 7, 3, 0, 5500, 5500, 4000, 2],
        [RING_CU, 20, 1, 0, 250, 250, 250, 1],
        [RING_CU, 30, 1, 1, 100, 0, 100, 1],
    ]
    assert rows(table[:3], "kernel", "issuer", "owner", "awaited", "stored_by", "known_by") == [
        ["ring(int*, int)", "GPU 1", "GPU 1", "GPU 0", "ring.cu:9", "address"],
        ["ring(int*, int)", "GPU 0", "GPU 0", "GPU 1", "ring.cu:22, ring.cu:23", "object"],
        ["ring(int*, int)", "GPU 0", "GPU 1", "GPU 0", "ring.cu:9", "owner"],
    ]


def test_lines_that_moved(trace: snoopie.Trace) -> None:
    """Less what is certain to have been waits: of the block, and between its first and last access at the line."""
    table = trace.by_wait()[3:]
    assert rows(table, "line", "issuer", "owner", "awaited", "accesses", "moving", "waits", "waited", "blocks") == [
        [23, "GPU 1", "GPU 0", "", 2, 1000, 0, 0, 0],
        [22, "GPU 1", "GPU 0", "", 4, 400, 0, 0, 0],
        [9, "GPU 0", "GPU 1", "", 2, 350, 0, 0, 0],
    ]
    # Of a line's instructions each has its own first and last access.
    sites = trace.by_wait("site")
    assert rows(sites[sites["line"] == 22], "sass", "accesses", "moving") == [
        ["LDG.E R4, [R2.64]", 3, 300],
        ["STG.E R4, [R2.64]", 1, 0],
    ]
    assert rows(trace.by_wait("block"), "launch", "first_block", "held", "moving") == [
        [2, 3, 4000, 1000],
        [2, 0, 1500, 400],
        [1, 0, 250, 350],
    ]
    assert trace.by_wait("line")["accesses"].sum() == trace.moves["accesses"].sum() == 8
    assert set(trace.by_wait("owner")) & {"accesses", "moving"} == set()


def test_a_block_that_waits_at_several_places_is_one(trace: snoopie.Trace) -> None:
    """Block 0 of the first launch waits at two lines, and blocks 0 and 3 of the second at one."""
    assert rows(trace.by_wait("launch"), "launch", "waits", "blocks") == [[2, 3, 2], [1, 2, 1]]
    assert rows(trace.by_wait("kernel"), "waits", "blocks") == [[5, 3]]


def test_lanes_that_store_to_one_address_are_one_access(tmp_path: Path) -> None:
    builder = waiting_builder()
    store = builder.rows["moves"][0]["site"]
    builder.record(1, store, 1, FLAG, 0, time=6000)
    found = snoopie.load(builder.write(tmp_path / "t.zst")).awaited_stores()
    assert rows(found[found["known_by"] == "address"], "line", "accesses", "bytes") == [[9, 2, 33 * 4]]


def test_blocks_that_share_a_row(tmp_path: Path) -> None:
    """Waits of blocks that are told apart count for the row of those that are not; where it is the other way round, no
    wait is certain to be of the block that moved."""
    builder = waiting_builder()
    function = builder.function("wide()")
    line = builder.line(RING_CU, 60)
    store, poll = (
        builder.site(function, opcode, kind, 4, line=line) for opcode, kind in (("STG.E", "store"), ("LDG.E", "load"))
    )
    launch = builder.launch(function, 0)
    builder.count(launch, store, 1, 8, 256, 64)
    for block in (0, 4):
        builder.add("moves", launch=launch, site=store, block=block, blocks=4, accesses=4, first=1000, last=3000)
    waited = {"waits": 1, "polls": 1, "waited": 500, "longest": 500, "held": 500, "first": 1500, "last": 2000}
    builder.add("waits", launch=launch, site=poll, owner=0, block=2, blocks=1, **waited)
    builder.add("waits", launch=launch, site=poll, owner=0, block=8, blocks=8, **waited)
    table = snoopie.load(builder.write(tmp_path / "t.zst")).select(kernels="wide()").by_wait()
    assert rows(table, "line", "accesses", "moving", "held", "blocks") == [[60, 8, 1500 + 2000, 1000, 9]]


def test_times_that_cannot_be(tmp_path: Path) -> None:
    builder = waiting_builder()
    store = builder.rows["moves"][0]["site"]
    last = 2**63 - 1
    builder.add("moves", launch=1, site=store, block=last, blocks=0, accesses=1, first=9, last=3)
    builder.add("waits", launch=1, site=store, owner=1, block=last, blocks=0, first=last, last=0, held=9)
    table = snoopie.load(builder.write(tmp_path / "1.zst")).by_wait()
    assert table["moving"].sum() == 1750
    builder.add("moves", launch=1, site=store, block=5, blocks=0, accesses=1, first=0, last=last)
    with pytest.raises(snoopie.SnoopieError, match="add up to more than any machine can move"):
        snoopie.load(builder.write(tmp_path / "2.zst")).by_wait()


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
    assert rows(trace.file_waits(RING_CU), "line", "held", "moving") == [
        [7, 5500, 0],
        [9, 0, 350],
        [20, 250, 0],
        [22, 0, 400],
        [23, 0, 1000],
        [30, 0, 0],
    ]


def test_views(trace: snoopie.Trace) -> None:
    # The stores of another launch are still known.
    second = trace.select(launches=2)
    assert rows(second.by_wait(), "line", "stored_by") == [[7, "ring.cu:9"], [23, ""], [22, ""]]
    of_first = trace.select(owners=0)
    assert rows(of_first.by_wait(), "line", "waited", "moving") == [[20, 250, 0], [23, 0, 1000], [22, 0, 400]]
    # What is not shown was waited for nevertheless.
    assert rows(trace.select(operations="load").by_wait()[-1:], "line", "moving") == [[22, 300]]
    assert trace.select(issuers=0).waits["waited"].tolist() == [250, 100]
    assert trace.select(issuers=0).moves["accesses"].tolist() == [2]


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


def test_moves_by_launch(tmp_path: Path) -> None:
    trace = snoopie.load(write_moving(tmp_path))
    table = trace.moves_by_launch()
    assert len(table) == 4 * ROUNDS
    assert rows(table[:2], "gpu", "owner", "name", "file", "line", "accesses", "moving") == [
        ["GPU 0", "GPU 1", "GPU 1 at ring.cu:40", RING_CU, 40, 3, 695 * US],
        ["GPU 1", "GPU 2", "GPU 2 at ring.cu:40", RING_CU, 40, 3, 695 * US],
    ]
    begun = [BEGUN + number * ROUND + 2 * US for number in range(ROUNDS) for _ in range(4)]
    assert table["start"].tolist() == begun
    assert table["end"].tolist() == [start + LONG - 5 * US for start in begun]
    assert "from its first access to its last. A launch that waited" in trace.about_waits()[0]
    own = trace.select(issuers=3)
    lanes = own.activity_lanes()
    assert rows(lanes, "what", "place", "events") == [[what, "GPU 3", ROUNDS] for what in ("kernel", "move", "wait")]
    assert rows(trace.activity_of("move", 4), "name", "duration", "bytes") == [
        ["GPU 0 at ring.cu:40", LONG - 5 * US, 128]
    ]
    # By the filter no launch has moved.
    assert trace.select(issuers=3, owners=3).moves_by_launch().empty


def test_moves_alone_align_the_clocks(tmp_path: Path) -> None:
    builder = TraceBuilder(2, settings={"waits": "on"})
    function = builder.function("k()")
    store = builder.site(function, "STG.E", "store", 4)
    launch = builder.launch(function, 0, time=BEGUN)
    builder.count(launch, store, 1, 1, 32, 8)
    builder.add("spans", launch=launch, start=BEGUN, end=BEGUN + 10 * US)
    moved = {"first": BEGUN + AHEAD + 1 * US, "last": BEGUN + AHEAD + 9 * US}
    builder.add("moves", launch=launch, site=store, block=0, blocks=1, accesses=1, **moved)
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    assert rows(trace.moves_by_launch(), "name", "start", "end", "error") == [
        ["GPU 1 at k()", BEGUN + 1 * US, BEGUN + 9 * US, US]
    ]
    assert "waited" not in trace.about_waits()[0]


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
    assert trace.about_waits() == [
        "Kernels moved or waited, but not when is known: their launches have no GPU timestamps."
    ]
    assert not {"move", "wait"} & set(trace.activity_lanes()["what"])


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
    assert trace.moves.empty
    assert trace.awaited_stores().empty
    assert trace.waits_by_launch().empty
    assert trace.moves_by_launch().empty
    assert trace.about_waits() == []
    for by in KEYS:
        assert list(trace.by_wait(by).columns) and trace.by_wait(by).empty
