"""LAUNCH_SAMPLE: the counts are those of the launches that are measured, and the trace says how many there were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gpu_runs import Runner
from gpu_traffic import by_launch, kernel_name, nothing_dropped, total
from test_gpu_jacobi import of_jacobi

if TYPE_CHECKING:
    from snoopie import Trace

COLUMNS, ROWS = 777, 130
ONE_IN = 10

Sampled = dict[tuple[str, int], tuple[int, int]]


def sampled(trace: Trace) -> Sampled:
    """(kernel, GPU) → launches, measured."""
    return {(kernel_name(row.kernel), row.gpu): (row.launches, row.measured) for row in trace.sampling.itertuples()}


def launches_of(gpus: int, iterations: int) -> dict[tuple[str, int], int]:
    """How often jacobi launches each kernel: on all GPUs, then on GPU 0 for itself, where nothing crosses."""
    return {
        (kernel, gpu): number * (2 if gpu == 0 else 1)
        for kernel, number in (("sweep", iterations), ("residual", 1))
        for gpu in range(gpus)
    }


@pytest.mark.parametrize("iterations", [100, 25])
def test_one_launch_in_ten(runner: Runner, pair: tuple[str, ...], iterations: int) -> None:
    size = (COLUMNS, ROWS, iterations)
    trace = runner.traced("jacobi", *size, visible=pair, LAUNCH_SAMPLE=str(ONE_IN)).trace
    nothing_dropped(trace)
    gpus = len(pair)
    launches = launches_of(gpus, iterations)
    rows = sampled(trace)
    measured = {key: rows[key][1] if key in rows else number for key, number in launches.items()}
    assert {key: number for key, (number, _) in rows.items()} == {
        key: number for key, number in launches.items() if measured[key] < number
    }
    for key, number in launches.items():
        # One of every ten, and of the last few one or none; the first in any case.
        assert max(1, number // ONE_IN) <= measured[key] <= -(-number // ONE_IN), key
    assert trace.totals["launches_seen"] == sum(launches.values())
    assert trace.totals["launches_measured"] == len(trace.launches) == sum(measured.values())
    assert trace.totals["launches_native"] == sum(launches.values()) - sum(measured.values())

    # Each of the launches that were measured is exact.
    once = of_jacobi(gpus, COLUMNS, 1)
    of_gpu = [{where: row for where, row in once.items() if where.issuer == gpu} for gpu in range(gpus)]
    tables = by_launch(trace, "jacobi")
    assert all(table == of_gpu[next(iter(table)).issuer] for table in tables.values())
    # Scaled by launches / measured they are the traffic of all. Where the launches of a kernel differ, as those of
    # GPU 0 do in the middle of a group of ten, that is off by one group at most.
    exact = of_jacobi(gpus, COLUMNS, iterations)
    found = total(tables.values())
    assert found.keys() == exact.keys()
    for where, row in found.items():
        key = (where.kernel, where.issuer)
        estimate = row.lanes * launches[key] / measured[key]
        even = iterations % ONE_IN == 0 or where.issuer != 0
        assert abs(estimate - exact[where].lanes) <= (0 if even else ONE_IN * once[where].lanes), where


def test_the_first_launch_is_measured(runner: Runner, pair: tuple[str, ...]) -> None:
    trace = runner.traced("jacobi", COLUMNS, ROWS, 1, visible=pair, LAUNCH_SAMPLE="4294967295").trace
    nothing_dropped(trace)
    # Of GPU 0 the second launch of each kernel is left out.
    assert sampled(trace) == {("sweep", 0): (2, 1), ("residual", 0): (2, 1)}
    assert total(by_launch(trace, "jacobi").values()) == of_jacobi(len(pair), COLUMNS, 1)
