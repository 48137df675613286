"""What is sent to a terminal steers it not, whatever a trace names; the same data in a file is whole."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import threading
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.encoder import TraceBuilder
from tests.support.forks import Forks

# Sets a title and rings, turns letters around, and what a terminal takes for ESC [ in one letter; a letter of two
# units of UTF-16 that cannot be printed.
EVIL = "k\x1b]0;owned\x07\u202e\x9b31m\x7f\r\U000e0001é→<int>"
SEEN = r"k\x1b]0;owned\x07\u202e\x9b31m\x7f\r\U000e0001é→<int>"
LISTS = [["stats", "--by", "kernel"], ["stats", "--by", "line"], ["stats", "--by", "site"]]
EXPORTS = [["--format", "csv", "--table", "functions"], ["--format", "collapsed"], ["--format", "flamegraph"],
           ["--format", "speedscope"], ["--format", "chrome"], ["--format", "sqlite"],
           ["--format", "parquet", "--table", "functions"]]  # fmt: skip


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks({"TERM": "dumb"}) as forks:
        yield forks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terminal")
    trace = TraceBuilder(2)
    kernel = trace.function(EVIL, EVIL)
    site = trace.site(kernel, "STG.E", "store", 4, line=trace.line(f"/{EVIL}.cu", 3), sass=EVIL)
    trace.count(trace.launch(kernel, 0), site, 1, 1, 32, 4)
    trace.write(folder / "t.zst")
    return folder


def on_a_terminal(forks: Forks, folder: Path, words: list[str]) -> bytes:
    """What a command sends to one."""
    master, slave = os.openpty()
    # It would write its own "\r".
    tty.setraw(slave)
    sent: list[bytes] = []

    def read() -> None:
        try:
            while part := os.read(master, 1 << 16):
                sent.append(part)
        except OSError:
            pass  # nobody has it open any more

    reader = threading.Thread(target=read)
    reader.start()
    status, _, told = forks.run(folder, words, os.ttyname(slave))
    os.close(slave)
    reader.join()
    os.close(master)
    assert status == 0, told
    return b"".join(sent)


def steers(sent: bytes) -> bool:
    text = sent.decode("utf-8")
    return not all(letter.isprintable() or letter in "\n\t" for letter in text)


@pytest.mark.parametrize("form", [[], ["--csv"], ["--json"], ["--markdown"]], ids=str)
@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_a_list(words: list[str], form: list[str], forks: Forks, folder: Path) -> None:
    sent = on_a_terminal(forks, folder, [*words, *form, "t.zst"])
    assert b"owned" in sent
    assert not steers(sent)


@pytest.mark.parametrize("words", EXPORTS, ids=" ".join)
def test_a_file(words: list[str], forks: Forks, folder: Path) -> None:
    sent = on_a_terminal(forks, folder, ["export", "t.zst", *words, "-o", "-"])
    assert b"owned" in sent
    assert not steers(sent)


def test_a_terminal_that_is_named(forks: Forks, folder: Path) -> None:
    assert not steers(on_a_terminal(forks, folder, ["export", "t.zst", "--format", "collapsed", "-o", "/dev/stdout"]))


def test_a_terminal_shows_what_is_there(forks: Forks, folder: Path) -> None:
    sent = on_a_terminal(forks, folder, ["stats", "--by", "kernel", "--csv", "t.zst"])
    (row,) = csv.DictReader(io.StringIO(sent.decode()))
    assert row["kernel"] == SEEN
    sent = on_a_terminal(forks, folder, ["export", "t.zst", "--format", "collapsed", "-o", "-"])
    # Without what divides names there.
    assert sent.decode().startswith(SEEN.replace(";", ",").replace(r"\r", " ") + ";")


def test_a_file_and_a_pipe_have_all_of_it(forks: Forks, folder: Path) -> None:
    _, out, _ = forks.run(folder, ["stats", "--by", "kernel", "--csv", "t.zst"])
    (row,) = csv.DictReader(io.StringIO(out.decode(), newline=""))
    assert row["kernel"] == EVIL
    _, out, _ = forks.run(folder, ["export", "t.zst", "--format", "csv", "--table", "functions", "-o", "-"])
    (row,) = csv.DictReader(io.StringIO(out.decode(), newline=""))
    assert row["name"] == EVIL


@pytest.mark.parametrize("words", [["stats", "--by", "kernel", "--json"], ["export", "--format", "speedscope", "-o-"]])
def test_json_means_the_same_and_steers_nowhere(words: list[str], forks: Forks, folder: Path) -> None:
    _, out, _ = forks.run(folder, [*words, "t.zst"])
    told = json.loads(out)
    names = [row["kernel"] for row in told.get("rows", [])]
    names += [frame["name"] for frame in told.get("shared", {}).get("frames", [])]
    assert EVIL in names
    assert not steers(out)
    # What can be read is written as it is.
    assert "é→<int>".encode() in out


@pytest.mark.parametrize(
    ("words", "end"), [(["stats"], "\udc9b.zst"), (["export", "--format", "csv", "-o", "x\x1b\x9bowned"], ".zst")]
)
def test_names_of_files_steer_nowhere(words: list[str], end: str, forks: Forks, folder: Path) -> None:
    # The last of the letters is a byte that is no text.
    name = f"a'\\\x1b]0;owned\x07\u202e\x9b31 \nb{end}"
    shutil.copy(folder / "t.zst", folder / name)
    status, out, told = forks.run(folder, [*words, name])
    assert status == 0
    assert not steers(out + told)
    *_, last = told.decode().splitlines()
    assert "owned" in last
    # What comes next is typed as it is said.
    if words == ["stats"]:
        typed = last.removeprefix("Next: snoopie view ")
        done = subprocess.run(["bash", "-c", f"printf %s {typed}"], capture_output=True, check=True)
        assert os.fsdecode(done.stdout) == name
