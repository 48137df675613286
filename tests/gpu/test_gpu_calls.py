"""calls: the driver's calls are in the trace as often, with as many errors and bytes, as the program made them."""

from __future__ import annotations

import pytest
from gpu_calls import Error, launched, launches, made, printed, recorded
from gpu_runs import Run, Runner

ROUNDS = 20
THREADS = 3


@pytest.fixture(scope="session")
def run(runner: Runner, few: tuple[str, ...]) -> Run:
    """The program under the collector, on two GPUs if there are so many."""
    return runner.traced("calls", ROUNDS, visible=few)


def test_calls_bytes_and_directions_are_exact(run: Run) -> None:
    assert recorded(run) == made(run)
    assert run.trace.complete
    assert run.trace.totals["errors"] == 0


def test_the_program_calls_what_arithmetic_says(run: Run, few: tuple[str, ...]) -> None:
    calls = {(call.name, call.gpu, call.direction): call for call in made(run)}
    # Of each round three, two of which fail; of each thread one, and one of the first.
    assert calls["cuMemAlloc_v2", "GPU 0", ""][3:5] == (THREADS * (3 * ROUNDS + 1) + 1, THREADS * 2 * ROUNDS)
    last = f"GPU {len(few) - 1}"
    assert calls["cuMemFree_v2", last, ""][3:5] == (THREADS * (ROUNDS + 1) + 1, 0)
    assert calls["cuMemcpyDtoH_v2", last, "device to host"].bytes == THREADS * ROUNDS * 4000
    within = calls["cuMemcpyDtoD_v2", "GPU 0", "device to device"].bytes
    across = calls["cuMemcpyDtoD_v2", "GPU 0", "peer"].bytes if len(few) > 1 else 0
    assert (within, across) == (
        (200 * ROUNDS * THREADS, 40 * ROUNDS * THREADS) if across else (240 * ROUNDS * THREADS, 0)
    )


def test_errors_are_told_apart(run: Run) -> None:
    table = run.trace.by_error("gpu")
    found = {Error(row.call, row.gpu, row.returned, row.calls) for row in table.itertuples()}
    wanted = {Error(name, f"GPU {gpu}", int(code), int(calls)) for name, gpu, code, calls in printed(run, "error")}
    assert {error for error in found if error.name == "cuMemAlloc_v2"} == wanted
    names = dict(zip(table["returned"], table["name"], strict=True))
    assert names[1] == "CUDA_ERROR_INVALID_VALUE"
    assert names[2] == "CUDA_ERROR_OUT_OF_MEMORY"


@pytest.mark.parametrize("kernels", ["all", "none_of_them"])
def test_every_launch_is_counted_for_its_kernel(runner: Runner, few: tuple[str, ...], kernels: str) -> None:
    settings = {} if kernels == "all" else {"KERNEL_NAME": kernels}
    run = runner.traced("calls", ROUNDS, visible=few, **settings)
    assert launches(run) == launched(run)
    assert set(run.trace.by_launched_kernel()["kernel"]) == {
        "count(unsigned int*)",
        next(kernel for kernel in run.trace.by_launched_kernel()["kernel"] if "scale<int>" in kernel),
    }


def test_the_histogram_holds_every_call(run: Run) -> None:
    totals = run.trace.call_totals.groupby(["call", "thread", "gpu"])["calls"].sum()
    times = run.trace.call_times.groupby(["call", "thread", "gpu"])["calls"].sum()
    assert totals.to_dict() == times.to_dict()
    table = run.trace.by_call()
    assert (table["min_ns"] <= table["mean_ns"]).all()
    assert (table["mean_ns"] <= table["max_ns"]).all()
    assert (table["p50_ns"] <= table["p99_ns"]).all()
    assert (table["p99_ns"] <= table["max_ns"]).all()


def test_only_what_waits_has_a_bandwidth(run: Run) -> None:
    table = run.trace.by_direction()
    known = set(table.loc[table["bandwidth"].notna(), "call"])
    assert known == {"cuMemcpyDtoH_v2", "cuMemcpyHtoD_v2"}


def test_each_call_is_an_event_where_that_was_asked(runner: Runner, few: tuple[str, ...]) -> None:
    run = runner.traced("calls", 2, visible=few, CALLS="all")
    assert recorded(run) == made(run)
    events, sums = run.trace.calls, run.trace.call_totals
    keys = ["call", "kernel", "thread", "gpu", "direction"]
    assert events.groupby(keys).size().to_dict() == sums.groupby(keys)["calls"].sum().to_dict()
    assert (events["end"] - events["start"]).sum() == sums["total"].sum()
    assert events["bytes"].sum() == sums["bytes"].sum()
    assert events["start"].min() > 0
    assert events["thread"].nunique() >= len(few) * THREADS


def test_off_means_off(runner: Runner, few: tuple[str, ...]) -> None:
    run = runner.traced("calls", 2, visible=few, CALLS="off")
    assert run.trace.call_totals.empty
    assert run.trace.calls.empty
    assert len(run.trace.copies) > 0
