"""Loads that bring the same remote data again and again within a launch."""

from __future__ import annotations

from collections.abc import Iterator

from snoopie.analysis.findings import repeated
from snoopie.analysis.findings.facts import PLACE, Facts, rows
from snoopie.analysis.findings.finding import Finding, Rule
from snoopie.analysis.findings.lines import on_line
from snoopie.analysis.findings.thresholds import LEAST_SHARE, LEAST_WIRE, READS, in_words


def _find(facts: Facts) -> Iterator[Finding]:
    table = facts.large_lines(["load"], "wire_bytes", LEAST_WIRE, LEAST_SHARE)
    # The records are gone through only where something can be found.
    if table.empty:
        return
    for row in rows(table.merge(repeated.of_lines(facts, ["load"]), on=PLACE)):
        if READS.crossed(row["units_again"]):
            says = (
                f"loads the same data repeatedly: each sector at least {in_words(row['units_again'], READS.unit)} "
                f"in a launch, on average{repeated.among_recorded(row['recorded'])}"
            )
            numbers = {
                READS.number: row["units_again"],
                LEAST_WIRE.number: row["wire_bytes"],
                "distinct bytes": row["distinct"],
                "launches": row["launches"],
                LEAST_SHARE.number: row["share"],
                "share of accesses recorded": row["recorded"],
            }
            spared = row["wire_bytes"] * (1 - 1 / row["units_again"])
            yield on_line(row, says, numbers, row["wire_bytes"], row["share"], spared)


RULE = Rule(
    name="repeated-loads",
    title="Remote data loaded repeatedly",
    about=(
        "Each launch loads the same sectors (32 bytes) of remote memory several times. Sectors are compared, so lanes "
        "of a warp that read one word together count once. Only reads within a launch are compared, because the data "
        "may have changed between launches. The number is a lower bound: the line's wire bytes divided by the product "
        "of the distinct sectors that all launches touched and the number of launches. L1 cache hits are counted too, "
        "though they move nothing. Needs recorded accesses."
    ),
    thresholds=(READS, LEAST_WIRE, LEAST_SHARE),
    remedy=(
        "Load the data once into shared or local memory and read it there. A polled flag belongs in the memory of the"
        " GPU that polls it."
    ),
    basis="records",
    find=_find,
)
