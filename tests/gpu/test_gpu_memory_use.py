"""leaks: the peak, what was never freed and what lives until the exit are what the program's own table says."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import gpu_machine
import pandas as pd
import pytest
from gpu_runs import Run, Runner, build, start, traced_environment

import snoopie

MIB = 1 << 20
PEAK = 1039 * MIB
# The driver gives memory in pieces of 2 MiB, and keeps some for itself when it makes new tables of pages.
TOLERANCE = 32 * MIB
# The first sample after a change of the memory in use comes at most this late (ns), with some to spare.
LATE = 300_000_000


@pytest.fixture
def run(runner: Runner, few: tuple[str, ...]) -> Run:
    return runner.traced("leaks", visible=few)


@pytest.fixture
def trace(run: Run) -> snoopie.Trace:
    return run.trace


def sizes(table: pd.DataFrame, *columns: str) -> list[tuple[object, ...]]:
    """The rows, with their bytes in MiB, in a fixed order."""
    table = table.assign(bytes=table["bytes"] // MIB)
    return sorted(table[[*columns, "bytes"]].itertuples(index=False, name=None))


def test_two_lines_are_printed(run: Run) -> None:
    lines = [line for line in run.stderr.splitlines() if line.startswith("snoopie: ")]
    assert len(lines) == 2, run.stderr
    assert lines[1].startswith("snoopie: recorded ")


def test_trace_is_whole_and_lost_nothing(trace: snoopie.Trace) -> None:
    assert trace.complete
    assert trace.losses() == []
    assert trace.totals["errors"] == 0


def test_peak(trace: snoopie.Trace) -> None:
    live = trace.memory_watermark(0)
    assert set(live["peak"]) == {PEAK}
    assert live["bytes"].sum() == PEAK
    by_kind = live.groupby("kind")[["objects", "bytes"]].sum().reset_index()
    assert sizes(by_kind, "kind", "objects") == [("device", 4, 1037), ("physical", 1, 2)]
    (at,) = set(live["time"])
    (biggest,) = trace.objects.index[trace.objects["bytes"] == 1024 * MIB]
    assert at == trace.objects["allocated"][biggest]


def test_peaks_of_others_are_their_own(trace: snoopie.Trace, few: tuple[str, ...]) -> None:
    if len(few) > 1:
        assert set(trace.memory_watermark(1)["peak"]) == {5 * MIB}
    assert set(trace.memory_watermark("host")["peak"]) == {24 * MIB}


def test_leaks(run: Run, few: tuple[str, ...]) -> None:
    trace = run.trace
    table = trace.leaks()
    by_state = table.groupby(["device", "state", "kind"])[["objects", "bytes"]].sum().reset_index()
    expected = [
        ("GPU 0", "freed at exit", "device", 1, 7),
        ("GPU 0", "never freed", "device", 2, 6),
        ("GPU 0", "never freed", "physical", 1, 2),
        *([("GPU 1", "ended with its context", "device", 1, 5)] if len(few) > 1 else []),
    ]
    by_state = by_state[by_state["state"] != "held by a pool"]
    assert sizes(by_state, "device", "state", "kind", "objects") == sorted(expected)


def test_what_a_pool_keeps_is_no_leak(run: Run) -> None:
    if "leaks: with a pool" not in run.stdout.splitlines():
        pytest.skip("this GPU has no memory pools")
    table = run.trace.leaks()
    (row,) = table[table["state"] == "held by a pool"].itertuples()
    # What was freed, in pieces as the driver likes them.
    assert (row.device, row.objects) == ("GPU 0", 0)
    assert 32 * MIB <= row.bytes <= 64 * MIB


def test_leak_is_of_the_function_that_forgets(trace: snoopie.Trace) -> None:
    leaked = trace.leaks(0)
    (row,) = leaked[(leaked["state"] == "never freed") & (leaked["bytes"] == 6 * MIB)].itertuples()
    assert trace.stack(row.stack)["function"].str.startswith("forget(").any()
    assert row.source.startswith("leaks.cu:")


def test_memory_freed_by_another_thread(trace: snoopie.Trace) -> None:
    small = trace.objects[(trace.objects["bytes"] == MIB) & (trace.objects["kind"] == "device")]
    assert len(small) == 32
    assert (small["freed"] > 0).all()
    assert small["thread"].nunique() == 4
    assert (small["freed_by"] != small["thread"]).all()


def test_memory_mapped_twice(trace: snoopie.Trace) -> None:
    objects = trace.objects
    (physical,) = objects.index[(objects["kind"] == "physical") & (objects["bytes"] == 64 * MIB)]
    mappings = objects[objects["inside"] == physical]
    assert mappings["kind"].tolist() == ["mapping", "mapping"]
    assert objects["freed"][physical] >= mappings["freed"].max() > mappings["freed"].min() > 0
    usage = trace.memory_usage(0)
    assert usage.loc[usage["kind"] == "physical", "bytes"].max() == 66 * MIB


def test_module_variables_are_no_objects(trace: snoopie.Trace) -> None:
    assert 4 * MIB not in set(trace.objects["bytes"])


def test_driver_agrees(trace: snoopie.Trace, alone: None) -> None:
    samples = trace.memory_agreement(0)
    if not (samples["used"] >= 0).any():
        pytest.skip("NVML does not say how much memory is in use here")
    born, died = biggest_lives(trace)
    moment = samples["time"]

    def used(rows: pd.Series[bool]) -> int:
        return int(samples.loc[rows, "used"].iloc[-1])

    before, meanwhile, after = used(moment < born), used(moment < died), used(moment < died + LATE)
    assert abs(meanwhile - before - 1024 * MIB) <= TOLERANCE
    assert abs(meanwhile - after - 1024 * MIB) <= TOLERANCE


def biggest_lives(trace: snoopie.Trace) -> tuple[int, int]:
    (row,) = trace.objects[trace.objects["bytes"] == 1024 * MIB].itertuples()
    return int(row.allocated), int(row.freed)


def test_nvidia_smi_agrees(few: tuple[str, ...], folder: Path, tmp_path: Path, alone: None) -> None:
    log = tmp_path / "smi.csv"
    samples = logged(log, lambda: start([build("leaks")], folder, traced_environment(few)))
    trace = samples.trace
    table = trace.nvidia_smi(log)
    table = table[table["device"] == "GPU 0"]
    born, died = biggest_lives(trace)
    during = table[(table["time"] > born + LATE) & (table["time"] < died)]
    before = table[table["time"] < born]
    assert len(during) and len(before)
    assert abs(int(during["used"].max()) - int(before["used"].iloc[-1]) - 1024 * MIB) <= TOLERANCE
    # What the collector's samples and the log say at the same time is the same.
    own = trace.memory_agreement(0)
    own = own[(own["time"] > born + LATE) & (own["time"] < died)]
    if len(own) and (own["used"] >= 0).all():
        assert abs(int(own["used"].max()) - int(during["used"].max())) <= TOLERANCE


def logged(path: Path, work: Callable[[], Run]) -> Run:
    """What `work` returns, with a log of nvidia-smi of the time that it took."""
    program = gpu_machine.program("nvidia-smi")
    if program is None:
        pytest.skip("nvidia-smi was not found")
    query = "--query-gpu=timestamp,uuid,memory.used"
    with path.open("w") as file:
        command = [program, query, "--format=csv,noheader,nounits", "--loop-ms=50"]
        with subprocess.Popen(command, stdout=file, stderr=subprocess.DEVNULL) as recorder:
            try:
                time.sleep(1)
                if recorder.poll() is not None:
                    pytest.skip("nvidia-smi does not run here")
                return work()
            finally:
                recorder.terminate()
