"""Names from traces and files as people see them: on one line, no longer than there is room, and without tricks."""

from __future__ import annotations

import re
from collections.abc import Callable

# Each letter is looked at once, and most of them not by Python.
_NOT_ASCII = re.compile("[^ -~]")
_NOT_PRINTABLE = "\N{REPLACEMENT CHARACTER}"
# Of text in lines and columns, what stands between them.
_NOT_LAYOUT = re.compile("[^ -~\n\t]")
# Letters of a name in a cell or a hint: more than a program's names have. A trace may have a megabyte in each.
NAME = 2000


def visible(text: str) -> str:
    """One line, of which nothing steers a terminal or changes the order of letters: such characters are seen as Python
    writes them, "\\x1b" or "\\u202e"."""
    return _with(text, _escaped)


def visible_lines(text: str) -> str:
    """The same of text that has lines and tabs, which stay: data of a file, for a terminal."""
    return _with(text, _escaped, _NOT_LAYOUT)


def in_json(text: str) -> str:
    """JSON that means the same, of which nothing steers a terminal: in it such letters stand as JSON writes them."""
    return _with(text, _escaped_in_json, _NOT_LAYOUT)


def printable(text: str, instead: str = _NOT_PRINTABLE) -> str:
    """The text with another letter ``instead`` of each that cannot be printed."""
    return _with(text, lambda _: instead)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def _escaped_in_json(letter: str) -> str:
    # JSON counts in UTF-16, in which some letters are two.
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def _with(text: str, shown: Callable[[str], str], odd: re.Pattern[str] = _NOT_ASCII) -> str:
    """The text with what is ``shown`` in place of each ``odd`` letter that cannot be printed."""
    if text.isprintable():
        return text
    return odd.sub(lambda found: found[0] if found[0].isprintable() else shown(found[0]), text)


def one_line(text: str) -> str:
    """The text on one line, each run of spaces one of them, without letters that cannot be printed."""
    return printable(" ".join(text.split()))


def cut(text: str, most: int, *, keep_end: bool = False) -> str:
    """At most so many letters; of what is longer the beginning, or with ``keep_end`` the end, and an ellipsis."""
    if len(text) <= most:
        return text
    return "…" + text[1 - most :] if keep_end else text[: most - 1] + "…"


def briefly(name: str, *, keep_end: bool = False) -> str:
    """A name in a cell, a picture or a hint: one line of at most NAME letters, `visible`."""
    return visible(cut(name, NAME, keep_end=keep_end))
