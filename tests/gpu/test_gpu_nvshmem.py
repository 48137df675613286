"""NVSHMEM: what kernels do to other PEs' memory, by line, also after the symmetric heap grew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from gpu_runs import LIBRARY_TIMEOUT, Runner
from gpu_traffic import Traffic, Where, between_gpus, dense, kernel_name, nothing_dropped, site_lines

if TYPE_CHECKING:
    from snoopie import Trace

# A test may have to wait for two runs, without and with the collector.
pytestmark = pytest.mark.timeout(3 * LIBRARY_TIMEOUT)

BLOCKS, THREADS = 2, 256
KERNELS = ("words", "threads", "groups", "atomics", "signals", "grown", "everyone")
GROWTHS = 3
LAUNCHES = {kernel: GROWTHS if kernel == "grown" else 1 for kernel in KERNELS}

# A piece of the heap is smaller than each of the arrays that it has to grow for.
SETTINGS = {"SAMPLE_SIZE": "0", "NVSHMEM_CUMEM_GRANULARITY": str(32 << 20)}

# 256 threads, or the 8 warps or 2 blocks that they are, each move 16 bytes, 1 KiB or 4 KiB in 16-byte accesses.
SIXTEEN = dense("store", 16, THREADS)
GROUPS = dense("store", 16, 512)

# The table at the top of nvshmem_ops.cu, for one launch of one issuer on the next.
ON_THE_NEXT: dict[tuple[str, str], list[Traffic]] = {
    ("words", "p"): [dense("store", 4, THREADS)],
    ("words", "direct"): [dense("store", 4, THREADS)],
    ("words", "g"): [dense("load", 4, THREADS)],
    ("threads", "put"): [SIXTEEN],
    ("threads", "nbi"): [SIXTEEN],
    ("threads", "get"): [dense("load", 16, THREADS)],
    ("threads", "odd"): [Traffic("store", width, 8, THREADS, THREADS) for width in (1, 2, 4, 8, 16)],
    ("groups", "warp"): [GROUPS],
    ("groups", "block"): [GROUPS],
    ("groups", "from_warp"): [dense("load", 16, 512)],
    ("groups", "from_block"): [dense("load", 16, 512)],
    ("atomics", "fetch_add"): [dense("atomic", 4, THREADS)],
    ("atomics", "add"): [dense("atomic", 4, THREADS)],
    ("atomics", "cas"): [dense("atomic", 8, THREADS)],
    ("atomics", "swap"): [dense("atomic", 8, THREADS)],
    ("signals", "set"): [dense("store", 8, THREADS)],
    ("signals", "increase"): [dense("atomic", 8, THREADS)],
    ("signals", "notify"): [Traffic("store", 8, BLOCKS, BLOCKS, BLOCKS), GROUPS],
    ("grown", "grown"): [Traffic("store", 4, 8, THREADS, THREADS).times(GROWTHS)],
}


def on_everyone(ranks: int, owner: int) -> Traffic:
    """Thread t stores word t of PE t % n: each warp has lanes on each PE, of each four words those that are its."""
    lanes = [thread for thread in range(THREADS) if thread % ranks == owner]
    return Traffic("store", 4, THREADS // 32, len(lanes), len({thread // 4 for thread in lanes}))


def expected(ranks: int) -> dict[Where, list[Traffic]]:
    table: dict[Where, list[Traffic]] = {}
    for issuer in range(ranks):
        for (kernel, line), traffic in ON_THE_NEXT.items():
            table[Where(issuer, (issuer + 1) % ranks, kernel, line)] = traffic
        for owner in set(range(ranks)) - {issuer}:
            table[Where(issuer, owner, "everyone", "everyone")] = [on_everyone(ranks, owner)]
    return table


def by_line(trace: Trace, program: str) -> dict[Where, list[Traffic]]:
    """The counts between GPUs of all launches, by line, sorted by operation and width."""
    counts = between_gpus(trace)
    kernels = trace.launches.kernel.map(kernel_name)
    counts = counts.assign(kernel=counts.launch.map(kernels), line=counts.site.map(site_lines(trace, program)))
    keys = ["issuer", "owner", "kernel", "line", "operation", "width"]
    table: dict[Where, list[Traffic]] = {}
    for key, row in counts.groupby(keys)[["accesses", "lanes", "wire_units"]].sum().iterrows():
        issuer, owner, kernel, line, operation, width = key
        traffic = Traffic(operation, int(width), int(row.accesses), int(row.lanes), int(row.wire_units))
        table.setdefault(Where(int(issuer), int(owner), kernel, line), []).append(traffic)
    return table


@dataclass(frozen=True)
class Job:
    ranks: int
    trace: Trace


@pytest.fixture(scope="session")
def program(runner: Runner, visible: tuple[str, ...]) -> Job:
    """The program's own kernels, of all PEs."""
    run = runner.ranks("nvshmem_ops", visible=visible, KERNEL_NAME=",".join(KERNELS), **SETTINGS)
    return Job(len(visible), run.traces)


def test_counts_are_exact(program: Job) -> None:
    nothing_dropped(program.trace)
    assert by_line(program.trace, "nvshmem_ops") == expected(program.ranks)


def test_every_pe_launched_every_kernel(program: Job) -> None:
    launches = program.trace.launches
    assert launches.assign(kernel=launches.kernel.map(kernel_name)).groupby(["kernel", "gpu"]).size().to_dict() == {
        (kernel, gpu): times for kernel, times in LAUNCHES.items() for gpu in range(program.ranks)
    }
    # A process a PE, and each on its own GPU.
    assert launches.groupby("process").gpu.nunique().tolist() == [1] * program.ranks
    assert sorted(program.trace.processes["rank"]) == list(range(program.ranks))


def grown_launches(trace: Trace) -> Iterator[tuple[int, list[Traffic]]]:
    """How far the owner is from the issuer, and the traffic, of each launch after a growth of the heap."""
    launches = trace.launches[trace.launches.kernel.map(kernel_name) == "grown"]
    for _, counts in between_gpus(trace).groupby("launch"):
        if counts.launch.iloc[0] not in launches.index:
            continue
        ((issuer, owner),) = set(zip(counts.issuer, counts.owner, strict=True))
        rows = counts.groupby("site")[["accesses", "lanes", "wire_units"]].sum().itertuples(index=False)
        yield int(owner) - int(issuer), [Traffic("store", 4, *map(int, row)) for row in rows]


def test_memory_that_the_heap_grew_by_has_its_owner(program: Job) -> None:
    launches = list(grown_launches(program.trace))
    assert len(launches) == GROWTHS * program.ranks
    for distance, traffic in launches:
        assert distance % program.ranks == 1
        assert traffic == [Traffic("store", 4, 8, THREADS, THREADS)]


ROWS, COLUMNS, ITERATIONS = 64, 4096, 20


def test_a_halo_exchange_is_exact(runner: Runner, visible: tuple[str, ...]) -> None:
    options = {"KERNEL_NAME": "relax,push", "SAMPLE_SIZE": "0"}
    trace = runner.ranks("halo", ROWS, COLUMNS, ITERATIONS, visible=visible, **options).traces
    nothing_dropped(trace)
    ranks = len(visible)
    up, down = dense("store", 4, COLUMNS), dense("store", 16, COLUMNS // 4)
    assert by_line(trace, "halo") == {
        Where(rank, (rank + step) % ranks, kernel, line): [traffic.times(ITERATIONS)]
        for rank in range(ranks)
        for step, kernel, line, traffic in ((-1, "relax", "up", up), (1, "push", "down", down))
    }


def test_the_librarys_own_kernels_are_a_preset(runner: Runner, pair: tuple[str, ...]) -> None:
    trace = runner.ranks("nvshmem_ops", visible=pair, KERNEL_NAME="nvshmem", **SETTINGS).traces
    nothing_dropped(trace)
    names = set(trace.launches.kernel.map(kernel_name))
    assert not names & set(KERNELS)
    assert any(name.startswith("barrier_on_stream_kernel") for name in names)
    # A barrier tells every other PE: words of 8 bytes, both ways.
    counts = between_gpus(trace)
    assert set(zip(counts.issuer.astype(int), counts.owner.astype(int), strict=True)) == {(0, 1), (1, 0)}
    assert set(counts.width) == {8}
