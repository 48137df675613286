"""When things happened: launches on their GPUs, bytes and memory over time. Times are nanoseconds of host time.

Of a launch with a span, what it moved is taken to have moved evenly from its start to its end; of one without, all at
once when it was called. The same goes for copies and their calls: an asynchronous one may really have gone on.
Where only some launches were measured, amounts are those of the measured ones: nothing is scaled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.host import copies as _copies
from snoopie.analysis.traffic import counts as _counts
from snoopie.analysis.traffic.reading import Initiated, Reading, checked, ends
from snoopie.errors import UsageError
from snoopie.trace.tables import Ints

MOST_BINS = 100_000
# A bin is not narrower: what is known of no time would look like an endless rate.
_NARROWEST = 1000
# Later times are none: the differences of all others fit 64 bits.
LATEST = 1 << 62
# So many shares of amounts are held at once: few enough for a cache.
_AT_ONCE = 1 << 16
# So many bins of pairs, of eight bytes.
_CELLS_AT_ONCE = 1 << 23


def timeline(launches: pd.DataFrame, spans: pd.DataFrame) -> pd.DataFrame:
    """launch | process kernel gpu stream thread called start end spanned.

    ``start`` and ``end`` are when it ran, where that is known (``spanned``), else both are ``called``.
    """
    table = launches[["process", "kernel", "gpu", "stream", "thread"]].copy()
    called = moments(launches["time"])
    first = spans.drop_duplicates("launch")
    rows = launches.index.get_indexer(pd.Index(first["launch"]))
    start, end, spanned = called.copy(), called.copy(), np.zeros(len(table), np.bool_)
    known = rows >= 0
    start[rows[known]] = moments(first["start"])[known]
    end[rows[known]] = moments(first["end"])[known]
    spanned[rows[known]] = True
    return table.assign(called=called, start=start, end=np.maximum(start, end), spanned=spanned)


def moments(times: pd.Series[Any] | Ints) -> Ints:
    """Times that can be subtracted from one another, whatever a trace claims."""
    clipped: Ints = np.clip(np.asarray(times), 0, LATEST)
    return clipped


def period(times: Iterable[pd.Series[Any] | Ints]) -> tuple[int, int]:
    """The shortest time that holds all of some moments, to after the last of them; those that are 0 are none."""
    first, last = LATEST + 1, 0
    for column in times:
        known = moments(column)
        known = known[known > 0]
        if len(known):
            first, last = min(first, int(known.min())), max(last, int(known.max()))
    return (first, last + 1) if last else (0, 0)


def moves(
    traffic: pd.DataFrame, copies: pd.DataFrame, when: pd.DataFrame, reading: Reading, initiated: Initiated
) -> pd.DataFrame:
    """issuer, owner (or from, to), start, end, bytes: what moved from when to when, a row a launch or copy and pair.

    ``traffic`` has the bytes by launch, issuer, owner and operation; ``when`` is the `timeline`.
    """
    checked(initiated)
    columns = [*ends(reading), "start", "end", "bytes"]
    parts = []
    if initiated != "host":
        moved = by_launch(traffic, reading)
        rows = when.index.get_indexer(pd.Index(moved["launch"]))
        parts.append(moved.assign(start=when["start"].to_numpy()[rows], end=when["end"].to_numpy()[rows]))
    if initiated != "device":
        begun = moments(copies["start"])
        timed = copies.assign(start=begun, end=np.maximum(begun, moments(copies["end"])))
        parts.append(_copies.directed(timed, reading, "start", "end"))
    table = pd.concat([part[columns] for part in parts], ignore_index=True)
    return table.astype({"bytes": np.int64})


def over_time(moves: pd.DataFrame, bins: int, first: int | None = None, last: int | None = None) -> pd.DataFrame:
    """issuer, owner (or from, to), start, end (of the bin), bytes: the bins in which a pair of places had traffic.

    The bins are equally wide, at most ``bins``, from ``first`` until before ``last``, or from the first of the `moves`
    to the last. The sum of a pair's bytes is exact; of what goes on beyond the time, the share within counts.
    """
    if not 1 <= bins <= MOST_BINS:
        raise UsageError(f"time cannot be divided into {bins} bins", f"use 1 to {MOST_BINS}")
    pair = list(moves.columns[:2])
    start, end = moves["start"].to_numpy(), moves["end"].to_numpy()
    first = int(start.min(initial=LATEST)) if first is None else first
    last = int(end.max(initial=0)) + 1 if last is None else last
    kept = (start < last) & (np.maximum(end, start + 1) > first)
    start, end, moves = start[kept], end[kept], moves[kept]
    if moves.empty:
        return moves.reset_index(drop=True)
    amounts = moves["bytes"].to_numpy()
    amounts = _until(amounts, start, end, last) - _until(amounts, start, end, first)
    start, end = np.maximum(start, first), np.minimum(end, last)
    width = max(-(-(last - first) // bins), _NARROWEST)
    # Places are small numbers: both ends in one, because one is compared faster than two.
    near, far = (moves[end].to_numpy() for end in pair)
    base, count = int(far.min()), int(far.max()) - int(far.min()) + 1
    groups, present = pd.factorize(near * count + (far - base))
    parts = []
    # Some pairs at a time: there can be 65,536, most of them with one bin or two.
    at_once = max(_CELLS_AT_ONCE // bins, 1)
    for lowest in range(0, len(present), at_once):
        some = (groups >= lowest) & (groups < lowest + at_once)
        of_time = (start[some] - first, end[some] - first, amounts[some])
        cells = _spread(*of_time, width, bins, groups[some] - lowest, min(at_once, len(present) - lowest))
        group, place = np.nonzero(cells)
        begin = first + place * width
        ends_of_pair = np.divmod(present[lowest + group], count)
        part = pd.DataFrame(dict(zip(pair, ends_of_pair, strict=True)), dtype=np.int64)
        parts.append(part.assign(start=begin, end=begin + width, bytes=cells[group, place]))
    table = pd.concat(parts, ignore_index=True)
    table[pair[1]] += base
    return table.sort_values([*pair, "start"], ignore_index=True)


def _until(amounts: Ints, start: Ints, end: Ints, time: int) -> Ints:
    """How much of amounts that lie evenly from start to end, or at once at the start, lies before a time: whole."""
    share = np.clip((time - start) / np.maximum(end - start, 1), 0.0, 1.0)
    part: Ints = np.minimum(np.rint(amounts * share).astype(np.int64), amounts)
    return np.where(time >= np.maximum(end, start + 1), amounts, part)


def by_launch(traffic: pd.DataFrame, reading: Reading) -> pd.DataFrame:
    """launch, issuer, owner (or from, to), `traffic.VALUES`: what each launch moved, never scaled."""
    return _counts.directed(traffic.drop(columns="weight", errors="ignore"), reading, "launch")


def _spread(
    start: Ints, end: Ints, amounts: Ints, width: int, bins: int, groups: NDArray[np.intp], count: int
) -> NDArray[np.int64]:
    """``count`` × ``bins`` sums of amounts that lie evenly from start to end; whole numbers whose sum is kept."""
    cells = np.zeros(count * bins, np.int64)
    low = start // width
    touched = np.maximum(end - 1, start) // width - low + 1
    place = groups * bins + low
    single = touched == 1
    np.add.at(cells, place[single], amounts[single])
    # Those that touch about as many bins together, as a row each: what is beyond an amount's end is zero.
    most = 1
    while most < touched.max(initial=0):
        most *= 2
        at_once = max(_AT_ONCE // most, 1)
        alike = np.flatnonzero((touched > most // 2) & (touched <= most))
        for first in range(0, len(alike), at_once):
            rows = alike[first : first + at_once, None]
            bin_ = np.minimum(np.arange(most), touched[rows] - 1)
            bin_end = (low[rows] + bin_ + 1) * width
            fraction = np.minimum((bin_end - start[rows]) / (end[rows] - start[rows]), 1.0)
            until = np.minimum(np.rint(amounts[rows] * fraction).astype(np.int64), amounts[rows])
            until = np.where(bin_end >= end[rows], amounts[rows], until)
            np.add.at(cells, (place[rows] + bin_).ravel(), np.diff(until, prepend=0).ravel())
    return cells.reshape(count, bins)


def memory_over_time(objects: pd.DataFrame, processes: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """keys, time, bytes: the memory of ``objects`` from each time on at which it changes.

    What is not freed lives until its process has ended. A part of an object of the same kind is not counted again.
    """
    parents = objects.index.get_indexer(pd.Index(objects["inside"]))
    kinds = objects["kind"].to_numpy()
    objects = objects[(parents < 0) | (kinds[parents] != kinds)]
    ended = processes["end_ns"].reindex(objects["process"]).to_numpy()
    freed = moments(objects["freed"].where(objects["freed"] > 0, ended))
    allocated = moments(objects["allocated"])
    # As floats, which no claim of a trace makes overflow; exact up to 8 PiB.
    size = objects["bytes"].to_numpy().astype(np.float64)
    own = objects[list(keys)]
    changes = pd.concat(
        [
            own.assign(time=allocated, bytes=size),
            own.assign(time=np.maximum(allocated, freed), bytes=-size)[freed > 0],
        ]
    )
    changes = changes.groupby([*keys, "time"])["bytes"].sum().reset_index()
    changes["bytes"] = changes.groupby(list(keys))["bytes"].cumsum().clip(0, LATEST).astype("int64")
    return changes


def lanes(start: Ints, end: Ints, track: Ints, *, nested: bool = False) -> Ints:
    """For each interval the lane of its track, from 0, on which it overlaps no other.

    ``nested``: on lane 0 an interval may lie within another, as calls do.
    """
    if len(start) == 0:
        return np.empty(0, np.int64)
    order = np.lexsort((-end if nested else end, start, track))
    ordered = pd.DataFrame({"track": track[order], "start": start[order], "end": end[order]})
    latest = ordered.groupby("track", sort=False)["end"].cummax()
    before = latest.groupby(ordered["track"], sort=False).shift(fill_value=-1)
    crowded = ordered["track"].isin(ordered["track"][ordered["start"] < before].unique()).to_numpy()
    result = np.zeros(len(start), np.int64)
    for _, rows in ordered[crowded].groupby("track", sort=False):
        result[order[rows.index]] = _lanes(rows["start"].tolist(), rows["end"].tolist(), nested)
    return result


def _lanes(starts: list[int], ends: list[int], nested: bool) -> list[int]:
    open_ends: list[int] = []  # on lane 0, if nested: the innermost last
    busy: list[tuple[int, int]] = []  # (until, lane)
    used = 1 if nested else 0
    result = []
    for start, end in zip(starts, ends, strict=True):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if nested and (not open_ends or end <= open_ends[-1]):
            open_ends.append(end)
            result.append(0)
            continue
        if busy and busy[0][0] <= start:
            lane = heappop(busy)[1]
        else:
            lane = used
            used += 1
        heappush(busy, (end, lane))
        result.append(lane)
    return result
