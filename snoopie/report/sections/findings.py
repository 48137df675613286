"""What to look at first, and what to do about it."""

from __future__ import annotations

from typing import Any

from snoopie.analysis.findings.numbers import said
from snoopie.api.trace import Trace
from snoopie.report.parts import MOST_LETTERS, MOST_ROWS, FindingCard, Findings, Folders, Part, Section, Text, cut
from snoopie.words import units

TITLE = "Findings"


def findings(trace: Trace, _: Folders) -> Section:
    found = trace.findings()
    if found.empty:
        return Section("findings", TITLE, [Text("No findings: no rule found expensive traffic.")])
    parts: list[Part] = [Findings([card(row) for row in found.head(MOST_ROWS).to_dict("records")])]
    if len(found) > MOST_ROWS:
        parts.append(Text(f"{len(found) - MOST_ROWS} more: snoopie findings lists them all."))
    return Section("findings", TITLE, parts)


def card(row: dict[Any, Any]) -> FindingCard:
    """A row of `Trace.findings` in words."""
    about = "≈ " if row["estimated"] else ""
    places = " → ".join(end for end in (row["issuer"], row["owner"]) if end)
    line = f"{row['file']}:{row['line']}" if row["line"] else ""
    moved = f"{about}{units.bytes(row['bytes'])}"
    where = [cut(line, keep_end=True), cut(row["kernel"]), cut(places), moved]
    return FindingCard(
        severity=row["severity"],
        title=cut(about + row["title"], 2 * MOST_LETTERS),
        where="; ".join(part for part in where if part),
        numbers=cut("; ".join(said(row["numbers"])), 2 * MOST_LETTERS),
        threshold=cut(row["threshold"]),
        remedy=cut(row["remedy"], 4 * MOST_LETTERS),
    )
