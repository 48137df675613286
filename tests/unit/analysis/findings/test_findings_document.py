"""docs/findings.md is what the rules say of themselves.  SNOOPIE_UPDATE_DOCS=1 writes it anew."""

from __future__ import annotations

import os
from pathlib import Path

from snoopie.analysis.findings import RULES
from snoopie.analysis.findings.finding import SEVERITIES, Rule

DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "findings.md"

INTRODUCTION = """# Findings

Generated from the rules' own texts (`snoopie/analysis/findings`). `trace.findings()`, `snoopie findings TRACE` and the
app's overview give what these rules find, each with its numbers, the thresholds, a remedy, and a link to its evidence.

Every rule is silent below a minimum amount, so tiny traffic is never a finding. If only some launches were measured,
amounts are estimates, as everywhere. Numbers from single accesses cover only the recorded ones, and say so. A finding
is a place to look: whether it costs time depends on what else the program does meanwhile.

Findings are ranked by the time that could be saved at most: what the links need at least for the wire bytes that the
remedy spares them. Where that is not known, they come last, by share.

The severity follows from the share of what the rule looks at: {severities}.
Wire bytes are those of every wire unit touched (32 bytes read, 16 written), lanes are active threads.
"""

NEEDS = {"counts": "counts and copies", "records": "recorded accesses (`SAMPLE_SIZE` not 0), beside the counts"}

OF_ALL = "; whole traces only, because a selected part would be lopsided"


def render() -> str:
    levels = ", ".join(f"{name} from {least:.0%} on" if least else f"else {name}" for name, least in SEVERITIES)
    return "".join([INTRODUCTION.format(severities=levels), *map(_section, RULES)])


def _section(rule: Rule) -> str:
    rows = "".join(f"| {limit} | {limit.why} |\n" for limit in rule.thresholds)
    return (
        f"\n## {rule.title} (`{rule.name}`)\n\n{rule.about}\n\n"
        f"| threshold | reason |\n|---|---|\n{rows}\n"
        f"**Remedy:** {rule.remedy}\n\n**Looks at:** {NEEDS[rule.basis]}{OF_ALL if rule.compares else ''}.\n"
    )


def test_findings_document() -> None:
    expected = render()
    if os.environ.get("SNOOPIE_UPDATE_DOCS"):
        DOCUMENT.write_text(expected)
    assert DOCUMENT.read_text() == expected, (
        "docs/findings.md is old: SNOOPIE_UPDATE_DOCS=1 pytest tests/unit/analysis/findings/test_findings_document.py"
    )


def test_names_are_different() -> None:
    assert len({rule.name for rule in RULES}) == len({rule.title for rule in RULES}) == len(RULES)
