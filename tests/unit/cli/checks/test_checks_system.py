"""What the system gives: memory, limits, folders, containers."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from snoopie.cli import tool
from snoopie.cli.checks import folders, limits, memory, programs, surroundings
from snoopie.cli.checks.row import State

MEMINFO = "MemTotal:       263862404 kB\nMemFree:        12345678 kB\nMemAvailable:    4194304 kB\nBuffers:  1 kB\n"
GIB = 1 << 30


def test_available_memory() -> None:
    assert memory.available(MEMINFO) == 4 * GIB
    assert memory.available(MEMINFO, limit="max\n", used="1073741824\n") == 4 * GIB
    assert memory.available(MEMINFO, limit=f"{2 * GIB}\n", used=f"{GIB}\n") == GIB
    assert memory.available(MEMINFO, limit=f"{GIB}\n", used=f"{2 * GIB}\n") == 0
    assert memory.available("", "", "") is None


@pytest.mark.parametrize(
    ("amount", "state"),
    [(None, State.WARNING), (0, State.PROBLEM), (GIB, State.WARNING), (8 * GIB, State.OK)],
)
def test_the_row_of_memory(amount: int | None, state: State) -> None:
    assert memory.row(amount).state is state


def test_limits_that_do_not_matter() -> None:
    fine = {"n": 1024, "v": limits.UNLIMITED, "u": 4096, "f": limits.UNLIMITED, "c": 0}
    assert {row.state for row in limits.rows(fine)} == {State.OK}
    fine = dict.fromkeys("nvufc", limits.UNLIMITED)
    assert {row.state for row in limits.rows(fine)} == {State.OK}


def test_limits_that_do() -> None:
    tight = {"n": 256, "v": 32 * GIB, "u": 64, "f": GIB, "c": limits.UNLIMITED}
    rows = {row.name: row for row in limits.rows(tight)}
    assert [name for name, row in rows.items() if row.state is State.WARNING] == [
        "ulimit -n", "ulimit -v", "ulimit -u", "ulimit -f",
    ]  # fmt: skip
    assert rows["ulimit -f"].found == "files of up to 1 GiB"
    assert all(row.remedy.startswith(f"{row.name} ") for row in rows.values() if row.state is State.WARNING)


def test_the_limits_of_this_process() -> None:
    assert set(limits.now()) == set("nvufc")
    assert limits.now()["n"] > 0


@pytest.mark.parametrize(("free", "state"), [(0, State.PROBLEM), (100 << 20, State.WARNING), (GIB, State.OK)])
def test_room_for_temporary_files(free: int, state: State) -> None:
    assert folders.room("/tmp", free).state is state


def test_a_scratch_folder_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tool, "SCRATCH", tmp_path / "absent")
    row = folders.scratch()
    assert row.state is State.PROBLEM
    assert "is not writable, and NVBit puts" in row.found
    assert row.remedy == "make it writable"


def test_a_folder_without_execution(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert folders.executable(tmp_path)
    real = os.statvfs(tmp_path)
    flags = [*real]
    flags[8] |= os.ST_NOEXEC
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(flags))
    assert not folders.executable(tmp_path)


def test_containers(tmp_path: Path) -> None:
    assert surroundings.container({}, tmp_path).found == "none"
    assert surroundings.container({"APPTAINER_NAME": "x.sif"}, tmp_path).found == "Apptainer"
    (tmp_path / ".dockerenv").touch()
    assert surroundings.container({}, tmp_path).found == "Docker"


def test_mps(tmp_path: Path) -> None:
    environment = {"CUDA_MPS_PIPE_DIRECTORY": str(tmp_path)}
    assert surroundings.mps(environment).state is State.OK
    (tmp_path / "control").touch()
    assert surroundings.mps(environment).state is State.WARNING


def test_programs_that_cannot_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert programs.says(["/nowhere/nvidia-smi"]) is None
    assert programs.says(["sh", "-c", "echo said; echo more >&2; exit 3"]) == "said\nmore\n"
    # The collector must not be loaded into what looks at it.
    kept = programs.says(
        ["sh", "-c", "echo $HERE $LD_PRELOAD"], {"HERE": "yes", "LD_PRELOAD": "/x.so", "PATH": os.defpath}
    )
    assert kept == "yes\n"
    monkeypatch.setattr(programs, "_PATIENCE_S", 0.05)
    assert programs.says(["sleep", "60"]) is None


def test_a_fork_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(programs.subprocess, "run", refuse)
    assert programs.says(["true"]) is None
