"""ring: the counts of every (issuer, owner, kernel, line) are what arithmetic says, in total and launch by launch."""

from __future__ import annotations

import pytest
from gpu_programs import RING_KERNELS, of_ring, of_ring_once
from gpu_runs import Runner
from gpu_traffic import by_launch, kernel_name, nothing_lost, total

# Words and iterations: whole blocks; a cut last block; words that are no whole number of 16-byte loads; one lane.
SIZES = [(65536, 3), (1000, 2), (4099, 2), (4, 1)]


@pytest.fixture(scope="session", params=SIZES, ids=lambda size: "{}x{}".format(*size))
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    return request.param


def test_counts_are_exact(runner: Runner, visible: tuple[str, ...], size: tuple[int, int]) -> None:
    trace = runner.traced("ring", *size, visible=visible).trace
    nothing_lost(trace)
    assert total(by_launch(trace, "ring").values()) == of_ring(len(visible), *size)


def test_every_launch_is_exact(runner: Runner, visible: tuple[str, ...], size: tuple[int, int]) -> None:
    n, iterations = size
    trace = runner.traced("ring", *size, visible=visible).trace
    # The order in which the program launches: for each iteration, for each GPU, put, get, bump.
    expected = [
        {where: traffic}
        for _ in range(iterations)
        for issuer in range(len(visible))
        for where, traffic in of_ring_once(issuer, len(visible), n).items()
    ]
    assert list(by_launch(trace, "ring").values()) == expected


def test_launches_are_described(runner: Runner, visible: tuple[str, ...], size: tuple[int, int]) -> None:
    n, iterations = size
    trace = runner.traced("ring", *size, visible=visible).trace
    launches = trace.launches
    assert [kernel_name(kernel) for kernel in launches.kernel] == list(RING_KERNELS) * len(visible) * iterations
    assert launches.gpu.tolist() == [gpu for gpu in range(len(visible)) for _ in RING_KERNELS] * iterations
    assert launches.time.is_monotonic_increasing
    assert launches.thread.nunique() == 1
    assert launches.stream.nunique() == len(visible)
    blocks = {"put": (n + 255) // 256, "get": (n // 4 + 255) // 256, "bump": 4}
    threads = {"put": 256, "get": 256, "bump": 64}
    for row in launches.itertuples():
        kernel = kernel_name(row.kernel)
        assert (row.grid_x, row.grid_y, row.grid_z) == (blocks[kernel], 1, 1)
        assert (row.block_x, row.block_y, row.block_z) == (threads[kernel], 1, 1)
        assert row.shared_memory == 0
    for name in ("launches_seen", "launches_measured"):
        assert trace.totals[name] == len(launches), name
    assert trace.totals["launches_native"] == 0


def test_gpus_are_those_that_the_program_sees(runner: Runner, pair: tuple[str, ...]) -> None:
    for visible in (pair, pair[::-1]):
        trace = runner.traced("ring", *SIZES[0], visible=visible).trace
        assert trace.gpus.uuid.tolist() == list(visible)
        assert total(by_launch(trace, "ring").values()) == of_ring(2, *SIZES[0])


def test_objects_are_the_programs(runner: Runner, visible: tuple[str, ...], size: tuple[int, int]) -> None:
    n, _ = size
    objects = runner.traced("ring", *size, visible=visible).trace.objects
    for gpu in range(len(visible)):
        assert sorted(objects[objects.owner == gpu].bytes) == sorted([4 * n, 4 * (n // 4 * 4), 4])


def test_matrix_in_both_readings(runner: Runner, visible: tuple[str, ...], size: tuple[int, int]) -> None:
    n, iterations = size
    gpus = len(visible)
    trace = runner.traced("ring", *size, visible=visible).trace
    stored, loaded = iterations * (4 * n + 4 * 256), iterations * 16 * (n // 4)
    issued = [[0] * gpus for _ in range(gpus)]
    flowed = [[0] * gpus for _ in range(gpus)]
    for gpu in range(gpus):
        owner = (gpu + 1) % gpus
        issued[gpu][owner] += stored + loaded
        flowed[gpu][owner] += stored
        flowed[owner][gpu] += loaded
    assert trace.matrix("bytes", reading="issued").to_numpy().tolist() == issued
    assert trace.matrix("bytes", reading="flow").to_numpy().tolist() == flowed
