"""jacobi: only the rows at the cuts cross, each at its own line, and the result stays that of one GPU."""

from __future__ import annotations

import pytest
from gpu_programs import of_jacobi
from gpu_runs import Runner
from gpu_traffic import by_launch, nothing_lost, total

# Columns, rows, iterations: rows that divide unevenly; columns that end in the middle of a sector; few rows a GPU.
PLATES = [(1024, 501, 6), (777, 130, 3), (35, 20, 2)]


@pytest.fixture(scope="session", params=PLATES, ids=lambda plate: "{}x{}x{}".format(*plate))
def plate(request: pytest.FixtureRequest) -> tuple[int, int, int]:
    return request.param


def test_counts_are_exact(runner: Runner, visible: tuple[str, ...], plate: tuple[int, int, int]) -> None:
    columns, _, iterations = plate
    trace = runner.traced("jacobi", *plate, visible=visible).trace
    nothing_lost(trace)
    assert total(by_launch(trace, "jacobi").values()) == of_jacobi(len(visible), columns, iterations)


def test_every_iteration_is_exact(runner: Runner, visible: tuple[str, ...], plate: tuple[int, int, int]) -> None:
    columns, _, iterations = plate
    trace = runner.traced("jacobi", *plate, visible=visible).trace
    launches = list(by_launch(trace, "jacobi").values())
    once = of_jacobi(len(visible), columns, 1)
    by_gpu = [{where: row for where, row in once.items() if where.issuer == gpu} for gpu in range(len(visible))]
    assert launches == by_gpu * iterations
