"""PyTorch: collectives by NCCL, and symmetric memory, with one process a GPU."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gpu_nccl import SIZE, N, by_operation, expected_lanes, next_in_ring, settings
from gpu_runs import LIBRARY_TIMEOUT, Runner
from gpu_traffic import APPS, HOST, between_gpus, kernel_name, nothing_dropped

if TYPE_CHECKING:
    from snoopie import Trace

# A test may have to wait for two runs, without and with the collector.
pytestmark = pytest.mark.timeout(3 * LIBRARY_TIMEOUT)

REDUCTIONS = 3
ONE_CHANNEL = settings("Simple", NCCL_MIN_NCHANNELS="1", NCCL_MAX_NCHANNELS="1")


@pytest.fixture(scope="session", params=["all", "turned", "own"])
def allreduce(request: pytest.FixtureRequest, runner: Runner, visible: tuple[str, ...]) -> Trace:
    """GPUs are numbered alike in all processes, or from each one's own, or each sees no other."""
    return runner.ranks("allreduce.py", N, visible=visible, view=request.param, **ONE_CHANNEL).traces


def gpu_of_rank(trace: Trace, visible: tuple[str, ...]) -> dict[int, int]:
    """Rank → the number that its GPU has in the trace."""
    number = {uuid: int(gpu) for gpu, uuid in trace.gpus.uuid.items()}
    return {rank: number[uuid] for rank, uuid in enumerate(visible)}


def test_every_process_has_its_rank_and_gpu(allreduce: Trace, visible: tuple[str, ...]) -> None:
    nothing_dropped(allreduce)
    assert sorted(allreduce.gpus.uuid) == sorted(visible)
    ranks = allreduce.processes["rank"]
    assert sorted(ranks) == list(range(len(visible)))
    gpus = gpu_of_rank(allreduce, visible)
    launches = allreduce.launches
    assert launches.gpu.tolist() == launches.process.map(ranks).map(gpus).tolist()


def test_every_collective_is_named(allreduce: Trace, visible: tuple[str, ...]) -> None:
    table, ranks = allreduce.collectives, len(visible)
    gpus = gpu_of_rank(allreduce, visible)
    assert table.communicator.nunique() == 1
    assert (table.ranks == ranks).all()
    assert table.issuer.tolist() == table["rank"].map(gpus).tolist()
    reduce = ("AllReduce", "sum", "float32", N, SIZE)
    gather = ("AllGather", "", "float32", N // ranks, SIZE)
    for _, own in table.groupby("rank"):
        rows = own.sort_values("start")[["operation", "reduction", "type", "count", "bytes"]]
        assert list(rows.itertuples(index=False, name=None)) == [reduce] * REDUCTIONS + [gather]
    # Each has its kernel.
    assert sorted(allreduce.launches.group) == sorted(table.group)


def test_traffic_is_a_rings(allreduce: Trace, visible: tuple[str, ...]) -> None:
    ranks = len(visible)
    tables = by_operation(allreduce)
    rank_of = {gpu: rank for rank, gpu in gpu_of_rank(allreduce, visible).items()}
    numbered = {
        operation: counts.assign(issuer=counts.issuer.map(rank_of), owner=counts.owner.map(rank_of))
        for operation, counts in tables.items()
    }
    following = next_in_ring(numbered["AllReduce"], ranks)
    for operation, times in (("AllReduce", REDUCTIONS), ("AllGather", 1)):
        once = expected_lanes(operation, "Simple", ranks, following)
        expected = Counter({where: times * lanes for where, lanes in once.items()})
        counts = numbered.pop(operation)
        found = counts.groupby(["issuer", "owner", "width"]).lanes.sum()
        assert {tuple(map(int, where)): int(lanes) for where, lanes in found.items()} == expected
    assert numbered == {}


# --- symmetric memory ---

FLOATS = 1 << 18
BYTES = 4 * FLOATS
# PyTorch's kernel of an elementwise addition, and the program's own.
KERNELS = "put_next,vectorized_elementwise_kernel"


@pytest.fixture(scope="session")
def symmetric(runner: Runner, visible: tuple[str, ...]) -> Trace:
    run = runner.ranks("symmetric_memory.py", FLOATS, visible=visible, KERNEL_NAME=KERNELS, SAMPLE_SIZE="0")
    return run.traces


def ring(gpus: int, amount: int) -> list[list[int]]:
    """A matrix with the amount from each GPU to the next."""
    return [[amount if to == (gpu + 1) % gpus else 0 for to in range(gpus)] for gpu in range(gpus)]


def test_kernels_on_symmetric_memory(symmetric: Trace, visible: tuple[str, ...]) -> None:
    nothing_dropped(symmetric)
    assert symmetric.gpus.uuid.tolist() == list(visible)
    counts = between_gpus(symmetric)
    counts = counts.assign(kernel=counts.launch.map(symmetric.launches.kernel))
    stored, loaded = counts[counts.operation == "store"], counts[counts.operation == "load"]
    assert len(stored) + len(loaded) == len(counts)
    assert set(stored.kernel.map(kernel_name)) == {"put_next"}
    assert loaded.kernel.str.contains("vectorized_elementwise_kernel").all()
    for table in (stored, loaded):
        pairs = table.groupby(["issuer", "owner"])[["bytes", "wire_bytes"]].sum()
        assert pairs.to_dict("index") == {
            (gpu, (gpu + 1) % len(visible)): {"bytes": BYTES, "wire_bytes": BYTES} for gpu in range(len(visible))
        }
    matrix = symmetric.select(operations="store").matrix().iloc[: len(visible), : len(visible)]
    assert matrix.to_numpy().tolist() == ring(len(visible), BYTES)


def test_a_line_of_triton(symmetric: Trace) -> None:
    source = (APPS / "symmetric_memory.py").read_text().splitlines()
    (line,) = (number for number, text in enumerate(source, 1) if text.endswith("# remote: put_next"))
    counts = between_gpus(symmetric)
    sites = symmetric.sites.loc[sorted(set(counts.site))]
    stores = sites[sites.operation == "store"]
    assert set(zip(stores.file.map(lambda file: Path(file).name), stores.line, strict=True)) == {
        ("symmetric_memory.py", line)
    }


def test_a_copy_into_symmetric_memory(symmetric: Trace, visible: tuple[str, ...]) -> None:
    copies = symmetric.copies
    across = copies[(copies.source > HOST) & (copies.destination > HOST) & (copies.source != copies.destination)]
    assert sorted(across[["source", "destination", "bytes"]].itertuples(index=False, name=None)) == sorted(
        (gpu, (gpu + 1) % len(visible), BYTES) for gpu in range(len(visible))
    )
