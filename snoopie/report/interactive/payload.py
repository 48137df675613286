"""All that the page knows of a trace, as plain values, and as the text that the page carries."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict
from typing import Any

from snoopie.api.trace import Trace
from snoopie.figures import colours
from snoopie.report.interactive import listings, timeline
from snoopie.report.interactive.cells import cells, columns
from snoopie.report.interactive.limits import Limits
from snoopie.report.parts import MOST_ROWS, Folders, Part, Section, cut
from snoopie.report.sections import about, communication, findings
from snoopie.trace.lacks import Lack
from snoopie.trace.schema import OPERATIONS
from snoopie.words.names import short_name

_SHORT = 80
# Of the story.
_LONGEST = 600


def sections(trace: Trace, sources: Folders) -> dict[str, Any]:
    """What the page shows whatever the limits, which has its own."""
    found = trace.findings()
    return {
        "unknown": trace.lacks(Lack.ACCESSES),
        "story": cut(trace.story(), _LONGEST),
        "estimated": trace.estimated,
        "totals": _parts(about.totals(trace, sources)),
        "losses": _parts(about.losses(trace, sources)),
        "machine": _parts(about.machine(trace, sources)),
        "tables": _tables(trace),
        "findings": [_finding(row) for row in found.head(MOST_ROWS).to_dict("records")],
        "all_findings": len(found),
    }


def payload(trace: Trace, sources: Folders, limits: Limits) -> dict[str, Any]:
    """The rest of what the page shows; source as `snoopie.report.file.write` has it."""
    made = cells(trace, limits)
    files = list(dict.fromkeys(file for file, _ in made.lines))
    numbers = {file: number for number, file in enumerate(files)}
    return {
        "colours": {"heat": colours.of_amounts(), "marks": colours.of_gpus(10), "neutral": colours.NEUTRAL},
        "operations": OPERATIONS,
        "places": [cut(place) for place in made.places],
        "gpus": made.gpus,
        "kernels": [[cut(name), cut(short_name(cut(name)), _SHORT)] for name in made.kernels],
        "lines": [[numbers[file], line] for file, line in made.lines],
        "cells": columns(made.table),
        "margins": {name: columns(table) for name, table in made.margins.items()},
        "left": made.left,
        "together": made.together,
        "files": listings.files(trace, made, sources, limits),
        "instructions": listings.instructions(trace, made, limits),
        "timeline": timeline.timeline(trace, made, limits),
    }


def packed(content: dict[str, Any]) -> str:
    """The text of the page's data: base64 of JSON, compressed as browsers inflate it ("deflate")."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")


def _parts(section: Section) -> list[dict[str, Any]]:
    return [_plain(part) for part in section.parts]


def _plain(part: Part) -> dict[str, Any]:
    return {"kind": part.kind, **asdict(part)}


def _tables(trace: Trace) -> list[dict[str, Any]]:
    """What moved by calls: collectives, and copies of the host."""
    made = [] if trace.collectives.empty else [communication.collectives_table(trace)]
    if len(trace.copies):
        made.append(communication.copies_table(trace, "Copies by the host, by ends and call"))
    return [_plain(table) for table in made]


def _finding(row: dict[Any, Any]) -> dict[str, Any]:
    """A card, and the name of its line as the page has it, or ""."""
    line = f"{cut(row['file'], keep_end=True)}:{row['line']}" if row["line"] else ""
    return asdict(findings.card(row)) | {"line": line}
