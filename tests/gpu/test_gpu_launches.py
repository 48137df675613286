"""Launches from several threads and from graphs, and programs whose memory comes and goes or never crosses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gpu_runs import Runner, build, start, traced_environment
from gpu_traffic import (
    Far,
    Table,
    Traffic,
    Where,
    across,
    by_launch,
    dense,
    kernel_name,
    nothing_dropped,
    nothing_lost,
    of_threads,
    total,
)

from snoopie.joined.gpus import UNKNOWN

if TYPE_CHECKING:
    from snoopie import Trace


@pytest.mark.parametrize("variant", ["", "-per-thread"], ids=["legacy", "per_thread"])
def test_one_host_thread_a_gpu(runner: Runner, visible: tuple[str, ...], variant: str) -> None:
    n, iterations = 5000, 20
    trace = runner.traced("threads", n, iterations, visible=visible, variant=variant).trace
    nothing_lost(trace)
    gpus = len(visible)
    once = [{Where(gpu, (gpu + 1) % gpus, "put", "put"): dense("store", 4, n)} for gpu in range(gpus)]
    assert total(by_launch(trace, "threads").values()) == total(once * iterations)
    assert all(table in once for table in by_launch(trace, "threads").values())
    # Each GPU has a thread of its own.
    assert trace.launches.groupby("gpu").thread.nunique().tolist() == [1] * gpus
    assert trace.launches.thread.nunique() == gpus


Line = tuple[str, Traffic]


def kernel(name: str, *lines: Line) -> dict[Where, Traffic]:
    return {Where(0, 1, name, line): traffic for line, traffic in lines}


def by_warps(line: str, warps: range) -> Line:
    return line, of_threads("store", 4, [(i, 4 * i) for warp in warps for i in range(32 * warp, 32 * warp + 32)])


# The table at the top of launches.cu, in the order of launching.
LAUNCHES = [
    kernel("clustered", ("rank", dense("store", 4, 256))),
    kernel("first", ("early", dense("store", 4, 128))),
    kernel("second", ("late", dense("load", 4, 128))),
    kernel("whole_grid", ("before", dense("store", 4, 128)), ("after", dense("load", 4, 128))),
    kernel("by_pointer", *(by_warps(line, range(k, 6, 3)) for k, line in enumerate(("one", "two", "three")))),
    kernel("recursive", ("depth", dense("store", 4, 64).times(5))),
    kernel("by_object", by_warps("plain", range(1)), by_warps("doubled", range(1, 2))),
    kernel("by_handle", ("handle", dense("store", 4, 64))),
]
CROWD_LAUNCHES = 4 * 50  # of a GPU


# As the compiler does it by itself, with functions linked that are part of no kernel, with a default stream a thread.
@pytest.mark.parametrize("variant", ["", "-rdc", "-per-thread"], ids=["whole", "linked", "per_thread"])
def test_every_kind_of_launch_is_counted(runner: Runner, visible: tuple[str, ...], variant: str) -> None:
    trace = runner.traced("launches", visible=visible, variant=variant).trace
    # NVBit does not follow a kernel that runs on another GPU than the current one, nor one that calls a recursive
    # function which is linked.
    lost = ["elsewhere", *(["recursive"] if variant == "-rdc" else [])]
    assert trace.totals["launches_lost"] == len(lost)
    assert all(any(kernel in sentence for sentence in trace.losses()) for kernel in lost)
    expected = [table for table in LAUNCHES if next(iter(table)).kernel not in lost]
    tables = list(by_launch(trace, "launches").values())
    assert tables[: len(expected)] == expected
    gpus = len(visible)
    crowd = [{Where(gpu, (gpu + 1) % gpus, "crowd", "crowd"): dense("store", 4, 128)} for gpu in range(gpus)]
    assert all(table in crowd for table in tables[len(expected) :])
    assert total(tables[len(expected) :]) == total(crowd * CROWD_LAUNCHES)
    # With make_objects, which has nothing remote, and elsewhere, and without the one that failed.
    assert trace.totals["launches_seen"] == len(LAUNCHES) + 2 + gpus * CROWD_LAUNCHES


def test_a_kernel_that_can_call_many_functions(runner: Runner, far: Far) -> None:
    """Its launches get their values through memory, each stream's for itself."""
    launches = 48
    trace = runner.traced("callees", launches, visible=far.visible).trace
    nothing_lost(trace)
    expected = [
        {Where(0, far.owner, "callees", "step"): dense("store", 4, 32 * (launch % 4 + 1))} for launch in range(launches)
    ]
    assert list(by_launch(trace, "callees").values()) == expected


def test_each_launch_of_a_graph_is_counted(runner: Runner, far: Far) -> None:
    """Also of one that is launched again before it has run."""
    n, launches = 5000, 40
    trace = runner.traced("graph", n, launches, visible=far.visible).trace
    nothing_lost(trace)
    # Each launch of a graph is a launch of each of its nodes.
    once: list[Table] = [
        {Where(0, far.owner, "put", "put"): dense("store", 4, n)},
        {Where(0, far.owner, "bump", "bump"): dense("reduction", 4, n)},
    ]
    assert list(by_launch(trace, "graph").values()) == once * launches
    assert trace.totals["launches_measured"] == 2 * launches


def put(n: int, owner: int = 1) -> dict[Where, Traffic]:
    """A launch of a put node of graphs.cu; GPU 0's own memory gives it no traffic."""
    return {Where(0, owner, "put", "put"): dense("store", 4, n)}


def twice(n: int) -> dict[Where, Traffic]:
    return {Where(0, 1, "twice", line): dense("store", 4, n) for line in ("once", "again")}


def test_every_node_of_a_graph_is_a_launch(runner: Runner, visible: tuple[str, ...]) -> None:
    trace = runner.traced("graphs", visible=visible).trace
    last = len(visible) - 1
    bump = {Where(0, 1, "bump", "bump"): dense("reduction", 4, 64)}
    # The table at the top of graphs.cu.
    chains = [
        *(put(64), put(128), bump),
        *(put(128), bump),
        *(put(32, last), bump),
        *((put(96), put(40), bump) * 6),
        *(twice(80), put(40), bump),
        *(put(96), twice(72), bump),
        *(put(64), put(128), bump),
        *(put(96), put(40), bump),
    ]
    found = by_launch(trace, "graphs")
    tables = [found[launch] for launch in trace.launches.index if launch in found]
    assert tables[:-3] == chains
    assert sorted(tables[-3:-1], key=str) == sorted([put(64), put(32)], key=str)
    assert tables[-1] == bump
    # With the two launches of put that had no traffic.
    nothing_lost(trace)
    assert trace.totals["launches_measured"] == trace.totals["launches_seen"] == len(tables) + 2
    # Each with the grid that it then had.
    puts = [table for table in tables if next(iter(table)).kernel != "bump"]
    assert sorted(grids_of(trace, "put") + grids_of(trace, "twice")) == sorted(
        [1, 1, *(-(-next(iter(table.values())).lanes // 64) for table in puts)]
    )


def grids_of(trace: Trace, name: str) -> list[int]:
    """How many blocks the launches of a kernel have."""
    return trace.launches[trace.launches.kernel.map(kernel_name) == name].grid_x.tolist()


def of_branches(branches: int, kernels: int, owners: tuple[int, ...], kernel: str = "put") -> list[Table]:
    """A launch of the graph of branches.cu, whose branches run by turns on the GPUs that reach these owners."""
    numbers = range(branches * kernels)
    gpus = [i // kernels % len(owners) for i in numbers]
    return [
        {Where(gpu, owners[gpu], kernel, kernel): dense("store", 4, 32 * (1 + i))}
        for i, gpu in zip(numbers, gpus, strict=True)
    ]


@pytest.mark.parametrize(
    ("branches", "kernels", "how", "slow"),
    [
        (4, 1, "wait", ()),
        (4, 1, "queue", ()),
        (4, 2, "queue", (0,)),
        (4, 2, "queue", (3,)),
        (16, 2, "queue", (1,)),
        (2, 16, "queue", ()),
        (4, 2, "thread", (1,)),
        (4, 2, "streams", (1,)),
        (4, 2, "set", (1,)),
        (4, 2, "update", (1,)),
        (4, 2, "twice", (1,)),
    ],
)
def test_branches_of_a_graph_that_run_side_by_side(
    runner: Runner, far: Far, branches: int, kernels: int, how: str, slow: tuple[int, ...]
) -> None:
    """NVBit tells of their kernels when they may have run."""
    launches = 20
    trace = runner.traced("branches", branches, kernels, launches, how, *slow, visible=far.visible).trace
    nothing_lost(trace)
    once = of_branches(branches, kernels, (far.owner,)) * (2 if how == "twice" else 1)
    other = of_branches(branches, kernels, (far.owner,), "twin") if how == "update" else once
    found = by_launch(trace, "branches")
    tables = [found[launch] for launch in trace.launches.index]
    # Launch by launch of the graph.
    for i in range(launches):
        assert sorted(tables[i * len(once) : (i + 1) * len(once)], key=str) == sorted(other if i % 2 else once, key=str)
    assert len(tables) == launches * len(once)


def test_branches_of_a_graph_on_two_gpus(runner: Runner, pair: tuple[str, ...]) -> None:
    launches = 20
    trace = runner.traced("branches", 4, 2, launches, "gpus", 1, visible=pair).trace
    nothing_lost(trace)
    once = of_branches(4, 2, (1, 0))
    assert sorted(by_launch(trace, "branches").values(), key=str) == sorted(once * launches, key=str)


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("kind", [(), ("library",)], ids=["module", "library"])
def test_code_that_takes_the_place_of_other_code_is_measured(
    runner: Runner, far: Far, kind: tuple[str, ...], threads: int
) -> None:
    """With threads that load, launch and unload at the same time, as compilers at run time do."""
    rounds = 20
    trace = runner.traced("reload", threads, rounds, *kind, visible=far.visible).trace
    nothing_dropped(trace)
    found = across(trace, far.owner).groupby("launch")[["operation", "accesses", "lanes"]].agg(list)
    assert set(found.index) == set(trace.launches.index)
    of_threads = found.groupby(found.index.map(trace.launches.thread))
    assert len(of_threads) == threads
    for _, launches in of_threads:
        made = [([operation], [32], [1024]) for operation in ["store", "store", "load", "load"] * (rounds // 2)]
        assert [tuple(row) for row in launches.sort_index().itertuples(index=False)] == made
    assert trace.totals["launches_measured"] == 2 * rounds * threads


@pytest.mark.parametrize("also_by_the_host", [0, 1])
def test_launches_on_the_device_are_said_not_to_be_measured(
    runner: Runner, pair: tuple[str, ...], also_by_the_host: int
) -> None:
    trace = runner.traced("children", also_by_the_host, visible=pair).trace
    parent = kernel("parent", ("parent", dense("store", 4, 128)))
    rows = [row for table in by_launch(trace, "children").values() for row in table.items()]
    assert [{where: row} for where, row in rows if where.owner != UNKNOWN] == [parent]
    table = trace.not_measured()
    assert table[table.opcode == "LAUNCH"].accesses.tolist() == [1, 1]
    assert any("LAUNCH" in sentence for sentence in trace.losses())
    # Of what the host launches, this cannot be measured: on the device the same code would count for another launch.
    assert any("Kernel child" in sentence for sentence in trace.losses()) == bool(also_by_the_host)


def test_contexts_that_end_and_begin_anew(runner: Runner, pair: tuple[str, ...]) -> None:
    n = 5000
    trace = runner.traced("reset", n, visible=pair).trace
    nothing_lost(trace)
    assert list(by_launch(trace, "reset").values()) == [{Where(0, 1, "put", "put"): dense("store", 4, n)}] * 2
    assert (trace.objects.freed > 0).all()


def test_a_kernel_that_outlives_the_program_is_lost_and_said_to_be(runner: Runner, pair: tuple[str, ...]) -> None:
    n = 5000
    trace = runner.traced("unfinished", n, visible=pair).trace
    assert list(by_launch(trace, "unfinished").values()) == [{Where(0, 1, "put", "put"): dense("store", 4, n)}]
    assert (trace.totals["launches_measured"], trace.totals["launches_lost"]) == (1, 1)
    assert any("could not be measured" in sentence for sentence in trace.losses())


def test_one_gpu_is_quiet(runner: Runner, pair: tuple[str, ...]) -> None:
    for visible in (pair[:1], pair):
        trace = runner.traced("quiet", visible=visible).trace
        nothing_lost(trace)
        assert trace.counts.empty
        assert trace.records.empty
        assert trace.totals["launches_seen"] == 1


# Memory of a page of its own, which the driver gives back, and memory that shares a page with others.
@pytest.mark.parametrize("size", [8 << 20, 4 << 10])
def test_reused_memory_has_its_present_owner(runner: Runner, visible: tuple[str, ...], folder: Path, size: int) -> None:
    rounds = 12
    # The addresses that it prints may differ from run to run, so its output is its own.
    runner.native("reuse", size, rounds, visible=visible)
    run = start([build("reuse"), size, rounds], folder, traced_environment(visible))
    assert run.status == 0, run.stdout + run.stderr
    nothing_lost(run.trace)

    found = re.findall(r"GPU (\d+), address (0x[0-9a-f]+)", run.stdout)
    printed = [(int(owner), int(address, 16)) for owner, address in found]
    assert [owner for owner, _ in printed] == [(k + 1) % len(visible) for k in range(rounds)]
    expected = [{Where(0, owner, "fill", "fill"): dense("store", 4, size // 4)} for owner, _ in printed if owner != 0]
    assert list(by_launch(run.trace, "reuse").values()) == expected

    objects = run.trace.objects
    assert list(zip(objects.owner, objects.address, strict=True)) == printed
    assert (objects.bytes == size).all()
    assert (objects.freed >= objects.allocated).all()
