"""The text of source files that a report quotes: as it was recorded, else from the folders that the user named."""

from __future__ import annotations

from snoopie.analysis.source import texts
from snoopie.analysis.source.finder import Finder, read_source
from snoopie.api.trace import Trace
from snoopie.errors import SnoopieError
from snoopie.words import text as words


def lines_of(trace: Trace, file: str, finder: Finder) -> tuple[list[str] | None, bool]:
    """The lines of a file, None where they are not known, and whether the trace itself holds them."""
    recorded = trace.source(file)
    if recorded is not None:
        return texts.split(recorded), True
    path = finder.find(file)
    if path is None:
        return None, False
    try:
        return texts.split(read_source(path)), False
    except SnoopieError:
        return None, False


def code(line: str, most: int) -> str:
    """A line as it stands, with its indentation, of at most so many letters."""
    # A tab is up to four letters: what is behind these is not seen.
    return words.cut(words.printable(line[: most + 1].expandtabs(4), " "), most)
