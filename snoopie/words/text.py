"""Names from traces and files as people see them: on one line, no longer than there is room, and without tricks."""

from __future__ import annotations

import re
from collections.abc import Callable

# Each letter is looked at once, and most of them not by Python.
_NOT_ASCII = re.compile("[^ -~]")
_NOT_PRINTABLE = "\N{REPLACEMENT CHARACTER}"


def visible(text: str) -> str:
    """One line, of which nothing steers a terminal or changes the order of letters: such characters are seen as Python
    writes them, "\\x1b" or "\\u202e"."""
    return _with(text, lambda letter: letter.encode("unicode_escape").decode())


def printable(text: str, instead: str = _NOT_PRINTABLE) -> str:
    """The text with another letter ``instead`` of each that cannot be printed."""
    return _with(text, lambda _: instead)


def _with(text: str, shown: Callable[[str], str]) -> str:
    """The text with what is ``shown`` in place of each letter that cannot be printed."""
    if text.isprintable():
        return text
    return _NOT_ASCII.sub(lambda found: found[0] if found[0].isprintable() else shown(found[0]), text)


def one_line(text: str) -> str:
    """The text on one line, each run of spaces one of them, without letters that cannot be printed."""
    return printable(" ".join(text.split()))


def cut(text: str, most: int, *, keep_end: bool = False) -> str:
    """At most so many letters; of what is longer the beginning, or with ``keep_end`` the end, and an ellipsis."""
    if len(text) <= most:
        return text
    return "…" + text[1 - most :] if keep_end else text[: most - 1] + "…"
