"""processes: memory of another process's GPU is counted for that GPU, whether or not its user sees that GPU."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from gpu_runs import Run, Runner
from gpu_traffic import Table, Traffic, Where, by_launch, dense, nothing_lost

N = 1000

# Way of reaching the memory → words of its launches beyond N: the table at the top of processes.cu.
WAYS = {"ipc": (0, 1), "neighbours": (2, 3), "mapping": (4,), "pool": (5,), "fabric": (6,)}


@pytest.fixture(scope="session", params=["all", "turned", "own"])
def run(request: pytest.FixtureRequest, runner: Runner, visible: tuple[str, ...]) -> Run:
    """A run in which the processes see all GPUs in one order, in an order of their own, or only their own."""
    return runner.traced("processes", request.param, N, visible=visible, SNOOPIE_OUTPUT="process-%p.zst")


def found_right(run: Run) -> dict[int, list[str]]:
    """Process → the ways in which its memory was reached."""
    lines = re.findall(r"^process (\d+): (\w+): ([\w ]+)$", run.stdout, re.MULTILINE)
    ways: dict[int, list[str]] = {}
    for process, way, outcome in lines:
        ways.setdefault(int(process), [])
        if outcome == "right":
            ways[int(process)].append(way)
    return ways


def of_processes(run: Run, count: int) -> dict[int, list[Table]]:
    """Issuer → its launches, GPUs by their place among the visible ones."""
    ways = found_right(run)
    assert sorted(ways) == list(range(count))
    expected: dict[int, list[Table]] = {}
    for issuer in range(count):
        owner = (issuer + 1) % count
        where = Where(issuer, owner, "put", "put")
        assert ways[owner], "no way into the memory of another process is here"
        expected[issuer] = [{where: dense("store", 4, N + more)} for way in ways[owner] for more in WAYS[way]]
    return expected


def test_counts_are_exact(run: Run, visible: tuple[str, ...]) -> None:
    trace = run.traces
    nothing_lost(trace)
    # Places in the trace → places among the visible GPUs.
    place = {number: visible.index(uuid) for number, uuid in trace.gpus.uuid.items()}
    found: dict[int, list[Mapping[Where, Traffic]]] = {}
    for table in by_launch(trace, "processes").values():
        named = {
            where._replace(issuer=place[where.issuer], owner=place.get(where.owner, where.owner)): traffic
            for where, traffic in table.items()
        }
        ((where, _),) = named.items()
        found.setdefault(where.issuer, []).append(named)
    assert found == of_processes(run, len(visible))


def test_the_matrix_has_the_right_gpus(run: Run, visible: tuple[str, ...]) -> None:
    trace = run.traces
    uuids = dict(zip(trace.gpus.label, trace.gpus.uuid, strict=True))
    matrix = trace.matrix("bytes").rename(index=uuids, columns=uuids)
    found = {(row, column): int(value) for (row, column), value in matrix.stack().items() if value}
    assert found == {
        (visible[where.issuer], visible[where.owner]): sum(
            4 * traffic.lanes for table in tables for traffic in table.values()
        )
        for tables in of_processes(run, len(visible)).values()
        for where in tables[0]
    }


def test_every_process_leaves_a_trace(run: Run, visible: tuple[str, ...]) -> None:
    # All but the one that started them, which uses no GPU.
    assert len(run.files) == len(visible)
    trace = run.traces
    assert {path.name for path in run.files} == {f"process-{pid}.zst" for pid in trace.processes.pid}
    assert set(trace.gpus.uuid) == set(visible)
