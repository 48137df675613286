"""Atomics on other memory, many of them on the same addresses."""

from __future__ import annotations

import math
from collections.abc import Iterator

from snoopie.analysis.findings import repeated
from snoopie.analysis.findings.facts import PLACE, Facts, rows
from snoopie.analysis.findings.finding import Finding, Rule
from snoopie.analysis.findings.lines import on_line
from snoopie.analysis.findings.thresholds import (
    LEAST_OPERATIONS,
    LEAST_OPERATIONS_SHARE,
    OPERATIONS_AN_ADDRESS,
    in_words,
)
from snoopie.words import units

_OPERATIONS = ["atomic", "reduction"]


def _find(facts: Facts) -> Iterator[Finding]:
    table = facts.large_lines(_OPERATIONS, "lanes", LEAST_OPERATIONS, LEAST_OPERATIONS_SHARE)
    # The records are gone through only where something can be found.
    if table.empty:
        return
    for row in rows(table.merge(repeated.of_lines(facts, _OPERATIONS), on=PLACE, how="left")):
        # Without records: lanes of one access that share an address show as more bytes than their wire units hold.
        together = row["bytes"] / max(row["wire_bytes"], 1)
        recorded = not math.isnan(row["recorded"])
        each = max(together, row["bytes_again"]) if recorded else together
        if OPERATIONS_AN_ADDRESS.crossed(each):
            whose = repeated.among_recorded(row["recorded"]) if recorded else ""
            says = (
                f"does {units.count(row['lanes'])} atomic operations on the memory of {row['owner']}: at least "
                f"{in_words(each, 'count')} on each address in a launch, on average{whose}"
            )
            numbers = {
                OPERATIONS_AN_ADDRESS.number: each,
                LEAST_OPERATIONS.number: row["lanes"],
                LEAST_OPERATIONS_SHARE.number: row["share"],
                "accesses": row["accesses"],
                "wire bytes": row["wire_bytes"],
            }
            if recorded:
                numbers |= {"distinct bytes": row["distinct"], "share of accesses recorded": row["recorded"]}
            spared = row["wire_bytes"] * (1 - 1 / each)
            yield on_line(row, says, numbers, row["wire_bytes"], row["share"], spared)


RULE = Rule(
    name="remote-atomics",
    title="Atomics across NVLink",
    about=(
        "A line issues many atomic operations, with or without a result, to few addresses of remote memory, and the "
        "owner executes them one after another. Each active lane counts as one operation. The number per address in a"
        " launch is a lower bound, as for repeated loads; without recorded accesses it counts only lanes of one "
        "access that share an address."
    ),
    thresholds=(OPERATIONS_AN_ADDRESS, LEAST_OPERATIONS, LEAST_OPERATIONS_SHARE),
    remedy=(
        "Reduce locally first (in the warp, in shared memory or in the GPU's own memory), then send one operation per"
        " address."
    ),
    basis="records",
    find=_find,
)
