"""What a watch counts, as metrics. What ended processes did stays in the sums."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from snoopie.live.metrics import (
    MEMORY,
    Bounded,
    Durations,
    Family,
    Running,
    host_families,
    lost_family,
    processes_family,
)
from snoopie.trace.writer import DIRECTIONS, OBJECT_KINDS
from snoopie.watch import results
from snoopie.watch.recorder import Recorder
from snoopie.watch.session import Session
from snoopie.watch.stream import NOT_KNOWN, ON_HOST

_MEMORY = frozenset(OBJECT_KINDS.index(kind) for kind in MEMORY)


class WatchMetrics:
    """Sums up a session when it is asked; what has ended is added up once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bounded = Bounded()
        self._past = host_families()
        self._past_durations = Durations()
        session.on_end.append(self._fold)

    @property
    def now(self) -> int:
        return self._session.now

    @property
    def lost(self) -> Mapping[str, int]:
        return self._session.lost

    def families(self) -> list[Family]:
        """All but durations, as they are now."""
        now = host_families()
        for name, family in self._past.items():
            now[name].values.update(family.values)
        for recorder in self._session.running():
            self._add(recorder, now)
        return [*now.values(), lost_family(self.lost), processes_family(len(self._calling()))]

    def durations(self) -> Durations:
        """Of the calls of all processes."""
        now = self._past_durations.copy()
        for recorder in self._session.running():
            self._add_durations(recorder, now)
        return now

    def running(self) -> list[Running]:
        """The processes that have called the driver, and run."""
        waits = [number for number, name in enumerate(self._session.functions) if "Synchronize" in name]
        found = []
        for recorder in self._calling():
            calls, memory = recorder.sums.calls, self._session.memory_of(recorder)
            memory = memory[np.isin(memory["object"], list(_MEMORY))]
            found.append(
                Running(
                    recorder.about,
                    launches=float(calls["calls"][calls["kernel"] > 0].sum()),
                    copied=float(calls["bytes"][calls["direction"] > 0].sum()),
                    accessed=0.0,
                    memory=float((memory["allocated"] - memory["freed"]).sum()),
                    errors=int(calls["errors"].sum()),
                    waited=float(calls["total"][np.isin(calls["function"], waits)].sum()) / 1e9,
                )
            )
        return found

    def _calling(self) -> list[Recorder]:
        return [recorder for recorder in self._session.running() if len(recorder.sums.calls)]

    def _fold(self, recorder: Recorder) -> None:
        """What a process that ended did."""
        self._add(recorder, self._past)
        self._past["allocated_bytes"].values.clear()
        self._add_durations(recorder, self._past_durations)
        leaked = self._past["leaked_bytes"].values
        for row in self._session.live_of(recorder):
            if int(row["object"]) in _MEMORY:
                kind = OBJECT_KINDS[int(row["object"])]
                leaked[(*self._bounded.whose(recorder.about), _gpu(int(row["gpu"])), kind)] += float(row["bytes"])

    def _add(self, recorder: Recorder, to: dict[str, Family]) -> None:
        whose, functions = self._bounded.whose(recorder.about), self._session.functions
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
            to.add(functions[int(row["function"])], row["calls"].astype(np.int64))
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
