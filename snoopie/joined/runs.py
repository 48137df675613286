"""Which processes are of one run, and which run somebody means.

A process names its run where `snoopie run` or a launcher did; a launcher's name may come again, so that then only
processes that ran at the same time are one run. Where nobody named it, as in older traces, they are the processes of
one program that ran at the same time, on one host or as ranks of as many.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from snoopie.errors import SeveralRunsError, UsageError
from snoopie.joined.frames import frame
from snoopie.joined.ranks import ranks_of
from snoopie.trace.tables import Process
from snoopie.words import units

# A sentence names this many.
_NAMED = 6


@dataclass(frozen=True, slots=True)
class Run:
    """``processes`` are places among the traces, ``programs`` names, times host ns."""

    id: str
    processes: tuple[int, ...]
    programs: tuple[str, ...]
    start_ns: int
    end_ns: int

    def __str__(self) -> str:
        """As a list shows it: "20261122-224003-3fa9 (ring, 4 processes, 2026-11-22 22:40:03)"."""
        count = units.plural(len(self.processes), "process", "processes")
        return f"{self.id} ({', '.join([*self.programs, count, *date(self.start_ns)])})"


def date(ns: int) -> list[str]:
    """A host time for people; nothing for one that is not known."""
    try:
        moment = datetime.datetime.fromtimestamp(ns // 10**9)
    except (OverflowError, OSError, ValueError):
        return []
    return [moment.isoformat(" ")] if units.is_date(ns) else []


def runs_of(sources: Sequence[Process]) -> list[Run]:
    """The runs in the order in which they began."""
    of_one = _Groups(len(sources))
    spans = [(source.header.start_ns, source.last_ns) for source in sources]
    for number, source in enumerate(sources):
        if source.header.run_of == "run":
            of_one.join_equal(source.header.run_id, number)
    of_one.join_overlapping(spans, lambda place: _job(sources[place]))
    of_one.join_overlapping(spans, lambda place: _alike(sources[place], sources[place].header.host))
    of_one.join_overlapping(spans, lambda place: _ranks(sources[place]))
    runs = [_run(sources, group) for group in of_one.groups()]
    return sorted(runs, key=lambda run: (run.start_ns, run.processes))


def table(runs: Sequence[Run], sources: Sequence[Process]) -> pd.DataFrame:
    """One row a run."""
    hosts = [dict.fromkeys(sources[place].header.host for place in run.processes) for run in runs]
    return frame(
        {
            "run_id": [run.id for run in runs],
            "program": [", ".join(run.programs) for run in runs],
            "processes": np.array([len(run.processes) for run in runs], np.int64),
            "hosts": [", ".join(host for host in of_run if host) for of_run in hosts],
            "start_ns": np.array([run.start_ns for run in runs], np.int64),
            "end_ns": np.array([run.end_ns for run in runs], np.int64),
            "label": [str(run) for run in runs],
        },
        "run",
        np.arange(len(runs)),
    )


def chosen(sources: Sequence[Process], run: str | int | None, *, all_runs: bool) -> list[Process]:
    """The processes of the run that is meant: by its number, or by its id or how that begins.

    UsageError where there is none, or where ``run`` is None and there are several, unless ``all_runs`` are wanted.
    """
    if all_runs and run is not None:
        raise UsageError("one run and all of them cannot both be meant", "leave out run or all_runs")
    if all_runs:
        return list(sources)
    runs = runs_of(sources)
    if run is None and len(runs) > 1:
        raise SeveralRunsError(
            f"these traces are of {len(runs)} runs that do not belong together: {_listed(enumerate(runs))}",
            "choose one with load(…, run=0), or add them up with load(…, all_runs=True)",
            runs,
        )
    places = runs[0].processes if run is None else _find(runs, run).processes
    return [sources[place] for place in places]


def _find(runs: Sequence[Run], run: str | int) -> Run:
    if isinstance(run, int) or (run.isascii() and run.isdecimal() and int(run[:9]) < len(runs)):
        if 0 <= int(run) < len(runs):
            return runs[int(run)]
        fitting = []
    else:
        exact = [(number, known) for number, known in enumerate(runs) if known.id == run]
        fitting = exact or [(number, known) for number, known in enumerate(runs) if run and known.id.startswith(run)]
    if len(fitting) == 1:
        return fitting[0][1]
    if fitting:
        raise UsageError(f"{run} begins the ids of several runs: {_listed(fitting)}", "give more of it, or a number")
    raise UsageError(f"there is no run {run}: the traces have {_listed(enumerate(runs))}", "give a number or an id")


def _listed(runs: Iterable[tuple[int, Run]]) -> str:
    named = [f"{number}: {run}" for number, run in runs]
    more = [f"and {len(named) - _NAMED} more, which snoopie info lists"] if len(named) > _NAMED else []
    return ", ".join([*named[:_NAMED], *more])


class _Groups:
    """Places, some of which are found to belong together."""

    def __init__(self, count: int) -> None:
        self._above = list(range(count))
        self._named: dict[Hashable, int] = {}

    def join(self, one: int, other: int) -> None:
        low, high = sorted((self._top(one), self._top(other)))
        self._above[high] = low

    def join_equal(self, key: Hashable, place: int) -> None:
        self.join(self._named.setdefault(key, place), place)

    def join_overlapping(self, spans: Sequence[tuple[int, int]], key: Callable[[int], Hashable]) -> None:
        """Joins places of one key, None for none, whose spans overlap."""
        before: dict[Hashable, tuple[int, int]] = {}
        for place in sorted(range(len(spans)), key=spans.__getitem__):
            own = key(place)
            if own is None:
                continue
            start, end = spans[place]
            other, until = before.get(own, (place, start))
            if start <= until:
                self.join(other, place)
                end = max(end, until)
            before[own] = place, end

    def groups(self) -> list[list[int]]:
        groups: dict[int, list[int]] = {}
        for place in range(len(self._above)):
            groups.setdefault(self._top(place), []).append(place)
        return list(groups.values())

    def _top(self, place: int) -> int:
        while self._above[place] != place:
            self._above[place] = place = self._above[self._above[place]]
        return place


def _job(source: Process) -> Hashable:
    return source.header.run_id if source.header.run_of == "job" else None


def _alike(source: Process, *others: Hashable) -> Hashable:
    """What unnamed processes of one run have in common."""
    return (source.header.program, *others) if source.header.run_of == "process" else None


def _ranks(source: Process) -> Hashable:
    own = ranks_of(source.header.ranks)
    return _alike(source, own.ranks) if own.rank >= 0 and own.ranks != 1 else None


def _run(sources: Sequence[Process], places: Sequence[int]) -> Run:
    first = min((sources[place] for place in places), key=lambda source: source.header.start_ns).header
    run_id = first.run_id or f"{first.host or 'host'}-{first.pid}-{first.start_ns // 10**9}"
    if first.run_of == "job":
        began = datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(seconds=first.start_ns // 10**9)
        run_id += f"@{began:%Y%m%d-%H%M%S}"
    programs = dict.fromkeys(sources[place].header.program for place in places)
    return Run(
        run_id,
        tuple(places),
        tuple(program for program in programs if program),
        first.start_ns,
        max(sources[place].last_ns for place in places),
    )
