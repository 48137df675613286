"""What the collector does to the process that it measures: two lines, and nothing to its output or status."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import gpu_machine
import pytest
from gpu_programs import of_ring, of_ring_once
from gpu_runs import TIMEOUT, Runner, build, environment, start, traced_environment
from gpu_traffic import Far, Where, by_launch, dense, nothing_lost, total

Found = TypeVar("Found")

SIZE = (1000, 2)
# Enough records to fill a small disk.
MANY = (1 << 20, 4)


def lines(text: str) -> list[str]:
    return text.splitlines()


@pytest.mark.parametrize("program", ["ring", "jacobi", "mixed", "threads", "graph", "quiet", "memory"])
def test_a_start_line_and_an_exit_line(runner: Runner, pair: tuple[str, ...], program: str) -> None:
    arguments = {"ring": SIZE, "jacobi": (35, 20, 2), "threads": (5000, 20), "graph": (5000, 3)}.get(program, ())
    run = runner.traced(program, *arguments, visible=pair)
    assert len(lines(run.stderr)) == 2, run.stderr
    (trace,) = run.files
    assert str(trace.name) in run.stderr
    assert re.fullmatch(rf"snoopie-{program}\.\d+\.zst", trace.name)


def test_the_program_keeps_its_failure(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    runner.native("ring", *SIZE, visible=pair)
    native = start([build("ring"), "x"], folder, environment(pair))
    traced = start([build("ring"), "x"], folder, traced_environment(pair))
    assert native.status == 2
    # It ends before it uses CUDA, so there is nothing to say and nothing to write.
    assert (traced.status, traced.stdout, traced.stderr) == (native.status, native.stdout, native.stderr)
    assert traced.files == []


@pytest.mark.parametrize("variant", ["", "-shared"], ids=["static", "shared"])
@pytest.mark.parametrize("variable", ["LD_PRELOAD", "CUDA_INJECTION64_PATH"])
@pytest.mark.parametrize("by", ["library", "collector"])
def test_either_variable_loads_it(
    runner: Runner, pair: tuple[str, ...], folder: Path, variable: str, by: str, variant: str
) -> None:
    native = runner.native("ring", *SIZE, visible=pair, variant=variant)
    # By itself the collector is there from the start, and its own constructor names it to the driver.
    file = gpu_machine.tool() if by == "library" else gpu_machine.collector()
    env = environment(pair, **{variable: str(file)})
    run = start([build("ring", variant), *SIZE], folder, env)
    assert (run.status, run.stdout) == (native.status, native.stdout), run.stderr
    assert len(lines(run.stderr)) == 2, run.stderr
    nothing_lost(run.trace)
    assert total(by_launch(run.trace, "ring").values()) == of_ring(len(pair), *SIZE)


@pytest.mark.parametrize("command", [["sh", "-c", "true"], [sys.executable, "-c", "pass"]], ids=["sh", "python"])
@pytest.mark.parametrize("settings", [{}, {"SAMPLE_SIZE": "x"}], ids=["default", "not understood"])
def test_a_program_without_cuda_is_left_alone(
    machine: None, folder: Path, command: list[str], settings: dict[str, str]
) -> None:
    run = start(command, folder, traced_environment(**settings))
    assert (run.status, run.stdout, run.stderr, run.files) == (0, "", "", [])


def test_a_shell_around_the_program_leaves_no_trace(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    native = runner.native("ring", *SIZE, visible=pair)
    script = f"true && {build('ring')} {SIZE[0]} {SIZE[1]} && true"
    run = start(["sh", "-c", script], folder, traced_environment(pair))
    assert (run.status, run.stdout) == (native.status, native.stdout)
    assert len(lines(run.stderr)) == 2, run.stderr
    assert run.trace.processes.program.tolist() == ["ring"]


def test_two_processes_become_one_trace(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    import snoopie

    runner.native("ring", *SIZE, visible=pair)
    env = traced_environment(pair)
    command = [str(build("ring")), *map(str, SIZE)]
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(subprocess.Popen(command, cwd=folder, env=env)) for _ in range(2)]
        assert [process.wait(TIMEOUT) for process in running] == [0, 0]
    trace = snoopie.load(folder)
    assert len(trace.processes) == 2
    assert trace.gpus.uuid.tolist() == list(pair)
    expected = {where: traffic.times(2) for where, traffic in of_ring(len(pair), *SIZE).items()}
    assert total(by_launch(trace, "ring").values()) == expected


# --- where the trace goes ---


def test_a_folder_and_a_pattern(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    runner.native("ring", *SIZE, visible=pair)
    place = folder / "traces"
    place.mkdir()
    for output in (place, place / "of-%n-by-%p.zst"):
        run = start([build("ring"), *SIZE], folder, traced_environment(pair, SNOOPIE_OUTPUT=str(output)))
        assert run.status == 0
    names = sorted(path.name for path in place.iterdir())
    assert re.fullmatch(r"of-ring-by-\d+\.zst snoopie-ring\.\d+\.zst", " ".join(names))


def test_an_existing_file_is_kept(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    (folder / "there.zst").write_bytes(b"precious")
    refused(runner, pair, folder, folder / "there.zst")
    assert (folder / "there.zst").read_bytes() == b"precious"


def test_a_folder_that_is_not_there(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    refused(runner, pair, folder, folder / "absent" / "trace.zst")


def test_a_device_as_output(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    refused(runner, pair, folder, Path("/dev/full"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into every folder")
def test_a_folder_that_is_read_only(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    folder.chmod(0o500)
    refused(runner, pair, folder, folder)


def refused(runner: Runner, pair: tuple[str, ...], folder: Path, output: Path) -> None:
    """Runs a ring whose trace cannot be written to `output`: it must not notice, and one message must say so."""
    native = runner.native("ring", *SIZE, visible=pair)
    run = start([build("ring"), *SIZE], folder, traced_environment(pair, SNOOPIE_OUTPUT=str(output)))
    assert (run.status, run.stdout) == (native.status, native.stdout)
    (line,) = lines(run.stderr)
    assert str(output) in line


def test_a_full_disk(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    native = runner.native("ring", *MANY, visible=pair)
    script = 'mount -t tmpfs -o size=64k none "$1" && shift && exec "$@"'
    disk = folder / "disk"
    disk.mkdir()
    # A mount of its own, seen by this one command only.
    command = [
        "unshare",
        "--mount",
        *([] if os.geteuid() == 0 else ["--map-root-user"]),
        "sh",
        "-c",
        script,
        "sh",
        disk,
    ]
    if shutil.which("unshare") is None or start([*command, "true"], folder, environment(pair)).status != 0:
        pytest.skip("mounting a small disk is not permitted here")
    preload = ["env", f"LD_PRELOAD={gpu_machine.tool()}", f"SNOOPIE_OUTPUT={disk}"]
    run = start([*command, *preload, build("ring"), *MANY], folder, environment(pair))
    assert (run.status, run.stdout) == (native.status, native.stdout), run.stderr
    assert run.stderr.count("No space left on device") == 1, run.stderr


def test_a_limit_on_the_size_of_files(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    import snoopie

    size = (1 << 22, 400)
    native = runner.native("ring", *size, visible=pair)
    with subprocess.Popen(
        [str(build("ring")), *map(str, size)],
        cwd=folder,
        env=traced_environment(pair),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        # Not from the start: NVBit writes a copy of the collector, also after the trace has begun, and the trace must
        # be what meets the limit. Once it has records, kernels run. A write beyond the limit also raises SIGXFSZ, which
        # must not end the program.
        path = wait_for_growth(process, folder, 64 << 10)
        limit = path.stat().st_size + (64 << 10)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, limit))
        stdout, stderr = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, stdout) == (native.status, native.stdout), stderr
    assert stderr.count("File too large") == 1, stderr
    assert path.stat().st_size <= limit
    with pytest.raises(snoopie.SnoopieError):
        snoopie.load(path)
    assert not snoopie.load(path, allow_truncated=True).complete


# --- a process that is killed ---


def test_a_killed_process_leaves_whole_launches(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    import snoopie

    runner.native("ring", *SIZE, visible=pair)
    endless = [str(build("ring")), str(SIZE[0]), str(1 << 30)]
    with subprocess.Popen(endless, cwd=folder, env=traced_environment(pair), stderr=subprocess.DEVNULL) as process:
        try:
            path = wait_for_growth(process, folder)
            wait_for_launches(process, path, 3 * len(pair) + 1)
        finally:
            process.kill()
    with pytest.raises(snoopie.TruncatedError):
        snoopie.load(path)
    trace = snoopie.load(path, allow_truncated=True)
    assert not trace.complete
    assert trace.losses()

    once = [of_ring_once(gpu, len(pair), SIZE[0]) for gpu in range(len(pair))]
    of_kernel = {(where.issuer, where.kernel): {where: row} for table in once for where, row in table.items()}
    launches = by_launch(trace, "ring")
    assert len(of_kernel) == 3 * len(pair) < len(launches)
    for table in launches.values():
        ((where, _),) = table.items()
        assert table == of_kernel[where.issuer, where.kernel]


def wait_for_launches(process: subprocess.Popen[Any], path: Path, count: int) -> None:
    """Waits until the trace, which is not complete, has the counts of so many launches."""
    import snoopie

    def written() -> bool:
        return snoopie.load(path, allow_truncated=True).counts.launch.nunique() >= count

    wait_until(process, written, "no launches were written")


def wait_for_growth(process: subprocess.Popen[Any], folder: Path, grown: int = 1) -> Path:
    """Waits until the process has written so many bytes of its trace after it began."""
    first_sizes: dict[Path, int] = {}

    def grew() -> Path | None:
        for path in folder.glob("snoopie-*.zst"):
            size = path.stat().st_size
            if size and size >= first_sizes.setdefault(path, size) + grown:
                return path
        return None

    return wait_until(process, grew, "no trace grew")


def wait_until(process: subprocess.Popen[Any], look: Callable[[], Found | None], lacking: str) -> Found:
    """What ``look`` finds, asked again and again while the process runs."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        assert process.poll() is None, "it ended by itself"
        if found := look():
            return found
        time.sleep(0.02)
    pytest.fail(lacking)


def test_a_kernel_without_progress_is_reported(runner: Runner, far: Far) -> None:
    run = runner.traced("waiting", 6, visible=far.visible, PATIENCE="2")
    assert "kernel wait on GPU 0 has reached no other memory for" in run.stderr
    assert total(by_launch(run.trace, "waiting").values()) == {
        Where(0, far.owner, "wait", line): dense("store", 4, 32) for line in ("before", "after")
    }
    assert any("has reached no other memory" in sentence for sentence in run.trace.losses())


def test_a_kernel_that_waits_is_let_alone(runner: Runner, far: Far) -> None:
    for patience in ("0", "60"):
        run = runner.traced("waiting", 6, visible=far.visible, PATIENCE=patience)
        nothing_lost(run.trace)


def test_a_stall_can_end_the_program(runner: Runner, far: Far, folder: Path) -> None:
    command = [build("waiting"), 100]
    run = start(command, folder, traced_environment(far.visible, PATIENCE="2", STALL="exit"))
    assert run.status == 3, run.stderr
    assert "STALL=exit" in run.stderr
    assert run.trace.complete
