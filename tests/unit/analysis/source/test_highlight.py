"""The listing's text: coloured runs whose characters are the file's own."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snoopie.analysis.source.highlight import LONGEST, highlighted, split
from tests.support import ring

HOSTILE = """<script>alert("x")</script> </span><img src=x onerror=1> &lt; \u2028 \u202e \0 `$[a](b)`"""


def of(file: str, text: str) -> list[list[tuple[str, str]]]:
    lines = split(text)
    return highlighted(file, lines, 0, len(lines))


def text(runs: list[tuple[str, str]]) -> str:
    return "".join(part for _, part in runs)


def test_cuda() -> None:
    lines = of("/home/u/ring.cu", ring.RING_SOURCE)
    assert [text(line) for line in lines] == ring.RING_SOURCE.splitlines()
    kinds = {part: kind for line in lines for kind, part in line}
    assert lines[0] == [("directive", "#include"), ("", " "), ("string", '"shift.h"')]
    assert [kinds[word] for word in ("template", "__global__", "int", "blockIdx")] == [
        "keyword",
        "keyword",
        "type",
        "builtin",
    ]
    assert kinds["1ull"] == "literal"


def test_python() -> None:
    (line,) = of("kernel.py", "def f(x): return 'a' + x  # why")
    assert [kind for kind, part in line if part.strip()] == [
        "keyword",
        "function",
        "",
        "keyword",
        "string",
        "",
        "comment",
    ]


def test_unknown_languages_have_no_colours() -> None:
    assert of("a.unknown", "if 1\n\n x") == [[("", "if 1")], [], [("", " x")]]
    assert of("", "a") == [[("", "a")]]
    assert of("a.cu", "") == []


def test_lines_as_compilers_count_them() -> None:
    assert split("a\n\x0cb\r\nc\rd\u2028e\n\n") == ["a", "\x0cb", "c", "d\u2028e", ""]
    assert split("\n\n\tx") == ["", "", "    x"]
    assert [text(line) for line in of("a.cu", "\n\n\x0cint a;\n\n")] == ["", "", "\x0cint a;", ""]


@pytest.mark.parametrize("file", ["a.cu", "a.py", "a.f90", "a.txt"])
@given(content=st.text(alphabet=st.sampled_from("<>&\"'/*\\\n\r\t #i0 \x00\x0c\u2028é{}(;"), max_size=80))
def test_every_character_is_kept_and_nothing_is_added(file: str, content: str) -> None:
    lines = split(content)
    assert [text(line) for line in highlighted(file, lines, 0, len(lines))] == lines
    middle = len(lines) // 2
    assert [text(line) for line in highlighted(file, lines, middle, middle + 1)] == lines[middle : middle + 1]


@pytest.mark.parametrize("file", ["a.cu", "a.py", "a.txt"])
def test_hostile_text_stays_text(file: str) -> None:
    assert [text(line) for line in of(file, f"// {HOSTILE}\n{HOSTILE}")] == [f"// {HOSTILE}", HOSTILE]


def test_a_window_within_a_comment() -> None:
    lines = ["/* begins", *["   int x;"] * 100, "ends */", "int y;"]
    window = highlighted("a.cu", lines, 50, len(lines))
    assert window[0] == [("comment", "   int x;")]
    assert window[-1][0] == ("type", "int")


def test_a_window_of_a_large_file_comes_soon() -> None:
    lines = ring.RING_SOURCE.splitlines() * 5000
    highlighted("a.cu", lines, 0, 10)
    begin = time.process_time()
    window = highlighted("a.cu", lines, 50_000, 51_000)
    assert time.process_time() - begin < 0.5
    assert [text(line) for line in window] == lines[50_000:51_000]


@pytest.mark.parametrize("blank", ["", " " * 300, "\x0c" * 300])
def test_blanks_without_end_take_no_time(blank: str) -> None:
    lines = ["int a;", *[blank] * 20_000, "int b;  "]
    begin = time.process_time()
    found = highlighted("a.cu", lines, 0, len(lines))
    assert time.process_time() - begin < 1
    assert [text(line) for line in found] == lines
    assert found[-1][0] == ("type", "int")


def test_lines_without_end_are_cut() -> None:
    (line,) = of("a.py", "x" * 100_000)
    assert text(line) == "x" * (LONGEST - 2) + " …"
