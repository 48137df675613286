"""Random allocations of several processes and what kernels and copies touched of them, lane by lane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from snoopie.api.trace import Trace
from tests.plain import plain_callers
from tests.plain.drawing import loaded
from tests.plain.plain_callers import Caller
from tests.support.encoder import HOST, OBJECT_KINDS, START_NS, TraceBuilder

GPUS = 3
HEAP = 0x7F00_0000_0000
SLOT = 600
SPAN = 30
# Operation, bytes a lane, wire unit; the last is of bulk copies.
_SITES = (("load", 4, 32), ("load", 1, 32), ("store", 8, 16), ("atomic", 4, 32), ("store", 16, 16))
_OPCODE = {"load": "LDG.E", "store": "STG.E", "atomic": "ATOMG.E.ADD"}


@dataclass(frozen=True)
class Thing:
    """An allocation, ``freed`` 0 if never; ``depth``: in how many others it lies."""

    number: int
    process: int
    owner: int
    kind: str
    address: int
    size: int
    made: int
    freed: int
    inside: int
    depth: int
    call: str
    name: str
    caller: Caller

    def holds(self, address: int, time: int) -> bool:
        alive = self.made <= time and (self.freed == 0 or self.freed > time)
        return alive and self.address > 0 and self.address <= address < self.address + self.size


@dataclass(frozen=True)
class Access:
    """What one lane of a recorded access touched: its object is the one that holds its first byte."""

    record: int
    launch: int
    site: int
    issuer: int
    owner: int
    object: int
    process: int
    operation: str
    address: int
    size: int
    time: int


@dataclass
class Objects:
    """Several processes: a builder each; then what all of them did, with the numbers of the joined trace.

    All happens at multiples of so many ns after the start.
    """

    tick: int = 1
    builders: list[TraceBuilder] = field(default_factory=list)
    things: list[Thing] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    # site → operation, width, wire unit
    sites: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    # launch, site, owner, object → accesses, lanes, wire units
    counts: dict[tuple[int, int, int, int], tuple[int, int, int]] = field(default_factory=dict)
    # process, start, where from, where to, bytes
    copies: list[tuple[int, int, int, int, int]] = field(default_factory=list)

    def ns(self, moment: int) -> int:
        return START_NS + self.tick * moment

    def at(self, process: int, address: int, time: int) -> int:
        """The innermost object of a process that held an address at a time; 0 for none."""
        found = [thing for thing in self.things if thing.process == process and thing.holds(address, time)]
        return max(found, key=lambda thing: thing.depth).number if found else 0


def written(seed: int, tick: int = 1) -> tuple[Objects, Trace]:
    known = make(seed, tick)
    return known, loaded(known.builders, seed)


def make(seed: int, tick: int = 1) -> Objects:
    random = Random(seed)
    known = Objects(tick)
    for process in range(random.choice((1, 1, 2))):
        _add(known, TraceBuilder(GPUS, pid=200 + process), random, process)
    return known


def _add(known: Objects, builder: TraceBuilder, random: Random, process: int) -> None:
    before = {name: sum(len(other.rows[name]) for other in known.builders) for name in builder.rows}
    known.builders.append(builder)
    callers = plain_callers.make(builder, random, before["stacks"])
    for slot in range(random.choice((0, 3, 4, 4, 4, 4))):
        moment = 0
        while moment < SPAN and random.random() < 0.8:
            moment = _thing(known, builder, random, process, before, slot, moment, random.choice(callers))
    kernel = builder.function("kernel")
    for operation, width, unit in _SITES:
        site = builder.site(kernel, _OPCODE[operation], operation, width, wire_unit=unit)
        known.sites[before["sites"] + site] = operation, width, unit
    for _ in range(random.randint(1, 4)):
        issuer, time = random.randrange(GPUS), _some_time(known, random)
        launch = builder.launch(kernel, issuer, time=time)
        for _ in range(random.choice((0, 4, 12))):
            _record(known, builder, random, process, before, launch, issuer, time)
    _count(known, builder, random, before)
    for _ in range(random.randint(0, 6)):
        source, destination = random.sample([*range(GPUS), HOST], 2)
        start, size = _some_time(known, random), random.randint(0, 1 << random.choice((30, 55)))
        ends = [random.choice((0, HEAP + random.randrange(4) * SLOT + random.randrange(80))) for _ in range(2)]
        builder.copy(
            source, destination, size, gpu=0, start=start, end=start + 1,
            source_address=ends[0], destination_address=ends[1],
        )  # fmt: skip
        known.copies.append((process, start, ends[0], ends[1], size))


def _some_time(known: Objects, random: Random) -> int:
    """Often when something comes or goes."""
    borders = [time for thing in known.things for time in (thing.made, thing.freed) if time]
    return random.choice((known.ns(random.randrange(SPAN)), *borders))


def _thing(
    known: Objects, builder: TraceBuilder, random: Random, process: int, before: dict[str, int], slot: int, moment: int,
    caller: Caller,
) -> int:  # fmt: skip
    """An allocation in a place that is free from a moment on, and perhaps a part of it; until when it lives."""
    start = random.choice((moment, random.randint(moment, SPAN)))
    end = random.choice((None, random.randint(start, SPAN)))
    owner = random.choice((*range(GPUS), HOST))
    size = random.choice((64, 64, 512, random.randint(1, 512)))
    address = random.choice((0, *[HEAP + slot * SLOT] * 5))
    outer = _put(known, builder, before, process, owner, "device", address, size, start, end, 0, random, caller)
    if size > 1 and random.random() < 0.4:
        first = random.randrange(size)
        inner = random.randint(1, size - first)
        _put(
            known, builder, before, process, owner, "symmetric", address and address + first, inner, start, end, outer,
            random, caller,
        )  # fmt: skip
    return SPAN if end is None else end


def _put(
    known: Objects, builder: TraceBuilder, before: dict[str, int], process: int, owner: int, kind: str, address: int,
    size: int, start: int, end: int | None, outer: int, random: Random, caller: Caller,
) -> int:  # fmt: skip
    call, name = random.choice(("cuMemAlloc_v2", "cuMemCreate")), random.choice(("", "", "table"))
    number = builder.add(
        "objects", kind=OBJECT_KINDS.index(kind), bytes=size, owner=owner, time=known.ns(start), address=address,
        call=builder.string(call), name=builder.string(name), inside=outer,
        stack=caller.stack and caller.stack - before["stacks"],
    )  # fmt: skip
    if end is not None:
        builder.add("frees", object=number, time=known.ns(end))
    known.things.append(
        Thing(
            before["objects"] + number, process, -1 if owner == HOST else owner, kind, address, size, known.ns(start),
            0 if end is None else known.ns(end), outer and before["objects"] + outer, int(outer > 0), call, name,
            caller,
        )
    )  # fmt: skip
    return number


def _record(
    known: Objects, builder: TraceBuilder, random: Random, process: int, before: dict[str, int], launch: int,
    issuer: int, time: int,
) -> None:  # fmt: skip
    """One recorded access, of one of the shapes that there are."""
    owner = random.choice([place for place in range(GPUS) if place != issuer])
    record = sum(len(other.rows[name]) for other in known.builders for name in ("records", "scattered", "bulk"))
    site = random.randint(1, len(_SITES))
    operation, width, _ = known.sites[before["sites"] + site]
    base = HEAP + random.randrange(4) * SLOT + random.choice((0, 0, random.randrange(64), random.randrange(SLOT)))
    lanes = sorted(random.sample(range(32), random.choice((1, 8, 31, 32))))
    if site == len(_SITES):
        size = random.choice((16, 64, 160))
        builder.bulk(launch, site, owner, base, size)
        touched = [(base, size)]
    elif random.random() < 0.6:
        stride = random.choice((0, 1, width, width, width, -width, 16, 60))
        base += 32 * max(-stride, 0)
        builder.record(launch, site, owner, base, stride, mask=sum(1 << lane for lane in lanes))
        touched = [(base + stride * (lane - lanes[0]), width) for lane in lanes]
    else:
        places = {lane: base + random.randrange(random.choice((64, 2 * SLOT))) for lane in lanes}
        builder.scattered(launch, site, owner, places)
        touched = [(places[lane], width) for lane in lanes]
    for address, size in touched:
        known.accesses.append(
            Access(
                record, before["launches"] + launch, before["sites"] + site, issuer, owner,
                known.at(process, address, time), process, operation, address, size, time,
            )
        )  # fmt: skip


def _count(known: Objects, builder: TraceBuilder, random: Random, before: dict[str, int]) -> None:
    """Counts of what was recorded, of all or of more, some by object; and of what was not."""
    keys = {
        (access.launch, access.site, access.owner)
        for access in known.accesses
        if access.launch > before["launches"] and random.random() < 0.9
    }
    if random.random() < 0.5:
        keys.add((before["launches"] + 1, before["sites"] + 1, HOST))
    often = random.choice((0, 0.3, 0.8))
    for key in sorted(keys):
        own = [access for access in known.accesses if (access.launch, access.site, access.owner) == key]
        held = {access.object for access in own} - {0}
        named = {number for number in held if random.random() < often}
        rest = [access for access in own if access.object not in named]
        for number in sorted(named):
            _add_count(known, builder, before, (*key, number), random, [a for a in own if a.object == number])
        if rest or not own:
            _add_count(known, builder, before, (*key, 0), random, rest)


def _add_count(
    known: Objects, builder: TraceBuilder, before: dict[str, int], key: tuple[int, int, int, int], random: Random,
    recorded: list[Access],
) -> None:  # fmt: skip
    """Counts what was recorded, or more."""
    launch, site, owner, number = key
    more = random.choice((0, 0, random.randint(1, 100)))
    if not recorded or (number and random.random() < 0.2):
        # What is not shared out is exact, however much it is.
        more = random.randint(0, 1 << 47)
    accesses = len({access.record for access in recorded}) + more
    lanes = sum(access.size for access in recorded) // known.sites[site][1] + 8 * more
    amounts = accesses, lanes, random.randint(0, 2 * lanes)
    builder.add(
        "counts", launch=launch - before["launches"], site=site - before["sites"], owner=owner,
        object=number and number - before["objects"], accesses=accesses, lanes=lanes, wire_units=amounts[2],
    )  # fmt: skip
    known.counts[key] = amounts


def lanes_of(known: Objects, numbers: set[int]) -> Iterator[tuple[Access, int]]:
    """The recorded accesses of some objects, and where in its object each begins."""
    begins = {thing.number: thing.address for thing in known.things}
    for access in known.accesses:
        if access.object in numbers:
            yield access, access.address - begins[access.object]
