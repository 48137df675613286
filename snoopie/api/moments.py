"""The moments within launches at which bytes moved, as the records of single accesses have them."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.time import bandwidth, clocks, least, moments, timeline
from snoopie.analysis.traffic import counts
from snoopie.analysis.traffic.reading import Initiated, Reading
from snoopie.api.activity import ActivityMethods
from snoopie.api.core import PAIR
from snoopie.api.time import Folds, over_time
from snoopie.errors import UsageError
from snoopie.words import units


class MomentMethods(ActivityMethods):
    """When bytes moved within launches. Goes through all records, once."""

    def clocks(self) -> pd.DataFrame:
        """process gpu (label) start (host ns) launches ahead error (ns): by how much the clock of a GPU, which records
        have, is ahead of the host's, which launches have, from that time on. It follows from every access having
        happened while its launch ran.
        """
        table = self._whole._clocks
        return table.assign(gpu=pd.Series([self.label(int(gpu)) for gpu in table["gpu"]], dtype="str"))

    def traffic_by_moment(
        self,
        bins: int = 1000,
        reading: Reading = "issued",
        initiated: Initiated = "device",
        first: int | None = None,
        last: int | None = None,
        *,
        folds: Folds = (),
    ) -> pd.DataFrame:
        """As `traffic_over_time`, but bytes are where they moved within their launch, as far as the records say so, to
        a µs and to the ``error`` of `clocks`. What has no record is spread evenly over its launch.
        """
        if (reading, initiated) not in self._moments_moved:
            rest = moments.unplaced(self._sums("launch", "site", *PAIR), self._placed)
            spread = timeline.moves(rest, self.copies, self.timeline(), reading, initiated)
            exact = moments.moves(self._placed, reading).iloc[: None if initiated != "host" else 0]
            self._moments_moved[reading, initiated] = pd.concat([exact, spread], ignore_index=True)
        return self._labelled(over_time(self._moments_moved[reading, initiated], bins, first, last, folds), reading)

    def lines_by_moment(
        self, bins: int = 1000, first: int | None = None, last: int | None = None, *, folds: Folds = ()
    ) -> pd.DataFrame:
        """line ("file:line", or the kernel of what has none) start end (of a bin, host ns) bytes: as
        `traffic_by_moment`, by the line of the instruction."""
        rest = moments.unplaced(self._sums("launch", "site", *PAIR), self._placed)
        when = self.timeline().loc[rest["launch"]]
        rest = rest.assign(start=when["start"].to_numpy(), end=when["end"].to_numpy())
        columns = ["site", "start", "end", "bytes"]
        table, names = moments.by_line(pd.concat([self._placed[columns], rest[columns]], ignore_index=True), self.sites)
        table = over_time(table, bins, first, last, folds).drop(columns="none")
        return table.assign(line=names[table["line"]].astype("str"))

    def overlap(self, by: Literal["launch", "kernel"] = "launch") -> pd.DataFrame:
        """launch kernel issuer owner (labels) bytes moving (ns) began ended (ns after the launch began) ran (ns) spread
        densest (wire bytes a second) capacity capacity_share under under_least under_most (bytes) error (ns), most
        bytes first: how communication lies in time, a row a launch and pair, or with ``by`` kernel their sums.

        ``moving``: the µs in which it moved something, and ``spread`` their share of the launch. ``under``: what moved
        while another launch ran on the same GPU, by the clocks; and at least and at most, as they can be wrong by
        ``error``. ``densest``: that of the densest µs; ``capacity`` as in `bandwidth`. Only what has records with a
        time.
        """
        if by not in ("launch", "kernel"):
            raise UsageError(f"there is no overlap by {by!r}", "use 'launch' or 'kernel'")
        table = moments.overlap(self._placed, self._whole._when, self._capacity)
        table = table if by == "launch" else moments.by_kernel(table)
        return self._labelled(table, "issued")

    def least_times(self, by: Literal["pair", "kernel", "line"] = "pair") -> pd.DataFrame:
        """from to (labels; of a kernel: kernel, of a line: file line), wire_bytes least_time (ns), longest first: how
        long the NVLinks need at least for what kernels moved. It is exact however slow instrumentation was; NaN where
        the rate of the links is not known.
        """
        keys = {"pair": ["from", "to"], "kernel": ["kernel"], "line": ["file", "line"]}.get(by)
        if keys is None:
            raise UsageError(f"there are no least times by {by!r}", "use 'pair', 'kernel' or 'line'")
        if by == "pair":
            flow = counts.directed(self._sums(*PAIR), "flow")
            # Each pair alone.
            table = flow.assign(least_time=1e9 * flow["wire_bytes"] / bandwidth.of_pairs(flow, self.gpus, self.links))
            table = table.sort_values(["least_time", "wire_bytes", *keys], ascending=[False, False, True, True])
            return self._labelled(table[[*keys, "wire_bytes", "least_time"]].reset_index(drop=True), "flow")
        flow = counts.directed(self._sums(*keys, *PAIR), "flow", *keys)
        return least.times(flow, keys, self.gpus, self.links)

    def about_moments(self) -> list[str]:
        """Sentences on what `traffic_by_moment` and `overlap` know: of which bytes, how exactly, what was scaled."""
        sums = self._sums("launch", "site", *PAIR)
        whole = int(sums["bytes"].sum())
        if not whole:
            return []
        known, recorded = int(self._placed["bytes"].sum()), int(self._placed["recorded"].sum())
        if not known:
            return ["When bytes moved within a launch is not known: no records with a time, or no GPU timestamps."]
        error = units.duration(int(self._placed["error"].max()))
        sentences = [f"Bytes are where their accesses were recorded, to a µs; the clocks are known to ± {error}."]
        if recorded < known:
            sentences.append(f"{units.percent(recorded / known)} of these bytes were recorded: records are scaled.")
        if known < whole:
            sentences.append(
                f"Of {units.percent(1 - known / whole)} of the bytes only sums are known: spread over their launches."
            )
        return sentences

    @cached_property
    def _recorded(self) -> pd.DataFrame:
        return moments.merged(self._of_records(moments.read))

    @cached_property
    def _clocks(self) -> pd.DataFrame:
        return clocks.clocks(moments.extents(self._recorded), self._when)

    @cached_property
    def _placed(self) -> pd.DataFrame:
        whole = self._whole
        recorded = whole._recorded
        if self._selected is not None:
            recorded = recorded[self._selected.rows(self._tables, recorded)]
        launches = clocks.of_launches(whole._clocks, whole._when)
        return moments.placed(recorded, self._sums("launch", "site", *PAIR), launches, whole._when)

    @cached_property
    def _moments_moved(self) -> dict[tuple[Reading, Initiated], pd.DataFrame]:
        return {}

    def _capacity(self, pairs: pd.DataFrame) -> NDArray[np.float64]:
        return bandwidth.of_pairs(pairs, self.gpus, self.links)
