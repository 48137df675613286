"""Output never ends in a traceback: wherever it goes, for every command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from snoopie import cli
from tests.support import ring
from tests.support.encoder import TraceBuilder
from tests.support.forks import CLOSED, Forks

ROOT = Path(__file__).resolve().parents[3]
HCC = "profile: copy; DeviceToDevice_async_fast; 13.1 us; 83831227978264; 83831227991384; #0.1.9; 4004 bytes;\n"
# A command that writes to standard output; t.zst is a trace, of kernels with names that are not ASCII.
WORDS = {
    "build": ["build", "--help"],
    "doctor": ["doctor", "--help"],
    "run": ["run", "--help"],
    "watch": ["watch", "--help"],
    "info": ["info", "t.zst"],
    "check": ["check", "t.zst"],
    "stats": ["stats", "t.zst"],
    "findings": ["findings", "t.zst"],
    "calls": ["calls", "t.zst"],
    "memory": ["memory", "t.zst"],
    "summary": ["summary", "t.zst"],
    "waits": ["waits", "t.zst"],
    "hang": ["hang", "--help"],
    "diff": ["diff", "--by", "kernel", "t.zst", "ring.zst"],
    "expect": ["expect", "t.zst", "accesses >= 0"],
    "view": ["view", "t.zst"],
    "report": ["report", "t.zst", "-o", "report.html"],
    "plot": ["plot", "--figure", "matrix", "t.zst", "-o", "x.svg"],
    "export": ["export", "t.zst", "--format", "csv", "-o", "tables"],
    "import": ["import", "hcc", "hcc.txt"],
    "completion": ["completion", "bash"],
    "help": ["help"],
}
# A locale with nothing but ASCII, also for the files that are written.
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    trace = TraceBuilder(2)
    for name in ("größe<→>(float*)", "ähnlich"):
        put = trace.function(name)
        site = trace.site(put, "STG.E", "store", 4, line=trace.line("/häuser/größe.cu", 1))
        trace.count(trace.launch(put, 0), site, 1, 1, 32, 4)
    trace.allocation("device", 1 << 20, 0, 1000)
    trace.write(tmp_path / "t.zst")
    ring.write_ring(tmp_path, name="ring.zst")
    (tmp_path / "hcc.txt").write_text(HCC)
    return tmp_path


def shell(
    folder: Path, words: list[str], redirection: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs a command as a shell does that sends its output somewhere."""
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirection}', "bash", sys.executable, "-m", "snoopie", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "", **(environment or {})},
        capture_output=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks({}) as forks:
        yield forks


@pytest.fixture(scope="module")
def ascii_forks() -> Iterator[Forks]:
    with Forks(ASCII) as forks:
        yield forks


def test_every_command_is_tried() -> None:
    assert set(WORDS) == set(cli.COMMANDS)


@pytest.mark.parametrize(("stdout", "why"), [("/dev/full", "No space left on device"), (CLOSED, "Bad file descriptor")])
@pytest.mark.parametrize("command", WORDS)
def test_a_standard_output_that_cannot_be_written_is_an_error_of_one_line(
    folder: Path, forks: Forks, command: str, stdout: str, why: str
) -> None:
    status, _, told = forks.run(folder, WORDS[command], stdout)
    *_, last = told.decode().splitlines()
    assert (status, last) == (1, f"snoopie: standard output cannot be written ({why})")
    assert b"Traceback" not in told


def test_an_interpreter_that_starts_without_a_standard_output(folder: Path) -> None:
    done = shell(folder, ["stats", "t.zst"], ">&-")
    *_, last = done.stderr.decode().splitlines()
    assert (done.returncode, last) == (1, "snoopie: standard output cannot be written (Bad file descriptor)")


@pytest.mark.parametrize("words", [["stats", "t.zst"], ["--help"], ["stats", "--help"], ["stats", "--json", "t.zst"]])
def test_a_stream_without_a_buffer_fails_as_well(folder: Path, words: list[str]) -> None:
    done = shell(folder, words, ">/dev/full", {"PYTHONUNBUFFERED": "1"})
    assert done.returncode == 1
    assert done.stderr == b"snoopie: standard output cannot be written (No space left on device)\n"


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_what_cannot_be_told_is_not_told(folder: Path, forks: Forks, redirection: str, unbuffered: str) -> None:
    done = shell(folder, ["stats", "t.zst"], redirection, {"PYTHONUNBUFFERED": unbuffered})
    # The answer comes whole, and nothing that was for standard error is in it.
    assert done.stdout == forks.run(folder, ["stats", "t.zst"])[1] != b""
    assert (done.returncode, done.stderr) == (1 if "full" in redirection else 0, b"")
    done = shell(folder, ["stats", "absent.zst"], redirection, {"PYTHONUNBUFFERED": unbuffered})
    assert (done.returncode, done.stdout) == (1, b"")


@pytest.mark.parametrize("command", [name for name in WORDS if name != "view"])
def test_an_ascii_locale_gets_ascii(folder: Path, ascii_forks: Forks, command: str) -> None:
    status, out, told = ascii_forks.run(folder, WORDS[command])
    assert status == 0, told
    assert b"Traceback" not in told
    assert (out + told).isascii()


def test_an_ascii_terminal_gets_what_can_be_said_in_ascii(folder: Path) -> None:
    done = shell(folder, ["stats", "--by", "kernel", "t.zst"], "", {"PYTHONIOENCODING": "ascii"})
    assert b"gr\\xf6\\xdfe<->>(float*)" in done.stdout
    # Of a name that does not exist.
    done = shell(folder, ["view", "größe–→"], "", {"PYTHONIOENCODING": "ascii"})
    assert done.stderr == b"snoopie: there is no gr\\xf6\\xdfe-->; check the path\n"
    done = shell(folder, ["stats", "--help"], "", {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")


def test_files_are_the_same_in_every_locale(folder: Path, forks: Forks, ascii_forks: Forks) -> None:
    for name, interpreter in (("ascii", ascii_forks), ("utf-8", forks)):
        for form in ("csv", "chrome"):
            words = ["export", "t.zst", "--format", form, "-o", f"{name}-{form}"]
            assert interpreter.run(folder, words)[0] == 0
    # The hour that a file was made is in none.
    for path in [folder / "ascii-chrome", *(folder / "ascii-csv").iterdir()]:
        other = folder / re.sub("ascii-", "utf-8-", str(path.relative_to(folder)))
        assert path.read_bytes() == other.read_bytes(), path
    assert "größe" in (folder / "ascii-csv" / "functions.csv").read_text("utf-8")
