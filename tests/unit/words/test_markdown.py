"""Cells of tables in Markdown."""

from __future__ import annotations

import time

import pytest

from snoopie.words import markdown

PLAIN = ["", "GPU 0", "14.1 KiB", "+1 KiB", "406.2 % (lanes shared addresses)", "only in B", "B / A", "1234567",
         "≈ 12 µs", "–", "put", "Größe", "at most: 3", "Bytes, of 2.5 M"]  # fmt: skip
LIVE = ["void k<int, float*>(float*)", "<img src=x>", "[l](http://evil)", "![x](y)", "@mention", "a@b.cc", "*x*", "_x_",
        "http://evil", "www.evil.com", "WWW.evil", "#1", "GH-1", "JIRA-12", "deadbee", "0123abc4", ":tada:",
        "x :100: y", "$x$", "~~x~~", "&lt;", "\\x1b", "https://x", "a__b"]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_words_and_amounts_are_as_they_are(text: str) -> None:
    assert markdown.cell(text) == text


@pytest.mark.parametrize("text", LIVE)
def test_what_could_mean_something_is_code(text: str) -> None:
    assert markdown.cell(text) == f"`{text}`"


def test_code_cannot_be_left() -> None:
    assert markdown.cell("a`<b>") == "``a`<b>``"
    assert markdown.cell("`@x`") == "`` `@x` ``"
    assert markdown.cell("``` `` `") == "```` ``` `` ` ````"
    assert markdown.cell(" @x") == "`  @x `"


def test_a_pipe_ends_no_cell() -> None:
    assert markdown.cell("a|b") == r"`a\|b`"
    assert markdown.cell("a\\|b||") == r"`a\x7cb\|\|`"
    assert markdown.cell("a\\\\") == "`a\\\\`"


@pytest.mark.parametrize("text", ["1" * 10_000, "a-" * 5_000, ": " * 5_000, "`" * 10_000, "x" * 9_999 + "<"])
def test_a_long_cell_is_quick(text: str) -> None:
    begun = time.process_time()
    markdown.cell(text)
    assert time.process_time() - begun < 1
