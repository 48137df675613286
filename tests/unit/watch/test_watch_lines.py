"""Source lines of what a watched process has mapped, by an addr2line that says what the test wants."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from snoopie.watch.lines import Line, lines_of

ME = os.geteuid(), os.getegid()


@pytest.fixture
def addr2line(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What the program says, a file beside it, where everybody may go."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        program = folder / "addr2line"
        program.write_text(f"#!/bin/sh\nread line\nexec /bin/cat {folder}/answer\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", name)
        yield folder / "answer"


def test_functions_innermost_first(addr2line: Path, tmp_path: Path) -> None:
    addr2line.write_text(
        "0x0000000000001139\nstd::vector<int>::at(unsigned long)\n/usr/include/v.h:12 (discriminator 3)\n"
        "main\n/a b/x.c:7\n"
        "0x0000000000002000\n??\n??:?\n"
        "0x0000000000003000\nodd\n/a/x.c:?\n"
        "0x0000000000004000\n??\n/a/y.c:9\n"
    )
    assert lines_of(tmp_path, [0x4000, 0x1139, 0x2000, 0x3000, 0x5000], ME) == [
        [Line("", "/a/y.c", 9)],
        [Line("std::vector<int>::at(unsigned long)", "/usr/include/v.h", 12), Line("main", "/a b/x.c", 7)],
        [], [], [],
    ]  # fmt: skip


@pytest.mark.parametrize("answer", [b"", b"0x1\n", b"nonsense\n\xff\xfe:3\n" * 9, b"0x1\nf\n" + b"\xff" * 99 + b":1\n"])
def test_whatever_it_says(addr2line: Path, tmp_path: Path, answer: bytes) -> None:
    addr2line.write_bytes(answer)
    (lines,) = lines_of(tmp_path, [1], ME)
    assert all(line.line == 1 for line in lines)


def test_it_runs_as_who_owns_the_process(addr2line: Path, tmp_path: Path) -> None:
    owner = (65534, 65534)
    said = "#!/bin/sh\necho 0x1\n/usr/bin/id -u\necho /a/x.c:$(/usr/bin/id -g)\n"
    addr2line.with_name("addr2line").write_text(said)
    found = lines_of(tmp_path, [1], owner)
    assert found == ([[Line("65534", "/a/x.c", 65534)]] if os.geteuid() == 0 else [[]])


def test_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert lines_of(tmp_path, [1, 2], ME) == [[], []]
