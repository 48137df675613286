"""What a watch counts, as families of metrics: for Prometheus and for OpenTelemetry.

Values of labels are bounded: what comes after the first so many of a label is "other", for good, so that counters never
fall. What ended processes did stays in the sums.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from snoopie.trace.writer import DIRECTIONS, OBJECT_KINDS
from snoopie.watch import results
from snoopie.watch.recorder import Recorder
from snoopie.watch.session import Session
from snoopie.watch.stream import NOT_KNOWN, ON_HOST

Labels = tuple[str, ...]

# Of a label that programs choose the values of.
_MOST = {"kernel": 200, "program": 100, "container": 200, "pod": 200, "user": 100}
_LONGEST = 200
_OTHER = "other"
_WHOSE = ("program", "user", "container", "pod")
# Seconds: 2^n ns, from 1 µs to 17 s.
_SLOTS = range(10, 36, 2)
BUCKETS = tuple(2.0**slot / 1e9 for slot in _SLOTS)
# Mappings show memory that is physical memory too; registered memory was there before.
_MEMORY = frozenset(OBJECT_KINDS.index(kind) for kind in ("device", "pool", "array", "managed", "host", "physical"))


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
    """How long calls took: by call, how many took at most so long, and the seconds of all."""

    counts: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))


class Bounded:
    """The values of labels, of which there may be only so many."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = defaultdict(set)

    def value(self, label: str, text: str) -> str:
        """The text, or "other"."""
        text = text[:_LONGEST]
        seen = self._seen[label]
        if text not in seen and len(seen) >= _MOST[label]:
            return _OTHER
        seen.add(text)
        return text


_PAIRS = (*_WHOSE, "direction", "source", "destination")


def _families() -> dict[str, Family]:
    listed = [
        Family("launches", "Launches of CUDA kernels.", (*_WHOSE, "gpu", "kernel"), unit="{launch}"),
        Family("calls", "Calls of the CUDA driver.", (*_WHOSE, "gpu", "call"), unit="{call}"),
        Family("call_errors", "Calls that failed.", (*_WHOSE, "gpu", "call", "error"), unit="{call}"),
        Family("copies", "Copies by the host.", _PAIRS, unit="{copy}"),
        Family("copied_bytes", "Bytes of copies by the host.", _PAIRS, unit="By"),
        Family("allocations", "Allocations of memory.", (*_WHOSE, "gpu", "kind"), unit="{allocation}"),
        Family("allocated_bytes", "Memory that programs have now.", (*_WHOSE, "gpu", "kind"), total=False, unit="By"),
        Family("leaked_bytes", "Memory that programs had when they ended.", (*_WHOSE, "gpu", "kind"), unit="By"),
        Family("synchronization_seconds", "Time in calls that wait for a GPU.", (*_WHOSE, "gpu"), unit="s"),
    ]  # fmt: skip
    return {family.name: family for family in listed}


class Metrics:
    """Sums up a session when it is asked; what has ended is added up once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bounded = Bounded()
        self._past = _families()
        self._past_durations = Durations()
        session.on_end.append(self._fold)

    def families(self) -> list[Family]:
        """All but durations, as they are now."""
        session, now = self._session, _families()
        for name, family in self._past.items():
            now[name].values.update(family.values)
        for recorder in session.running():
            self._add(recorder, now)
        lost = Family("lost", "What could not be recorded, by what was full.", ("what",), unit="{event}")
        lost.values.update({(what,): float(number) for what, number in session.lost.items()})
        processes = Family("processes", "Processes that call the driver now.", (), total=False, unit="{process}")
        processes.values[()] = float(sum(1 for one in session.running() if len(one.sums.calls)))
        return [*now.values(), lost, processes]

    def durations(self) -> Durations:
        """Of the calls of all processes."""
        now = Durations()
        for call, counts in self._past_durations.counts.items():
            now.counts[call] = counts.copy()
        now.seconds.update(self._past_durations.seconds)
        for recorder in self._session.running():
            self._add_durations(recorder, now)
        return now

    def _fold(self, recorder: Recorder) -> None:
        """What a process that ended did."""
        self._add(recorder, self._past)
        self._past["allocated_bytes"].values.clear()
        self._add_durations(recorder, self._past_durations)
        leaked = self._past["leaked_bytes"].values
        for row in self._session.live_of(recorder):
            if int(row["object"]) in _MEMORY:
                kind = OBJECT_KINDS[int(row["object"])]
                leaked[(*self._whose(recorder), _gpu(int(row["gpu"])), kind)] += float(row["bytes"])

    def _whose(self, recorder: Recorder) -> Labels:
        about = recorder.about
        return tuple(self._bounded.value(label, str(getattr(about, label))) for label in _WHOSE)

    def _add(self, recorder: Recorder, to: dict[str, Family]) -> None:
        whose, functions = self._whose(recorder), self._session.functions
        for row in recorder.sums.calls.tolist():
            kernel, _, _, function, device, towards, calls, _, total, _, _, moved = row
            call, gpu = functions[function], _gpu(device)
            to["calls"].values[(*whose, gpu, call)] += calls
            if kernel:
                name = self._bounded.value("kernel", recorder.kernel_or(kernel, "unknown"))
                to["launches"].values[(*whose, gpu, name)] += calls
            if towards:
                pair = (DIRECTIONS[towards & 255], *_pair(towards, gpu))
                to["copies"].values[(*whose, *pair)] += calls
                to["copied_bytes"].values[(*whose, *pair)] += moved
            if "Synchronize" in call:
                to["synchronization_seconds"].values[(*whose, gpu)] += total / 1e9
        for row in recorder.sums.errors.tolist():
            _, _, function, device, code, calls = row
            to["call_errors"].values[(*whose, _gpu(device), functions[function], results.name(code))] += calls
        for row in self._session.memory_of(recorder).tolist():
            _, device, kind, allocated, freed, allocations, _ = row
            labels = (*whose, _gpu(device), OBJECT_KINDS[kind])
            to["allocations"].values[labels] += allocations
            if kind in _MEMORY:
                to["allocated_bytes"].values[labels] += allocated - freed

    def _add_durations(self, recorder: Recorder, to: Durations) -> None:
        functions = self._session.functions
        for row in recorder.sums.times:
            call = functions[int(row["function"])]
            counts = to.counts.setdefault(call, np.zeros(len(BUCKETS) + 1, np.int64))
            # The slot of 2^n holds what took less than 2^(n + 1).
            below = np.cumsum(row["calls"].astype(np.int64))
            counts[:-1] += below[[slot - 1 for slot in _SLOTS]]
            counts[-1] += below[-1]
        for row in recorder.sums.calls:
            to.seconds[functions[int(row["function"])]] += float(row["total"]) / 1e9


def _gpu(device: int) -> str:
    return str(device) if device >= 0 else "host" if device == ON_HOST else "unknown"


def _pair(towards: int, gpu: str) -> tuple[str, str]:
    """source and destination of copies: as the kernel part says, else as the direction does."""
    ends = [(towards >> shift & 255) for shift in (8, 16)]
    if all(ends):
        source, destination = (_gpu(end + NOT_KNOWN - 1) for end in ends)
        return source, destination
    match DIRECTIONS[towards & 255]:
        case "host to device":
            return "host", gpu
        case "device to host":
            return gpu, "host"
        case "host to host":
            return "host", "host"
    return "unknown", "unknown"


def samples(families: Iterable[Family]) -> Iterator[tuple[Family, dict[str, str], float]]:
    """Every value with its labels."""
    for family in families:
        for values, number in family.values.items():
            yield family, dict(zip(family.labels, values, strict=True)), number
