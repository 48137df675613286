"""bench/soak.py: what it makes of what processes held, and of the times in their traces."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.encoder import START_NS, TraceBuilder

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench"))

import soak  # noqa: E402

PID = 4711


def held(seconds: float, traces: int) -> soak.Held:
    return soak.Held(seconds, 100 << 20, 12, 3, 2 << 30, traces)


def launched(path: Path, *, pid: int, footer: bool = True, **totals: int) -> Path:
    """Two launches 10 ms after one another, each begun 4 µs after its call, and 50 µs long."""
    trace = TraceBuilder(1, pid=pid)
    trace.totals |= totals
    kernel = trace.function("step")
    for moment in (0, 10_000_000):
        launch = trace.launch(kernel, 0, time=START_NS + moment)
        trace.add("spans", launch=launch, start=START_NS + moment + 4_000, end=START_NS + moment + 54_000)
    return trace.write(path, footer=footer)


@pytest.fixture
def run(tmp_path: Path) -> soak.Run:
    """Of two ranks, of which the first says when its steps began and ended."""
    traces = tmp_path / "fsdp"
    traces.mkdir()
    for pid in (PID, PID + 1):
        launched(traces / f"{pid}.zst", pid=pid)
    output = tmp_path / "fsdp.txt"
    groups = [[START_NS - 1_000, START_NS + 60_000], [START_NS + 9_000_000, START_NS + 10_054_000]]
    output.write_text("a warning\n" + json.dumps({"right": True, "pid": PID, "groups": groups}) + "\n")
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    program = soak.Program("fsdp", ["train"], ("0", "1"))
    looks = [held(10.0 * n, 1 << (20 + n)) for n in range(1, 5)]
    return soak.Run(program, traces, output, process, looks, 0, soak.check(traces))


def test_programs_that_share_gpus_still_have_another_to_reach() -> None:
    assert soak.shares(("0", "1", "2", "3")) == (("0", "1"), ("2", "3"))
    assert soak.shares(("0", "1")) == (("0", "1"), ("0", "1"))
    assert soak.shares(("0",)) == (("0",), ("0",))


def test_the_least_wait_of_each_tenth() -> None:
    called = np.arange(20)[::-1] * 1000
    began = called + np.where(called < 2000, 7, 40)
    assert soak.least_waits(called, began) == [7] + [40] * 9


def test_slack_is_below_zero_where_the_gpus_clock_is_ahead() -> None:
    called, began = np.array([100, 200, 1100]), np.array([90, 210, 1150])
    groups = np.array([[95, 400], [1000, 1200], [5000, 6000]])
    assert list(soak.slack(groups, called, began, began + 60)) == [(-5, 130), (150, -10)]


def test_a_size_that_grows_evenly_is_as_predicted() -> None:
    assert soak.predicted([held(s, 1000 + 10 * s) for s in range(0, 101, 5)]) == pytest.approx(2000)
    assert soak.predicted([held(s, 10 * s * s) for s in range(0, 101, 5)]) < 100_000


def test_a_family_is_a_process_and_what_it_started() -> None:
    code = "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as one:
        assert one.stdout is not None and one.stdin is not None
        child = int(one.stdout.readline())
        assert soak.family(one.pid) == [one.pid, child]
        assert one.pid in soak.family(os.getpid())
        one.stdin.close()
        os.kill(child, 9)


def test_memory_of_the_gpus_is_asked_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for used in (0, 4167):
        smi.write_text(f"#!/bin/sh\necho '0, {used} MiB'\necho '1, 5 MiB'\n")
        smi.chmod(0o755)
        assert soak.on_gpus() == {"0": used << 20, "1": 5 << 20}


def test_a_trace_that_is_wrong_is_told(run: soak.Run) -> None:
    path = next(run.traces.iterdir())
    path.write_bytes(b"no trace" + path.read_bytes())
    assert soak.check(run.traces) != soak.RIGHT


def test_what_all_ranks_lost_is_told_by_kind(run: soak.Run) -> None:
    assert soak.about_end(run)[5] == "nothing"
    launched(run.traces / f"{PID}.zst", pid=PID, launches_lost=1000)
    launched(run.traces / f"{PID + 1}.zst", pid=PID + 1, launches_lost=31, records_dropped=3)
    assert soak.about_end(run)[5] == "1,031 launches, 3 records"


def test_a_program_that_was_killed_does_not_say_what_it_lost(run: soak.Run) -> None:
    for path in run.traces.iterdir():
        launched(path, pid=int(path.stem), footer=False)
    run.status = -15
    assert soak.about_end(run)[1:6] == ["SIGTERM", "4", "0", "0", "not said"]
    assert soak.check(run.traces) == soak.RIGHT


def test_the_section(run: soak.Run) -> None:
    alone = soak.Program("fsdp, without Snoopie", ["train"], ("0", "1"), collected=False)
    other = soak.Run(alone, run.traces, run.output, run.process, [dataclasses.replace(held(10.0, 0), on_gpus=0)], 0)
    text = soak.section([run, other], "2 H200", "2026-01-02")
    assert "on 2026-01-02: 2 H200." in text
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| fsdp")]
    assert rows[0] == ["fsdp", "0.2 min", "100 MiB", "12", "3", "2,048 MiB", "2.0 MiB"]
    assert rows[len(soak.MOMENTS)] == [alone.name, "0.2 min", "100 MiB", "12", "3", "not known", ""]
    # Of what the collector was not in, nothing else is told.
    last, *clocks = (row for row in rows[len(soak.MOMENTS) :] if row[0] != alone.name)
    assert last[:3] == ["fsdp", "status 0", "4"]
    assert last[-1] == "right"
    assert len(clocks) == 2
    with_groups, without = rows[-2:]
    assert with_groups == ["fsdp", "2", "4.0 to 4.0 µs", "5.0 to 1004.0 µs", "0.0 to 6.0 µs"]
    assert without == ["fsdp", "2", "4.0 to 4.0 µs", "", ""]
