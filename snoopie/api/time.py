"""What ran and what flowed when, and how fast."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd

from snoopie.analysis.time import bandwidth, ranges, resources, timeline
from snoopie.analysis.time.bandwidth import Over
from snoopie.analysis.time.folding import Folding
from snoopie.analysis.time.ran import Ran, unmeasured, waits
from snoopie.analysis.time.sweep import Part, Swept
from snoopie.analysis.traffic.reading import Initiated, Reading
from snoopie.api.attributes import TraceAttributes
from snoopie.api.core import PAIR
from snoopie.api.notebook import Rows
from snoopie.errors import UsageError
from snoopie.trace.lacks import Lack

# Parts of time in order: from the first moment until before the second, host ns.
Folds = Collection[tuple[int, int]]


def over_time(moves: pd.DataFrame, bins: int, first: int | None, last: int | None, folds: Folds) -> pd.DataFrame:
    """`timeline.over_time` without the folds."""
    folding = Folding(list(folds))
    if not folding:
        return timeline.over_time(moves, bins, first, last)
    start, end = (folding.folded(moves[name].to_numpy()) for name in ("start", "end"))
    edges = (None if edge is None else int(folding.folded(np.array([edge]))[0]) for edge in (first, last))
    table = timeline.over_time(moves.assign(start=start, end=end), bins, *edges)
    return table.assign(start=folding.starts(table["start"].to_numpy()), end=folding.ends(table["end"].to_numpy()))


class TimeMethods(TraceAttributes):
    """What ran and what flowed when."""

    def timeline(self) -> pd.DataFrame:
        """launch | process kernel gpu stream thread called start end (host ns) spanned.

        ``start`` and ``end`` are when it ran on its GPU, where that is known (``spanned``): instrumented, unless the
        trace was imported. Else both are ``called``, the time of the call.
        """
        return self._when.copy(deep=False) if self._selected is None else self._whole._when[self._selected.launches]

    def pairs_by_launch(self, reading: Reading = "issued") -> pd.DataFrame:
        """launch, issuer owner (``flow``: from to) as labels, values; of measured launches, never scaled"""
        return self._labelled(timeline.by_launch(self._sums("launch", *PAIR), reading), reading)

    def traffic_over_time(
        self,
        bins: int = 1000,
        reading: Reading = "issued",
        initiated: Initiated = "device",
        first: int | None = None,
        last: int | None = None,
        *,
        folds: Folds = (),
    ) -> pd.DataFrame:
        """issuer owner (``flow``: from to) as labels, start end (of a bin, host ns) bytes; bins with traffic only.

        The bins are equally wide, at least a µs and at most so many, over the time from ``first`` until before ``last``
        (default: all); ``folds``, parts of the time in their order, are left out: a bin can go on behind one, and what
        moved within one is where it begins.
        Bytes of measured launches are spread evenly over the time they ran, and of copies over their calls; they are
        exact, and never scaled.
        """
        if (reading, initiated) not in self._moves:
            moved = self._sums("launch", *PAIR)
            self._moves[reading, initiated] = timeline.moves(moved, self.copies, self.timeline(), reading, initiated)
        return self._labelled(over_time(self._moves[reading, initiated], bins, first, last, folds), reading)

    def resources(self, *, barriers: bool = False, between: tuple[int, int] | None = None) -> pd.DataFrame:
        """resource records start end (ns) busy (ns) busy_share gaps gap others (ns): each GPU with its kernels, and all
        copies ("DATA"), by their times on the GPUs. What runs at once counts once; shares are of the time from the
        first start of all to the last end. ``others``: of a view, how long only what is not in it ran. With
        ``barriers`` those of the queues keep a GPU busy too. ``between`` (host ns): only what lies from the first
        moment until before the second, of which the shares then are.
        """
        return resources.resources(self._ran(barriers, between, resources.LIMITS, False), _region(between))

    def by_resource(
        self,
        gaps: Iterable[int] | None = None,
        *,
        barriers: bool = False,
        critical: bool = False,
        between: tuple[int, int] | None = None,
    ) -> pd.DataFrame:
        """resource kind (kernel, copy, barrier, gap) name share calls total average least most (ns): what each of
        `resources` did, most time first, and its idle gaps by their length: the classes begin at ``gaps`` (µs).

        ``critical``: of each row only the time in which nothing that began earlier still ran, so that the rows of a
        resource add up. ``between`` as in `resources`. UsageError for limits that do not rise from 1 on.
        """
        limits = resources.LIMITS if gaps is None else tuple(gaps)
        if not limits or limits[0] < 1 or any(low >= high for low, high in pairwise(limits)):
            raise UsageError("gaps are not rising numbers of µs", "use such as 10, 100, 1000")
        return resources.by_resource(self._ran(barriers, between, limits, critical), _region(between))

    def by_workgroup(self) -> pd.DataFrame:
        """threads block_x block_y block_z kernel launches: the sizes of thread blocks, smallest first; launches of
        which the shape is not known are left out."""
        return resources.workgroups(self.launches)

    def by_range(self) -> pd.DataFrame:
        """range domain of ("thread", "process") times duration (ns, all together) launches (called within it) measured
        (of these), values, copies copy_bytes: by the ranges that the program named, most bytes first.

        Ranges of one name are one row. What was called within several is in each of their rows, so rows do not add up;
        what was called in none has the range "".
        """
        launches = self._weighted_launches
        return Rows(ranges.by_range(self.ranges, launches, self._sums("launch"), self.copies, self.period[1]))

    def marked(self, pattern: str) -> int:
        """When the program marked a moment (host ns) by a text that matches: "PATTERN", or "N%PATTERN" for the Nth
        time. UsageError where no mark is found."""
        number, _, rest = pattern.rpartition("%")
        nth = int(number) if number.isascii() and number.isdigit() else 1
        try:
            matching = re.compile(rest if nth != 1 or number == "1" else pattern.removeprefix("%"))
        except re.error as error:
            remedy = "put \\ before its special characters"
            raise UsageError(f"{pattern} is no regular expression ({error})", remedy) from None
        table = self.marks.sort_values("time", kind="stable")
        found = table["time"][[matching.search(text) is not None for text in table["text"]]]
        if len(found) < max(nth, 1):
            which = f"only {len(found)} marks of the program match" if len(found) else "no mark of the program matches"
            raise UsageError(f"{which} {pattern}", f"the trace has {len(table)} marks (table marks)")
        return int(found.iloc[max(nth, 1) - 1])

    def without_device_times(self) -> list[str]:
        """What `resources` cannot have, in plain sentences."""
        instrumented = bool((self.processes["imported_from"] == "").any())
        untimed = (
            self._tables.columns.length("copies", but=self._timed_processes)
            if self._selected is None
            else int((~self._copies_on_gpu).sum())
        )
        return resources.left_out(self._launched["measured"], self._on_gpus.untimed(), untimed, instrumented)

    def bandwidth(self, over: Over = "pair", initiated: Initiated = "device") -> pd.DataFrame:
        """from to (labels; over ``gpu``: gpu, direction out or in) wire_bytes busy (ns) rate capacity (bytes a second)
        capacity_share, most bytes first: how fast data flowed while what moved it ran.

        Of launches and copies whose times on the GPU are known, see `without_device_times`; never scaled. Copies have
        all their bytes as wire bytes. ``capacity`` is that of the GPUs' NVLinks in one direction, for a pair that of
        the GPU with less, as if all its links led to the other or to a switch; NaN where it is not known. Over ``gpu``
        only what moved between GPUs counts.
        """
        if over not in ("pair", "gpu"):
            raise UsageError(f"there is no bandwidth over {over!r}", "use 'pair' or 'gpu'")
        if over == "pair":
            return self._labelled(bandwidth.by_pair(self._moved(initiated), self.gpus, self.links), "flow")
        table = bandwidth.by_gpu(self._moved(initiated), self.gpus)
        return table.assign(gpu=pd.Series([self.label(gpu) for gpu in table["gpu"]], dtype="str"))

    @cached_property
    def _moves(self) -> dict[tuple[Reading, Initiated], pd.DataFrame]:
        return {}

    def _ran(self, barriers: bool, between: tuple[int, int] | None, limits: tuple[int, ...], critical: bool) -> Swept:
        asked = barriers, between, limits, critical
        if asked not in self._sweeps:
            own = self._parts(barriers, between)
            every = None if self._selected is None else self._whole._parts(barriers, between)
            self._sweeps[asked] = resources.summed(own, every, limits, critical=critical)
        return self._sweeps[asked]

    @cached_property
    def _sweeps(self) -> dict[tuple[bool, tuple[int, int] | None, tuple[int, ...], bool], Swept]:
        return {}

    def _parts(self, barriers: bool, between: tuple[int, int] | None) -> list[Part]:
        ran = self._on_gpus
        parts = [*ran.kernels(), *ran.moved()]
        if self._selected is None:
            # What was not measured is in no part of a trace.
            parts += Part.of(unmeasured(self.unmeasured_launches, self.label))
        if barriers:
            parts += ran.waits() if self._selected is None else Part.of(waits(self.barriers, self.label))
        return parts if between is None else list(resources.within(parts, resources.Region(*between)))

    @property
    def _on_gpus(self) -> Ran:
        chosen = self._selected
        launches, copies = (None, None) if chosen is None else (chosen.launches, chosen.copies)
        return Ran(self._tables, self._timed_processes, self._lacking(Lack.COPY_SIZES), launches, copies)

    @property
    def _timed_processes(self) -> list[int]:
        """The processes of whose copies the times are those on the GPU, as other tools record them."""
        sources = enumerate(self._tables.sources)
        return [number for number, source in sources if source.header.settings.get("copy_times") == "device"]

    @property
    def _copies_on_gpu(self) -> pd.Series[bool]:
        """Of which copies the times are those on the GPU, as other tools record them."""
        return self.copies["process"].isin(self._timed_processes)

    def _moved(self, initiated: Initiated) -> pd.DataFrame:
        """from to wire_bytes start end: what each launch and copy moved whose time on the GPU is known."""
        when = self.timeline()
        when = when[when["spanned"]]
        sums = self._sums("launch", *PAIR)
        timed = sums[sums["launch"].isin(when.index)]
        return bandwidth.moved(timed, self.copies[self._copies_on_gpu], when, initiated)


def _region(between: tuple[int, int] | None) -> resources.Region | None:
    return None if between is None else resources.Region(*between)
