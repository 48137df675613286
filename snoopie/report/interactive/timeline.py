"""What ran when, and how much moved meanwhile, in so few numbers that a file can hold them.

Of lanes with few events each is there by itself; of others the longest, and all together in blocks. Time in which
nothing happened is folded. Times are nanoseconds after the trace's beginning.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.time import activity
from snoopie.api.trace import Trace
from snoopie.report.interactive.cells import Cells
from snoopie.report.interactive.limits import Limits
from snoopie.report.parts import cut
from snoopie.trace.lacks import Lack
from snoopie.words.names import short_name

# Driver calls have pages of their own.
_SHOWN = (
    *(activity.KERNEL, activity.LAUNCH, activity.MOVE, activity.WAIT, activity.COPY, activity.COPY_CALL),
    *(activity.COLLECTIVE, activity.RANGE),
)
# The longest idle gaps are folded, until at most half of what is drawn is idle; so many at most, and only where that
# leaves less than this share of the whole time.
_FOLDS, _WORTH = 24, 0.5
# In so many blocks idle time is looked for where not all events are there by themselves.
_LOOK = 2000
_SHORT = 60
_NO_KERNEL = -2
_FEWEST_BINS, _MOST_BINS = 60, 1200
# What moves data by itself.
_MOVES = (activity.KERNEL, activity.LAUNCH, activity.COPY, activity.COPY_CALL)
_CALLED = {
    activity.KERNEL: "kernels",
    activity.LAUNCH: "launch calls",
    activity.MOVE: "accesses",
    activity.WAIT: "waits",
    activity.COPY: "copies",
    activity.COPY_CALL: "copy calls",
    activity.COLLECTIVE: "NCCL calls",
    activity.RANGE: "ranges",
}

_Period = tuple[int, int]


def timeline(trace: Trace, cells: Cells, limits: Limits) -> dict[str, Any]:
    """Lanes, parts of time, events, blocks and traffic; without lanes, ``absent`` says why there are none."""
    streams = True
    lanes = _lanes(trace, streams)
    if len(lanes) > limits.lanes:
        streams = False
        lanes = _lanes(trace, streams)
    if lanes.empty:
        return {"lanes": [], "absent": trace.lacks(Lack.TIMES) or "nothing in the trace has a time"}
    there = len(lanes)
    lanes = lanes.head(limits.lanes)
    first, last = int(lanes["start"].min()), int(lanes["end"].max()) + 1
    numbers = lanes.index.tolist()
    quotas = _quotas(lanes["events"].tolist(), limits.events)
    single = [
        trace.activity_within(first, last, quota, streams, [lane]).assign(lane=place)
        for place, (lane, quota) in enumerate(zip(numbers, quotas, strict=True))
    ]
    events = pd.concat(single, ignore_index=True).sort_values(["lane", "start"], kind="stable", ignore_index=True)
    events = _with_unknown(trace, events)
    crowded = lanes.index[lanes["events"] > quotas].tolist()
    roughly = trace.activity_blocks(first, last, _LOOK, streams, crowded) if crowded else events.head(0)
    parts = _busy(_happenings(events, roughly))
    return {
        "lanes": _described(lanes, quotas, streams),
        "all_lanes": there,
        "parts": [(start - first, end - first) for start, end in parts],
        "begin": first - trace.period[0],
        "events": _events(events, cells, first),
        "waits": _waits(trace, events, cells),
        "blocks": _blocks(trace, parts, streams, crowded, lanes, limits, first),
        "traffic": _traffic(trace, parts, cells, limits, first),
        "about": _about(trace, lanes),
    }


def _lanes(trace: Trace, streams: bool) -> pd.DataFrame:
    lanes = trace.activity_lanes(streams)
    shown: pd.DataFrame = lanes[lanes["what"].isin(_SHOWN)]
    return shown


def _described(lanes: pd.DataFrame, quotas: list[int], streams: bool) -> list[dict[str, Any]]:
    """place what events single (how many are there by themselves) moves (whether they move data): of each lane."""
    own = lanes.groupby(["what", "place"])
    # Streams are long numbers: those of a place are counted.
    several, number = (own["line"].transform("size") > 1).tolist(), own.cumcount().tolist()
    return [
        {
            "place": cut(place),
            "what": _CALLED[what] + (f", {_line(what)} {number[at]}" if streams and several[at] else ""),
            "events": events,
            "single": quotas[at],
            "moves": what in _MOVES,
        }
        for at, (place, what, events) in enumerate(
            zip(lanes["place"].tolist(), lanes["what"].tolist(), lanes["events"].tolist(), strict=True)
        )
    ]


def _line(what: str) -> str:
    return "thread" if what == activity.RANGE else "stream"


def _quotas(events: list[int], most: int) -> list[int]:
    """How many events of each lane there is room for: all of those with few, and equally many of the others."""
    quotas = [0] * len(events)
    for done, lane in enumerate(sorted(range(len(events)), key=events.__getitem__)):
        quotas[lane] = min(events[lane], most // (len(events) - done))
        most -= quotas[lane]
    return quotas


def _happenings(events: pd.DataFrame, blocks: pd.DataFrame) -> pd.DataFrame:
    """start end of what GPUs did. Of calls and ranges, in which a thread may only have waited, begin and end alone."""
    did = events["what"].isin([activity.KERNEL, activity.MOVE, activity.WAIT, activity.COPY])
    moments = pd.concat([events["start"][~did], events["end"][~did]], ignore_index=True)
    points = pd.DataFrame({"start": moments, "end": moments})
    return pd.concat([events.loc[did, ["start", "end"]], points, blocks[["start", "end"]]], ignore_index=True)


def _busy(events: pd.DataFrame) -> list[_Period]:
    """The parts of time in which something happens: long idle gaps are between them."""
    ordered = events.sort_values("start")
    start = ordered["start"].to_numpy()
    # What lasts no time still needs room to be seen.
    until = np.maximum.accumulate(np.maximum(ordered["end"].to_numpy(), start + 1))
    gaps = np.maximum(start[1:] - until[:-1], 0)
    whole, idle = int(until[-1] - start[0]), int(gaps.sum())
    longest = np.argsort(-gaps, kind="stable")
    needed = int(np.searchsorted(np.cumsum(gaps[longest]), 2 * idle - whole)) + 1 if 2 * idle > whole else 0
    folded = np.sort(longest[: min(needed, _FOLDS)])
    if whole - gaps[folded].sum() > _WORTH * whole:
        folded = folded[:0]
    firsts, lasts = start[[0, *(folded + 1)]], until[[*folded, len(until) - 1]]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _with_unknown(trace: Trace, events: pd.DataFrame) -> pd.DataFrame:
    """Bytes are -1 where another tool did not record the size of a copy, and of accesses: their launch has them."""
    imported = events["process"].map(trace.processes["imported_from"] != "").astype("bool")
    unknown = imported & events["what"].isin([activity.COPY, activity.COPY_CALL]) & (events["bytes"] == 0)
    return events.assign(bytes=events["bytes"].mask(unknown | (events["what"] == activity.MOVE), -1))


def _events(events: pd.DataFrame, cells: Cells, first: int) -> dict[str, Any]:
    """In columns; ``names`` are [name, short name, number of the kernel]: -1 for one without
    traffic, -2 for what is none."""
    kernels = {name: number for number, name in enumerate(cells.kernels)}
    of_kernel = events["what"].isin([activity.KERNEL, activity.LAUNCH])
    codes, names = pd.factorize(pd.MultiIndex.from_arrays([events["name"], of_kernel]))
    return {
        "lane": events["lane"].tolist(),
        "start": (events["start"] - first).tolist(),
        "length": events["duration"].tolist(),
        "bytes": events["bytes"].tolist(),
        "id": events["id"].tolist(),
        "name": codes.tolist(),
        "names": [_name(name, kernels.get(name, -1) if kernel else _NO_KERNEL, kernel) for name, kernel in names],
    }


def _waits(trace: Trace, events: pd.DataFrame, cells: Cells) -> dict[str, Any]:
    """event (its place among ``events``) kernel line awaited (numbers of their lists; -1 for a kernel or line without
    traffic) waits waited longest (ns), in columns."""
    of_waits = np.flatnonzero(events["what"] == activity.WAIT)
    if not len(of_waits):
        return {"event": []}
    table = trace.waits_by_launch().loc[events["id"].iloc[of_waits]]
    lines = pd.MultiIndex.from_tuples(cells.lines, names=["file", "line"])
    numbers = {
        "event": of_waits,
        "kernel": pd.Index(cells.kernels).get_indexer(pd.Index(table["kernel"])),
        "line": lines.get_indexer(pd.MultiIndex.from_frame(table[["file", "line"]])),
        "awaited": _places(cells, table["awaited"]),
    }
    return {name: values.tolist() for name, values in (numbers | dict(table[["waits", "waited", "longest"]])).items()}


def _places(cells: Cells, labels: pd.Series[str]) -> NDArray[np.int64]:
    """The numbers of places; one more than there are for what is none of them."""
    found = pd.Index(cells.places).get_indexer(pd.Index(labels))
    return np.where(found < 0, len(cells.places), found)


def _name(name: str, number: int, kernel: bool) -> tuple[str, str, int]:
    whole = cut(name)
    return whole, cut(short_name(whole) if kernel else whole, _SHORT), number


def _blocks(
    trace: Trace,
    parts: list[_Period],
    streams: bool,
    crowded: list[int],
    lanes: pd.DataFrame,
    limits: Limits,
    first: int,
) -> dict[str, Any]:
    """Of lanes that have more events than there is room for, all of them, drawn together."""
    columns = ["lane", "start", "end", "count", "busy"]
    table = pd.DataFrame({name: pd.Series(dtype="int64") for name in columns})
    if crowded:
        most = max(limits.blocks // (2 * len(crowded)), 1)
        shares = _shares(parts, most, 1)
        found = [
            trace.activity_blocks(*part, share, streams, crowded) for part, share in zip(parts, shares, strict=True)
        ]
        table = pd.concat(found, ignore_index=True)
        table["lane"] = lanes.index.get_indexer(pd.Index(table["lane"]))
    table[["start", "end"]] -= first
    return {name: table[name].tolist() for name in columns}


def _traffic(trace: Trace, parts: list[_Period], cells: Cells, limits: Limits, first: int) -> dict[str, Any]:
    """issuer owner (numbers of places) start end bytes, of kernels and of copies, in columns."""
    there = len(trace.by_pair(initiated="both"))
    bins = min(max(limits.moments // max(there, 1), _FEWEST_BINS), _MOST_BINS)
    found = []
    for (start, end), share in zip(parts, _shares(parts, bins, 10), strict=True):
        found.append(trace.traffic_by_moment(share, first=start, last=end))
        found.append(trace.traffic_over_time(share, initiated="host", first=start, last=end))
    table = pd.concat(found, ignore_index=True)
    for end_of in ("issuer", "owner"):
        table[end_of] = _places(cells, table[end_of])
    keys = ["issuer", "owner"]
    pairs = pd.MultiIndex.from_frame(table[keys])
    largest = table.groupby(keys)["bytes"].sum().sort_values(ascending=False, kind="stable").index
    table.loc[~pairs.isin(largest[: max(limits.moments // bins, 1)]), keys] = len(cells.places)
    table = table.groupby([*keys, "start", "end"])["bytes"].sum().reset_index()
    table[["start", "end"]] -= first
    return {name: table[name].tolist() for name in (*keys, "start", "end", "bytes")}


def _shares(parts: list[_Period], most: int, least: int) -> list[int]:
    """Pieces for each part by its length, about ``most`` in all."""
    whole = sum(end - start for start, end in parts)
    return [max(most * (end - start) // max(whole, 1), least) for start, end in parts]


def _about(trace: Trace, lanes: pd.DataFrame) -> list[str]:
    sentences = []
    if lanes["what"].isin([activity.LAUNCH, activity.COPY_CALL, activity.COLLECTIVE]).any():
        sentences.append("Calls are drawn when the host made them: what they started may have run later.")
    if (trace.processes["imported_from"] == "").any():
        sentences.append("Times are those of the instrumented run: kernels are slower than without Snoopie.")
    sentences += trace.about_moments()
    sentences += trace.about_waits()
    if unknown := trace.lacks(Lack.COPY_SIZES):
        sentences.append(f"What copies moved is {unknown}.")
    if trace.estimated:
        sentences.append("Only some launches were measured: traffic over time is theirs alone, and not scaled.")
    return [cut(sentence, 400) for sentence in sentences]
