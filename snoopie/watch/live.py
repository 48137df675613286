"""A terminal that shows what is watched while it is watched, by Rich."""

from __future__ import annotations

import os
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from snoopie.watch.metrics import Metrics
from snoopie.watch.session import Session
from snoopie.words import units
from snoopie.words.text import visible

# A key, and the column of the processes by which it sorts.
KEYS = {"l": "launches/s", "c": "copied/s", "m": "memory", "e": "errors", "w": "waiting"}
_ROWS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """A process: sums, and rates since the last look."""

    pid: int
    program: str
    user: str
    container: str
    launches: float
    copied: float
    memory: int
    errors: int
    waiting: float


class View:
    """Compares each look with the one before."""

    def __init__(self, session: Session) -> None:
        self._session, self._metrics = session, Metrics(session)
        self.key = "l"
        self._before: dict[object, float] = {}
        self._now: dict[object, float] = {}
        self._seconds = 1.0
        self._time = 0
        session.listeners.append(self._tick)

    def _tick(self, session: Session) -> None:
        self._seconds = max((session.now - self._time) / 1e9, 1e-3) if self._time else 1.0
        self._time = session.now
        self._before, self._now = self._now, {}

    def _rate(self, what: object, value: float) -> float:
        """By how much it grew in a second."""
        self._now[what] = value
        return max(value - self._before.get(what, value), 0) / self._seconds

    def processes(self) -> list[Row]:
        """Those that run, by the column of the key."""
        session, found = self._session, []
        waits = [number for number, name in enumerate(session.functions) if "Synchronize" in name]
        for recorder in session.running():
            sums, about = recorder.sums.calls, recorder.about
            if not len(sums):
                continue
            memory = session.memory_of(recorder)
            launches = float(sums["calls"][sums["kernel"] > 0].sum())
            copied = float(sums["bytes"][sums["direction"] > 0].sum())
            waited = float(sums["total"][np.isin(sums["function"], waits)].sum()) / 1e9
            found.append(
                Row(
                    about.pid, about.program, about.user, about.container, self._rate((about.pid, "l"), launches),
                    self._rate((about.pid, "c"), copied), int((memory["allocated"] - memory["freed"]).sum()),
                    int(sums["errors"].sum()), self._rate((about.pid, "w"), waited),
                )
            )  # fmt: skip
        order: dict[str, Callable[[Row], float]] = {
            "l": lambda row: row.launches, "c": lambda row: row.copied, "m": lambda row: row.memory,
            "e": lambda row: row.errors, "w": lambda row: row.waiting,
        }  # fmt: skip
        return sorted(found, key=order[self.key], reverse=True)

    def render(self) -> Group:
        """All tables, as Rich draws them."""
        keys = "  ".join(f"{key} {name}" for key, name in KEYS.items())
        lost = {what: number for what, number in self._session.lost.items() if number}
        said = [Text(f"sort by: {keys}    q ends", style="dim")]
        if lost:
            said.append(Text("lost: " + ", ".join(f"{number:,} {what}" for what, number in lost.items()), style="red"))
        return Group(self._processes(), self._kernels(), self._copies(), self._memory(), *said)

    def _processes(self) -> Table:
        table = _table("Processes", ["PID", "program", "user", "container"], list(KEYS.values()))
        for row in self.processes()[:_ROWS]:
            table.add_row(
                str(row.pid), _shown(row.program), _shown(row.user), row.container, units.count(row.launches),
                units.rate(row.copied), units.bytes(row.memory), f"{row.errors:,}", units.percent(row.waiting),
            )  # fmt: skip
        return table

    def _by(self, family: str, *labels: str) -> list[tuple[tuple[str, ...], float, float]]:
        """Values of labels, sum and rate; the highest first."""
        (found,) = [one for one in self._metrics.families() if one.name == family]
        places = [found.labels.index(label) for label in labels]
        sums: dict[tuple[str, ...], float] = {}
        for values, number in found.values.items():
            key = tuple(values[place] for place in places)
            sums[key] = sums.get(key, 0) + number
        rows = [(key, number, self._rate((family, key), number)) for key, number in sums.items()]
        return sorted(rows, key=lambda row: (row[2], row[1]), reverse=True)[:_ROWS]

    def _kernels(self) -> Table:
        table = _table("Kernels", ["kernel"], ["launches", "launches/s"])
        for (kernel,), number, rate in self._by("launches", "kernel"):
            table.add_row(_shown(kernel), units.count(number), units.count(rate))
        return table

    def _copies(self) -> Table:
        table = _table("Copies", ["from", "to"], ["bytes", "bytes/s"])
        for (source, destination), number, rate in self._by("copied_bytes", "source", "destination"):
            table.add_row(source, destination, units.bytes(number), units.rate(rate))
        return table

    def _memory(self) -> Table:
        table = _table("Memory", ["program", "GPU", "kind"], ["now", "left by ended processes"])
        leaked = {key: number for key, number, _ in self._by("leaked_bytes", "program", "gpu", "kind")}
        now = {key: number for key, number, _ in self._by("allocated_bytes", "program", "gpu", "kind")}
        for key in dict.fromkeys([*now, *leaked]):
            program, gpu, kind = key
            table.add_row(_shown(program), gpu, kind, units.bytes(now.get(key, 0)), units.bytes(leaked.get(key, 0)))
        return table


def _shown(name: str) -> Text:
    return Text(visible(name))


def _table(title: str, words: list[str], numbers: list[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, expand=False)
    for word in words:
        table.add_column(word, overflow="ellipsis", no_wrap=True)
    for number in numbers:
        table.add_column(number, justify="right", no_wrap=True)
    return table


@contextmanager
def shown(view: View, lock: threading.Lock, end: Callable[[], None]) -> Iterator[None]:
    """Draws the view once a second, and follows keys; ``end`` is called for q."""
    over = threading.Event()

    def drawn() -> Group:
        with lock:
            return view.render()

    with Live(drawn(), console=Console(), auto_refresh=False, screen=True) as live, _keys() as pressed:

        def follow() -> None:
            while not over.is_set():
                key = pressed(1.0)
                if key == "q":
                    end()
                elif key in KEYS:
                    view.key = key
                live.update(drawn(), refresh=True)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(timeout=5)


@contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """Gives a function that waits for a key as long as it is told, "" for none."""
    if not sys.stdin.isatty():

        def none(seconds: float) -> str:
            time.sleep(seconds)
            return ""

        yield none
        return
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    tty.setcbreak(number)

    def pressed(seconds: float) -> str:
        ready, _, _ = select.select([number], [], [], seconds)
        return os.read(number, 1).decode("ascii", "replace") if ready else ""

    try:
        yield pressed
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
