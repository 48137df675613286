"""Text from a trace as people may see it."""

from __future__ import annotations


def visible(text: str) -> str:
    """One line, of which nothing steers a terminal or changes the order of letters: such characters are seen as Python
    writes them, "\\x1b" or "\\u202e"."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
