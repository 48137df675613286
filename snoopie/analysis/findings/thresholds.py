"""The numbers from which on something is a finding: one table, from which docs/findings.md is generated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from snoopie.words import units

Unit = Literal["share", "bytes", "times", "count"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A limit of one of a finding's numbers. ``why`` says where it comes from, for the documentation."""

    number: str
    sense: Literal["below", "at least"]
    limit: float
    unit: Unit
    why: str

    def crossed(self, value: float) -> bool:
        """Whether a value makes a finding."""
        return value < self.limit if self.sense == "below" else value >= self.limit

    def __str__(self) -> str:
        return f"{self.number} {self.sense} {in_words(self.limit, self.unit)}"


def in_words(value: float, unit: Unit) -> str:
    """A number with its unit, for people."""
    if not math.isfinite(value):
        return units.NOTHING
    if unit == "share":
        return units.percent(value)
    if unit == "bytes":
        return units.bytes(value)
    return units.count(value) + ("×" if unit == "times" else "")


# Below these a rule is silent, whatever else it sees: what moves little costs little.

LEAST_WIRE = Threshold(
    "wire bytes", "at least", 1 << 20, "bytes", "moving less over NVLink takes about as long as a launch"
)
LEAST_SHARE = Threshold(
    "share of all wire bytes", "at least", 0.01, "share", "less than a hundredth of the traffic can wait"
)
LEAST_MOVED_SHARE = Threshold(
    "share of all wire bytes and bytes copied",
    "at least",
    0.01,
    "share",
    "less than a hundredth of the traffic can wait",
)
LEAST_OPERATIONS = Threshold(
    "operations", "at least", 1 << 16, "count", "each operation is handled individually, however few bytes it moves"
)
LEAST_OPERATIONS_SHARE = Threshold(
    "share of all lanes", "at least", 0.01, "share", "less than a hundredth of the traffic can wait"
)
LEAST_COPIED = Threshold("bytes", "at least", 1 << 20, "bytes", "a smaller copy is mostly call overhead")
LEAST_COPIED_SHARE = Threshold(
    "share of all bytes copied", "at least", 0.01, "share", "less than a hundredth of the copies can wait"
)
LEAST_CROSSED = Threshold(
    "bytes between GPUs", "at least", 1 << 20, "bytes", "moving less over NVLink takes about as long as a launch"
)
LEAST_CROSSED_SHARE = Threshold(
    "share of all bytes between GPUs", "at least", 0.01, "share", "less than a hundredth of these bytes can wait"
)

# What the rules are about.

EFFICIENCY = Threshold(
    "wire efficiency",
    "below",
    0.5,
    "share",
    "most of each unit that NVLink moves is unused ([nvlink.md](nvlink.md))",
)
READS = Threshold(
    "reads of a sector in a launch",
    "at least",
    4,
    "times",
    "loading once into local or shared memory pays off long before that",
)
OPERATIONS_AN_ADDRESS = Threshold(
    "operations on an address in a launch",
    "at least",
    4,
    "times",
    "a local reduction first leaves a quarter of them or less",
)
ONE_SIDED = Threshold(
    "bytes there over bytes back", "at least", 4, "times", "links carry the same amount in both directions at once"
)
ONE_SIDED_PAIRS = Threshold(
    "share of such pairs",
    "below",
    0.5,
    "share",
    "if most pairs are one-sided, as in a ring, the program works that way; a single pair always counts",
)
HOT = Threshold(
    "bytes at its memory over the mean",
    "at least",
    2,
    "times",
    "the other GPUs' links are used half as much or less",
)
LEAST_OWNERS = Threshold(
    "GPUs that take part", "at least", 3, "count", "with two GPUs, one is always the other's target"
)
UNEQUAL = Threshold(
    "bytes over the mean of the others", "at least", 2, "times", "the others finish their part in half the time"
)
MISPLACED = Threshold(
    "bytes read over bytes copied in",
    "at least",
    0.5,
    "share",
    "below that, the reader may need only a piece of the data",
)
