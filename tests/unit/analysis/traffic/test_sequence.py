"""Collectives as one call of all ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

import snoopie
from tests.support.encoder import START_NS, TraceBuilder

US = 1000
KERNEL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
FUNCTION = "ncclDevFunc_AllReduce_Sum_f32_TREE_SIMPLE()"
COUNT = 1024  # elements of 4 bytes


def write(folder: Path, *, spans: bool = True) -> snoopie.Trace:
    """Two ranks, two calls of AllReduce: rank 1 arrives 30 µs after rank 0 at the first, 10 µs before it at the second;
    each runs until 100 µs after rank 0's arrival. Of what each rank moves, 4096 bytes, all is measured."""
    for rank, delays in enumerate(((0, 0), (30 * US, -10 * US))):
        trace = TraceBuilder(2, ranks={"RANK": str(rank)})
        kernel, function = trace.function(KERNEL), trace.function(FUNCTION, kernel=False)
        store = trace.site(function, "ST.128", "store", 16)
        for number, delay in enumerate(delays):
            at = START_NS + 1000 * US * (number + 1)
            trace.collective(number + 1, "AllReduce", COUNT, gpu=rank, rank=rank, ranks=2, reduction="sum",
                             start=at + delay - 5 * US, end=at + delay - 3 * US)  # fmt: skip
            launch = trace.launch(kernel, rank, group=number + 1, grid_x=2, time=at + delay)
            if spans:
                trace.add("spans", launch=launch, start=at + delay, end=at + 100 * US)
            trace.count(launch, store, 1 - rank, 8, 256, 128)
        trace.collective(9, "Send", COUNT, gpu=rank, rank=rank, ranks=2, peer=1 - rank)
        trace.write(folder / f"{rank}.zst")
    return snoopie.load(folder)


def test_each_call_once(tmp_path: Path) -> None:
    table = write(tmp_path).collective_sequence()
    assert table[["number", "operation", "call_bytes", "ranks", "called"]].to_numpy().tolist() == [
        [0, "AllReduce", 4096, 2, 2],
        [1, "AllReduce", 4096, 2, 2],
    ]
    assert table[["began", "skew", "last_rank", "took"]].to_numpy().tolist() == [
        [700 * US, 30 * US, 1, 70 * US],
        [1690 * US, 10 * US, 0, 100 * US],
    ]
    # The function that ran, not the kernel that it was compiled for.
    assert table[["algorithm", "protocol", "channels"]].to_numpy().tolist() == 2 * [["Tree", "Simple", 2]]
    # 2 × (ranks − 1) times the buffer, and it is what moved.
    assert table[["bytes", "expected"]].to_numpy().tolist() == 2 * [[8192, 8192]]
    # nccl-tests: 2 × (ranks − 1) / ranks × size / time.
    assert table["bus_bandwidth"].tolist() == pytest.approx([4096 / 70e-6, 4096 / 100e-6])


def test_without_times_on_gpus_the_calls_have_to_do(tmp_path: Path) -> None:
    table = write(tmp_path, spans=False).collective_sequence()
    assert table[["skew", "took"]].to_numpy().tolist() == [[30 * US, 2 * US], [10 * US, 2 * US]]


def test_of_none(ring_path: Path) -> None:
    assert snoopie.load(ring_path).collective_sequence().empty
