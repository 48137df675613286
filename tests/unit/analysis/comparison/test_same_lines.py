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


def test_lines_stand_side_by_side_in_their_order() -> None:
    a, b = ["one", "two", "three", "four"], ["one", "new", "two", "four", "five"]
    same = same_lines.by_text(a, b)
    assert same_lines.aligned(range(1, 5), range(1, 6), same) == [(1, 1), (0, 2), (2, 3), (3, 0), (4, 4), (0, 5)]
    assert same_lines.aligned([3, 9], [4], {4: 9}) == [(3, 0), (9, 4)]
    assert same_lines.aligned([], [7], {7: 3}) == [(0, 7)]


def test_a_file_beside_what_it_became(tmp_path: Path) -> None:
    before = write(tmp_path / "a.zst", BEFORE, {2: "STG.E", 3: "STG.E.64"}, kept=True)
    after = write(tmp_path / "b.zst", AFTER, {3: "STG.E", 4: "STG.E.64"}, kept=True)
    table = snoopie.compare(before, after).file_lines("/src/f.cu")
    assert table[["line", "line_b", "a", "b", "change", "only"]].to_numpy().tolist() == [
        [0, 1, 0, 0, 0, "B"],
        [1, 2, 0, 0, 0, ""],
        [2, 3, 256, 384, 128, ""],
        [3, 4, 384, 512, 128, ""],
        [4, 5, 0, 0, 0, ""],
    ]
    assert table["code"].tolist() == ["", *BEFORE]
    assert table["code_b"].tolist() == AFTER


@pytest.mark.parametrize("moved", [False, True])
def test_a_text_that_neither_trace_holds_is_shown_where_it_fits_both(tmp_path: Path, moved: bool) -> None:
    before = write(tmp_path / "a.zst", BEFORE, {2: "STG.E", 3: "STG.E.64"}, kept=False)
    after = write(tmp_path / "b.zst", BEFORE, {2 + moved: "STG.E", 3 + moved: "STG.E.64"}, kept=False)
    table = snoopie.compare(before, after).file_lines("/src/f.cu", "bytes", "\n".join(BEFORE))
    if moved:
        assert table[["line", "line_b", "code"]].to_numpy().tolist() == [[2, 3, ""], [3, 4, ""]]
    else:
        assert table["line"].tolist() == table["line_b"].tolist() == [1, 2, 3, 4]
        assert table["code"].tolist() == table["code_b"].tolist() == BEFORE
