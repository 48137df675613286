"""Stores and loads whose sectors carry few of the bytes that were asked for."""

from __future__ import annotations

from collections.abc import Iterator

from snoopie.analysis.findings.facts import Facts, rows
from snoopie.analysis.findings.finding import Finding, Rule
from snoopie.analysis.findings.lines import on_line
from snoopie.analysis.findings.thresholds import EFFICIENCY, EFFICIENCY_OF_LOADS, LEAST_SHARE, LEAST_WIRE, Threshold
from snoopie.words import units


def _stores(facts: Facts) -> Iterator[Finding]:
    return _find(facts, "store", EFFICIENCY)


def _loads(facts: Facts) -> Iterator[Finding]:
    return _find(facts, "load", EFFICIENCY_OF_LOADS)


def _find(facts: Facts, operation: str, limit: Threshold) -> Iterator[Finding]:
    for row in rows(facts.large_lines([operation], "wire_bytes", LEAST_WIRE, LEAST_SHARE)):
        efficiency = row["bytes"] / row["wire_bytes"]
        if limit.crossed(efficiency):
            says = (
                f"{operation}s small scattered pieces: {units.bytes(row['bytes'])} of data take "
                f"{units.bytes(row['wire_bytes'])} on the wire"
            )
            numbers = {
                limit.number: efficiency,
                "bytes": row["bytes"],
                LEAST_WIRE.number: row["wire_bytes"],
                LEAST_SHARE.number: row["share"],
                "accesses": row["accesses"],
            }
            yield on_line(row, says, numbers, row["wire_bytes"], row["share"])


STORES = Rule(
    name="scattered-stores",
    title="Small scattered stores",
    about=(
        "The stores of a line touch many 32-byte sectors but write only a few bytes in each. Wire bytes count whole "
        "sectors; NVLink sends only the touched 16-byte halves of stores, so at worst half of these bytes were not "
        "sent. Each piece also has its own header, which no number here includes."
    ),
    thresholds=(EFFICIENCY, LEAST_WIRE, LEAST_SHARE),
    remedy=(
        "Let neighbouring lanes store neighbouring words, at least 16 contiguous bytes, or collect the pieces in "
        "shared or local memory first and send them contiguously."
    ),
    basis="counts",
    find=_stores,
)

LOADS = Rule(
    name="scattered-loads",
    title="Small scattered loads",
    about=(
        "The loads of a line touch many 32-byte sectors but use only a few bytes of each. NVLink transfers whole "
        "sectors, so the wire bytes are what was moved, except for L1 cache hits."
    ),
    thresholds=(EFFICIENCY_OF_LOADS, LEAST_WIRE, LEAST_SHARE),
    remedy=(
        "Let neighbouring lanes load neighbouring words, have the owner gather them into one contiguous piece, or "
        "copy the whole array into local memory once and pick from there."
    ),
    basis="counts",
    find=_loads,
)
