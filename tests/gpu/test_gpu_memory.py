"""memory: what a GPU reaches outside its own memory is counted by its owner, whatever made it; its own never is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

import pytest
from gpu_runs import Run, Runner
from gpu_traffic import Launch, Where, by_launch, dense, every, launch, nothing_lost, recorded_lanes, with_objects

HOST = -1
BLOCK = 32
KERNELS = {"put": "store", "get": "load"}

# The cases in the program's order, with what the trace calls their memory.
KINDS = {
    "mapping": "mapping",
    "growing": "mapping",
    "owners": "mapping",
    "remapped": "mapping",
    "numa": "mapping",
    "pool": "pool",
    "own_pool": "pool",
    "freed": "pool",
    "captured": "graph",
    "graph": "graph",
    "pinned": "host",
    "mapped": "host",
    "portable": "host",
    "combined": "host",
    "registered": "registered",
    "managed_gpu": "managed",
    "managed_host": "managed",
    "prefetched": "managed",
    "device": "device",
    "pitch": "device",
    "early": "device",
}

# One of each way in which GPU 0 gets to reach memory, where no other has opened it before.
ALONE = ["mapping", "own_pool", "graph", "pinned", "registered", "managed_gpu", "device"]


def visit(n: int, owner: int = 1, issuer: int = 0) -> list[Launch]:
    """A visit to words side by side."""
    return [
        launch(f"{kernel}<Dense>", (kernel, operation, 4, range(n), every(4)), issuer=issuer, owner=owner)
        for kernel, operation in KERNELS.items()
    ]


def visit_rows(n: int, distance: int) -> list[Launch]:
    """A visit to rows of 100 words that begin `distance` bytes apart."""
    return [
        launch(f"{kernel}<Rows>", (kernel, operation, 4, range(n), lambda i: i // 100 * distance + i % 100 * 4))
        for kernel, operation in KERNELS.items()
    ]


def visit_chunks(n: int, owners: Sequence[int]) -> list[Launch]:
    """A visit to chunks of 2 MiB with these owners: word i of chunk i % chunks. What is GPU 0's own is not remote."""
    chunks = len(owners)
    launches: list[Launch] = []
    for kernel, operation in KERNELS.items():
        table, lanes = {}, []
        for owner in sorted({*owners} - {0}):
            threads = [i for i in range(n) if owners[i % chunks] == owner]
            in_range = (kernel, operation, 4, threads, lambda i: i % chunks * (2 << 20) + 4 * i)
            in_chunk = (kernel, operation, 4, threads, every(4))
            table |= launch(f"{kernel}<Chunks>", in_range, owner=owner)[0]
            lanes += launch(f"{kernel}<Chunks>", in_chunk, owner=owner)[1]  # each chunk is an object
        launches.append((table, sorted(lanes)))
    return launches


def of_case(name: str, gpus: int, distance: int) -> list[Launch]:
    """The table at the top of memory.cu, without launches that touch no remote memory."""
    n = 1000 + 32 * list(KINDS).index(name)
    match name:
        case "growing":
            return [each for chunks in (1, 2, 3) for each in visit_chunks(n, [1] * chunks)]
        case "owners":
            return visit_chunks(n, range(gpus))
        case "remapped" | "captured" | "graph":
            return visit(n) * 2
        case "numa" | "pinned" | "mapped" | "combined" | "managed_host":
            return visit(n, HOST)
        case "portable":
            return visit(n, HOST) + visit(n, HOST, issuer=1)
        case "registered":
            return visit(n, HOST) * 3
        case "prefetched":
            return visit(n) + visit(n, HOST)
        case "device":
            return visit(n) + visit(n, 0, issuer=1)
        case "pitch":
            return visit_rows(n, distance)
        case _:
            return visit(n)


def expected(run: Run, name: str, gpus: int) -> list[Launch]:
    """The same for a run; skips what the program did not find on this machine."""
    if f"{name}: not here" in run.stdout.splitlines():
        pytest.skip(f"{name}: not here")
    assert f"{name}: right" in run.stdout.splitlines()
    pitch = re.search(r"^pitch: (\d+) bytes$", run.stdout, re.MULTILINE)
    return of_case(name, gpus, int(pitch[1]) if pitch else 0)


T = TypeVar("T")


def of_launches(run: Run, name: str, found: dict[int, T]) -> list[T]:
    """What was found of the case's launches, in their order: the number of blocks tells the case."""
    blocks = 32 + list(KINDS).index(name)
    return [value for number, value in found.items() if run.trace.launches.grid_x[number] == blocks]


def compare_counts(run: Run, name: str, gpus: int) -> None:
    assert of_launches(run, name, by_launch(run.trace, "memory")) == [table for table, _ in expected(run, name, gpus)]


@pytest.mark.parametrize("name", KINDS)
def test_counts_are_exact(runner: Runner, visible: tuple[str, ...], name: str) -> None:
    compare_counts(runner.traced("memory", visible=visible), name, len(visible))


@pytest.mark.parametrize("name", KINDS)
def test_recorded_lanes_are_exact(runner: Runner, visible: tuple[str, ...], name: str) -> None:
    run = runner.traced("memory", visible=visible)
    lanes = recorded_lanes(run.trace, "memory", lambda kernel: BLOCK)
    assert of_launches(run, name, lanes) == [lanes for _, lanes in expected(run, name, len(visible))]


@pytest.mark.parametrize("name", KINDS)
def test_objects_are_of_their_kind(runner: Runner, pair: tuple[str, ...], name: str) -> None:
    run = runner.traced("memory", visible=pair)
    assert expected(run, name, len(pair))
    touched = with_objects(run.trace).groupby("launch").object.unique().to_dict()
    ids = [number for objects in of_launches(run, name, touched) for number in objects]
    assert set(run.trace.objects.kind[ids]) == {KINDS[name]}


@pytest.mark.parametrize("name", ALONE)
def test_memory_of_one_kind_alone_is_reached(runner: Runner, pair: tuple[str, ...], name: str) -> None:
    run = runner.traced("memory", name, visible=pair)
    nothing_lost(run.trace)
    compare_counts(run, name, len(pair))


def test_nothing_else_is_counted(runner: Runner, visible: tuple[str, ...]) -> None:
    trace = runner.traced("memory", visible=visible).trace
    nothing_lost(trace)
    assert (trace.counts.issuer != trace.counts.owner).all()
    blocks = set(trace.launches.grid_x[trace.counts.launch])
    assert blocks <= {32 + k for k in range(len(KINDS))}


def test_what_was_freed_is_known(runner: Runner, visible: tuple[str, ...]) -> None:
    objects = runner.traced("memory", visible=visible).trace.objects
    # The program keeps the memory of the case `early`; that of a graph is its own affair.
    kept = objects[(objects.freed == 0) & (objects.kind != "graph")]
    assert set(kept.bytes) <= {2 << 20}
    assert (objects.freed[objects.freed > 0] >= objects.allocated[objects.freed > 0]).all()


def test_memory_that_no_call_has_made_known_is_not_measured(runner: Runner, pair: tuple[str, ...]) -> None:
    n = 1000
    run = runner.traced("pageable", n, visible=pair)
    if "pageable: not here" in run.stdout.splitlines():
        pytest.skip("GPUs of this machine cannot read pageable memory")
    # The stores are counted, the loads are not, and nothing but a notice may tell of them.
    assert list(by_launch(run.trace, "pageable").values()) == [{Where(0, 1, "put", "put"): dense("store", 4, n)}]
    assert run.trace.totals["launches_lost"] == 0
    assert all("pageable" in sentence for sentence in run.trace.losses())
