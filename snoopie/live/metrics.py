"""What programs do, as families of metrics: for Prometheus, OpenTelemetry and the terminal.

Values of labels are bounded: what comes after the first so many of a label is "other", for good, so that counters never
fall.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from snoopie.live.about import About

Labels = tuple[str, ...]
Counts = NDArray[np.int64]

# Of a label that programs, or traces, choose the values of.
_MOST = {
    "kernel": 200, "program": 100, "container": 200, "pod": 200, "user": 100, "gpu": 256, "call": 1000, "error": 200,
    "kind": 100,
}  # fmt: skip
_LONGEST = 200
OTHER = "other"
WHOSE = ("program", "user", "container", "pod")
# Seconds: 2^n ns, from 1 µs to 17 s.
_SLOTS = range(10, 36, 2)
BUCKETS = tuple(2.0**slot / 1e9 for slot in _SLOTS)
# Mappings show memory that is physical memory too; registered memory was there before.
MEMORY = frozenset(("device", "pool", "array", "managed", "host", "physical"))


@dataclass(slots=True)
class Family:
    """A metric: a value for each combination of labels. ``total``: it only grows. ``unit`` as OpenTelemetry has it."""

    name: str
    help: str
    labels: tuple[str, ...]
    total: bool = True
    unit: str = "1"
    values: dict[Labels, float] = field(default_factory=lambda: defaultdict(float))


@dataclass(slots=True)
class Durations:
    """How long calls took, by call: ``slots`` has how many took at least 2^n ns and less than twice that, at place n;
    ``seconds`` is the time of all."""

    slots: dict[str, Counts] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, call: str, slots: Counts) -> None:
        """Takes more calls into account."""
        known = self.slots.setdefault(call, np.zeros(64, np.int64))
        known[: len(slots)] += slots

    def copy(self) -> Durations:
        """The same, which later calls do not change."""
        same = Durations()
        for call, slots in self.slots.items():
            same.add(call, slots)
        same.seconds.update(self.seconds)
        return same

    def buckets(self, call: str) -> Counts:
        """How many took at most as long as each of BUCKETS, and how many there were in all."""
        below = np.cumsum(self.slots[call])
        return np.append(below[[slot - 1 for slot in _SLOTS]], below[-1])


@dataclass(frozen=True, slots=True)
class Running:
    """A process that runs, and what it has done so far: launches, bytes of copies and of accesses by kernels, bytes of
    memory that it has, calls that failed, seconds in calls that wait."""

    about: About
    launches: float
    copied: float
    accessed: float
    memory: float
    errors: int
    waited: float


class Metrics(Protocol):
    """What several programs do. ``now`` is when that was last heard of, in ns of any clock; ``lost`` what was not."""

    @property
    def now(self) -> int: ...

    @property
    def lost(self) -> Mapping[str, int]: ...

    def families(self) -> list[Family]:
        """All but durations, as they are now."""

    def durations(self) -> Durations:
        """Of the calls of all processes."""

    def running(self) -> list[Running]:
        """The processes that call the driver now."""


class Bounded:
    """The values of labels, of which there may be only so many."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = defaultdict(set)

    def value(self, label: str, text: str) -> str:
        """The text, or "other"."""
        text = text[:_LONGEST]
        seen = self._seen[label]
        if text not in seen and len(seen) >= _MOST[label]:
            return OTHER
        seen.add(text)
        return text

    def whose(self, about: About) -> Labels:
        """The labels of a process."""
        return tuple(self.value(label, str(getattr(about, label))) for label in WHOSE)


_PAIRS = (*WHOSE, "direction", "source", "destination")
_ACCESSES = (*WHOSE, "operation", "issuer", "owner")


def host_families() -> dict[str, Family]:
    """What programs ask of the driver."""
    return _by_name(
        Family("launches", "Launches of CUDA kernels.", (*WHOSE, "gpu", "kernel"), unit="{launch}"),
        Family("calls", "Calls of the CUDA driver.", (*WHOSE, "gpu", "call"), unit="{call}"),
        Family("call_errors", "Calls that failed.", (*WHOSE, "gpu", "call", "error"), unit="{call}"),
        Family("copies", "Copies by the host.", _PAIRS, unit="{copy}"),
        Family("copied_bytes", "Bytes of copies by the host.", _PAIRS, unit="By"),
        Family("allocations", "Allocations of memory.", (*WHOSE, "gpu", "kind"), unit="{allocation}"),
        Family("allocated_bytes", "Memory that programs have now.", (*WHOSE, "gpu", "kind"), total=False, unit="By"),
        Family("leaked_bytes", "Memory that programs had when they ended.", (*WHOSE, "gpu", "kind"), unit="By"),
        Family("synchronization_seconds", "Time in calls that wait for a GPU.", (*WHOSE, "gpu"), unit="s"),
    )


def access_families() -> dict[str, Family]:
    """What kernels do, which the collector alone sees."""
    return _by_name(
        Family(
            "accesses",
            "Accesses of measured launches to memory of others than their GPU.",
            _ACCESSES,
            unit="{access}",
        ),
        Family("accessed_bytes", "Bytes of these accesses: active threads times width.", _ACCESSES, unit="By"),
        Family(
            "gpu_info", "The GPUs by the numbers that they have here.", ("gpu", "uuid", "name", "pci"), total=False
        ),
    )  # fmt: skip


def lost_family(lost: Mapping[str, int]) -> Family:
    """What could not be recorded."""
    family = Family("lost", "What could not be recorded.", ("what",), unit="{event}")
    family.values.update({(what,): float(number) for what, number in lost.items()})
    return family


def processes_family(number: int) -> Family:
    """How many processes there are."""
    family = Family("processes", "Processes that call the driver now.", (), total=False, unit="{process}")
    family.values[()] = float(number)
    return family


def _by_name(*families: Family) -> dict[str, Family]:
    return {family.name: family for family in families}
