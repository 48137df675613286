"""What was called within ranges and when marks were made, by plain loops."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from tests.plain.plain_runs import Copy, Launch, Range, Run


class Called(NamedTuple):
    """As a row of `by_range`."""

    times: int
    duration: int
    launches: int
    measured: int
    accesses: int
    lanes: int
    bytes: int
    wire_units: int
    wire_bytes: int
    copies: int
    copy_bytes: int


def holds(range_: Range, process: int, thread: int, time: int) -> bool:
    """From its start until before its end: a pushed range the calls of its thread, another those of its process."""
    if range_.process != process or (range_.pushed and range_.thread != thread):
        return False
    return range_.start <= time and (range_.end == 0 or time < range_.end)


def last_moment(run: Run) -> int:
    """The end of `period`, when ranges end that did not."""
    times = [time for launch in run.launches for time in (launch.called, launch.start, launch.end)]
    for table in (run.copies, run.collectives, run.calls):
        times += [time for row in table for time in (row.start, row.end)]  # type: ignore[attr-defined]
    times += [row["time"] for builder in run.builders for row in builder.rows["objects"]]
    return max(times) + 1 if times else 0


def by_range(run: Run) -> dict[tuple[str, str, str], Called]:
    keys: dict[tuple[str, str, str], list[Range]] = defaultdict(list)
    for one in run.ranges:
        keys[one.name, one.domain, "thread" if one.pushed else "process"].append(one)
    until = last_moment(run)
    found = {}
    for key, own in keys.items():
        launches = [one for one in run.launches if any(holds(r, one.process, one.thread, one.called) for r in own)]
        copies = [one for one in run.copies if any(holds(r, one.process, one.thread, one.start) for r in own)]
        duration = sum(max((one.end or until) - one.start, 0) for one in own)
        found[key] = _called(run, len(own), duration, launches, copies)
    launches = [
        one for one in run.launches if not any(holds(r, one.process, one.thread, one.called) for r in run.ranges)
    ]
    copies = [one for one in run.copies if not any(holds(r, one.process, one.thread, one.start) for r in run.ranges)]
    if launches or copies:
        found["", "", ""] = _called(run, 0, 0, launches, copies)
    return found


def _called(run: Run, times: int, duration: int, launches: list[Launch], copies: list[Copy]) -> Called:
    own = [count for count in run.counts if count.launch in launches]
    return Called(
        times, duration, len(launches), len(launches),
        *(sum(amounts) for amounts in (
            [one.accesses for one in own], [one.lanes for one in own], [one.bytes for one in own],
            [one.wire_units for one in own], [one.wire_bytes for one in own],
        )),
        len(copies), sum(copy.bytes for copy in copies),
    )  # fmt: skip


def marked(run: Run, text: str, number: int) -> int | None:
    """The moment of the ``number``-th mark that has a text in its own."""
    times = sorted(time for _, time, own in run.marks if text in own)
    return times[number - 1] if number <= len(times) else None
