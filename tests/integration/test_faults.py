"""File calls of the collector's writer and of disassemble that fail, one after another: the program ends as it should,
and what it leaves behind is whole up to there, or says what is missing.

The n-th call of a kind fails, alone or with all that follow, for n from 1 on until the program makes fewer; a few n in
these tests, all with SNOOPIE_FAULTS=all, and of a long trace too.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import snoopie
from snoopie.errors import CorruptError, EmptyError, SnoopieError, TruncatedError
from snoopie.trace.container import Container
from snoopie.trace.declaration import known_columns
from snoopie.trace.tables import RECORD_TABLES, Process
from tests.support.collector import COLLECTOR, make

ALL = os.environ.get("SNOOPIE_FAULTS") == "all"
NUMBERS = range(1, 500) if ALL else (1, 2, 3, 4, 5, 9, 17, 26, 27, 28, 29, 30)
# Some of them for errors that differ from these in their sentences alone.
FEW = NUMBERS if ALL else (1, 3, 17, 28, 30)
ERRORS = {errno.ENOSPC: NUMBERS, errno.EIO: NUMBERS, errno.EDQUOT: FEW, errno.EFBIG: FEW, errno.EACCES: FEW}


@pytest.fixture(scope="session")
def programs() -> Path:
    make("faults", "what makes calls fail")
    return COLLECTOR / "build"


def run(
    programs: Path, folder: Path, fault: str, *words: str | Path, **environment: str
) -> tuple[int, bytes, bytes, bool]:
    """Exit status, output and messages of a program; and whether the fault happened."""
    said = folder / "said"
    said.unlink(missing_ok=True)
    done = subprocess.run(
        words,
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "LD_PRELOAD": str(programs / "tests/faults/failing_calls.so"),
            "SNOOPIE_FAULT": fault,
            "SNOOPIE_FAULT_SAID": str(said),
            **environment,
        },
        capture_output=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr, said.exists()


def check_part(path: Path, whole: Process) -> None:
    """What is there of a trace is the beginning of the whole one; without its end it is not called whole."""
    with pytest.raises((TruncatedError, EmptyError)):
        snoopie.load(path)
    try:
        part = Process.open(path, allow_truncated=True)
    except (TruncatedError, EmptyError):
        assert path.stat().st_size == 0 or not Container.open(path).blocks
        return
    assert isinstance(part.problem, TruncatedError)
    for name, rows in part.rows.items():
        assert rows <= whole.rows[name]
        if name in RECORD_TABLES or name == "patterns":
            continue
        for column in known_columns(name):
            assert np.array_equal(part.column(name, column), whole.column(name, column)[:rows]), (name, column)


def same(path: Path, whole: Process) -> bool:
    read = Process.open(path)
    return read.rows == whole.rows and all(
        np.array_equal(read.column(name, column), whole.column(name, column))
        for name in whole.rows
        if name not in RECORD_TABLES and name != "patterns"
        for column in known_columns(name)
    )


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        *(("small", call) for call in ("open", "write", "close")),
        *(("exiting", call) for call in ("open", "write", "close", "ftruncate", "lseek")),
        *(("blocks", call) for call in ("open", "write", "close") if ALL),
    ],
)
def test_a_trace_whose_writing_fails(programs: Path, tmp_path: Path, kind: str, call: str) -> None:
    path = tmp_path / "t.zst"
    assert run(programs, tmp_path, "", programs / "write_fixture", kind, path)[0] == 0
    whole = Process.open(path)
    for error, numbers in ERRORS.items():
        for onward in ("", ":on"):
            for number in numbers:
                path.unlink(missing_ok=True)
                fault = f"{call}:{number}:{error}{onward}"
                status, _, said, happened = run(programs, tmp_path, fault, programs / "write_fixture", kind, path)
                assert status in (0, 1), (fault, status, said)
                if not happened:
                    assert number > 1
                    assert status == 0
                    assert same(path, whole), fault
                    break
                if not path.exists():
                    # It could not be made, and a sentence says so.
                    assert (status, said.count(b"\n")) == (1, 1), fault
                    assert os.strerror(error).encode() in said
                elif is_complete(path):
                    assert same(path, whole) or kind == "exiting", fault
                else:
                    assert status == 1 or kind == "exiting", fault
                    check_part(path, whole)


def is_complete(path: Path) -> bool:
    try:
        return Process.open(path).complete
    except CorruptError:
        raise
    except SnoopieError:
        return False


@pytest.mark.parametrize("kind", ["small", "exiting"])
@pytest.mark.parametrize("how", [f"{errno.EINTR}", "short"])
def test_writes_that_are_interrupted_or_short_lose_nothing(programs: Path, tmp_path: Path, kind: str, how: str) -> None:
    path = tmp_path / "t.zst"
    run(programs, tmp_path, "", programs / "write_fixture", kind, path)
    whole = Process.open(path)
    for number in NUMBERS:
        path.unlink()
        status, _, _, happened = run(
            programs, tmp_path, f"write:{number}:{how}", programs / "write_fixture", kind, path
        )
        assert status == 0
        assert same(path, whole)
        if not happened:
            break


FAKE = """#!/bin/sh
printf 'listing of '
cat -- "$2"
echo done >&2
"""


@pytest.mark.parametrize(
    "call", ["write", "open", "close", "pread", "pwrite", "fstat", "stat", "rename", "mkdir", "flock"]
)
def test_a_disassembly_is_the_same_whatever_fails(programs: Path, tmp_path: Path, call: str) -> None:
    nvdisasm = tmp_path / "nvdisasm"
    nvdisasm.write_text(FAKE)
    nvdisasm.chmod(0o755)
    code = tmp_path / "code"
    code.write_text("x" * 5000)
    program = programs / "tests/faults/disassemble"
    for error, numbers in ERRORS.items():
        for number in numbers:
            ever = False
            for onward in ("", ":on"):
                # First with an empty cache, then with what that has left.
                cache = tmp_path / f"{error}-{number}{onward}"
                named = {"SNOOPIE_CACHE": str(cache), "SNOOPIE_NVDISASM": str(nvdisasm)}
                for _ in range(2):
                    fault = f"{call}:{number}:{error}{onward}"
                    status, out, said, happened = run(programs, tmp_path, fault, program, "-c", code, **named)
                    ever |= happened
                    # What cannot be shown, and a program that cannot be looked at, are errors; nothing else is.
                    if happened and call == "write" and status:
                        assert status == 1
                    elif happened and call == "stat" and status:
                        assert (status, said.count(b"\n")) == (127, 1)
                        assert b"nvdisasm was not found" in said
                    else:
                        assert (status, out, said) == (0, b"listing of " + b"x" * 5000, b"done\n"), fault
            if not ever:
                assert number > 1
                break


@pytest.mark.parametrize(
    "call",
    (
        *("write", "open", "close", "pread", "pwrite", "fstat", "stat", "rename", "flock", "fork", "memfd_create"),
        *("socket", "bind", "connect", "setsockopt", "getsockopt", "sendmsg", "recv"),
    ),
)
def test_a_disassembly_by_a_standby_is_the_same_whatever_fails(
    programs: Path, stand_in: Path, tmp_path: Path, call: str
) -> None:
    program = programs / "tests/faults/disassemble"
    nvdisasm = tmp_path / "nvdisasm"
    shutil.copy2(stand_in, nvdisasm)
    codes = 0

    def disassemble(cache: Path, fault: str) -> bool:
        """Of code that is not in the cache; whether the fault happened."""
        nonlocal codes
        codes += 1
        code = tmp_path / "code"
        code.write_text(f"code {codes}")
        named = {"SNOOPIE_CACHE": str(cache), "SNOOPIE_NVDISASM": str(nvdisasm)}
        status, out, said, happened = run(programs, tmp_path, fault, program, "-b", "SM90", code, **named)
        if happened and status and call == "write":
            assert status == 1
        elif happened and status and call == "stat":
            assert (status, said.count(b"\n")) == (127, 1)
        else:
            assert (status, out, said) == (0, b"-b SM90 " + code.read_bytes(), b""), fault
        return happened

    def runs() -> int:
        return len((tmp_path / "runs").read_text().splitlines())

    # From here on there is one on standby.
    cache = tmp_path / "cache"
    disassemble(cache, "")
    for _ in range(1000):
        before = runs()
        disassemble(cache, "")
        if runs() == before:
            break
    else:
        pytest.fail("there is none on standby")

    for error, numbers in ERRORS.items():
        for number in numbers:
            ever = False
            for onward in ("", ":on"):
                fault = f"{call}:{number}:{error}{onward}"
                ever |= disassemble(cache, fault)
                # One is started, and ends with its cache.
                empty = tmp_path / "empty"
                ever |= disassemble(empty, fault)
                shutil.rmtree(empty, ignore_errors=True)
            if not ever:
                assert number > 1
                break
    shutil.rmtree(cache)


def test_a_cache_that_cannot_be_locked_is_not_waited_for(programs: Path, tmp_path: Path) -> None:
    nvdisasm = tmp_path / "nvdisasm"
    nvdisasm.write_text(FAKE)
    nvdisasm.chmod(0o755)
    (tmp_path / "code").write_text("x")
    for error, kept in ((errno.ENOLCK, 0), (errno.EWOULDBLOCK, 1)):
        cache = tmp_path / str(error)
        status, _, _, happened = run(
            *(programs, tmp_path, f"flock:1:{error}", programs / "tests/faults/disassemble", "-c", tmp_path / "code"),
            SNOOPIE_CACHE=str(cache),
            SNOOPIE_NVDISASM=str(nvdisasm),
        )
        assert (status, happened) == (0, True)
        # It was asked for once more, or was not.
        assert len(list(cache.glob("**/*.zst"))) == kept
