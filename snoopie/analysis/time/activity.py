"""What ran when, in lanes: kernels, launches, waits, copies, collectives, driver calls; as blocks that are seen apart.

A lane is a stream of a GPU or a thread of a process, or all of these together. Times are nanoseconds of host time. What
is too short to be seen in the part of time that is looked at becomes, with its neighbours, one block of several.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis import sums as _sums
from snoopie.analysis.time.folding import Folding, long_gaps
from snoopie.analysis.time.timeline import moments
from snoopie.errors import UsageError
from snoopie.joined.gpus import HOST
from snoopie.trace.tables import Ints

# In the order of the lanes of a place. Kernels, moves, waits and copies have times on the GPU, all others those of the
# host's calls. A move is all accesses of a launch to other memory, a wait all its waits.
KERNEL, LAUNCH, MOVE, WAIT, COPY, COPY_CALL, COLLECTIVE, RANGE, CALL = WHAT = (
    *("kernel", "launch", "move", "wait", "copy", "copy call", "collective", "range", "call"),
)
# Of threads of the host, and what GPUs do.
OF_THREADS = (RANGE, CALL)
OF_GPUS = (KERNEL, LAUNCH, COPY, COPY_CALL)
MOST_BLOCKS = 100_000
# As `by_launch` has them, by their launches.
MOVES, WAITS = "moves by launch", "waits by launch"
# The tables that their ids are of.
_TABLE_OF = {
    **dict.fromkeys((KERNEL, LAUNCH), "launches"),
    MOVE: MOVES,
    WAIT: WAITS,
    **dict.fromkeys((COPY, COPY_CALL), "copies"),
    COLLECTIVE: "collectives",
    RANGE: "ranges",
    CALL: "calls",
}
# In the place of a process or a stream: several.
SEVERAL = -1
# Twice this is longer than anything.
_LONGEST = 1 << 61
_LANE = ["what", "place", "process", "line"]

Label = Callable[[int], str]
Tables = Callable[[str], pd.DataFrame]
# All of the time is there.
OPEN = Folding(())


@dataclass(frozen=True, slots=True)
class Activity:
    """``lanes``: lane (0, 1, …) | what place (a GPU or HOST) process line (stream or thread) events.

    ``events``: lane id (in the table of what it is) start end, in the order of lane and start.
    """

    lanes: pd.DataFrame
    events: pd.DataFrame

    def times(self) -> dict[str, Ints]:
        """start end: of each lane."""
        start, end = self.events["start"].to_numpy(), self.events["end"].to_numpy()
        at = np.flatnonzero(np.diff(self.events["lane"].to_numpy(), prepend=-1))
        return {"start": _of_each(np.minimum, start, at), "end": _of_each(np.maximum, end, at)}

    def together(self) -> Activity:
        """One lane for all streams of a GPU, and for all threads of a process."""
        lanes = self.lanes
        of_threads = lanes["what"].isin(OF_THREADS)
        lanes = lanes.assign(process=lanes["process"].where(of_threads, SEVERAL), line=SEVERAL)
        merged, into = _sums.by(lanes, _LANE, ["events"]), _sums.codes(lanes, _LANE)
        return _sorted(merged, self.events.assign(lane=into[self.events["lane"].to_numpy()]))


def activity(
    when: pd.DataFrame,
    moves: pd.DataFrame,
    waits: pd.DataFrame,
    copies: pd.DataFrame,
    on_gpu: NDArray[np.bool_],
    collectives: pd.DataFrame,
    ranges: pd.DataFrame,
    calls: pd.DataFrame,
) -> Activity:
    """All that has a time: ``when`` is the `timeline.timeline` of launches, ``moves`` and ``waits`` their
    `by_launch.times`, ``on_gpu`` says of which copies the times are those on the GPU."""
    spanned = when["spanned"].to_numpy()
    parts = [
        _part(KERNEL, when[spanned], "gpu", "stream"),
        _part(LAUNCH, when[~spanned], "gpu", "stream"),
        _part(MOVE, moves, "gpu", "stream"),
        _part(WAIT, waits, "gpu", "stream"),
        _part(COPY, copies[on_gpu], "issuer", "stream"),
        _part(COPY_CALL, copies[~on_gpu], "issuer", "stream"),
        _part(COLLECTIVE, collectives, "issuer", "stream"),
        _part(RANGE, ranges, HOST, "thread"),
        _part(CALL, calls, HOST, "thread"),
    ]
    columns = [*_LANE, "id", "start", "end"]
    events = pd.DataFrame(dict(zip(columns, map(np.concatenate, zip(*parts, strict=True)), strict=True)))
    groups = events.groupby(_LANE, sort=False)
    lanes = groups.size().rename("events").reset_index()
    # The host comes after the GPUs.
    order = np.lexsort(
        [*(lanes[name] for name in ("line", "process", "what")), lanes["place"].abs(), lanes["place"] < 0]
    )
    at = np.argsort(order)
    lanes = lanes.assign(what=pd.Series([WHAT[code] for code in lanes["what"]], dtype="str")).iloc[order]
    return _sorted(lanes, events[["id", "start", "end"]].assign(lane=at[groups.ngroup().to_numpy()]))


def _part(what: str, table: pd.DataFrame, place: str | int, line: str) -> tuple[Ints, ...]:
    """Columns of events, and of the lane of each; ``place``: the column that has it, or the place of all."""
    if table.empty:
        return (np.zeros(0, np.int64),) * 7
    start = moments(table["start"])
    return (
        np.full(len(table), WHAT.index(what), np.int64),
        table[place].to_numpy(np.int64) if isinstance(place, str) else np.full(len(table), place, np.int64),
        table["process"].to_numpy(np.int64),
        # Streams are 64-bit handles: they fit once their sign is not looked at.
        table[line].to_numpy().astype(np.uint64).view(np.int64),
        table.index.to_numpy(np.int64),
        start,
        np.maximum(start, moments(table["end"])),
    )


def _sorted(lanes: pd.DataFrame, events: pd.DataFrame) -> Activity:
    order = np.lexsort([events["start"].to_numpy(), events["lane"].to_numpy()])
    lanes = lanes.reset_index(drop=True).rename_axis("lane")
    return Activity(lanes, events[["lane", "id", "start", "end"]].iloc[order].reset_index(drop=True))


def within(events: pd.DataFrame, first: int, last: int) -> pd.DataFrame:
    """The events that touch a part of time, from ``first`` until before ``last``."""
    start, end = events["start"].to_numpy(), events["end"].to_numpy()
    shown: pd.DataFrame = events[(start < last) & (np.maximum(end, start + 1) > first)]
    return shown


def blocks(events: pd.DataFrame, first: int, last: int, most: int, folding: Folding = OPEN) -> pd.DataFrame:
    """lane start end count busy (ns) id (0 where it is of several) longest (an id): what there is to draw of the time
    from ``first`` until ``last``, at most about 2 × ``most`` blocks a lane.

    What is shorter than 1/most of the time is drawn together with all that is so short and begins in the same part.
    ``start`` and ``end`` are cut at the ends of the time; ``busy`` counts what runs at once only once. All this without
    the time that is folded: what lies in a fold is left out.
    """
    if not 1 <= most <= MOST_BLOCKS:
        raise UsageError(f"a lane cannot be drawn in {most} blocks", f"use 1 to {MOST_BLOCKS}")
    shown = within(events, first, last)
    start, end = np.maximum(shown["start"].to_numpy(), first), np.minimum(shown["end"].to_numpy(), last)
    if folding:
        seen = ~folding.hidden(start, end)
        shown, start, end = shown[seen], folding.folded(start[seen]), folding.folded(end[seen])
        first, last = folding.folded(np.array([first, last])).tolist()
    lane = shown["lane"].to_numpy()
    width = _widths(lane, end - start, max(-(-(last - first) // most), 1), most)
    short = end - start < width[lane]
    # A group is a long one by itself, or the short ones of a cell, which come before its long ones.
    cell = (start - first) // width[lane]
    begins = np.ones(len(lane), np.bool_)
    order = np.lexsort([start, ~short, cell, lane])
    begins[1:] = ~short[order][1:] | (np.diff(lane[order]) != 0) | (np.diff(cell[order]) != 0)
    group = np.cumsum(begins) - 1
    lane, ids, start, end = lane[order], shown["id"].to_numpy()[order], start[order], end[order]
    at = np.flatnonzero(begins)
    count = np.diff(at, append=len(lane))
    longest = ids[_largest(end - start, at, group)]
    result = pd.DataFrame(
        {
            "lane": lane[at],
            "start": _of_each(np.minimum, start, at),
            "end": _of_each(np.maximum, end, at),
            "count": count,
            "busy": _running(start, end, at, group, first),
            "id": np.where(count == 1, longest, 0),
            "longest": longest,
        }
    )
    if folding:
        begin, until = folding.starts(result["start"].to_numpy()), folding.ends(result["end"].to_numpy())
        result = result.assign(start=begin, end=np.maximum(begin, until))
    return result.sort_values(["lane", "start", "end"], ignore_index=True)


def _of_each(what: np.ufunc, values: Ints, at: Ints) -> Ints:
    """The least, largest or sum of each group of neighbours, which begin at these places."""
    reduced: Ints = what.reduceat(values, at) if len(at) else values
    return reduced


def _running(start: Ints, end: Ints, at: Ints, group: Ints, first: int) -> Ints:
    """How long at least one of each group ran, of which none began before ``first``; in the order of their starts."""
    before = np.roll(pd.Series(end).groupby(group).cummax().to_numpy(), 1)
    before[at] = first
    return _of_each(np.add, np.maximum(end - np.maximum(start, before), 0), at)


def _largest(values: Ints, at: Ints, group: Ints) -> Ints:
    """Where in each group the first of its largest values is."""
    among = np.flatnonzero(values == _of_each(np.maximum, values, at)[group])
    return among[np.unique(group[among], return_index=True)[1]]


def _widths(lane: Ints, length: Ints, width: int, most: int) -> Ints:
    """How long an event of each lane must be to be drawn by itself. Where many run at once, it is longer."""
    widths = np.full(int(lane.max(initial=-1)) + 1, width, np.int64)
    while len(crowded := np.flatnonzero(np.bincount(lane[length >= widths[lane]], minlength=1) > most + 1)):
        widths[crowded] = np.minimum(widths[crowded], _LONGEST) * 2 + 1
    return widths


def longest(events: pd.DataFrame, first: int, last: int, limit: int) -> pd.DataFrame:
    """lane id start end: of the events that touch a part of time those that fill most of it, the earliest first among
    equals."""
    shown = within(events, first, last)
    filled = np.minimum(shown["end"], last) - np.maximum(shown["start"], first)
    return shown.iloc[np.lexsort([shown["start"], -filled])[:limit]].reset_index(drop=True)


def gaps_of(ran: Activity, first: int, last: int) -> list[tuple[int, int]]:
    """What `folding.long_gaps` folds of a time: when no GPU did anything, as far as its times are known; of what has
    none, when nothing at all happened."""
    on_gpus = ran.lanes.index[ran.lanes["what"].isin(OF_GPUS)]
    of_gpus = ran.events["lane"].isin(on_gpus)
    shown = within(ran.events[of_gpus] if of_gpus.any() else ran.events, first, last)
    return long_gaps(shown["start"].to_numpy(), shown["end"].to_numpy(), first, last)


@dataclass(frozen=True, slots=True)
class Names:
    """What each of the events of an `Activity` is called: the place of its name among ``known``."""

    codes: Ints
    known: pd.Index[str]

    def having(self, text: str) -> NDArray[np.bool_]:
        """Which events have this text in their name, whatever its case."""
        wanted = text.casefold()
        names = np.array([wanted in name.casefold() for name in self.known], np.bool_)
        found: NDArray[np.bool_] = names[self.codes] if len(self.known) else np.zeros(0, np.bool_)
        return found


def names(ran: Activity, tables: Tables, label: Label) -> Names:
    """As `described` has them, of all events at once."""
    what = ran.lanes["what"].to_numpy()[ran.events["lane"].to_numpy()]
    codes, known = np.zeros(len(what), np.int64), list[str]()
    for kind in dict.fromkeys(what):
        rows = np.flatnonzero(what == kind)
        table = tables(_TABLE_OF[kind])
        own, distinct = _names(kind, table.loc[ran.events["id"].to_numpy()[rows]], label)
        codes[rows] = own + len(known)
        known += distinct
    return Names(codes, pd.Index(known, dtype="str"))


def _names(kind: str, table: pd.DataFrame, label: Label) -> tuple[Ints, list[str]]:
    if kind in (COPY, COPY_CALL):
        codes, pairs = pd.factorize(pd.MultiIndex.from_frame(table[["source", "destination"]]))
        return codes.astype(np.int64), [f"{label(source)} → {label(destination)}" for source, destination in pairs]
    column = {KERNEL: "kernel", LAUNCH: "kernel", COLLECTIVE: "operation", CALL: "call"}.get(kind, "name")
    codes, distinct = pd.factorize(table[column])
    return codes.astype(np.int64), [str(name) for name in distinct]


def sums(ran: Activity, called: Names, first: int, last: int, tables: Tables, moved: pd.Series[int]) -> pd.DataFrame:
    """what name count total (ns, within the time) bytes (of all of each; -1 unknown): what touches a part of time, the
    longest first. ``tables`` and ``moved`` as in `described`."""
    touched = within(ran.events, first, last)
    inside = np.minimum(touched["end"], last) - np.maximum(touched["start"], first)
    what = ran.lanes["what"].to_numpy()[touched["lane"].to_numpy()]
    table = pd.DataFrame({"what": what, "code": called.codes[touched.index.to_numpy()], "total": inside})
    sizes = np.empty(len(table), np.int64)
    for kind in dict.fromkeys(what):
        rows = np.flatnonzero(what == kind)
        sizes[rows] = _sizes(kind, tables, moved).loc[touched["id"].iloc[rows]]
    table = table.assign(bytes=sizes, unknown=sizes < 0)
    groups = table.groupby(["what", "code"], sort=False)
    result = groups.agg(
        count=("total", "size"), total=("total", "sum"), bytes=("bytes", "sum"), unknown=("unknown", "any")
    ).reset_index()
    result["bytes"] = result["bytes"].where(~result["unknown"], -1)
    result.insert(1, "name", pd.Series(called.known[result["code"].to_numpy()], dtype="str"))
    order = ["what", "name", "count", "total", "bytes"]
    return result.sort_values(["total", "count", "name"], ascending=[False, False, True], ignore_index=True)[order]


def _sizes(what: str, tables: Tables, moved: pd.Series[int]) -> pd.Series[int]:
    """id → bytes, -1 where none are known."""
    if what in (KERNEL, LAUNCH, MOVE):
        return moved
    table = tables(_TABLE_OF[what])
    known: pd.Series[int] = table["bytes"] if "bytes" in table else pd.Series(-1, table.index)
    return known


def busy(ran: Activity, first: int, last: int) -> pd.DataFrame:
    """place busy (ns): how long at least one thing of each place ran in a part of time."""
    touched = within(ran.events, first, last)
    place = ran.lanes["place"].to_numpy()[touched["lane"].to_numpy()]
    start, end = np.maximum(touched["start"].to_numpy(), first), np.minimum(touched["end"].to_numpy(), last)
    order = np.lexsort([start, place])
    place, start, end = place[order], start[order], end[order]
    begins = np.diff(place, prepend=place[:1] - 1) != 0
    at = np.flatnonzero(begins)
    return pd.DataFrame({"place": place[at], "busy": _running(start, end, at, np.cumsum(begins), first)})


def found(events: pd.DataFrame, number: int, after: int) -> tuple[pd.DataFrame, int]:
    """The ``number``-th of some events by their start, and its number; 0: the first that ends after a moment."""
    ordered = events.sort_values(["start", "lane", "id"], ignore_index=True)
    later = np.flatnonzero(np.maximum(ordered["end"], ordered["start"] + 1) > after)
    at = min(number, len(ordered)) - 1 if number else int(later[0]) if len(later) else 0
    return ordered.iloc[[at]].reset_index(drop=True), at + 1


def described(
    rows: pd.DataFrame, lanes: pd.DataFrame, tables: Tables, moved: pd.Series[int], label: Label
) -> pd.DataFrame:
    """what id name place (label) process stream thread start end duration (ns) bytes (-1 where none are known): a few
    ``events``.

    ``tables`` gives those of the trace that ids are of, MOVES and WAITS, by their names; ``moved`` has the bytes of
    launches that were measured.
    """
    what = lanes["what"].reindex(rows["lane"]).to_numpy()
    parts = []
    for kind in dict.fromkeys(what):
        own = rows[what == kind]
        parts.append(_described(kind, own, tables(_TABLE_OF[kind]).loc[own["id"]], moved, label))
    columns = ["what", "id", "name", "place", "process", "stream", "thread", "start", "end", "duration", "bytes"]
    if not parts:
        none = pd.DataFrame({name: pd.Series(dtype=np.int64) for name in columns})
        return none.astype({"what": "str", "name": "str", "place": "str", "stream": np.uint64})
    table = pd.concat(parts).loc[rows.index]
    return table.assign(start=rows["start"], end=rows["end"], duration=rows["end"] - rows["start"])[columns]


def _described(kind: str, own: pd.DataFrame, table: pd.DataFrame, moved: pd.Series[int], label: Label) -> pd.DataFrame:
    if kind in (KERNEL, LAUNCH):
        name, place, size = table["kernel"], table["gpu"], moved.reindex(table.index, fill_value=-1)
    elif kind == MOVE:
        name, place, size = table["name"], table["gpu"], moved.reindex(table.index, fill_value=-1)
    elif kind == WAIT:
        name, place, size = table["name"], table["gpu"], pd.Series(-1, table.index)
    elif kind in (COPY, COPY_CALL):
        name = pd.Series(
            [f"{label(a)} → {label(b)}" for a, b in zip(table["source"], table["destination"], strict=True)]
        )
        place, size = table["issuer"], table["bytes"]
    elif kind == COLLECTIVE:
        name, place, size = table["operation"], table["issuer"], table["bytes"]
    elif kind == RANGE:
        nowhere, unknown = pd.Series(HOST, table.index), pd.Series(-1, table.index)
        name, place, size = table["name"], nowhere, unknown
    else:
        name, place, size = table["call"], table["gpu"], table["bytes"]
    return pd.DataFrame(
        {
            "what": pd.Series(kind, own.index, dtype="str"),
            "id": own["id"],
            "name": pd.Series(name.to_numpy(), own.index, dtype="str"),
            "place": pd.Series([label(one) for one in place], own.index, dtype="str"),
            "process": table["process"].to_numpy(),
            "stream": (table["stream"] if "stream" in table else pd.Series(np.uint64(0), table.index)).to_numpy(),
            "thread": table["thread"].to_numpy(),
            "bytes": size.to_numpy(np.int64),
        },
        index=own.index,
    )
