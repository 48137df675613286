"""Traces while they are written → metrics: a run under the collector, with all its processes."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from snoopie.errors import EmptyError, SnoopieError, TruncatedError
from snoopie.live.metrics import (
    Bounded,
    Durations,
    Family,
    Running,
    access_families,
    host_families,
    lost_family,
    processes_family,
)
from snoopie.live.recorded import TABLES, Recorded
from snoopie.trace.growing import Growing
from snoopie.trace.limits import LIMITS, Limits
from snoopie.trace.schema import Gpu


class Recording:
    """All traces that ``files`` finds, each from its beginning; ``here`` leaves out those of other machines.

    A trace that cannot be read goes no further; ``problems`` has why.
    """

    def __init__(self, files: Callable[[], Iterable[Path]], *, here: bool = False, limits: Limits = LIMITS) -> None:
        self.problems: list[SnoopieError] = []
        self._files, self._here, self._limits = files, here, limits
        self._bounded = Bounded()
        self._numbers: dict[object, str] = {}
        self._sums = host_families() | access_families()
        self._durations = Durations()
        # Of traces that have ended nothing but the sums stays.
        self._running: dict[Path, Recorded] = {}
        self._seen: set[Path] = set()
        self._lost = {"records": 0}
        self._time = 0

    @property
    def now(self) -> int:
        return self._time

    @property
    def lost(self) -> Mapping[str, int]:
        found = dict(self._lost)
        for one in self._running.values():
            _add(found, one.lost)
        return found

    @property
    def seen(self) -> int:
        """How many traces there are or were."""
        return len(self._seen)

    def look(self) -> bool:
        """Reads what is new. Returns whether more can come."""
        self._find()
        for path, one in list(self._running.items()):
            # Asked first: what a process wrote before it was gone, or in the second after its footer, is then there.
            ended = one.process.ended
            try:
                one.advance(self._sums, self._durations)
            except SnoopieError as error:
                self.problems.append(error)
                ended = True
            if ended:
                self._end(path)
        self._time = time.time_ns()
        return bool(self._running) or not self._seen

    def close(self) -> None:
        """Ends it."""
        for path in list(self._running):
            self._end(path)

    def families(self) -> list[Family]:
        """All but durations, as they are now."""
        now = {name: replace(family, values=family.values.copy()) for name, family in self._sums.items()}
        for one in self._running.values():
            one.add_memory(now)
        return [*now.values(), lost_family(self.lost), processes_family(len(self._running))]

    def durations(self) -> Durations:
        """Of the calls of all processes."""
        return self._durations.copy()

    def running(self) -> list[Running]:
        """The processes that run."""
        return [one.running() for one in self._running.values()]

    def _find(self) -> None:
        for path in sorted(self._files()):
            real = path.resolve()
            if real in self._seen:
                continue
            try:
                process = Growing(path, TABLES, limits=self._limits)
            except (TruncatedError, EmptyError):
                # Its header is still being written.
                continue
            except SnoopieError as error:
                self.problems.append(error)
                self._seen.add(real)
                continue
            self._seen.add(real)
            if self._here and process.header.host != socket.gethostname():
                process.close()
                continue
            self._running[real] = Recorded(process, self._numbering(process), self._bounded)

    def _numbering(self, process: Growing) -> Callable[[int], str]:
        """Numbers the GPUs of all processes by UUID, as they come: those that a process sees at once, others when they
        turn out to have a part in it."""
        gpus = process.header.gpus

        def number(place: int) -> str:
            gpu = gpus[place]
            key = gpu.uuid or (process.path, place)
            if key not in self._numbers:
                self._numbers[key] = self._bounded.value("gpu", str(len(self._numbers)))
                self._tell(gpu, self._numbers[key])
            return self._numbers[key]

        for place, gpu in enumerate(gpus):
            if gpu.visible:
                number(place)
        return number

    def _tell(self, gpu: Gpu, number: str) -> None:
        self._sums["gpu_info"].values[number, *(text[:100] for text in (gpu.uuid, gpu.name, gpu.pci))] = 1.0

    def _end(self, path: Path) -> None:
        one = self._running.pop(path)
        one.add_leaks(self._sums)
        _add(self._lost, one.lost)
        one.process.close()


def _add(to: dict[str, int], more: Mapping[str, int]) -> None:
    for what, number in more.items():
        to[what] = to.get(what, 0) + number
