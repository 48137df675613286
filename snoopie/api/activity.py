"""What ran when, in lanes: as much of it as a picture shows, sums of a part of it, and where a name is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import pandas as pd

from snoopie.analysis.host import streams as _streams
from snoopie.analysis.time import activity
from snoopie.analysis.time.folding import Folding
from snoopie.api.arguments import Natural
from snoopie.api.time import Folds
from snoopie.api.waits import WaitMethods
from snoopie.trace.lacks import Lack


class ActivityMethods(WaitMethods):
    """What ran when, in lanes."""

    def activity_lanes(self, streams: bool = True) -> pd.DataFrame:
        """lane | what place (label) process line events start end (host ns): what there is to see over time.

        ``what``: kernel and copy, by their times on the GPU; launch, copy call, collective and call, by the times of
        the host's calls; move and wait, as `moves_by_launch` and `waits_by_launch`; range, as the program began and
        ended it. Driver calls are there with CALLS=all. ``line`` is a stream, or the thread of ranges and driver calls.
        Without ``streams`` one lane has all streams of a GPU (or threads of a process); process and line are then -1
        where there can be several.
        """
        ran = self._activity(streams)
        places = {place: self.label(place) for place in ran.lanes["place"].unique().tolist()}
        return ran.lanes.assign(place=ran.lanes["place"].map(places).astype("str"), **ran.times())

    def stream_names(self) -> pd.DataFrame:
        """process stream (its handle) name, such as "stream 1" and "default stream": streams in the order in which
        their process first used them."""
        calls = [table.rename(columns={"start": "time"}) for table in (self.copies, self.collectives)]
        return _streams.names([self.launches, *calls])

    def activity_gaps(self, first: int, last: int) -> list[tuple[int, int]]:
        """The parts of the time from ``first`` until before ``last`` (host ns) that a picture can leave out: long ones,
        in which no GPU did anything. Each but a little, so that it is seen that something is left out."""
        return activity.gaps_of(self._activity(True), first, last)

    def activity_blocks(
        self,
        first: int,
        last: int,
        most: int = 500,
        streams: bool = True,
        lanes: Iterable[int] | None = None,
        *,
        folds: Folds = (),
        text: str = "",
    ) -> pd.DataFrame:
        """lane start end (host ns) count busy (ns) id name (of the longest): what to draw of ``lanes`` (default: all)
        from ``first`` until before ``last``, at most about 2 × ``most`` blocks a lane.

        Neighbours that are shorter than 1/``most`` of that time are one block; it has an ``id``, that of the launch,
        copy, collective or call, only if it is of one. ``folds`` are parts of the time that are left out, in their
        order; ``text``: only what has it in its name. UsageError for a number of blocks that cannot be.
        """
        ran = self._of_lanes(streams, lanes)
        events = ran.events[self._names(streams).having(text)[ran.events.index]] if text else ran.events
        table = activity.blocks(events, first, last, most, Folding(list(folds)))
        named = activity.Activity(ran.lanes, table[["lane", "longest"]].rename(columns={"longest": "id"}))
        called = activity.names(named, self._of_activities, self.label)
        return table.drop(columns="longest").assign(name=called.known.take(called.codes))

    def activity_sums(
        self, first: int, last: int, streams: bool = True, lanes: Iterable[int] | None = None
    ) -> pd.DataFrame:
        """what name count total (ns, of the time itself) bytes (of all of each; -1 unknown): what of ``lanes``
        (default: all) touches the time from ``first`` until before ``last``, by name, the longest first."""
        ran = self._of_lanes(streams, lanes)
        return activity.sums(ran, self._names(streams), first, last, self._of_activities, self._launch_bytes)

    def activity_busy(
        self, first: int, last: int, streams: bool = True, lanes: Iterable[int] | None = None
    ) -> pd.DataFrame:
        """place (label) busy (ns): how long of that time at least one thing of ``lanes`` ran on each place."""
        table = activity.busy(self._of_lanes(streams, lanes), first, last)
        return table.assign(place=pd.Series([self.label(place) for place in table["place"]], dtype="str"))

    def activity_search(
        self,
        text: str,
        number: Natural = 0,
        after: int = 0,
        streams: bool = True,
        lanes: Iterable[int] | None = None,
    ) -> pd.DataFrame:
        """The row of `activity_within`, with lane number events, of the ``number``-th (from 1 on, by start) of the
        ``events`` things of ``lanes`` that have the text in their name; number 0: of the first that ends after a moment
        (host ns), else of the first of all. No row where nothing is called so."""
        ran = self._of_lanes(streams, lanes)
        events = ran.events[self._names(streams).having(text)[ran.events.index]]
        if events.empty or not text:
            return self._described(events.iloc[:0], ran).assign(lane=0, number=0, events=0)
        at, number = activity.found(events, number, after)
        table = self._described(at, ran)
        return table.assign(lane=at["lane"].to_numpy(), number=number, events=len(events))

    def activity_within(
        self, first: int, last: int, limit: Natural = 200, streams: bool = True, lanes: Iterable[int] | None = None
    ) -> pd.DataFrame:
        """what id name place (label) process stream thread start end (host ns) duration bytes (-1 unknown): of
        ``lanes`` (default: all) the ``limit`` ones that fill most of the time from ``first`` until before ``last``.
        """
        ran = self._of_lanes(streams, lanes)
        return self._described(activity.longest(ran.events, first, last, limit), ran)

    def activity_of(self, what: str, id: int) -> pd.DataFrame:
        """The row of `activity_within` of one launch (as "kernel" or "launch"), copy, collective or call; none for what
        is not there."""
        ran = self._activity(True)
        lanes = ran.lanes.index[ran.lanes["what"] == what]
        return self._described(ran.events[(ran.events["id"] == id) & ran.events["lane"].isin(lanes)], ran)

    @cached_property
    def _activities(self) -> dict[bool, activity.Activity]:
        return {}

    def _activity(self, streams: bool) -> activity.Activity:
        if streams not in self._activities:
            on_gpu = self._copies_on_gpu.to_numpy()
            self._activities[streams] = (
                activity.activity(
                    *(self.timeline(), self._launches_moved, self._launches_waited, self.copies, on_gpu),
                    *(self.collectives, self._closed_ranges, self.calls),
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
        return activity.described(events, ran.lanes, self._of_activities, self._launch_bytes, self.label)

    def _of_lanes(self, streams: bool, lanes: Iterable[int] | None) -> activity.Activity:
        """All lanes, with the events of some; these keep their numbers."""
        ran = self._activity(streams)
        return ran if lanes is None else activity.Activity(ran.lanes, ran.events[ran.events["lane"].isin(list(lanes))])

    @cached_property
    def _names_of(self) -> dict[bool, activity.Names]:
        return {}

    def _names(self, streams: bool) -> activity.Names:
        if streams not in self._names_of:
            self._names_of[streams] = activity.names(self._activity(streams), self._of_activities, self.label)
        return self._names_of[streams]

    def _of_activities(self, name: str) -> pd.DataFrame:
        # Not made before they are asked for: whom a launch waits for is in the records.
        of_launches = {activity.MOVES: "_launch_moves", activity.WAITS: "_launch_waits"}
        table: pd.DataFrame = getattr(self, of_launches.get(name, name))
        lack = {"copies": Lack.COPY_SIZES, "calls": Lack.CALL_SIZES}.get(name)
        sizeless = self._lacking(lack) if lack else []
        return table.assign(bytes=table["bytes"].mask(table["process"].isin(sizeless), -1)) if sizeless else table

    @cached_property
    def _launch_bytes(self) -> pd.Series[int]:
        """launch → the bytes it moved, -1 where another tool recorded it and did not know."""
        tools = self.processes["imported_from"]
        unknown = self.launches["process"].map(tools != "")
        moved = self._sums("launch").groupby("launch")["bytes"].sum().reindex(self.launches.index)
        return moved.fillna(-unknown.astype(np.int64)).astype(np.int64)
