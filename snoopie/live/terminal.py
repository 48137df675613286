"""A terminal that shows what programs do while they do it, by Rich."""

from __future__ import annotations

import os
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from snoopie.live.about import About
from snoopie.live.metrics import Family, Metrics
from snoopie.words import units
from snoopie.words.text import visible

# A key, and the column of the processes by which it sorts.
KEYS = {
    "l": "launches/s", "c": "copied/s", "a": "accessed/s", "m": "memory", "e": "errors", "w": "waiting",
}  # fmt: skip
_ROWS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """A process: sums, and rates since the last look."""

    about: About
    launches: float
    copied: float
    accessed: float
    memory: float
    errors: int
    waiting: float


class View:
    """Compares each look with the one before."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        # Who does not see accesses has no column of them.
        seen = any(family.name == "accessed_bytes" for family in metrics.families())
        self.keys = {key: name for key, name in KEYS.items() if key != "a" or seen}
        self.key = "l"
        self._before: dict[object, float] = {}
        self._now: dict[object, float] = {}
        self._seconds = 1.0
        self._time = metrics.now

    def _look(self) -> None:
        """Begins another look where there is something new."""
        if (now := self._metrics.now) != self._time:
            self._seconds = max((now - self._time) / 1e9, 1e-3) if self._time else 1.0
            self._time = now
            self._before, self._now = self._now, {}

    def _rate(self, what: object, value: float) -> float:
        """By how much it grew in a second."""
        self._now[what] = value
        return max(value - self._before.get(what, value), 0) / self._seconds

    def processes(self) -> list[Row]:
        """Those that run, by the column of the key."""
        self._look()
        found = [
            Row(
                one.about,
                launches=self._rate((one.about.pid, "l"), one.launches),
                copied=self._rate((one.about.pid, "c"), one.copied),
                accessed=self._rate((one.about.pid, "a"), one.accessed),
                memory=one.memory,
                errors=one.errors,
                waiting=self._rate((one.about.pid, "w"), one.waited),
            )
            for one in self._metrics.running()
        ]
        order: dict[str, Callable[[Row], float]] = {
            "l": lambda row: row.launches, "c": lambda row: row.copied, "a": lambda row: row.accessed,
            "m": lambda row: row.memory, "e": lambda row: row.errors, "w": lambda row: row.waiting,
        }  # fmt: skip
        return sorted(found, key=order[self.key], reverse=True)

    def render(self) -> Group:
        """All tables, as Rich draws them."""
        if not self._metrics.now:
            return Group(Text("not watching yet    q ends", style="dim"))
        processes = self.processes()
        families = {family.name: family for family in self._metrics.families()}
        keys = "  ".join(f"{key} {name}" for key, name in self.keys.items())
        lost = {what: number for what, number in self._metrics.lost.items() if number}
        said = [Text(f"sort by: {keys}    q ends", style="dim")]
        if lost:
            said.append(Text("lost: " + ", ".join(f"{number:,} {what}" for what, number in lost.items()), style="red"))
        tables = [self._processes(processes), self._kernels(families), self._copies(families)]
        if "accessed_bytes" in families:
            tables.append(self._accesses(families))
        return Group(*tables, self._memory(families), *said)

    def _processes(self, rows: list[Row]) -> Table:
        table = _table("Processes", ["PID", "program", "user", "container"], list(self.keys.values()))
        for row in rows[:_ROWS]:
            about = row.about
            shown = {
                "l": units.count(row.launches), "c": units.rate(row.copied), "a": units.rate(row.accessed),
                "m": units.bytes(row.memory), "e": f"{row.errors:,}", "w": units.percent(row.waiting),
            }  # fmt: skip
            words = (str(about.pid), about.program, about.user, about.container)
            table.add_row(*map(_shown, words), *(shown[key] for key in self.keys))
        return table

    def _by(self, family: Family, *labels: str) -> list[tuple[tuple[str, ...], float, float]]:
        """Values of labels, sum and rate; the highest first."""
        places = [family.labels.index(label) for label in labels]
        sums: dict[tuple[str, ...], float] = {}
        for values, number in family.values.items():
            key = tuple(values[place] for place in places)
            sums[key] = sums.get(key, 0) + number
        rows = [(key, number, self._rate((family.name, key), number)) for key, number in sums.items()]
        return sorted(rows, key=lambda row: (row[2], row[1]), reverse=True)[:_ROWS]

    def _kernels(self, families: Mapping[str, Family]) -> Table:
        table = _table("Kernels", ["kernel"], ["launches", "launches/s"])
        for (kernel,), number, rate in self._by(families["launches"], "kernel"):
            table.add_row(_shown(kernel), units.count(number), units.count(rate))
        return table

    def _copies(self, families: Mapping[str, Family]) -> Table:
        table = _table("Copies", ["from", "to"], ["bytes", "bytes/s"])
        for (source, destination), number, rate in self._by(families["copied_bytes"], "source", "destination"):
            table.add_row(_shown(source), _shown(destination), units.bytes(number), units.rate(rate))
        return table

    def _accesses(self, families: Mapping[str, Family]) -> Table:
        table = _table("Accesses by kernels", ["issuer", "owner", "operation"], ["bytes", "bytes/s"])
        for (issuer, owner, operation), number, rate in self._by(
            families["accessed_bytes"], "issuer", "owner", "operation"
        ):
            table.add_row(_shown(issuer), _shown(owner), _shown(operation), units.bytes(number), units.rate(rate))
        return table

    def _memory(self, families: Mapping[str, Family]) -> Table:
        table = _table("Memory", ["program", "GPU", "kind"], ["now", "left by ended processes"])
        leaked = {key: number for key, number, _ in self._by(families["leaked_bytes"], "program", "gpu", "kind")}
        now = {key: number for key, number, _ in self._by(families["allocated_bytes"], "program", "gpu", "kind")}
        for key in dict.fromkeys([*now, *leaked]):
            table.add_row(*map(_shown, key), *(units.bytes(found.get(key, 0)) for found in (now, leaked)))
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

    # Keys first: those that were pressed before are dropped.
    with _keys() as pressed, Live(drawn(), console=Console(), auto_refresh=False, screen=True) as live:

        def follow() -> None:
            while not over.is_set():
                key = pressed(1.0)
                if key == "q":
                    end()
                elif key in view.keys:
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
