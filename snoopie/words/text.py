"""Names from traces and files as people see them: on one line, no longer than there is room, and without tricks."""

from __future__ import annotations

_NOT_PRINTABLE = "\N{REPLACEMENT CHARACTER}"


def visible(text: str) -> str:
    """One line, of which nothing steers a terminal or changes the order of letters: such characters are seen as Python
    writes them, "\\x1b" or "\\u202e"."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable(text: str, instead: str = _NOT_PRINTABLE) -> str:
    """The text with another letter ``instead`` of each that cannot be printed."""
    return text if text.isprintable() else "".join(c if c.isprintable() else instead for c in text)


def one_line(text: str) -> str:
    """The text on one line, each run of spaces one of them, without letters that cannot be printed."""
    return printable(" ".join(text.split()))


def cut(text: str, most: int, *, keep_end: bool = False) -> str:
    """At most so many letters; of what is longer the beginning, or with ``keep_end`` the end, and an ellipsis."""
    if len(text) <= most:
        return text
    return "…" + text[1 - most :] if keep_end else text[: most - 1] + "…"
