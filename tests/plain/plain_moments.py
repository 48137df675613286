"""When bytes moved within launches: random records by the clocks of GPUs, and plain loops over them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from tests.plain.plain_over_time import Piece, copied, directed
from tests.plain.plain_rates import between
from tests.plain.plain_runs import Count, Launch, Run, Site
from tests.support.encoder import START_NS

STEP = 1000


class Stamp(NamedTuple):
    """A record; ``time`` is by the clock of its GPU."""

    launch: Launch
    site: Site
    owner: int
    time: int
    bytes: int


class Clock(NamedTuple):
    process: int
    gpu: int
    start: int
    launches: int
    ahead: int
    error: int


class Placed(NamedTuple):
    """What a launch, instruction and owner moved in a step, as far as ``slack`` off; times are those of the host."""

    count: Count
    step: int
    start: int
    end: int
    bytes: Fraction
    wire_bytes: Fraction
    slack: int
    error: int


def add_records(run: Run) -> list[Stamp]:
    """Of some of the counts, by clocks that are ahead, drift and are set; a few at no time that can be."""
    random = run.random
    ahead: dict[tuple[int, int], int] = {}
    # Some count from when the machine began. Blocks of records hold times that are near one another.
    base = random.choice((0, 10**9 - START_NS))
    found = []
    for launch in run.launches:
        line = launch.process, launch.gpu
        if line not in ahead or random.random() < 0.2:
            ahead[line] = base + random.choice((0, 500, -3000, random.randrange(-(10**6), 10**6)))
        for count in run.counts:
            if count.launch != launch or not count.accesses or random.random() < 0.3:
                continue
            for _ in range(random.choice((1, 1, random.randint(1, 5)))):
                longest = launch.end - launch.start if launch.spanned else 20_000
                inside = random.choice((0, longest, random.randint(0, longest)))
                odd = 10**6 if random.random() < 0.02 else 0
                time = launch.start + ahead[line] + inside + odd
                found.append(Stamp(launch, count.site, count.owner, time, _record(run, count, time)))
    return found


def _record(run: Run, count: Count, time: int) -> int:
    """Writes a record; its bytes."""
    random, process, base = run.random, count.launch.process, 0x7F00_0000_0000
    builder = run.builders[process]
    launch, site = run.own("launches", process, count.launch.id), run.own("sites", process, count.site.id)
    place = launch, site, run.code(process, count.owner)
    lanes = random.randint(1, 32)
    shape = random.choice(("strided", "scattered", "bulk"))
    if shape == "strided":
        builder.record(*place, base, 4, mask=(1 << lanes) - 1, time=time)
    elif shape == "scattered":
        builder.scattered(*place, {lane: base + 64 * lane for lane in range(lanes)}, time=time)
    else:
        size = random.choice((0, 16, 4096))
        builder.bulk(*place, base, size, time=time)
        return size
    return lanes * count.site.width


def clocks(stamps: Iterable[tuple[Launch, int]]) -> list[Clock]:
    """Of the launches with times in their order those that agree on how far the clock is ahead, stretch by stretch.

    ``stamps``: times by the clock of the GPU at which launches ran.
    """
    times: dict[Launch, list[int]] = defaultdict(list)
    for launch, time in stamps:
        times[launch].append(time)
    allowed: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    for launch in sorted(times, key=lambda launch: (launch.start, launch.id)):
        least, most = max(times[launch]) - launch.end, min(times[launch]) - launch.start
        if launch.spanned and least <= most:
            allowed[launch.process, launch.gpu].append((launch.start, least, most))
    found = []
    for (process, gpu), launches in sorted(allowed.items()):
        agreeing: list[tuple[int, int, int]] = []
        for row in [*launches, None]:
            if row and max(one[1] for one in [*agreeing, row]) <= min(one[2] for one in [*agreeing, row]):
                agreeing.append(row)
                continue
            ahead = (max(one[1] for one in agreeing) + min(one[2] for one in agreeing)) // 2
            error = (min(most - least for _, least, most in agreeing) + 1) // 2
            found.append(Clock(process, gpu, agreeing[0][0], len(agreeing), ahead, error))
            agreeing = [row] if row else []
    return found


def clock_of(launch: Launch, every: list[Clock]) -> Clock | None:
    """The stretch that began last before the launch did; before the first that is it, too."""
    own = [clock for clock in every if (clock.process, clock.gpu) == (launch.process, launch.gpu)]
    return ([clock for clock in own if clock.start <= launch.start] or own[:1] or [None])[-1]


def placed(run: Run, stamps: list[Stamp]) -> list[Placed]:
    every = clocks((stamp.launch, stamp.time) for stamp in stamps)
    found = []
    for count in run.counts:
        clock = clock_of(count.launch, every)
        steps: dict[int, list[Stamp]] = defaultdict(list)
        for stamp in stamps:
            if stamp[:3] == count[:3]:
                steps[stamp.time // STEP].append(stamp)
        if clock is None:
            continue
        whole = sum(stamp.bytes for own in steps.values() for stamp in own)
        for step, own in sorted(steps.items()):
            if not any(stamp.bytes for stamp in own):
                continue
            share = Fraction(sum(stamp.bytes for stamp in own), whole)
            start = min(stamp.time for stamp in own) - clock.ahead
            end = max(stamp.time for stamp in own) + 1 - clock.ahead
            if count.launch.spanned:
                began, ended = count.launch.start, count.launch.end
                start = min(max(start, began), max(ended - 1, began))
                end = max(min(end, ended), start)
            amounts = share * count.bytes, share * count.wire_bytes
            found.append(Placed(count, step, start, end, *amounts, 0 if share == 1 else 1, clock.error))
    return found


def moves(run: Run, stamps: list[Stamp], initiated: str) -> Iterator[tuple[Count, Piece]]:
    """What moved from when to when, exactly or over the whole launch; not yet by whom."""
    if initiated == "host":
        return
    exact = placed(run, stamps)
    for row in exact:
        yield row.count, Piece(None, row.start, row.end, row.bytes, row.slack)
    known = {row.count[:3] for row in exact}
    for count in run.counts:
        if count[:3] not in known:
            yield count, Piece(None, count.launch.start, count.launch.end, count.bytes)


def by_pair(run: Run, stamps: list[Stamp], reading: str, initiated: str) -> list[Piece]:
    found = [
        piece._replace(key=pair) for count, piece in moves(run, stamps, initiated) for pair in directed(count, reading)
    ]
    if initiated != "device":
        for copy in run.copies:
            found += [Piece(pair, copy.start, copy.end, copy.bytes) for pair in copied(copy, reading)]
    return found


def by_line(run: Run, stamps: list[Stamp]) -> list[Piece]:
    return [
        piece._replace(
            key=f"{count.site.file.rpartition('/')[2]}:{count.site.line}" if count.site.line else count.site.kernel
        )
        for count, piece in moves(run, stamps, "device")
    ]


class Overlap(NamedTuple):
    """As a row of `overlap`; what ``slack`` is of is only known so far."""

    launches: int
    bytes: int
    moving: int
    began: int
    ended: int
    ran: int
    densest: Fraction
    capacity: float | None
    under: Fraction
    under_least: Fraction
    under_most: Fraction
    error: int
    slack: int


def overlap(run: Run, stamps: list[Stamp]) -> dict[tuple[Launch, int], Overlap]:
    """launch and owner → its row."""
    groups: dict[tuple[Launch, int], list[Placed]] = defaultdict(list)
    for row in placed(run, stamps):
        groups[row.count.launch, row.count.owner].append(row)
    found = {}
    for (launch, owner), own in groups.items():
        ran = launch.end - launch.start
        steps: dict[int, Fraction] = defaultdict(Fraction)
        for row in own:
            steps[row.step] += row.wire_bytes
        beneath = [
            sum((row.bytes for row in own if _under(run, row, wider * row.error)), Fraction(0)) for wider in (0, -1, 1)
        ]
        found[launch, owner] = Overlap(
            1, int(sum(row.bytes for row in own)), min(STEP * len(steps), max(ran, 1)),
            min(row.start for row in own) - launch.start, max(row.end for row in own) - launch.start, ran,
            max(steps.values()), between(run, launch.gpu, owner), *beneath, max(row.error for row in own),
            sum(row.slack for row in own),
        )  # fmt: skip
    return found


def _under(run: Run, row: Placed, wider: int) -> bool:
    """Whether another launch ran then, were it so much longer at both ends."""
    middle = (row.start + row.end) // 2
    return any(
        launch.spanned
        and launch != row.count.launch
        and launch.gpu == row.count.launch.gpu
        and launch.start - wider <= middle < launch.end + wider
        for launch in run.launches
    )


def overlap_by_kernel(rows: dict[tuple[Launch, int], Overlap]) -> dict[tuple[Any, ...], Overlap]:
    """kernel, issuer and owner → the sums."""
    groups: dict[tuple[Any, ...], list[Overlap]] = defaultdict(list)
    for (launch, owner), row in rows.items():
        groups[launch.kernel, launch.gpu, owner].append(row)
    found = {}
    for key, own in groups.items():
        under = (
            sum((getattr(row, name) for row in own), Fraction(0)) for name in ("under", "under_least", "under_most")
        )
        found[key] = Overlap(
            len(own), sum(row.bytes for row in own), sum(row.moving for row in own), 0, 0, sum(row.ran for row in own),
            max(row.densest for row in own), own[0].capacity, *under, max(row.error for row in own),
            sum(row.slack for row in own),
        )  # fmt: skip
    return found
