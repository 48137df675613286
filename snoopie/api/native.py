"""Native times beside exact bytes: those of a second recording, which was not instrumented."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from snoopie.analysis.native import arrivals, matching, overlap, rates
from snoopie.analysis.native.matching import Matching, Reason, Side
from snoopie.api.core import PAIR
from snoopie.api.time import TimeMethods
from snoopie.errors import UsageError
from snoopie.trace.lacks import Lack
from snoopie.words import units

if TYPE_CHECKING:
    from snoopie.api.trace import Trace

NativeBy = Literal["pair", "kernel", "line", "launch"]
_KEYS: dict[NativeBy, list[str]] = {
    "pair": ["issuer", "owner"],
    "kernel": ["kernel"],
    "line": ["file", "line"],
    "launch": ["launch"],
}


class NativeMethods(TimeMethods):
    """What a clean recording of the same program adds."""

    _clean: Trace | None = None

    @property
    def clean(self) -> Trace | None:
        """The clean recording that native times are from; None without one."""
        return self._whole._clean

    def native_times(self) -> pd.DataFrame:
        """launch | native_launch (in ``clean``) start end (host ns, of the clean recording): when launches ran without
        instrumentation; those that were matched. UsageError without a clean recording."""
        times = self._whole._native
        return times if self._selected is None else times[times.index.isin(self.launches.index)]

    def native_by(self, by: NativeBy = "line") -> pd.DataFrame:
        """The keys of ``by`` (kernel; file line; issuer owner as labels; launch), native_launches native_time (ns)
        native_bytes native_rate (bytes a second) least_time (ns) link_share: exact bytes over native time.

        Of the launches that were matched, unscaled. The times of launches that moved something are added up.
        ``least_time`` is what NVLink takes at least, ``link_share`` its share of the time; NaN where it is not known.
        UsageError without a clean recording.
        """
        if by not in _KEYS:
            raise UsageError(f"there are no native times by {by!r}", f"use one of {', '.join(_KEYS)}")
        keys = _KEYS[by]
        needed = dict.fromkeys(["launch", *PAIR, *keys])
        rated = rates.rated(self._sums(*needed), self.native_times(), self.gpus, keys)
        return self._labelled(rated, "issued") if by == "pair" else rated

    def native_overlap(self) -> pd.DataFrame:
        """gpu communication overlapped computation not_known (ns): of each GPU of the clean recording how long kernels
        that moved data between GPUs, and copies between them, ran; how long of that others ran too; how long others
        ran, and those that were not matched, of which it is not known. UsageError without a clean recording."""
        clean = self._clean_or_refuse
        moved = self._sums("launch", *PAIR)
        between = moved[(moved["owner"] != moved["issuer"]) & ~moved["owner"].isin([-1, -2])]
        native = self._whole._native
        moving = native["native_launch"].reindex(between["launch"].unique()).dropna().astype(np.int64)
        copies = clean.copies
        peers = copies[(copies["source"] >= 0) & (copies["destination"] >= 0)]
        known = pd.Index(native["native_launch"])
        return overlap.overlap(clean.timeline(), peers, pd.Index(moving), known, clean.label)

    def native_arrivals(self) -> pd.DataFrame:
        """rank collectives came_last waited (ns) waited_for (ns): for whom the others waited in NCCL's collectives, by
        native starts. Only collectives of which all ranks were matched, on one host. UsageError without a clean
        recording."""
        clean = self._clean_or_refuse
        native = self.native_times()
        process = clean.launches["process"].reindex(native["native_launch"])
        hosts = pd.Series(clean.processes["host"].reindex(process).to_numpy(), native.index)
        return arrivals.by_rank(self.collectives, self.launches, native, hosts)

    def native_matching(self) -> pd.DataFrame:
        """recording (exact, clean) outcome launches: how many launches were matched, and why the others were not.
        UsageError without a clean recording."""
        found = self._matching
        there = len(self._clean_or_refuse.launches) - len(found.clean)
        rows = [("exact", "matched", len(found.pairs)), ("clean", "matched", there)]
        of_clean = found.clean.map(lambda reason: Reason(reason).of_clean)
        for recording, reasons in (("exact", found.exact), ("clean", of_clean)):
            rows += [(recording, str(reason), int(number)) for reason, number in reasons.value_counts().items()]
        return pd.DataFrame(rows, columns=["recording", "outcome", "launches"]).astype(
            {"recording": "str", "outcome": "str", "launches": "int64"}
        )

    def native_losses(self) -> list[str]:
        """What the native times leave out, in plain sentences. UsageError without a clean recording."""
        found = self._matching
        launches = len(found.pairs) + len(found.exact)
        sentences = []
        for reason, number in found.exact.value_counts().items():
            share = units.percent(number / launches)
            sentences.append(
                f"{units.plural(int(number), 'launch has', 'launches have')} no native time ({share}): {reason}."
            )
        if left := int((found.clean != Reason.NOT_MEASURED).sum()):
            sentences.append(f"{units.plural(left, 'launch', 'launches')} of the clean recording matched none.")
        if found.alike:
            sentences.append(
                f"{units.plural(found.alike, 'launch is', 'launches are')} in streams that run the same: these were "
                "told apart by which was used first."
            )
        return sentences

    @staticmethod
    def _check_times(clean: Trace) -> None:
        """UsageError where its times are not native, or it has none."""
        instrumented = clean.processes["imported_from"] == ""
        if instrumented.any():
            raise UsageError(
                f"{clean.paths[int(instrumented.argmax())].name} was recorded with instrumentation, so its times are "
                "not native",
                "record with `snoopie run --with-times`, or import a report of nsys or of PyTorch's profiler",
            )
        if clean.spans.empty:
            raise UsageError(f"{clean.paths[0].name} has no times of kernels", "name a recording that has them")

    @property
    def _clean_or_refuse(self) -> Trace:
        if self.clean is None:
            raise UsageError(
                "there are no native times", "record with `snoopie run --with-times`, or name them: load(…, times=…)"
            )
        return self.clean

    @property
    def _matching(self) -> Matching:
        return self._whole._matched

    @cached_property
    def _matched(self) -> Matching:
        clean = self._clean_or_refuse
        sampled = self.sampling
        # With the others timed, nothing is missing between those that were measured.
        whole = len(self.unmeasured_launches) > 0
        some = sampled[(sampled["measured"] < sampled["launches"]) & (not whole)]
        shapes = not (self.lacks(Lack.SHAPES) or clean.lacks(Lack.SHAPES))
        when = clean.timeline()
        # A stream runs its launches in their order.
        found = matching.match(
            _side(self, self.launches.index.to_series()), _side(clean, when["start"]), some, shapes=shapes
        )
        measured = found.pairs[found.pairs["launch"] > 0].reset_index(drop=True)
        return dataclasses.replace(found, pairs=measured, exact=found.exact[found.exact.index > 0])

    @cached_property
    def _native(self) -> pd.DataFrame:
        clean = self._clean_or_refuse
        pairs = self._matching.pairs
        when = clean.timeline()
        own = when.loc[pairs["clean"].to_numpy()]
        times = pd.DataFrame(
            {
                "native_launch": pairs["clean"].to_numpy(np.int64),
                "start": own["start"].to_numpy(),
                "end": own["end"].to_numpy(),
            },
            pd.Index(pairs["launch"].to_numpy(), name="launch"),
        )
        return times[own["spanned"].to_numpy()]


def _side(trace: NativeMethods, order: pd.Series[int]) -> Side:
    """What is matched; launches that were only timed (TIMES=all) stand between the others, and have negative ids."""
    launches, functions = trace.launches.assign(order=order), trace.functions
    if len(others := trace.unmeasured_launches):
        kernels = pd.Index(others["kernel"].unique())
        first = int(functions.index.max()) + 1 if len(functions) else 1
        mangled = functions.drop_duplicates("name").set_index("name")["mangled"].reindex(kernels).fillna("")
        more = pd.DataFrame(
            {"mangled": mangled.to_numpy(), "name": kernels}, pd.RangeIndex(first, first + len(kernels))
        )
        functions = pd.concat([functions, more])
        named = others.assign(function=first + kernels.get_indexer(others["kernel"]), order=others["time"])
        named.index = pd.RangeIndex(-1, -1 - len(named), -1)
        # The ids of the others rise in the order of their calls.
        launches = pd.concat([launches.assign(order=launches["time"]), named])
    return Side(launches, functions, trace.processes, trace.gpus)
