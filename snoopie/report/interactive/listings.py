"""Source files around the lines with traffic, and the instructions of these lines with what they were inlined at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import pandas as pd

from snoopie.analysis.source import highlight
from snoopie.analysis.source import lines as _lines
from snoopie.analysis.source.finder import Finder
from snoopie.api.trace import Trace
from snoopie.report import source_text
from snoopie.report.interactive.cells import Cells
from snoopie.report.interactive.limits import Limits
from snoopie.report.parts import MOST_LETTERS, Folders, cut
from snoopie.words import columns

# Of a line of source.
_WIDEST = 300
# Of a chain of inlined functions.
_LONGEST = 800
# What a line takes in the page, its letters apart.
_LINE = 4
# Where a file is too long, so many lines around each with traffic.
_AROUND = 40
_RECORDED = "as the trace holds it"
_FOUND = "not recorded with the trace, but from the source folders that were named"
_REFUSED = "no source is quoted (--no-source)"
_MISSING = "its text is not in the trace; --source DIR quotes it from a folder"
_NOT_FOUND = "its text is neither in the trace nor in the source folders that were named"
_TOO_MUCH = "its text is more than this file holds"

# Lines from one until before another, counted from 0.
Span = tuple[int, int]
Part = tuple[int, list[list[str]]]


def files(trace: Trace, cells: Cells, sources: Folders, limits: Limits) -> list[dict[str, Any]]:
    """For each file, most bytes first: name, path, origin, and parts: of each its first line's number, and its lines. A
    line is kind and characters of its runs one after another, as `highlight` has them."""
    left = limits.text
    finder = Finder(sources or ())
    found: list[dict[str, Any]] = []
    for place, file in enumerate(dict.fromkeys(file for file, _ in cells.lines)):
        parts: list[Part] = []
        if not file:
            origin = ""
        elif sources is None:
            origin = _REFUSED
        elif place >= limits.files:
            origin = _TOO_MUCH
        else:
            hot = [line for other, line in cells.lines if other == file]
            text, spans, origin = _shown(trace, file, hot, finder, left)
            if not origin:
                origin = _NOT_FOUND if sources else _MISSING
            left -= sum(_size(text, *span) for span in spans)
            parts = [_part(file, text, first, last) for first, last in spans]
        name = cut(PurePath(file).name) if file else ""
        found.append({"name": name, "path": cut(file, keep_end=True), "origin": origin, "parts": parts})
    return found


def _shown(trace: Trace, file: str, hot: Sequence[int], finder: Finder, left: int) -> tuple[list[str], list[Span], str]:
    """The lines; which of them to show: all, or, where there is no room, those around lines with traffic; and where the
    text is from, "" where it is not known."""
    lines, recorded = source_text.lines_of(trace, file, finder)
    if lines is None:
        return [], [], ""
    origin = _RECORDED if recorded else _FOUND
    # Of a file with too many lines only those around lines with traffic are looked at.
    if len(lines) * _LINE <= left:
        lines = [source_text.code(line, _WIDEST) for line in lines]
        if _size(lines, 0, len(lines)) <= left:
            return lines, [(0, len(lines))], origin
    spans, used = [], 0
    for first, last in _near(hot, len(lines)):
        lines[first:last] = [source_text.code(line, _WIDEST) for line in lines[first:last]]
        used += _size(lines, first, last)
        if used > left:
            break
        spans.append((first, last))
    return lines, spans, f"{origin}, around the lines with traffic" if spans else _TOO_MUCH


def _near(hot: Sequence[int], length: int) -> list[Span]:
    """From which line (counted from 0) until before which to show, in the order of the file, without overlap."""
    spans: list[Span] = []
    for line in sorted(line for line in hot if 0 < line <= length):
        first, last = max(line - 1 - _AROUND, 0), min(line + _AROUND, length)
        if spans and first <= spans[-1][1]:
            spans[-1] = spans[-1][0], last
        else:
            spans.append((first, last))
    return spans


def _part(file: str, text: Sequence[str], first: int, last: int) -> Part:
    lines = highlight.highlighted(file, text, first, last)
    return first + 1, [[part for run in line for part in run] for line in lines]


def _size(text: Sequence[str], first: int, last: int) -> int:
    return sum(len(line.encode("utf-8", "replace")) + _LINE for line in text[first:last])


def instructions(trace: Trace, cells: Cells, limits: Limits) -> dict[str, Any]:
    """Those with most bytes, in columns; how many there are; and of lines how they were inlined."""
    sites = trace.by_site(merged=True)
    lines = {line: number for number, line in enumerate(cells.lines)}
    of_line = [lines.get((file, line), -1) for file, line in zip(sites["file"], sites["line"], strict=True)]
    shown = sites.assign(of_line=of_line)
    shown = shown[shown["of_line"] >= 0].head(limits.instructions)
    code = shown["sass"].where(shown["sass"] != "", shown["opcode"])
    inlined = _lines.inlined(trace.lines, trace.sites.loc[shown["site"], "line_id"])
    chains = pd.Series(inlined, dtype="object").groupby(shown["of_line"].to_numpy(), sort=False)
    functions = {name: cut(name) for name in shown["function"].unique()}
    return {
        "line": shown["of_line"].tolist(),
        "function": [functions[name] for name in shown["function"]],
        "offset": [columns.say("offset", offset) for offset in shown["offset"].tolist()],
        "code": [cut(text, MOST_LETTERS) for text in code],
        **{name: shown[name].tolist() for name in ("bytes", "wire_bytes", "accesses")},
        "all": len(sites),
        "inlined": {line: said for line, own in chains if (said := [cut(way, _LONGEST) for way in _lines.ways(own)])},
    }
