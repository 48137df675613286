"""Native times: programs that measure themselves by events, run twice, and launches that are only timed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import gpu_machine
import gpu_runs
import pytest
from gpu_nccl import N, expected_calls
from gpu_runs import Run
from gpu_traffic import HOST, Far

import snoopie
from snoopie import Trace
from snoopie.cli.places import TIMES

MIB = 1 << 20


@pytest.fixture(scope="session")
def times(machine: None) -> Path:
    """The library of the clean recording."""
    library = gpu_machine.tool().with_name(TIMES)
    if not library.is_file():
        pytest.skip(f"no {TIMES} beside the collector: make -C nvbit_tool times")
    return library


def run_twice(
    program: str, *arguments: int, visible: tuple[str, ...], folder: Path, options: tuple[str, ...] = ()
) -> tuple[Run, Trace, dict[str, float]]:
    """A program's runs, their traces joined, and what it measured in the clean run (GB/s)."""
    command = [sys.executable, "-m", "snoopie", "run", "--with-times", "--tool", gpu_machine.tool()]
    done = gpu_runs.start(
        [*command, *options, "-s", "0", "-o", f"{folder}/", "--", gpu_runs.build(program), *arguments],
        folder,
        gpu_runs.environment(visible),
        gpu_runs.LIBRARY_TIMEOUT,
    )
    if done.status == gpu_runs.CANNOT_RUN:
        pytest.skip(done.stdout)
    if "CUPTI, libcupti" in done.stderr:
        pytest.skip("needs libcupti: of the CUDA toolkit, or pip install nvidia-cuda-cupti")
    assert done.status == 0, done.stderr
    clean = done.stdout.split("PASS")[0]
    said = {name: float(rate) for name, rate in re.findall(r"^(\w+) ([\d.]+) GB/s$", clean, re.MULTILINE)}
    return done, snoopie.load(folder), said


def matched(trace: Trace) -> float:
    table = trace.native_matching()
    exact = table[table["recording"] == "exact"]
    return float(exact.loc[exact["outcome"] == "matched", "launches"].sum() / exact["launches"].sum())


def test_bandwidth_is_what_the_program_measures(times: Path, far: Far, folder: Path, alone: None) -> None:
    iterations, size = 20, 256
    done, trace, said = run_twice("bandwidth", size, iterations, visible=far.visible, folder=folder)
    assert trace.clean is not None and trace.clean.complete, done.stderr
    assert matched(trace) == 1
    # Each has the call that made it, by the host's clock, and a kernel runs after that.
    launches, spans = trace.clean.launches, trace.clean.spans.set_index("launch")
    assert launches["thread"].nunique() == 1 and launches["thread"].iloc[0] > 0
    assert (spans["start"].reindex(launches.index) - launches["time"] > -(10**6)).all()
    kernels = trace.native_by("kernel")
    rates = {
        re.split(r"[(<]", name)[0]: rate for name, rate in zip(kernels["kernel"], kernels["native_rate"], strict=True)
    }
    for name in ("put", "get"):
        assert rates[name] / 1e9 == pytest.approx(said[name], rel=0.02), name
    assert kernels["native_bytes"].tolist() == [(iterations + 1) * size * MIB] * 2
    # Of links to the host nothing is known.
    assert (kernels["link_share"] <= 1).all() or far.owner == HOST
    copies = trace.clean.copies
    peers = copies[(copies["source"] == 0) & (copies["destination"] == far.owner)]
    assert peers["bytes"].tolist() == [size * MIB] * (iterations + 1)
    took = (peers["end"] - peers["start"]).iloc[1:]
    assert size * MIB / took.mean() == pytest.approx(said["copy"], rel=0.02)
    # Within a pair of runs the probes make kernels slower, never faster.
    instrumented = (trace.spans["end"] - trace.spans["start"]).sum()
    native = trace.native_times()
    assert instrumented > (native["end"] - native["start"]).sum()


def test_bus_bandwidth_of_nccl(times: Path, pair: tuple[str, ...], folder: Path, alone: None) -> None:
    size, iterations = 256, 20
    _, trace, said = run_twice("nccl_bus", size, iterations, visible=pair, folder=folder)
    assert matched(trace) >= 0.99
    native = trace.native_times()
    reduces = trace.launches[trace.launches["group"] > 0].index.intersection(native.index)
    of_gpu = native.loc[reduces].assign(gpu=trace.launches["gpu"]).groupby("gpu")
    took = [(rows["end"] - rows["start"]).iloc[-iterations:].mean() for _, rows in of_gpu]
    assert len(took) == 2
    assert 2 * 1 / 2 * size * MIB / max(took) == pytest.approx(said["bus"], rel=0.03)


@pytest.mark.parametrize(("capture_range", "launches"), [("step", 3), ("halo@app", 1), ("profiler-api", 6)])
def test_a_part_of_a_program_is_matched(times: Path, far: Far, folder: Path, capture_range: str, launches: int) -> None:
    """Only launches of a range are recorded: in both recordings the same."""
    options = ("--capture-range", capture_range)
    done, trace, _ = run_twice("phases", 64, visible=far.visible, folder=folder, options=options)
    assert trace.clean is not None, done.stderr
    assert (len(trace.launches), len(trace.clean.launches)) == (launches, launches)
    # The last has nodes of a graph, which may come in any order.
    assert matched(trace) == 1 or capture_range == "profiler-api"


@pytest.mark.timeout(3 * gpu_runs.LIBRARY_TIMEOUT)
def test_nccl_says_what_it_is_called_for(times: Path, pair: tuple[str, ...], folder: Path) -> None:
    """Nothing stands before NCCL here: it is told by its ranges."""
    env = gpu_runs.environment(pair, LD_PRELOAD=str(times), SNOOPIE_OUTPUT=f"{folder}/")
    done = gpu_runs.start_ranks(gpu_runs.ranks_command("nccl_ranks", N), pair, folder, env)
    assert done.status == 0, done.stderr
    calls = snoopie.load(folder).collectives
    for rank in range(len(pair)):
        own = calls[calls["rank"] == rank].sort_values("start")
        assert own[["operation", "reduction", "bytes", "peer"]].to_numpy(dtype=object).tolist() == [
            [operation, reduction, size, peer]
            for operation, reduction, _, size, peer in expected_calls(rank, len(pair))
        ]
        assert set(own["ranks"]) == {len(pair)}
    assert calls["communicator"].nunique() == 1


def test_every_launch_can_be_timed(machine: None, pair: tuple[str, ...], folder: Path) -> None:
    """Only put is measured, and one of three launches of it: the other launches have times too."""
    words, iterations = 1 << 20, 12
    env = gpu_runs.traced_environment(pair, TIMES="all", KERNEL_NAME="put", LAUNCH_SAMPLE="3")
    done = gpu_runs.start([gpu_runs.build("ring"), words, iterations], folder, env)
    assert done.status == 0, done.stderr
    trace = done.trace
    others = trace.unmeasured_launches
    assert len(trace.spans) + len(others) == 2 * 3 * iterations
    assert set(trace.spans["launch"]) == set(trace.launches.index)
    assert (others["end"] > others["start"]).all()
    assert (others["start"] >= others["time"]).all()
    names = others["kernel"].str.split("(").str[0].value_counts()
    assert names["get"] == names["bump"] == 2 * iterations


def test_no_launch_need_be_timed(machine: None, pair: tuple[str, ...], folder: Path) -> None:
    done = gpu_runs.start([gpu_runs.build("ring"), 1024, 3], folder, gpu_runs.traced_environment(pair, TIMES="off"))
    assert done.status == 0, done.stderr
    assert done.trace.spans.empty and len(done.trace.launches) == 2 * 3 * 3
