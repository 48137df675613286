"""Records: with SAMPLE_SIZE=1 they are every access, with n about 1 of n, chosen without regard to where or when."""

from __future__ import annotations

import math

import pytest
from gpu_programs import of_ring
from gpu_runs import Runner
from gpu_traffic import Lane, by_launch, kernel_name, nothing_lost, recorded_lanes, total

SMALL = (4099, 2)
LARGE = (1 << 18, 8)
RATES = [3, 10, 100]
THREADS_A_BLOCK = {"put": 256, "get": 256, "bump": 64}


def test_every_access_is_recorded(runner: Runner, visible: tuple[str, ...]) -> None:
    trace = runner.traced("ring", *SMALL, visible=visible).trace
    nothing_lost(trace)
    key = ["launch", "site", "issuer", "owner"]
    recorded = trace.records.groupby(key).agg(accesses=("lanes", "size"), lanes=("lanes", "sum"))
    counted = trace.counts.groupby(key)[["accesses", "lanes"]].sum()
    assert recorded.to_dict("index") == counted.to_dict("index")
    assert trace.totals["records_written"] == len(trace.records)


def test_lanes_are_at_their_addresses(runner: Runner, visible: tuple[str, ...]) -> None:
    n, iterations = SMALL
    trace = runner.traced("ring", *SMALL, visible=visible).trace
    expected = []
    for _ in range(iterations):
        for issuer in range(len(visible)):
            owner = (issuer + 1) % len(visible)
            expected.append([Lane(owner, "put", i, 4 * i) for i in range(n)])
            expected.append([Lane(owner, "get", i, 16 * i) for i in range(n // 4)])
            expected.append([Lane(owner, "bump", i, 0) for i in range(256)])
    assert list(recorded_lanes(trace, "ring", THREADS_A_BLOCK.__getitem__).values()) == expected


def test_scattered_and_strided_shapes(runner: Runner, pair: tuple[str, ...]) -> None:
    trace = runner.traced("mixed", visible=pair).trace
    kernels = trace.records.launch.map(trace.launches.kernel).map(kernel_name)
    shapes = trace.records["shape"].astype(object).groupby(kernels).agg(set)
    assert shapes["copy<uint4>"] == {"strided"}
    # One of its two stores has evenly spaced lanes, with gaps.
    assert shapes["scatter"] == {"scattered", "strided"}


def test_a_full_ring_drops_records_and_no_counts(runner: Runner, pair: tuple[str, ...]) -> None:
    size = (1 << 24, 2)
    trace = runner.traced("ring", *size, visible=pair).trace
    assert total(by_launch(trace, "ring").values()) == of_ring(len(pair), *size)
    dropped = trace.totals["records_dropped"]
    # More than two million accesses as fast as the links allow: the ring has no chance to hold them.
    assert dropped > 0
    assert len(trace.records) + dropped == trace.counts.accesses.sum()
    assert any("dropped" in sentence for sentence in trace.losses())


def test_no_records(runner: Runner, pair: tuple[str, ...]) -> None:
    trace = runner.traced("ring", *SMALL, visible=pair, SAMPLE_SIZE="0").trace
    assert total(by_launch(trace, "ring").values()) == of_ring(len(pair), *SMALL)
    assert len(trace.records) == 0


@pytest.mark.parametrize("rate", RATES)
def test_a_sample_leaves_the_counts_exact(runner: Runner, pair: tuple[str, ...], rate: int) -> None:
    trace = runner.traced("ring", *LARGE, visible=pair, SAMPLE_SIZE=str(rate)).trace
    assert total(by_launch(trace, "ring").values()) == of_ring(len(pair), *LARGE)
    assert [settings["sample_size"] for settings in trace.settings] == [rate]


@pytest.mark.parametrize("rate", RATES)
def test_a_sample_is_of_its_size_everywhere(runner: Runner, pair: tuple[str, ...], rate: int) -> None:
    trace = runner.traced("ring", *LARGE, visible=pair, SAMPLE_SIZE=str(rate)).trace
    assert trace.totals["records_dropped"] == 0
    records = trace.records.assign(
        kernel=trace.records.launch.map(trace.launches.kernel).map(kernel_name),
        # The accesses of a kernel in sixteen equal parts, by the place of their block.
        place=trace.records.block * 16 // trace.records.launch.map(trace.launches.grid_x),
    )
    n, iterations = LARGE
    accesses = len(pair) * iterations * (n // 32 + n // 4 // 32 + 8)
    in_binomial_bounds(len(records), accesses, rate)
    for kernel, warps in (("put", n // 32), ("get", n // 4 // 32)):
        chosen = records[records.kernel == kernel]
        launches = chosen.groupby("launch").size()
        assert len(launches) == len(pair) * iterations
        for name, sizes, bins in (
            ("launch", launches, len(launches)),
            ("part of the grid", chosen.groupby("place").size(), 16),
            ("warp of the block", chosen.groupby("warp").size(), 8),
        ):
            assert len(sizes) == bins, (kernel, name)
            for size in sizes:
                in_binomial_bounds(int(size), len(pair) * iterations * warps // bins, rate)


def in_binomial_bounds(found: int, accesses: int, rate: int) -> None:
    """Fails where `found` is further than 5 standard deviations from what chance gives."""
    p = 1 / rate
    assert abs(found - accesses * p) <= 5 * math.sqrt(accesses * p * (1 - p)), (found, accesses, rate)
