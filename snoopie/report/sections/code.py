"""Kernels and source lines, with the text around the lines that moved most."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from snoopie.analysis.source.finder import Finder
from snoopie.api.trace import Trace
from snoopie.figures.lines import NO_LINE
from snoopie.report import source_text
from snoopie.report.parts import (
    MOST_LETTERS,
    TRAFFIC,
    Folders,
    Listing,
    Part,
    Section,
    SourceLine,
    Text,
    cut,
    drawing,
    table,
)
from snoopie.words import units
from snoopie.words.widths import PAGE

# So many of the lines that moved most are shown in their files, with so many lines around each.
_EXCERPTS, _AROUND = 12, 4


def kernels(trace: Trace, _: Folders) -> Section:
    moved = trace.by_kernel()
    if moved.empty:
        return Section("kernels", "Kernels", absent="no kernel reached memory outside its GPU")
    measured = ["measured"] if trace.estimated else []
    where = "snoopie stats --by kernel lists them all"
    return Section("kernels", "Kernels", [table(moved, ["kernel", "launches", *measured, *TRAFFIC], where=where)])


def lines(trace: Trace, sources: Folders) -> Section:
    title = "Source lines"
    moved = trace.by_line()
    if moved.empty:
        return Section("lines", title, absent="no line reached memory outside its GPU")
    parts: list[Part] = [
        drawing(
            trace.plot_lines(width=PAGE),
            "The lines that moved most: bytes requested, within the wire bytes; beside them, the wire efficiency.",
        ),
    ]
    if sources is not None:
        parts += _excerpts(trace, moved, sources)
    named = [f"{file}:{line}" if line else NO_LINE for file, line in zip(moved["file"], moved["line"], strict=True)]
    shown = ["source", "kernel", *TRAFFIC]
    parts.append(table(moved.assign(source=named), shown, "By line", "snoopie stats --by line lists them all"))
    return Section("lines", title, parts)


def _excerpts(trace: Trace, moved: pd.DataFrame, sources: Sequence[Path]) -> list[Part]:
    parts: list[Part] = []
    found, missing = [], []
    finder = Finder(sources)
    known = moved[moved["line"] > 0]
    for file, own in known.head(_EXCERPTS).groupby("file", sort=False):
        text, recorded = source_text.lines_of(trace, str(file), finder)
        name = cut(Path(str(file)).name)
        if text is None:
            missing.append(name)
        elif listing := _listing(str(file), text, own, known[known["file"] == file]):
            parts.append(listing)
            found += [] if recorded else [name]
    if found:
        parts.append(
            Text(f"Not recorded with the trace, but from the source folders that were named: {_names(found)}.")
        )
    if missing and (parts or sources):
        where = "in the trace, nor in the source folders that were named" if sources else "in the trace"
        parts.append(Text(f"Not {where}: {_names(missing)}."))
    return parts


def _names(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _listing(file: str, text: list[str], chosen: pd.DataFrame, moved: pd.DataFrame) -> Listing | None:
    """The chosen lines of a file and those around them, each with what it moved."""
    amounts = dict(zip(moved["line"].tolist(), moved["bytes"].tolist(), strict=True))
    largest = max(*amounts.values(), 1)
    near = {
        number
        for line in chosen["line"].tolist()
        for number in range(max(line - _AROUND, 1), min(line + _AROUND, len(text)) + 1)
    }
    lines = [
        SourceLine(
            number,
            source_text.code(text[number - 1], MOST_LETTERS),
            units.bytes(amounts[number]) if number in amounts else "",
            100 * amounts.get(number, 0) / largest,
        )
        for number in sorted(near)
    ]
    return Listing(cut(file, keep_end=True), lines) if lines else None
