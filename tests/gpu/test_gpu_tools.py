"""Other tools that want the driver for themselves: the program runs, and a sentence says who records nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gpu_machine
import pytest
from gpu_runs import LIBRARY_TIMEOUT, Run, Runner, build, environment, require, start, traced_environment
from gpu_traffic import APPS, Far, by_launch, nothing_lost, total

import snoopie

LAUNCHES = 50


def tool(name: str) -> str:
    """A program of NVIDIA's; nsys comes with Nsight Compute, too."""
    found = gpu_machine.program(name) or next(
        (str(path) for path in sorted(Path("/opt/nvidia").glob(f"*/*/host/target-linux-x64/{name}"))), None
    )
    if not found:
        pytest.skip(f"needs {name}")
    return found


TOOLS = {
    "ncu": ["--clock-control", "none", "--section", "LaunchStats"],
    "nsys": ["profile", "-t", "cuda", "-o", "report"],
    "compute-sanitizer": [],
}


def run_in(name: str, program: list[object], folder: Path, env: dict[str, str]) -> Run:
    return start([tool(name), *TOOLS[name], *program], folder, env, LIBRARY_TIMEOUT)


@pytest.mark.parametrize("name", TOOLS)
def test_a_program_that_another_tool_runs(runner: Runner, far: Far, folder: Path, name: str) -> None:
    native = runner.native("turns", 1, 5, visible=far.visible)
    program = [build("turns"), 1, 5]
    without = run_in(name, program, folder, environment(far.visible))
    if without.status != 0:
        pytest.skip(f"{name} does not work here: {without.stdout}{without.stderr}")
    (folder / "traced").mkdir()
    under = ["env", f"LD_PRELOAD={gpu_machine.tool()}", *program]
    run = run_in(name, under, folder / "traced", environment(far.visible))
    assert run.status == 0, run.stdout + run.stderr
    assert native.stdout in run.stdout, run.stdout
    assert (run.stdout + run.stderr).count("snoopie: nothing is recorded") == 1, run.stdout + run.stderr
    assert not list((folder / "traced").glob("snoopie-*"))
    # The other way around, the tool itself is preloaded: it runs the program or says why not.
    (folder / "around").mkdir()
    around = run_in(name, program, folder / "around", traced_environment(far.visible))
    said = around.stdout + around.stderr
    assert (around.status == 0 and "snoopie: nothing is recorded" in said) or "CUDA_INJECTION64_PATH" in said, said


def test_a_profiler_in_the_program(machine: None, folder: Path, few: tuple[str, ...]) -> None:
    require("profiled.py")
    command = [sys.executable, APPS / "profiled.py", 5]
    native = start(command, folder, environment(few[:1]), LIBRARY_TIMEOUT)
    assert (native.status, native.stdout) == (0, "sum 5120, 5 kernels\n"), native.stderr
    (folder / "traced").mkdir()
    run = start(command, folder / "traced", traced_environment(few[:1]), LIBRARY_TIMEOUT)
    assert (run.status, run.stdout) == (0, "sum 5120, 0 kernels\n"), run.stderr
    assert run.stderr.count("snoopie: the program's own profiler, which uses CUPTI, is refused") == 1, run.stderr
    assert run.trace.complete


@pytest.fixture
def mps(machine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables with which programs share a GPU by MPS, while its daemon runs."""
    control = shutil.which("nvidia-cuda-mps-control")
    if not control:
        pytest.skip("needs nvidia-cuda-mps-control")
    place = tmp_path_factory.mktemp("mps")
    variables = {"CUDA_MPS_PIPE_DIRECTORY": str(place), "CUDA_MPS_LOG_DIRECTORY": str(place)}
    env = environment(**variables)
    del env["CUDA_VISIBLE_DEVICES"]
    started = start([control, "-d"], place, env)
    if started.status != 0:
        pytest.skip(f"MPS does not start: {started.stdout}{started.stderr}")
    try:
        yield variables
    finally:
        start(["sh", "-c", f"echo quit | timeout 30 {control}"], place, env)


def test_two_programs_that_share_a_gpu_by_mps(runner: Runner, far: Far, folder: Path, mps: dict[str, str]) -> None:
    alone = runner.traced("turns", 1, LAUNCHES, visible=far.visible)
    expected = total(by_launch(alone.trace, "turns").values())
    command, processes = [str(build("turns")), "1", str(LAUNCHES)], []
    for name in ("one", "another"):
        (folder / name).mkdir()
        env = traced_environment(far.visible, **mps)
        processes.append(subprocess.Popen(command, cwd=folder / name, env=env, stdout=subprocess.PIPE, text=True))
    for process in processes:
        stdout, _ = process.communicate(timeout=LIBRARY_TIMEOUT)
        assert (process.returncode, stdout) == (alone.status, alone.stdout)
    trace = snoopie.load([folder / "one", folder / "another"])
    assert len(trace.processes) == 2
    nothing_lost(trace)
    assert total(by_launch(trace, "turns").values()) == {where: row.times(2) for where, row in expected.items()}
    # Both were clients of the daemon.
    log = Path(mps["CUDA_MPS_LOG_DIRECTORY"], "server.log").read_text()
    assert {process.pid for process in processes} <= {int(pid) for pid in re.findall(r"PID: (\d+)", log)}, log


def test_a_fault_of_a_client_of_mps(runner: Runner, far: Far, folder: Path, alone: None, mps: dict[str, str]) -> None:
    command = [build("faults"), 0, LAUNCHES]
    native = start(command, folder, environment(far.visible, **mps))
    assert native.status == 3, native.stdout + native.stderr
    (folder / "traced").mkdir()
    run = start(command, folder / "traced", traced_environment(far.visible, **mps))
    assert (run.status, run.stdout) == (native.status, native.stdout), run.stderr
    assert run.trace.complete
