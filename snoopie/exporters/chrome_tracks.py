"""Processes and threads of a Chrome timeline: which there are, and on which of them each slice lies."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from snoopie.analysis.time import timeline
from snoopie.trace.tables import Ints

_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))
# How long a slice is of which nothing but the time is known, in ns.
INSTANT = 1000


def json_text(value: object) -> str:
    """In ASCII: the same to every reader, whatever names hold."""
    return _ENCODER.encode(value)


class Tracks:
    """Numbers processes and their threads in the order in which they are asked for, and names them."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self._threads: Counter[int] = Counter()
        self._processes = 0

    def process(self, name: str, label: str) -> int:
        """A new process; the label is shown beside its name."""
        self._processes += 1
        self._tell("process_name", self._processes, 0, {"name": name})
        self._tell("process_sort_index", self._processes, 0, {"sort_index": self._processes})
        if label:
            self._tell("process_labels", self._processes, 0, {"labels": label})
        return self._processes

    def thread(self, process: int, name: str) -> int:
        """A new thread, the last of its process."""
        self._threads[process] += 1
        thread = self._threads[process]
        self._tell("thread_name", process, thread, {"name": name})
        self._tell("thread_sort_index", process, thread, {"sort_index": thread})
        return thread

    def _tell(self, what: str, process: int, thread: int, facts: dict[str, object]) -> None:
        event = {"ph": "M", "name": what, "pid": process, "tid": thread, "ts": 0, "args": facts}
        self.events.append(json_text(event))


@dataclass(slots=True)
class Slices:
    """Intervals, each on a *line*: a host thread, or a stream. ``pid`` and ``tid`` are known once they are settled."""

    line: Ints
    start: Ints
    end: Ints
    pid: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    tid: Ints = field(default_factory=lambda: np.empty(0, np.int64))


def lines(*tables: pd.DataFrame) -> tuple[list[Ints], pd.DataFrame]:
    """For each table, whose columns say where its rows belong, the numbers of their lines; and the lines there are."""
    every = pd.concat(tables, ignore_index=True)
    codes, present = pd.factorize(pd.MultiIndex.from_frame(every))
    cuts = np.cumsum([len(table) for table in tables[:-1]])
    return np.split(codes.astype(np.int64), cuts), pd.DataFrame(list(present), columns=every.columns)


def settle(
    tracks: Tracks, processes: Sequence[int], names: Sequence[str], groups: Sequence[Slices], *, nested: bool = False
) -> Ints:
    """Gives every slice its thread, and each line further ones where slices overlap; returns the first of each line.

    ``processes`` and ``names`` are those of the lines. ``nested``: slices may lie within slices.
    """
    line, start, end = (
        np.concatenate([getattr(group, name) for group in groups]).astype(np.int64) for name in ("line", "start", "end")
    )
    lane = timeline.lanes(start, end, line, nested=nested)
    width = int(lane.max(initial=0)) + 1
    taken = line * width + lane
    present = np.unique(np.concatenate([taken, np.arange(len(names)) * width]))
    threads = np.empty(len(present), np.int64)
    # The first thread of every line comes before the further ones of that line, as `present` is in order.
    for row, (of_line, of_lane) in enumerate(zip(*(part.tolist() for part in divmod(present, width)), strict=True)):
        name = f"{names[of_line]} ({of_lane + 1})" if of_lane else names[of_line]
        threads[row] = tracks.thread(processes[of_line], name)
    found = threads[np.searchsorted(present, taken)]
    pids = np.array(processes, np.int64)
    position = 0
    for group in groups:
        group.pid = pids[group.line]
        group.tid = found[position : position + len(group.line)]
        position += len(group.line)
    first: Ints = threads[np.searchsorted(present, np.arange(len(names)) * width)]
    return first


def enclosing(around: Slices, line: Ints, time: Ints) -> Ints:
    """The number of the slice of the line that lies around a time, -1 where none does."""
    known = pd.DataFrame({"line": around.line, "time": around.start, "row": np.arange(len(around.line))})
    asked = pd.DataFrame({"line": line, "time": time, "asked": np.arange(len(line))})
    if known.empty or asked.empty:
        return np.full(len(line), -1, np.int64)
    met = pd.merge_asof(
        asked.sort_values("time", kind="stable"), known.sort_values("time", kind="stable"), on="time", by="line"
    )
    rows = met.sort_values("asked")["row"].fillna(-1).to_numpy(np.int64)
    result: Ints = np.where((rows >= 0) & (around.end[rows] >= time), rows, -1)
    return result


def short(line: Ints, start: Ints, others: Sequence[Slices]) -> Slices:
    """Slices that are as long as INSTANT, or end earlier because something else of their line begins or ends then."""
    moments = [pd.DataFrame({"line": line, "time": start})]
    moments += [pd.DataFrame({"line": o.line, "time": time}) for o in others for time in (o.start, o.end)]
    known = pd.concat(moments, ignore_index=True).astype("int64").sort_values("time", kind="stable")
    known["next"] = known["time"].astype("Int64")
    asked = pd.DataFrame({"line": line, "time": start, "asked": np.arange(len(line))}).sort_values(
        "time", kind="stable"
    )
    met: Any = pd.merge_asof(asked, known, on="time", by="line", direction="forward", allow_exact_matches=False)
    # Whole numbers: as floats, times of our days are multiples of 256 ns.
    later = met.sort_values("asked")["next"].fillna(timeline.LATEST).to_numpy(np.int64)
    return Slices(line, start, start + np.minimum(later - start, INSTANT))
