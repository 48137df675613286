"""Compressed files of other tools that unpack to far more than they are: no import hangs or fills the memory."""

from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from snoopie import cli
from snoopie.importers import text

MIB = 1 << 20
GIB = 1 << 30
# On a quiet machine none takes 5 s: this is for a busy one, whose CPU time is longer too.
SECONDS = 20
MOST_MEMORY = 4 * GIB
LINE = b"STG.E,0x00007fa571b00504,10240,1,0,125,1586,1,1,0x00007fa571a00000,4\n"
EVENT = (
    b'{"ph":"X","cat":"kernel","name":"kkkkkkkkkk","pid":0,"tid":7,"ts":1.0,"dur":1.0,'
    b'"args":{"device":0,"stream":7,"correlation":1}}'
)


def restrict() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def imported(kind: str, path: Path) -> tuple[int, str]:
    """Imports a file in a process of its own: its exit status and what it said."""
    assert path.stat().st_size < 1_000_000
    out = path.with_name("out.zst")
    with open(path.with_name("said"), "w+") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "snoopie", "import", kind, str(path), "-o", str(out)],
            stdout=said, stderr=said, preexec_fn=restrict,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert usage.ru_maxrss << 10 < GIB, usage
    return process.returncode, path.with_name("said").read_text()


def log(folder: Path, content: bytes) -> Path:
    path = folder / "snoopie_log_7.zst"
    path.write_bytes(zstandard.compress(content))
    return path


def test_a_log_of_nothing_but_newlines(tmp_path: Path) -> None:
    status, said = imported("snoopie-log", log(tmp_path, b"\n" * (1500 * MIB)))
    assert status == 1
    assert "holds more than 64 MiB of text in a file of 46.9 KiB; if you trust who made it, unpack it" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("lines", [b"\n" * (60 * MIB), b'{"op": "\n' * (6 * MIB)], ids=["empty", "torn"])
def test_a_log_as_large_as_may_be_without_a_line(lines: bytes, tmp_path: Path) -> None:
    status, said = imported("snoopie-log", log(tmp_path, lines))
    assert status == 1
    assert "has no line of a log of Snoopie" in said


def test_a_profile_of_a_million_equal_events(tmp_path: Path) -> None:
    path = tmp_path / "many.json.gz"
    path.write_bytes(gzip.compress(b'{"deviceProperties":[],"traceEvents":[' + b",".join([EVENT] * 1_500_000) + b"]}"))
    status, said = imported("kineto", path)
    assert status == 1
    assert "holds more than 64 MiB of text in a file of" in said


def test_text_that_is_unpacked_has_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(text, "_SMALL", MIB)
    path = log(tmp_path, LINE * 20_000)
    out = tmp_path / "out.zst"
    assert cli.main(["import", "snoopie-log", str(path), "-o", str(out)]) == 1
    assert "unpack it and import the text" in capsys.readouterr().err
    assert not out.exists()
    plain = tmp_path / "snoopie_log_7"
    plain.write_bytes(LINE * 20_000)
    assert cli.main(["import", "snoopie-log", str(plain), "-o", str(out)]) == 0
