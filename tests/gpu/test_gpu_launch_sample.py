"""LAUNCH_SAMPLE: the counts are those of the launches that are measured, and the trace says how many there were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gpu_programs import of_jacobi
from gpu_runs import Runner
from gpu_traffic import by_launch, kernel_name, nothing_dropped, total

if TYPE_CHECKING:
    from snoopie import Trace

COLUMNS, ROWS = 777, 130
ONE_IN = 10

Sampled = dict[tuple[str, int], tuple[int, int]]


def sampled(trace: Trace) -> Sampled:
    """(kernel, GPU) → launches, measured."""
    return {(kernel_name(row.kernel), row.gpu): (row.launches, row.measured) for row in trace.sampling.itertuples()}


def launches_of(gpus: int, iterations: int) -> dict[tuple[str, int], int]:
    """How often jacobi launches each kernel on all GPUs. What GPU 0 launches then, for itself, crosses nothing."""
    return {(kernel, gpu): number for kernel, number in (("sweep", iterations), ("residual", 1)) for gpu in range(gpus)}


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
    seen = sum(launches.values()) + iterations + 1
    assert trace.totals["launches_seen"] == seen
    assert trace.totals["launches_measured"] == len(trace.launches) == sum(measured.values())
    assert trace.totals["launches_native"] == seen - sum(measured.values())

    # Each of the launches that were measured is exact.
    once = of_jacobi(gpus, COLUMNS, 1)
    of_gpu = [{where: row for where, row in once.items() if where.issuer == gpu} for gpu in range(gpus)]
    tables = by_launch(trace, "jacobi")
    assert all(table == of_gpu[next(iter(table)).issuer] for table in tables.values())
    # Scaled by launches / measured they are the traffic of all: jacobi's launches are all alike, and the error is 0.
    exact = of_jacobi(gpus, COLUMNS, iterations)
    found = total(tables.values())
    assert found.keys() == exact.keys()
    for where, row in found.items():
        key = (where.kernel, where.issuer)
        assert row.lanes * launches[key] / measured[key] == exact[where].lanes, where


def test_the_first_launch_is_measured(runner: Runner, pair: tuple[str, ...]) -> None:
    trace = runner.traced("jacobi", COLUMNS, ROWS, 2, visible=pair, LAUNCH_SAMPLE="4294967295").trace
    nothing_dropped(trace)
    assert sampled(trace) == {("sweep", gpu): (2, 1) for gpu in range(len(pair))}
    assert total(by_launch(trace, "jacobi").values()) == of_jacobi(len(pair), COLUMNS, 1)
