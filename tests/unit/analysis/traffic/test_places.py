"""What can be issuer or owner, and which processes use it."""

from __future__ import annotations

from pathlib import Path

import snoopie
from tests.support.encoder import UNKNOWN, TraceBuilder
from tests.support.mixed import write_mixed
from tests.support.ring import write_ring, write_two_processes


def test_places(tmp_path: Path) -> None:
    table = snoopie.load(write_mixed(tmp_path)).places
    assert table.index.name == "place"
    assert table.index.tolist() == [0, 1, -1, -2, -3, -4]
    assert table.drop(columns="uuid").to_numpy(dtype=object).tolist() == [
        ["gpu", "GPU 0", (0,), (0,)],
        ["gpu", "GPU 1", (1,), (1,)],
        ["host", "host", (), ()],
        ["unknown", "unknown", (), ()],
        ["multicast", "multicast 0 (GPU 0, GPU 1)", (0,), (0,)],
        ["multicast", "multicast 1 (GPU 0, GPU 1)", (1,), (1,)],
    ]
    assert table["uuid"].str.slice(0, 12).tolist() == ["GPU-00000000", "GPU-00000001", "", "", "", ""]


def test_users_of_gpus_that_the_processes_number_differently(tmp_path: Path) -> None:
    table = snoopie.load(write_two_processes(tmp_path)).places
    assert table.loc[[0, 1, 2, 3], "processes"].tolist() == [(0,), (0,), (1,), (1,)]


def test_users_without_ranks(tmp_path: Path) -> None:
    alone = snoopie.load(write_ring(tmp_path)).places
    assert alone.loc[[0, 3], ["processes", "ranks"]].to_numpy().tolist() == [[(0,), ()], [(0,), ()]]


def test_every_kind_of_work_makes_a_user(tmp_path: Path) -> None:
    trace = TraceBuilder(5, ranks={"PMI_RANK": "7"})
    trace.launch(trace.function("k()"), 0)
    trace.copy(2, 3, 1, gpu=1)
    trace.collective(0, "AllReduce", 1, gpu=2)
    trace.copy(2, 3, 1, gpu=UNKNOWN)
    table = snoopie.load(trace.write(tmp_path / "t.zst")).places
    assert table["ranks"].tolist() == [(7,), (7,), (7,), (), (), (), ()]
    assert table.loc[-2, "processes"] == ()


def test_a_gpu_of_several_ranks(tmp_path: Path) -> None:
    for rank in (3, 1, 2):
        trace = TraceBuilder(1, pid=rank, ranks={"PMI_RANK": str(rank)})
        trace.launch(trace.function("k()"), 0)
        trace.write(tmp_path / f"{3 - rank}.zst")
    table = snoopie.load(tmp_path).places
    assert table.loc[0, "ranks"] == (1, 2, 3)
    assert table.loc[0, "processes"] == (0, 1, 2)
