"""Random memory of several processes, of which every allocation is known, and how much there was as loops tell it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import snoopie
from snoopie.api.trace import Trace
from tests.plain import plain_callers
from tests.plain.drawing import few_rows
from tests.plain.plain_callers import Caller
from tests.plain.plain_runs import label
from tests.support.encoder import HOST, OBJECT_KINDS, START_NS, UNKNOWN, TraceBuilder, gpu

# What is memory of its own; the rest shows what another object is, or another process's.
OWN = (
    "device", "pool", "array", "managed", "host", "graph", "physical", "device static", "managed static", "pageable",
    "unknown",
)  # fmt: skip
CALLS = ("cuMemAlloc_v2", "cuMemCreate", "cudaMalloc", "custom", "")
ORIGINS = ("valid", "driver", "invalid")
PLACES = {HOST: -1, UNKNOWN: -2}
# So many ns there are: few, so that much happens at one moment.
_SPAN = 40


@dataclass(frozen=True)
class Piece:
    """An allocation. ``place`` is where it is in the joined trace, ``freed`` 0 if never, ``late``: by its context."""

    process: int
    place: int
    kind: str
    counted: bool
    size: int
    address: int
    made: int
    freed: int
    late: bool
    call: str
    name: str
    caller: Caller

    @property
    def origin(self) -> str:
        return "valid" if self.caller.stack else "driver" if self.call.startswith("cuM") else "invalid"

    def lives(self, time: int) -> bool:
        return self.made <= time and (self.freed == 0 or self.freed > time)


@dataclass(frozen=True)
class Report:
    """What the driver said of a GPU's memory."""

    process: int
    place: int
    time: int
    used: int
    own: int
    reserved: int
    handed: int


@dataclass
class Memory:
    """Several processes: the builder, the end and whether it is there, of each; then what all of them had."""

    builders: list[TraceBuilder] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    exits: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    # Of another tool, which does not record when memory was freed.
    freeless: list[bool] = field(default_factory=list)
    # Of each GPU, in the order in which processes name them, its number in its UUID.
    gpus: list[int] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)

    def chosen(self, device: int | None, process: int | None) -> list[Piece]:
        return [
            piece
            for piece in self.pieces
            if (device is None or piece.place == device) and (process is None or piece.process == process)
        ]

    def last(self, device: int | None, process: int | None) -> int:
        """The last moment of which anything is known: an end, what came or went and counts, a report."""
        ends = [end for number, end in enumerate(self.ends) if process in (None, number)]
        counted = [piece for piece in self.chosen(device, process) if piece.counted]
        said = [report.time for report in self.told(device, process)]
        return max([*ends, *moments(counted), *said])

    def told(self, device: int | None, process: int | None) -> list[Report]:
        return [
            report
            for report in self.reports
            if (device is None or report.place == device) and (process is None or report.process == process)
        ]

    def write(self, seed: int) -> Trace:
        with tempfile.TemporaryDirectory() as folder:
            for number, (builder, whole) in enumerate(zip(self.builders, self.whole, strict=True)):
                path = Path(folder) / f"{number}.zst"
                builder.write(path, footer=whole, block_rows=few_rows(seed))
            return snoopie.load(folder, allow_truncated=True)


def make(seed: int) -> Memory:
    random = Random(seed)
    memory, stacks = Memory(), 0
    for process in range(random.randint(1, 3)):
        own = random.sample(range(3), random.randint(1, 3))
        memory.gpus += [number for number in own if number not in memory.gpus]
        builder = TraceBuilder(own, pid=100 + process)
        _ends(memory, builder, random)
        callers = plain_callers.make(builder, random, stacks)
        stacks += len(builder.rows["stacks"])
        # Those that only other tools tell of are last.
        kinds = [*OBJECT_KINDS, *(kind for kind in OWN if kind not in OBJECT_KINDS)]
        if random.random() < 0.3:
            # An old trace, which does not know the memory behind mappings.
            kinds = kinds[:10]
        builder.header["object_kinds"] = kinds
        places = {local: memory.gpus.index(number) for local, number in enumerate(own)}
        for _ in range(random.choice((0, 1, 5, 20))):
            _allocate(memory, builder, random, process, kinds, places, random.choice(callers))
        for local, place in places.items():
            for _ in range(random.choice((0, 0, 1, 6))):
                used = random.choice((-1, random.randint(0, 1 << 40)))
                report = Report(
                    process, place, START_NS + random.randrange(_SPAN), used, random.choice((-1, 7)),
                    random.choice((-1, random.randint(0, 100))), random.choice((-1, 0, random.randint(0, 100))),
                )  # fmt: skip
                builder.memory_use(local, report.time - START_NS, used, report.reserved, report.handed, own=report.own)
                memory.reports.append(report)
    return memory


def _ends(memory: Memory, builder: TraceBuilder, random: Random) -> None:
    whole, end = random.random() < 0.8, START_NS + random.randint(_SPAN // 2, 2 * _SPAN)
    leaves = random.choice((None, START_NS + random.randrange(_SPAN)))
    builder.end_ns, builder.exit_ns = end, leaves
    memory.builders.append(builder)
    memory.freeless.append(random.random() < 0.2)
    if memory.freeless[-1]:
        builder.header["tool"] |= {"imported_from": "Another Tool 1", "lacks": ["when memory was freed"]}
    memory.whole.append(whole)
    memory.exits.append(end if leaves is None else leaves)
    memory.ends.append(end if whole else 0)


def _allocate(
    memory: Memory, builder: TraceBuilder, random: Random, process: int, kinds: list[str], places: dict[int, int],
    caller: Caller,
) -> None:  # fmt: skip
    kind = random.choice((random.choice(kinds), "device", "pool"))
    local = random.choice((*places, HOST, UNKNOWN) if random.random() < 0.3 else list(places))
    size = random.choice((0, 1, 100, 100, random.randint(0, 1 << 40)))
    start = random.randrange(_SPAN)
    # Some never end, some at once, and some before they begin: the clock was set back.
    end = random.choice((None, start, random.randrange(_SPAN), random.randrange(start, 2 * _SPAN)))
    end = None if memory.freeless[process] else end
    late, address = end is not None and random.random() < 0.3, random.randint(0, 3) << 20
    call, name = random.choice(CALLS), random.choice(("", "a", "b"))
    builder.add(
        "objects", kind=kinds.index(kind), bytes=size, owner=local, time=START_NS + start, address=address, thread=4711,
        call=builder.string(call), name=builder.string(name), stack=_local(builder, memory, caller),
    )  # fmt: skip
    if end is not None:
        builder.add("frees", object=len(builder.rows["objects"]), time=START_NS + end, thread=4711, by=int(late))
    freed = 0 if end is None else START_NS + max(start, end)
    counted = kind in OWN or (kind == "mapping" and "physical" not in kinds)
    place = PLACES.get(local, places.get(local, 0))
    memory.pieces.append(
        Piece(process, place, kind, counted, size, address, START_NS + start, freed, late, call, name, caller)
    )


def _local(builder: TraceBuilder, memory: Memory, caller: Caller) -> int:
    before = sum(len(other.rows["stacks"]) for other in memory.builders if other is not builder)
    return caller.stack - before if caller.stack else 0


def written(seed: int) -> tuple[Memory, Trace]:
    """A random memory, and the trace of it."""
    known = make(seed)
    return known, known.write(seed)


def asked(known: Memory, seed: int) -> list[tuple[int | str | None, int | None, int | None, int | None]]:
    """Devices and processes to ask for, as arguments; then what they mean."""
    random = Random(seed)
    place = random.randrange(len(known.gpus))
    named = random.choice((place, str(place), f"GPU {place}", gpu(known.gpus[place])["uuid"]))
    process = random.randrange(len(known.builders))
    return [
        (None, None, None, None),
        (named, None, place, None),
        (None, process, None, process),
        ("host", process, -1, process),
        (named, process, place, process),
    ]


def some_time(known: Memory, seed: int) -> tuple[int, int]:
    """From when to before when to look: often where something comes or goes."""
    random = Random(seed)
    borders = [*moments(known.pieces), START_NS, START_NS + _SPAN]
    first = random.choice(borders)
    return first, random.choice([*(time for time in borders if time > first), first + 1])


# --- What plain loops make of it ---


def within(pieces: Iterable[Piece], first: int, after: int) -> list[Piece]:
    """The part of a time: what was there before begins with it, what outlives it stays."""
    return [
        replace(piece, made=max(piece.made, first), freed=piece.freed if piece.freed < after else 0)
        for piece in pieces
        if piece.made < after and (piece.freed == 0 or piece.freed > first)
    ]


def events(memory: Memory, pieces: Iterable[Piece]) -> list[tuple[Any, ...]]:
    """The rows of `Trace.memory_events`, in no order."""
    found: list[tuple[Any, ...]] = []
    for piece in pieces:
        moments = [(piece.made, "allocation")] + ([(piece.freed, "free")] if piece.freed else [])
        for time, what in moments:
            found.append(
                (
                    piece.process, 100 + piece.process, label(piece.place), time, what, piece.kind, piece.size,
                    piece.address, piece.call, piece.name, piece.origin, piece.caller.stack, piece.caller.spelled,
                )
            )  # fmt: skip
    return found


Usage = dict[tuple[int, str, str, bool], list[tuple[int, int, int]]]


def usage(memory: Memory, pieces: Iterable[Piece], by_origin: bool) -> Usage:
    """process, device, kind, counted → time, bytes, objects at each moment at which one came or went."""
    groups: dict[tuple[int, str, str, bool], list[Piece]] = {}
    for piece in pieces:
        if piece.counted or not by_origin:
            kind = piece.origin if by_origin else piece.kind
            groups.setdefault((piece.process, label(piece.place), kind, piece.counted), []).append(piece)
    return {key: [(time, *sums(own, time)) for time in moments(own)] for key, own in groups.items()}


def moments(pieces: Iterable[Piece]) -> list[int]:
    """When something came or went."""
    return sorted({time for piece in pieces for time in (piece.made, piece.freed) if time})


def sums(pieces: Iterable[Piece], time: int) -> tuple[int, int]:
    """Bytes and objects that are there from a moment on."""
    there = [piece.size for piece in pieces if piece.lives(time)]
    return sum(there), len(there)


def by_kind(use: Usage) -> list[tuple[Any, ...]]:
    """The rows of `Trace.memory_by_kind`: the earliest highest amount, and the last one."""
    found = []
    for key, rows in use.items():
        most = max(size for _, size, _ in rows)
        when = min(time for time, size, _ in rows if size == most)
        found.append((*key, most, when, *rows[-1][1:]))
    return found


def curve(pieces: Iterable[Piece], last: int) -> tuple[list[str], list[tuple[int, ...]]]:
    """Kinds, and the rows of `Trace.memory_curve`: time and the bytes of each kind, until the ``last`` moment."""
    rare = ("managed static", "pageable", "unknown")
    counted = [
        replace(piece, kind="other kinds" if piece.kind in rare else piece.kind) for piece in pieces if piece.counted
    ]
    kinds = sorted({piece.kind for piece in counted})
    times = sorted({*moments(counted), last})
    return kinds, [
        (time, *(sums([piece for piece in counted if piece.kind == kind], time)[0] for kind in kinds)) for time in times
    ]
