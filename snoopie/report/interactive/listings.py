"""Source files around the lines with traffic, and the instructions of these lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from snoopie.api.trace import Trace
from snoopie.report import source_text
from snoopie.report.interactive.cells import Cells
from snoopie.report.interactive.limits import Limits
from snoopie.report.parts import MOST_LETTERS, Folders, cut
from snoopie.words import columns

# Of a line of source.
_WIDEST = 300
# Where a file is too long, so many lines around each with traffic.
_AROUND = 40
_RECORDED = "as the trace holds it"
_FOUND = "not recorded with the trace, but from the source folders that were named"
_REFUSED = "no source is quoted (--no-source)"
_MISSING = "its text is not in the trace; --source DIR quotes it from a folder"
_NOT_FOUND = "its text is neither in the trace nor in the source folders that were named"
_TOO_MUCH = "its text is more than this file holds"


def files(trace: Trace, cells: Cells, sources: Folders, limits: Limits) -> list[dict[str, Any]]:
    """For each file, most bytes first: name, path, origin, and runs of [first line, text]."""
    left = limits.text
    found: list[dict[str, Any]] = []
    for place, file in enumerate(dict.fromkeys(file for file, _ in cells.lines)):
        runs: list[tuple[int, str]] = []
        if not file:
            origin = ""
        elif sources is None:
            origin = _REFUSED
        elif place >= limits.files:
            origin = _TOO_MUCH
        else:
            hot = [line for other, line in cells.lines if other == file]
            runs, origin = _runs(trace, file, hot, sources, left)
            left -= sum(_size(text) for _, text in runs)
        name = cut(PurePath(file).name) if file else ""
        found.append({"name": name, "path": cut(file, keep_end=True), "origin": origin, "runs": runs})
    return found


def _runs(
    trace: Trace, file: str, hot: Sequence[int], sources: Sequence[Path], left: int
) -> tuple[list[tuple[int, str]], str]:
    """The whole text, or, where there is no room for it, what is around lines with traffic; and where it is from."""
    text, recorded = source_text.lines_of(trace, file, sources)
    if text is None:
        return [], _NOT_FOUND if sources else _MISSING
    origin = _RECORDED if recorded else _FOUND
    whole = _run(text, 0, len(text))
    if _size(whole[1]) <= left:
        return [whole], origin
    runs, used = [], 0
    for first, last in _near(hot, len(text)):
        run = _run(text, first, last)
        used += _size(run[1])
        if used > left:
            break
        runs.append(run)
    return (runs, f"{origin}, around the lines with traffic") if runs else ([], _TOO_MUCH)


def _near(hot: Sequence[int], length: int) -> list[tuple[int, int]]:
    """From which line (counted from 0) until before which to show, in the order of the file, without overlap."""
    spans: list[tuple[int, int]] = []
    for line in sorted(line for line in hot if 0 < line <= length):
        first, last = max(line - 1 - _AROUND, 0), min(line + _AROUND, length)
        if spans and first <= spans[-1][1]:
            spans[-1] = spans[-1][0], last
        else:
            spans.append((first, last))
    return spans


def _run(text: Sequence[str], first: int, last: int) -> tuple[int, str]:
    return first + 1, "\n".join(source_text.code(line, _WIDEST) for line in text[first:last])


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def instructions(trace: Trace, cells: Cells, limits: Limits) -> dict[str, Any]:
    """Those with most bytes, in columns; how many there are."""
    sites = trace.by_site(merged=True)
    lines = {line: number for number, line in enumerate(cells.lines)}
    of_line = [lines.get((file, line), -1) for file, line in zip(sites["file"], sites["line"], strict=True)]
    shown = sites.assign(of_line=of_line)
    shown = shown[shown["of_line"] >= 0].head(limits.instructions)
    code = shown["sass"].where(shown["sass"] != "", shown["opcode"])
    functions = {name: cut(name) for name in shown["function"].unique()}
    return {
        "line": shown["of_line"].tolist(),
        "function": [functions[name] for name in shown["function"]],
        "offset": [columns.say("offset", offset) for offset in shown["offset"].tolist()],
        "code": [cut(text, MOST_LETTERS) for text in code],
        **{name: shown[name].tolist() for name in ("bytes", "wire_bytes", "accesses")},
        "all": len(sites),
    }
