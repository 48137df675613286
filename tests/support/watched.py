"""Programs with a driver without GPUs, watched from outside: watch/tests/program.c makes the calls it is told to."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import pytest

ROOT = Path(__file__).resolve().parents[2]
WATCH = ROOT / "watch"
PROGRAM = WATCH / "snoopie_watch"
STUB = WATCH / "build" / "stub"
NEEDED = ("make", "gcc", "clang", "llvm-strip")


def why_not(*, built: bool = False) -> str:
    """Why nothing can be watched here, "" where it can. What is ``built`` needs no compilers."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return "programs are watched on Linux, on x86-64 and Arm"
    if os.geteuid() != 0:
        return "only root may watch other programs"
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return f"the kernel {platform.release()} has no BTF"
    if not Path("/sys/bus/event_source/devices/uprobe").exists():
        return f"the kernel {platform.release()} has no uprobes"
    if built:
        return ""
    missing = [program for program in NEEDED if shutil.which(program) is None]
    if shutil.which("bpftool") is None and not Path("/usr/sbin/bpftool").exists():
        missing.append("bpftool")
    if missing:
        return (
            f"{', '.join(missing)} are not installed (Debian: clang llvm bpftool gcc libbpf-dev libelf-dev zlib1g-dev)"
        )
    return ""


where_possible = pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")


def build() -> None:
    """Builds the watcher, and the driver and program of the tests. Skips where the kernel does not let it begin."""
    done = subprocess.run(["make", "-C", str(WATCH), "all", "stub"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    check_kernel()


def check_kernel() -> None:
    """Skips where the kernel does not let the watcher begin."""
    # Of this process alone: a watch of all cuts the call stacks of tests that run at the same time.
    begun = subprocess.run(["timeout", "2", PROGRAM, "--pid", str(os.getpid())], capture_output=True)
    if not begun.stdout:
        pytest.skip(f"this kernel ({platform.release()}): {begun.stderr.decode().strip()}")


def be_ready() -> None:
    """Skips where nothing can be watched. What was built elsewhere is taken as it is."""
    built = os.access(PROGRAM, os.X_OK)
    if reason := why_not(built=built):
        pytest.skip(reason)
    if not built:
        build()
    check_kernel()


class Program:
    """The program, which answers each command when it has done it. ``around``: a command that becomes another."""

    def __init__(self, folder: Path = STUB, *around: str, **variables: str) -> None:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(folder), **variables}
        self._process = subprocess.Popen(
            [*around, folder / "program"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )
        self.pid = self._process.pid

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def do(self, command: str) -> str:
        """What it printed before it said that it was done."""
        self.begin(command)
        return self.answer()

    def begin(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        assert self._process.stdout is not None
        said = ""
        for line in self._process.stdout:
            if line == "ok\n":
                return said
            said += line
        raise AssertionError(f"the program ended after {said!r}")

    def end(self) -> None:
        """Ends it as programs do."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def kill(self, *, waited: bool = True) -> None:
        """Unless its end is waited for, it stays a zombie, as that of a parent that never asks."""
        self._process.kill()
        if waited:
            self._process.wait(timeout=60)


_RUNNING: list[subprocess.Popen[str]] = []


def end_all() -> None:
    for process in _RUNNING:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=120)
    _RUNNING.clear()


class Watch:
    """`snoopie watch`, from the moment that it watches."""

    def __init__(self, *options: str, cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "snoopie", "watch", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, cwd=cwd, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        )  # fmt: skip
        assert self.process.stderr is not None
        _RUNNING.append(self.process)
        self.begun = ""
        for line in self.process.stderr:
            self.begun += line
            if "watching" in line:
                break

    def end(self) -> str:
        """Ends it as Ctrl-C does, and returns what it said."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.ended()

    def ended(self) -> str:
        said, errors = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, self.begun + errors
        return said + errors


def traces(folder: Path) -> Sequence[Path]:
    """Those that were written there."""
    return sorted(folder.glob("*.zst"))


# --- Fixtures, which tests/integration/conftest.py offers ---


@pytest.fixture(scope="module")
def watch_built() -> None:
    build()


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """Ends what a test that failed has left, which would watch the programs of the next."""
    yield
    end_all()


@pytest.fixture
def program(watch_built: None) -> Iterator[Program]:
    """A program that has called the driver."""
    with Program() as one:
        one.do("sync 1")
        yield one
