"""Lines that are the same in another version of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

import snoopie
from snoopie.analysis.comparison import same_lines
from tests.support.encoder import TraceBuilder

BEFORE = ["void f() {", "  a[i] = 1;", "  b[i] = 2;", "}"]
# One line more, another with another indent, a third changed in its place.
AFTER = ["// new", "void f() {", "    a[i] = 1;", "  b[i] = 3;", "}"]


def test_by_text() -> None:
    assert same_lines.by_text(BEFORE, AFTER) == {2: 1, 3: 2, 4: 3, 5: 4}
    assert same_lines.by_text(["a", "b"], ["b"]) == {1: 2}


def write(path: Path, text: list[str], lines: dict[int, str], *, kept: bool) -> snoopie.Trace:
    """A program with these lines (number → opcode), of which each stores 128 bytes times its number."""
    trace = TraceBuilder(2)
    kernel = trace.function("f()")
    for number, opcode in lines.items():
        site = trace.site(kernel, opcode, "store", 4, line=trace.line("/src/f.cu", number), offset=16 * number)
        trace.count(trace.launch(kernel, 0), site, 1, number, 32 * number, 4 * number)
    if kept:
        whole = "\n".join(text).encode()
        trace.add("source_files", file=trace.string("/src/f.cu"), text=whole, bytes=len(whole), kept=1)
    return snoopie.load(trace.write(path))


@pytest.mark.parametrize("kept", [True, False])
def test_a_line_that_moved_is_the_same(tmp_path: Path, kept: bool) -> None:
    before = write(tmp_path / "a.zst", BEFORE, {2: "STG.E", 3: "STG.E.64"}, kept=kept)
    after = write(tmp_path / "b.zst", AFTER, {3: "STG.E", 4: "STG.E.64"}, kept=kept)
    rows = snoopie.compare(before, after).by_line().sort_values("line")
    assert rows[["line", "line_b", "a", "b", "only"]].to_numpy().tolist() == [
        [2, 3, 256, 384, ""],
        [3, 4, 384, 512, ""],
    ]


def test_a_line_that_is_new_is_no_other(tmp_path: Path) -> None:
    """Line 2 of B has the number of another line of A."""
    before = write(tmp_path / "a.zst", ["x;", "a[i] = 1;"], {2: "STG.E"}, kept=True)
    after = write(tmp_path / "b.zst", ["x;", "n[i] = 1;", "y;", "a[i] = 1;"], {2: "STG.E", 4: "STG.E"}, kept=True)
    rows = snoopie.compare(before, after).by_line().sort_values("only")
    assert rows[["line", "line_b", "a", "b", "only"]].to_numpy().tolist() == [
        [2, 4, 256, 512, ""],
        [2, 2, 0, 256, "B"],
    ]
