"""Kernels that end their context, and few addresses: the program is told the same, and the trace has what came before.

A fault of one process can be an error of another that uses the GPU meanwhile.
"""

from __future__ import annotations

import resource
import subprocess
import time
from pathlib import Path

import pytest
from gpu_runs import TIMEOUT, Run, Runner, build, environment, start, traced_environment
from gpu_traffic import Far, Where, by_launch, dense

import snoopie

KINDS = {
    "no memory": (0, "cudaErrorIllegalAddress"),
    "misaligned": (1, "cudaErrorMisalignedAddress"),
    "trap": (2, "cudaErrorLaunchFailure"),
    "assertion": (3, "cudaErrorAssert"),
}
LAUNCHES, LANES = 20, 1024


def check(run: Run, native: Run, far: Far) -> None:
    """Fails unless the program ended as it does natively, and the trace has each launch of put."""
    assert (run.status, run.stdout) == (native.status, native.stdout), run.stderr
    rounds = native.stdout.count(f"{LAUNCHES} launches: right")
    launches = by_launch(run.trace, "faults").values()
    put = [launch for launch in launches if any(where.kernel == "put" for where in launch)]
    assert put == [{Where(0, far.owner, "put", "put"): dense("store", 4, LANES)}] * (rounds * LAUNCHES)
    # What the last one has counted, its context may have taken with it.
    lost = [sentence for sentence in run.trace.losses() if "could not be measured" in sentence]
    assert (len(launches) > len(put)) != bool(lost), (run.trace.losses(), run.stderr)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [{}, {"PROBES": "full", "SAMPLE_SIZE": "1", "WAITS": "on"}], ids=["", "all"])
def test_a_fault_of_a_measured_kernel(
    runner: Runner, far: Far, folder: Path, alone: None, kind: str, settings: dict[str, str]
) -> None:
    number, error = KINDS[kind]
    command = [build("faults"), number, LAUNCHES]
    native = start(command, folder, environment(far.visible))
    assert native.status == 3, native.stdout + native.stderr
    assert f"ended: {error}" in native.stdout
    (folder / "traced").mkdir()
    run = start(command, folder / "traced", traced_environment(far.visible, **settings))
    check(run, native, far)
    # What assertions print is there, too; how many do before the context ends, differs.
    ours = [line for line in run.stderr.splitlines() if line.startswith("snoopie: ")]
    assert len(ours) == 2, run.stderr
    assert ("Assertion" in run.stderr) == ("Assertion" in native.stderr)


@pytest.mark.parametrize("free", [0, 32, 128, 512, 1024, 2048, 4096])
def test_a_gpu_without_memory(runner: Runner, far: Far, folder: Path, alone: None, free: int) -> None:
    """The program has left so many MiB of it; NVBit and the collector take some 2 GiB."""
    command = [build("full"), free, LAUNCHES]
    native = start(command, folder, environment(far.visible))
    (folder / "traced").mkdir()
    run = start(command, folder / "traced", traced_environment(far.visible))
    assert (run.status, run.stdout) == (native.status, native.stdout), run.stderr
    assert native.status == 0, native.stdout
    # Each launch is recorded, or it is said that not.
    trace = snoopie.load(run.files, allow_truncated=True)
    put = {Where(0, far.owner, "put", "put"): dense("store", 4, LANES)}
    launches = list(by_launch(trace, "full").values())
    assert launches == [put] * len(launches)
    if free == 4096:
        assert len(launches) == 2 * LAUNCHES
    if len(launches) < 2 * LAUNCHES:
        assert trace.losses() or "stopped recording" in run.stderr, run.stderr


def peak(command: list[object], folder: Path, env: dict[str, str]) -> int:
    """The most bytes of addresses that a program has had, as far as looking again and again tells."""
    most = 0
    with subprocess.Popen(
        [str(word) for word in command], cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None:
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                if line.startswith("VmPeak:"):
                    most = max(most, int(line.split()[1]) << 10)
            time.sleep(0.002)
    assert process.returncode == 0
    return most


@pytest.mark.parametrize("more", [0, 64, 512, 2048, 8192, 32768])
def test_a_limit_on_addresses(runner: Runner, far: Far, folder: Path, more: int) -> None:
    """ulimit -v, with so many MiB beyond what the program needs: NVBit and the collector want some GiB."""
    command = [build("turns"), 1, 100]
    native = runner.native("turns", 1, 100, visible=far.visible)
    limit = peak(command, folder, environment(far.visible)) + (more << 20)

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    confined = start(command, folder, environment(far.visible), TIMEOUT, preexec_fn=confine)
    if confined.status != 0:
        pytest.skip(f"it needs more than was seen: {confined.stdout}{confined.stderr}")
    (folder / "traced").mkdir()
    run = start(command, folder / "traced", traced_environment(far.visible), TIMEOUT, preexec_fn=confine)
    assert (run.status, run.stdout) == (native.status, native.stdout), run.stderr
    if more == 32768:
        assert run.trace.complete
    # Either all is recorded, or a sentence says that it is not.
    recorded = [file for file in run.files if "snoopie: recorded " in run.stderr]
    assert recorded or "nothing is recorded" in run.stderr or "stopped recording" in run.stderr, run.stderr
