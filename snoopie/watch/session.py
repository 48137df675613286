"""A watch: the stream of all processes → a recorder for each, and whoever else listens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.live.about import About, about, user_name
from snoopie.watch.kernel_names import Layouts
from snoopie.watch.places import Files
from snoopie.watch.recorder import Recorder
from snoopie.watch.stream import LIVE, LOST, MEMORY, Frame, Start

Rows = NDArray[Any]


class Session:
    """All that was told so far.

    ``recorders`` are of the processes that run or have run, by their order. ``listeners`` are called with the session
    once a second, those of ``on_end`` with the recorder of each process that has ended. Unless ``keep``, nothing else
    stays of those.
    """

    def __init__(self, *, keep: bool = True, read_about: Callable[[int], About] = about) -> None:
        self.recorders: list[Recorder] = []
        self.attached: list[str] = []
        self.notes: list[str] = []
        self.lost = dict.fromkeys(LOST, 0)
        self.memory: dict[int, Rows] = {}
        self.live: dict[int, Rows] = {}
        self.functions: list[str] = []
        self.now = 0
        self._keep = keep
        self.begun = False
        self.listeners: list[Callable[[Session], None]] = []
        self.on_end: list[Callable[[Recorder], None]] = []
        self._running: dict[int, Recorder] = {}
        self._stacks: dict[int, Rows] = {}
        self._files = Files()
        self._layouts = Layouts()
        self._offset = 0
        self._read_about = read_about
        self._names: dict[int, dict[int, str]] = defaultdict(dict)

    def take(self, frames: Iterable[tuple[Frame, Any]]) -> None:
        """Follows the stream to its end."""
        for frame, content in frames:
            self.take_one(frame, content)

    def take_one(self, frame: Frame, content: Any) -> None:
        """One frame."""
        match frame:
            case Frame.START:
                self._start(content)
            case Frame.PROCESS:
                self._begin(content[0])
            case Frame.NAMES:
                for row in content:
                    self._names[int(row["pid"])][int(row["function"])] = row["name"].decode("utf-8", "replace")
            case Frame.STACK:
                self._stacks[int(content[0])] = content[1:]
            case Frame.EVENTS:
                for pid, rows in _by_process(content):
                    self.recorder(pid).add(rows)
            case Frame.SUMS:
                for pid, rows in _by_process(content):
                    one = self.recorder(pid)
                    one.sums.calls = rows
                    # While the process is there: its single calls may not be told.
                    one.look_for_names(np.unique(rows["kernel"][rows["kernel"] > 0]).tolist())
            case Frame.TIMES:
                for pid, rows in _by_process(content):
                    self.recorder(pid).sums.times = rows
            case Frame.ERRORS:
                for pid, rows in _by_process(content):
                    self.recorder(pid).sums.errors = rows
            case Frame.MEMORY:
                self.memory.update(_by_process(content))
            case Frame.LIVE:
                self.live.update(_by_process(content))
            case Frame.LOST:
                self.lost = dict(zip(LOST, content.tolist(), strict=True))
            case Frame.END:
                self._end(content[0])
            case Frame.NOTE:
                self.notes.append(content)
            case Frame.ATTACHED:
                self.attached.append(content)
            case Frame.TICK:
                self.now = int(content[0])
                self.begun = True
                for listener in list(self.listeners):
                    listener(self)

    def recorder(self, pid: int) -> Recorder:
        """That of the process that runs under this number."""
        if pid not in self._running:
            one = Recorder(
                self._read_about(pid), self.now, self._offset, self.functions, self._stacks, self._files, self._layouts
            )
            one.names = self._names[pid]
            one.stacks.mappings.read()
            self._running[pid] = one
            self.recorders.append(one)
        return self._running[pid]

    def running(self) -> list[Recorder]:
        """Those of processes that run."""
        return list(self._running.values())

    def live_of(self, recorder: Recorder) -> Rows:
        """The memory that a process has, or had when it ended."""
        return self.live.get(id(recorder), self.live.get(recorder.about.pid, np.zeros(0, LIVE)))

    def memory_of(self, recorder: Recorder) -> Rows:
        """Memory made and freed in all, by GPU and kind."""
        return self.memory.get(recorder.about.pid, np.zeros(0, MEMORY))

    def _start(self, start: Start) -> None:
        self._offset = start.offset
        # Recorders hold this list; it only grows.
        self.functions[:] = start.functions

    def _begin(self, news: Any) -> None:
        one = self.recorder(int(news["pid"]))
        if not len(one.sums.calls):
            # Its first call. Since it mapped the driver it may have become another, and has mapped more.
            one.stacks.mappings.read()
            fresh = self._read_about(one.about.pid)
            one.about = fresh if fresh.program else one.about
        # What is over so soon that /proc has nothing of it any more.
        if not one.about.program and news["program"]:
            program = news["program"].decode("utf-8", "replace")
            one.about = replace(one.about, program=program, user=user_name(int(news["uid"])))

    def _end(self, news: Any) -> None:
        pid = int(news["pid"])
        one = self._running.pop(pid, None)
        if one is not None:
            one.ended = int(news["time"])
            # The next process of this number has nothing to do with it.
            self.live[id(one)] = self.live.pop(pid, np.zeros(0, LIVE))
            for listener in self.on_end:
                listener(one)
            if not self._keep:
                self.recorders.remove(one)
                del self.live[id(one)]
        self.memory.pop(pid, None)
        self._names.pop(pid, None)


def _by_process(rows: Rows) -> list[tuple[int, Rows]]:
    pids = rows["pid"]
    return [(int(pid), rows[pids == pid]) for pid in np.unique(pids)]
