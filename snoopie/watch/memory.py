"""Memory that a process has: single calls → objects and their ends."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from snoopie.watch.stream import NOT_KNOWN, PHYSICAL

# Of which the address is one that copies name.
_KINDS_WITHOUT_ADDRESS = frozenset({PHYSICAL, 2})


@dataclass(slots=True)
class Made:
    """An allocation; ``time`` is that of the stream."""

    row: int
    address: int
    bytes: int
    gpu: int
    kind: int
    time: int
    thread: int
    function: int
    stack: int
    context: int


@dataclass(slots=True)
class Ended:
    """Its end: by a call, or (``by`` 1) with its context."""

    row: int
    time: int
    thread: int
    by: int


@dataclass(slots=True)
class Memory:
    """Follows what is there. ``made`` and ``ended`` are what is to be written; `taken` empties them."""

    made: list[Made] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    rows: int = 0
    # Memory that was there before the watch began, and was freed.
    older: int = 0
    _live: dict[tuple[bool, int], Made] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)

    def make(self, event: Any, stack: int) -> None:
        """An allocation, as a row of events or of what is there at the end."""
        self.rows += 1
        handle = int(event["object"]) == PHYSICAL
        time = int(event["end"])
        one = Made(
            self.rows, int(event["address"]), int(event["bytes"]), int(event["gpu"]), int(event["object"]), time,
            int(event["tid"]), int(event["function"]), stack, int(event["context"]),
        )  # fmt: skip
        before = self._live.get((handle, one.address))
        if before is not None:
            # Its end was lost, and is not after this.
            self._end(before, time, 0, 0)
        self._live[handle, one.address] = one
        if one.kind not in _KINDS_WITHOUT_ADDRESS:
            insort(self._starts, one.address)
        self.made.append(one)

    def free(self, event: Any) -> None:
        """The end of what began at the time that the event names."""
        one = self._live.get((int(event["object"]) == PHYSICAL, int(event["address"])))
        if not event["other"]:
            self.older += 1
        elif one is not None and one.time <= int(event["end"]) and one.time == int(event["other"]):
            self._end(one, int(event["end"]), int(event["tid"]), 0)

    def end_context(self, context: int, time: int, thread: int) -> None:
        """A context ends, and what is on its GPU with it."""
        for one in [one for one in self._live.values() if one.context == context and context]:
            self._end(one, time, thread, 1)

    def gpu_at(self, address: int) -> int:
        """Whose memory is at an address; NOT_KNOWN where none is known to be."""
        place = bisect_right(self._starts, address) - 1
        one = self._live.get((False, self._starts[place])) if place >= 0 else None
        return one.gpu if one is not None and address < one.address + max(one.bytes, 1) else NOT_KNOWN

    def live(self) -> Iterator[Made]:
        """What is there."""
        return iter(list(self._live.values()))

    def settle(self, there: Any, time: int) -> tuple[list[Any], int]:
        """What is there at the end, as the kernel part says exactly → allocations whose call was lost, and how many
        frees were: those count as made when they were, and as ended now."""
        exact = {(bool(row["handle"]), int(row["address"])): row for row in there}
        lost = 0
        for one in self.live():
            row = exact.get((one.kind == PHYSICAL, one.address))
            if row is None or int(row["time"]) != one.time:
                self._end(one, time, 0, 0)
                lost += 1
        return [row for key, row in exact.items() if key not in self._live], lost

    def taken(self) -> tuple[list[Made], list[Ended]]:
        """What was made and what ended since."""
        made, ended = self.made, self.ended
        self.made, self.ended = [], []
        return made, ended

    def _end(self, one: Made, time: int, thread: int, by: int) -> None:
        del self._live[one.kind == PHYSICAL, one.address]
        place = bisect_right(self._starts, one.address) - 1
        if one.kind not in _KINDS_WITHOUT_ADDRESS and place >= 0 and self._starts[place] == one.address:
            del self._starts[place]
        self.ended.append(Ended(one.row, time, thread, by))
