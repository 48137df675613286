"""What a view of a trace keeps: masks over launches, sites, copies and collectives; places, processes and a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.time import ranges as _ranges
from snoopie.errors import UsageError
from snoopie.joined.gpus import HOST, UNKNOWN
from snoopie.joined.tables import Tables
from snoopie.trace.schema import OPERATIONS
from snoopie.trace.tables import Ints

Mask = NDArray[np.bool_]
Names = str | Iterable[str] | None
PlaceNames = int | str | Iterable[int | str] | None
# From the first moment to before the second, host ns.
Between = tuple[int, int]
# By which arguments of `narrow` a trace divides what is no traffic; by others it cannot.
LAUNCHES_BY = ("processes", "issuers", "kernels", "between", "launches", "ranges")
COPIES_BY = ("processes", "issuers", "owners", "between", "ranges")
COLLECTIVES_BY = LAUNCHES_BY
UNMEASURED_BY = ("processes", "issuers", "kernels", "operations", "between", "launches", "files", "ranges")
CALLS_BY = ("processes", "issuers")
SINGLE_CALLS_BY = ("processes", "issuers", "between")
MEMORY_BY = ("processes", "owners", "between")


@dataclass(frozen=True, slots=True)
class Selection:
    """Masks aligned with the rows of the tables of their names, and what is kept of tables without one (None: all).

    ``named`` is True where launches were named one by one: then each stands for itself, and nothing is an estimate.
    """

    launches: Mask
    sites: Mask
    owners: frozenset[int] | None
    copies: Mask
    collectives: Mask
    named: bool = False
    issuers: frozenset[int] | None = None
    processes: frozenset[int] | None = None
    between: Between | None = None

    def rows(self, tables: Tables, table: pd.DataFrame) -> Mask:
        """Which rows of a table with the columns launch, site, and perhaps owner are kept."""
        kept = self.launched(tables, table)
        kept &= self.sites[tables.site_places.of(table["site"].to_numpy())]
        if self.owners is not None and "owner" in table:
            kept &= np.isin(table["owner"].to_numpy(), sorted(self.owners))
        return kept

    def traffic(self, tables: Tables, joined: pd.DataFrame) -> pd.DataFrame:
        """The kept rows of `analysis.traffic.joined`."""
        return self._weighted(joined[self.rows(tables, joined)])

    def of_launches(self, tables: Tables, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of a table with the column launch, and perhaps weight, whose launches are kept."""
        return self._weighted(table[self.launched(tables, table)])

    def launched(self, tables: Tables, table: pd.DataFrame) -> Mask:
        """Which rows of a table with the column launch belong to launches that are kept."""
        return self.launches[tables.launch_places.of(table["launch"].to_numpy())]

    def of_calls(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of a table of driver calls, single ones (with start and end) or sums, that are kept."""
        kept = _among(table["process"], self.processes) & _among(table["gpu"], self.issuers)
        if self.between is not None and "start" in table:
            kept &= under_way(table["start"].to_numpy(), table["end"].to_numpy(), self.between)
        return table[kept]

    def of_memory(self, table: pd.DataFrame, place: str = "owner") -> pd.DataFrame:
        """The rows of a table with the column process and one of places that are kept, whatever their time."""
        return table[_among(table["process"], self.processes) & _among(table[place], self.owners)]

    def of_ranges(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of the table of ranges that are kept: those of the processes, under way in the time."""
        kept = _among(table["process"], self.processes)
        if self.between is not None:
            end = table["end"].to_numpy()
            kept &= under_way(table["start"].to_numpy(), np.where(end > 0, end, self.between[1]), self.between)
        return table[kept]

    def at_times(self, table: pd.DataFrame, column: str) -> pd.DataFrame:
        """The rows of a table whose moment (host ns) is in the kept time."""
        if self.between is None:
            return table
        moment = table[column].to_numpy()
        return table[under_way(moment, moment, self.between)]

    def _weighted(self, kept: pd.DataFrame) -> pd.DataFrame:
        return kept.drop(columns="weight", errors="ignore") if self.named else kept

    def part(self, tables: Tables, process: int) -> Selection:
        """The same for `Tables.part`. Copies and collectives are left out: they are in no part."""
        none = np.zeros(0, np.bool_)
        launches, sites = (
            mask[(table["process"] == process).to_numpy()]
            for mask, table in ((self.launches, tables.launches), (self.sites, tables.sites))
        )
        return replace(self, launches=launches, sites=sites, copies=none, collectives=none)


def everything(tables: Tables) -> Selection:
    """The selection that keeps all."""
    launches, sites, copies, collectives = (
        np.ones(len(table), np.bool_) for table in (tables.launches, tables.sites, tables.copies, tables.collectives)
    )
    return Selection(launches, sites, None, copies, collectives)


def narrow(
    tables: Tables,
    selection: Selection,
    *,
    kernels: Names = None,
    operations: Names = None,
    issuers: PlaceNames = None,
    owners: PlaceNames = None,
    launches: int | Iterable[int] | None = None,
    files: Names = None,
    processes: int | Iterable[int] | None = None,
    between: Between | None = None,
    when: pd.DataFrame | None = None,
    ranges: Names = None,
) -> Selection:
    """A selection that keeps what the given one keeps and the arguments name; None names all.

    ``when`` is the `timeline.timeline` of all launches, needed for ``between``.
    """
    launch_mask, site_mask = selection.launches.copy(), selection.sites.copy()
    copy_mask, collective_mask = selection.copies.copy(), selection.collectives.copy()
    kept_issuers, kept_owners, kept_processes = selection.issuers, selection.owners, selection.processes
    time = selection.between
    if any(of_kernels is not None for of_kernels in (kernels, operations, launches, files)):
        copy_mask[:] = False
    if kernels is not None:
        launch_mask &= _named(tables.launches["kernel"], kernels)
    if issuers is not None:
        chosen = _places(tables, issuers)
        kept_issuers = _both(kept_issuers, chosen)
        launch_mask &= _among(tables.launches["gpu"], chosen)
        copy_mask &= _among(tables.copies["issuer"], chosen)
        collective_mask &= _among(tables.collectives["issuer"], chosen)
    if processes is not None:
        numbers = frozenset([int(processes)] if isinstance(processes, (int, np.integer)) else map(int, processes))
        kept_processes = _both(kept_processes, numbers)
        launch_mask &= _among(tables.launches["process"], numbers)
        site_mask &= _among(tables.sites["process"], numbers)
        copy_mask &= _among(tables.copies["process"], numbers)
        collective_mask &= _among(tables.collectives["process"], numbers)
    if launches is not None:
        launch_mask &= _numbered(tables.launches.index.to_numpy(), launches)
    if between is not None and when is not None:
        time = _shared(time, between)
        launch_mask &= under_way(when["start"].to_numpy(), when["end"].to_numpy(), between)
        copy_mask &= under_way(tables.copies["start"].to_numpy(), tables.copies["end"].to_numpy(), between)
        calls = tables.collectives
        # What is carried out now may have been called before.
        collective_mask &= under_way(calls["start"].to_numpy(), calls["end"].to_numpy(), between) | _carried_out(
            tables, launch_mask
        )
    if ranges is not None:
        kept = tables.ranges[_of_ranges(tables.ranges, ranges)]
        launch_mask &= _ranges.inside(kept, tables.launches, "time")
        copy_mask &= _ranges.inside(kept, tables.copies, "start")
        collective_mask &= _ranges.inside(kept, tables.collectives, "start")
    if kernels is not None or launches is not None:
        collective_mask &= _carried_out(tables, launch_mask)
    if operations is not None:
        site_mask &= _named(tables.sites["operation"], operations)
    if files is not None:
        site_mask &= _named(tables.sites["file"], files)
    if owners is not None:
        of_owners = _places(tables, owners)
        kept_owners = _both(kept_owners, of_owners)
        ends = tables.copies[["source", "destination"]].to_numpy()
        copy_mask &= np.isin(ends, sorted(of_owners)).any(axis=1)
    return Selection(
        launch_mask,
        site_mask,
        kept_owners,
        copy_mask,
        collective_mask,
        named=selection.named or launches is not None,
        issuers=kept_issuers,
        processes=kept_processes,
        between=time,
    )


# Where the names are that an argument of `narrow` can have.
_NAMED_IN = {
    "kernels": 'trace.launches["kernel"]',
    "operations": 'trace.sites["operation"]',
    "files": 'trace.sites["file"]',
    "issuers": "trace.places",
    "owners": "trace.places",
    "processes": "trace.processes.index",
    "launches": "trace.launches.index",
    "ranges": 'trace.ranges["name"]',
}


def unmatched(tables: Tables, **named: Any) -> list[tuple[str, str]]:
    """What arguments of `narrow` name that no trace can have: sentences with remedies."""
    found = []
    for argument, value in named.items():
        if value is None:
            continue
        if argument in ("kernels", "operations", "files", "ranges"):
            present = _present(tables, argument)
            missing = [name for name in _listed(value) if not _matching(present, [name])]
        elif argument in ("issuers", "owners"):
            labels = _by_label(tables)
            missing = [str(name) for name in _listed(value) if name not in labels and name not in labels.values()]
        elif argument == "launches":
            missing = _missing(tables.launches.index.to_numpy(), value)
        else:
            missing = [str(number) for number in _listed(value) if number not in tables.processes.index]
        if missing:
            more = f" and {len(missing) - 3} more" if missing[3:] else ""
            found.append(
                (
                    f"{argument}: nothing is called {', '.join(missing[:3])}{more}",
                    f"take names of {_NAMED_IN[argument]}",
                )
            )
    return found


def _present(tables: Tables, argument: str) -> list[str]:
    if argument == "kernels":
        return list(tables.functions["name"].unique())
    if argument == "ranges":
        return [*tables.ranges["name"].unique(), *_in_domains(tables.ranges).unique()]
    if argument == "files":
        return ["", *tables.lines["file"].unique()]
    return [*OPERATIONS, *tables.sites["operation"].unique()]


def unmatched_ranges(ranges: pd.DataFrame, names: list[str]) -> list[str]:
    """The names, or patterns, that no range has."""
    present = [*ranges["name"].unique(), *_in_domains(ranges).unique()]
    return [name for name in names if not _matching(present, [name])]


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, (str, int, np.integer)) else list(value)


def _missing(ids: Ints, wanted: Any) -> list[str]:
    if isinstance(wanted, range):
        return [] if not wanted or _numbered(ids, wanted).any() else [f"{wanted[0]} to {wanted[-1]}"]
    return [str(number) for number in _listed(wanted) if number not in ids]


def under_way(start: Ints, end: Ints, between: Between) -> Mask:
    """Which of some intervals have a moment in common with a time. One that lasts no time is the moment it began.

    What has no time (0) is in none.
    """
    first, after = between
    if first > after:
        raise UsageError("a time ends before it begins", "give the earlier moment first")
    kept: Mask = (start > 0) & (start < after) & ((end > first) | (start >= first)) & (first < after)
    return kept


def _shared(time: Between | None, other: Between) -> Between:
    """The time that is in both, which can be none."""
    if time is None:
        return other
    first = max(time[0], other[0])
    return first, max(first, min(time[1], other[1]))


def _both(kept: frozenset[int] | None, wanted: frozenset[int]) -> frozenset[int]:
    return wanted if kept is None else kept & wanted


def _among(column: pd.Series[int], kept: frozenset[int] | None) -> Mask:
    if kept is None:
        return np.ones(len(column), np.bool_)
    return np.isin(column.to_numpy(), sorted(kept))


def _numbered(ids: Ints, wanted: int | Iterable[int]) -> Mask:
    if isinstance(wanted, range) and wanted.step == 1:
        # Not number by number: a range can be as long as it likes.
        within: Mask = (ids >= wanted.start) & (ids < wanted.stop)
        return within
    numbers = [wanted] if isinstance(wanted, (int, np.integer)) else list(wanted)
    return np.isin(ids, np.array(numbers, np.int64))


def _carried_out(tables: Tables, launches: Mask) -> Mask:
    """Which collectives some of these launches carry out."""
    kept = tables.launches[launches & (tables.launches["group"] > 0).to_numpy()]
    groups = pd.MultiIndex.from_frame(kept[["group", "gpu"]])
    return np.asarray(pd.MultiIndex.from_frame(tables.collectives[["group", "issuer"]]).isin(groups), np.bool_)


def _named(column: pd.Series[str], names: Names) -> Mask:
    wanted = [names] if isinstance(names, str) else list(names or ())
    codes, present = pd.factorize(column)
    chosen = _matching(list(present), wanted)
    return np.array([name in chosen for name in present] + [False], np.bool_)[codes]


def _of_ranges(ranges: pd.DataFrame, names: Names) -> Mask:
    """Which ranges have one of these names, with or without their domain."""
    return _named(ranges["name"], names) | _named(_in_domains(ranges), names)


def _in_domains(ranges: pd.DataFrame) -> pd.Series[str]:
    """The names of ranges with their domains: NAME@DOMAIN, as `snoopie run --capture-range` takes it."""
    return ranges["name"].astype("str") + "@" + ranges["domain"].astype("str")


def _matching(present: list[str], wanted: list[str]) -> set[str]:
    """A name means itself; one that no name equals is a pattern (C++ names hold * and [, so equality goes first)."""
    chosen: set[str] = set()
    for name in wanted:
        chosen |= {name} if name in present else {other for other in present if fnmatchcase(other, name)}
    return chosen


def place_of(tables: Tables, label: str) -> int:
    """The place with this label. UsageError where none has it."""
    if label not in (places := _by_label(tables)):
        raise UsageError(f"there is no {label}", "take a label of trace.places")
    return places[label]


def _by_label(tables: Tables) -> dict[str, int]:
    places = (*range(len(tables.gpus)), HOST, UNKNOWN, *tables.sets.index.tolist())
    return {tables.label(place): place for place in places}


def _places(tables: Tables, wanted: PlaceNames) -> frozenset[int]:
    if wanted is None:
        return frozenset()
    values = [wanted] if isinstance(wanted, (int, str, np.integer)) else list(wanted)
    by_label = _by_label(tables)
    # A label that nothing has selects nothing.
    return frozenset(
        place
        for value in values
        if (place := by_label.get(value) if isinstance(value, str) else int(value)) is not None
    )
