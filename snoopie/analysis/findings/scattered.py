"""Stores and loads whose wire units carry few of the bytes that were asked for."""

from __future__ import annotations

from collections.abc import Iterator

from snoopie.analysis.findings.facts import Facts, rows
from snoopie.analysis.findings.finding import Finding, Rule
from snoopie.analysis.findings.lines import on_line
from snoopie.analysis.findings.thresholds import EFFICIENCY, LEAST_SHARE, LEAST_WIRE
from snoopie.words import units


def _stores(facts: Facts) -> Iterator[Finding]:
    return _find(facts, "store")


def _loads(facts: Facts) -> Iterator[Finding]:
    return _find(facts, "load")


def _find(facts: Facts, operation: str) -> Iterator[Finding]:
    for row in rows(facts.large_lines([operation], "wire_bytes", LEAST_WIRE, LEAST_SHARE, EFFICIENCY)):
        says = (
            f"{operation}s small scattered pieces: {units.bytes(row['bytes'])} of data take "
            f"{units.bytes(row['wire_bytes'])} on the wire"
        )
        numbers = {
            EFFICIENCY.number: row["bytes"] / row["wire_bytes"],
            "bytes": row["bytes"],
            LEAST_WIRE.number: row["wire_bytes"],
            LEAST_SHARE.number: row["share"],
            "accesses": row["accesses"],
        }
        spared = row["wire_bytes"] - row["bytes"]
        yield on_line(row, says, numbers, row["wire_bytes"], row["share"], spared)


STORES = Rule(
    name="scattered-stores",
    title="Small scattered stores",
    about=(
        "The stores of a line touch many wire units (16 bytes) but write only a few bytes in each. NVLink sends whole "
        "units. Each piece also has its own header, which no number here includes."
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
        "The loads of a line touch many wire units (32 bytes) but use only a few bytes of each. NVLink transfers whole "
        "units, so the wire bytes are what was moved, except for L1 cache hits."
    ),
    thresholds=(EFFICIENCY, LEAST_WIRE, LEAST_SHARE),
    remedy=(
        "Let neighbouring lanes load neighbouring words, have the owner gather them into one contiguous piece, or "
        "copy the whole array into local memory once and pick from there."
    ),
    basis="counts",
    find=_loads,
)
