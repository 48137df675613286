"""What ran and what flowed when, and how fast."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd

from snoopie.analysis.time import activity, bandwidth, ranges, resources, timeline
from snoopie.analysis.time.bandwidth import Over
from snoopie.analysis.time.ran import Ran, unmeasured, waits
from snoopie.analysis.time.sweep import Part, Swept
from snoopie.analysis.traffic.reading import Initiated, Reading
from snoopie.api.arguments import Natural
from snoopie.api.attributes import TraceAttributes
from snoopie.api.core import PAIR
from snoopie.api.notebook import Rows
from snoopie.errors import UsageError
from snoopie.trace.lacks import Lack


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
    ) -> pd.DataFrame:
        """issuer owner (``flow``: from to) as labels, start end (of a bin, host ns) bytes; bins with traffic only.

        The bins are equally wide, at most so many, over the time from ``first`` until before ``last`` (default: all).
        Bytes of measured launches are spread evenly over the time they ran, and of copies over their calls; they are
        exact, and never scaled.
        """
        if (reading, initiated) not in self._moves:
            moved = self._sums("launch", *PAIR)
            self._moves[reading, initiated] = timeline.moves(moved, self.copies, self.timeline(), reading, initiated)
        return self._labelled(timeline.over_time(self._moves[reading, initiated], bins, first, last), reading)

    def activity_lanes(self, streams: bool = True) -> pd.DataFrame:
        """lane | what place (label) process line events start end (host ns): what there is to see over time.

        ``what``: kernel and copy, by their times on the GPU; launch, copy call, collective and call, by the times of
        the host's calls; range, as the program began and ended it. Driver calls are there with CALLS=all. ``line`` is a
        stream, or the thread of ranges and driver calls.
        Without ``streams`` one lane has all streams of a GPU (or threads of a process); process and line are then -1
        where there can be several.
        """
        ran = self._activity(streams)
        times = ran.events.groupby("lane").agg(start=("start", "min"), end=("end", "max"))
        places = {place: self.label(place) for place in ran.lanes["place"].unique().tolist()}
        return ran.lanes.assign(place=ran.lanes["place"].map(places).astype("str"), **times)

    def activity_blocks(
        self, first: int, last: int, most: int = 500, streams: bool = True, lanes: Iterable[int] | None = None
    ) -> pd.DataFrame:
        """lane start end (host ns) count busy (ns) id name (of a single one): what to draw of ``lanes`` (default: all)
        from ``first`` until before ``last``, at most about 2 × ``most`` blocks a lane.

        Neighbours that are shorter than 1/``most`` of that time are one block; it has an ``id``, that of the launch,
        copy, collective or call, only if it is of one. UsageError for a number of blocks that cannot be.
        """
        ran = self._activity(streams)
        events = ran.events if lanes is None else ran.events[ran.events["lane"].isin(list(lanes))]
        table = activity.blocks(events, first, last, most)
        one = table[table["id"] > 0]
        return table.assign(name=self._described(one, ran)["name"].reindex(table.index, fill_value=""))

    def activity_within(
        self, first: int, last: int, limit: Natural = 200, streams: bool = True, lanes: Iterable[int] | None = None
    ) -> pd.DataFrame:
        """what id name place (label) process stream thread start end (host ns) duration bytes (-1 unknown): of
        ``lanes`` (default: all) the ``limit`` ones that fill most of the time from ``first`` until before ``last``.
        """
        ran = self._activity(streams)
        events = ran.events if lanes is None else ran.events[ran.events["lane"].isin(list(lanes))]
        return self._described(activity.longest(events, first, last, limit), ran)

    def activity_of(self, what: str, id: int) -> pd.DataFrame:
        """The row of `activity_within` of one launch (as "kernel" or "launch"), copy, collective or call; none for what
        is not there."""
        ran = self._activity(True)
        lanes = ran.lanes.index[ran.lanes["what"] == what]
        return self._described(ran.events[(ran.events["id"] == id) & ran.events["lane"].isin(lanes)], ran)

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

    @cached_property
    def _activities(self) -> dict[bool, activity.Activity]:
        return {}

    def _activity(self, streams: bool) -> activity.Activity:
        if streams not in self._activities:
            on_gpu = self._copies_on_gpu.to_numpy()
            self._activities[streams] = (
                activity.activity(
                    self.timeline(), self.copies, on_gpu, self.collectives, self._closed_ranges, self.calls
                )
                if streams
                else self._activity(True).together()
            )
        return self._activities[streams]

    @property
    def _closed_ranges(self) -> pd.DataFrame:
        """``ranges``, of which those that did not end do so with the trace."""
        table = self.ranges
        return table.assign(end=table["end"].where(table["end"] > 0, self.period[1]))

    def _described(self, events: pd.DataFrame, ran: activity.Activity) -> pd.DataFrame:
        tables = {name: getattr(self, name) for name in activity.TABLES}
        return activity.described(events, ran.lanes, tables, self._launch_bytes, self.label)

    @cached_property
    def _launch_bytes(self) -> pd.Series[int]:
        """launch → the bytes it moved, -1 where another tool recorded it and did not know."""
        tools = self.processes["imported_from"]
        unknown = self.launches["process"].map(tools != "")
        moved = self._sums("launch").groupby("launch")["bytes"].sum().reindex(self.launches.index)
        return moved.fillna(-unknown.astype(np.int64)).astype(np.int64)

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
