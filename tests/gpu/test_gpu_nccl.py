"""NCCL: its calls by name, whose kernels they run, and what a ring stores in the next GPU's memory, to the byte."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gpu_nccl import SIZE, STEP, N, by_operation, calls, expected_calls, expected_lanes, next_in_ring, settings
from gpu_runs import LIBRARY_TIMEOUT, Runner, ranks_command, start, traced_environment
from gpu_traffic import nothing_dropped

if TYPE_CHECKING:
    from snoopie import Trace

# A test may have to wait for two runs, without and with the collector.
pytestmark = pytest.mark.timeout(3 * LIBRARY_TIMEOUT)

RUNS = [("nccl_single", "Simple"), ("nccl_ranks", "Simple"), ("nccl_ranks", "LL"), ("nccl_ranks", "LL128")]


@dataclass(frozen=True)
class Job:
    """A run whose ranks are the GPUs in their order. `trace` holds all of its processes."""

    program: str
    protocol: str
    ranks: int
    trace: Trace


def job(runner: Runner, program: str, protocol: str, visible: tuple[str, ...], **more: str) -> Job:
    options = settings(protocol, **more)
    if program == "nccl_single":
        run = runner.traced(program, N, visible=visible, **options)
    else:
        run = runner.ranks(program, N, visible=visible, **options)
    return Job(program, protocol, len(visible), run.traces)


@pytest.fixture(scope="session", params=RUNS, ids="-".join)
def one_channel(request: pytest.FixtureRequest, runner: Runner, visible: tuple[str, ...]) -> Job:
    program, protocol = request.param
    return job(runner, program, protocol, visible, NCCL_MIN_NCHANNELS="1", NCCL_MAX_NCHANNELS="1")


# --- calls and kernels ---


def test_every_call_is_named(one_channel: Job) -> None:
    trace, ranks = one_channel.trace, one_channel.ranks
    nothing_dropped(trace)
    table = trace.collectives
    assert (table.ranks == ranks).all()
    assert (table.type == "float32").all()
    assert (table.issuer == table["rank"]).all()
    assert (table.start <= table.end).all()
    assert table.communicator.nunique() == 1
    if one_channel.program == "nccl_ranks":
        assert table.process.map(trace.processes["rank"]).tolist() == table["rank"].tolist()
        assert sorted(trace.processes["rank"]) == list(range(ranks))
    for rank, own in table.groupby("rank"):
        columns = own.sort_values("start")[["operation", "reduction", "count", "bytes", "peer"]]
        assert list(columns.itertuples(index=False, name=None)) == expected_calls(int(rank), ranks)


def test_every_kernel_belongs_to_its_call(one_channel: Job) -> None:
    trace, ranks = one_channel.trace, one_channel.ranks
    launches = trace.launches
    assert launches.kernel.str.startswith("ncclDevKernel").all()
    # One kernel a group and GPU, on the GPU and stream of the calls.
    assert len(launches) == len(STEP) * ranks
    gpus_of_group = {int(group): set(own.gpu) for group, own in launches.groupby("group")}
    for operation, group in calls(trace):
        assert operation in STEP
        number = int(group.group.iloc[0])
        assert gpus_of_group.pop(number) == set(group.issuer)
        own = launches[launches.group == number]
        assert dict(zip(own.gpu, own.stream, strict=True)) == dict(zip(group.issuer, group.stream, strict=True))
        # One process has one group for all ranks, processes of their own have one each.
        assert len(own) == (ranks if one_channel.program == "nccl_single" else 1)
    assert gpus_of_group == {}


# --- traffic ---


@pytest.mark.parametrize("operation", STEP)
def test_traffic_is_what_the_protocol_sends(one_channel: Job, operation: str) -> None:
    tables = by_operation(one_channel.trace)
    following = next_in_ring(tables["AllReduce"], one_channel.ranks)
    counts = tables[operation]
    assert set(counts.operation) == {"store"}
    lanes = counts.groupby(["issuer", "owner", "width"]).lanes.sum()
    found = {tuple(int(part) for part in key): int(value) for key, value in lanes.items()}
    assert found == expected_lanes(operation, one_channel.protocol, one_channel.ranks, following)


def test_wire_units_are_full_of_data(one_channel: Job) -> None:
    for operation, counts in by_operation(one_channel.trace).items():
        words, data = counts[counts.width == 8], counts[counts.width == 16]
        # One thread stores a counter. Two of a warp may do so in one access, where both neighbours are one GPU.
        assert (words.accesses <= words.lanes).all()
        assert (words.wire_units == words.lanes).all()
        # A lane stores 16 bytes, which are a unit, whichever lanes store together.
        assert (data.wire_units == data.lanes).all(), operation


def test_the_payload_does_not_depend_on_channels(runner: Runner, visible: tuple[str, ...]) -> None:
    # As many channels as NCCL likes, and rings in as many orders: what all ranks send together stays the same.
    ranks = len(visible)
    tables = by_operation(job(runner, "nccl_ranks", "Simple", visible).trace)
    rounds = {"AllReduce": 2 * (ranks - 1), "Send, Recv": 1}
    for operation, counts in tables.items():
        payload = counts[counts.width != 8]
        assert int(payload.bytes.sum()) == rounds.get(operation, ranks - 1) * SIZE, operation
    assert tables.keys() == STEP.keys()


# --- a launcher of its own ---


def test_ranks_that_open_mpi_starts(runner: Runner, visible: tuple[str, ...], folder: Path) -> None:
    import snoopie

    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("needs Open MPI's mpirun")
    program, *arguments = ranks_command("nccl_ranks", N)
    env = traced_environment(visible, **settings("Simple", NCCL_MIN_NCHANNELS="1", NCCL_MAX_NCHANNELS="1"))
    preload = env.pop("LD_PRELOAD")
    # All ranks are on this host: no remote shell is needed.
    for name in ("OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"):
        env[name] = "/bin/false"
    for name in ("RANK", "WORLD_SIZE"):
        env.pop(name, None)
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    placed = [mpirun, *as_root, "--oversubscribe", "--bind-to", "none", "-np", len(visible)]
    run = start([*placed, "env", f"LD_PRELOAD={preload}", program, *arguments], folder, env, LIBRARY_TIMEOUT)
    assert run.status == 0, run.stdout + run.stderr
    assert run.stdout.count("PASS") == len(visible)
    trace = snoopie.load(folder)
    assert sorted(trace.processes["rank"]) == list(range(len(visible)))
    assert trace.collectives["rank"].tolist() == trace.collectives.process.map(trace.processes["rank"]).tolist()
    expected = job(runner, "nccl_ranks", "Simple", visible, NCCL_MIN_NCHANNELS="1", NCCL_MAX_NCHANNELS="1").trace
    # Whether NCCL tells the host that work is done depends on what the host has seen.
    matrices = [found.matrix().drop(index="host", columns="host", errors="ignore") for found in (trace, expected)]
    assert matrices[0].equals(matrices[1])
