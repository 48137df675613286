"""Random sums of driver calls, of which other tools know only a part, and what plain loops make of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from snoopie.api.trace import Trace
from tests.plain.drawing import loaded
from tests.support.encoder import DIRECTIONS, START_NS, UNKNOWN, TraceBuilder

KEYS = ("process", "thread", "gpu")
CALLS = ("cuLaunchKernel", "cuMemcpyHtoD_v2", "cuMemcpyAsync", "cuMemcpyBatch", "cuMemAlloc_v2")
KERNELS = ("step()", "halo<int>()")
# Of which the tools tell: a copy by another call than these is waited for.
_ASYNCHRONOUS = ("cuMemcpyAsync", "cuMemcpyBatch")
WAITED = ("host to device", "device to host", "host to host")
PERCENTS = {"p50_ns": 50, "p90_ns": 90, "p99_ns": 99}
TOOLS = ("Another Tool 1", "A Third Tool 2", "Old Profiler", "nvprof 9", "Traces 3")

Row = dict[str, Any]


@dataclass
class Part:
    """Calls that a trace has the sum of. ``known``: every duration; "sum": that of all; "nothing": none."""

    process: int
    thread: int
    gpu: str
    call: str
    kernel: str
    direction: str
    known: str
    took: list[int]
    # What each returned, and the bytes of all that succeeded.
    codes: list[int]
    bytes: int

    @property
    def timed(self) -> bool:
        return self.known == "durations"

    @property
    def untimed(self) -> int:
        return len(self.took) if self.known == "nothing" else 0

    @property
    def unsized(self) -> int:
        """A tool that knows no durations tells sizes where it knows any."""
        return 0 if self.timed or self.bytes else len(self.took)


@dataclass
class Single:
    """One call; ``end`` is 0 where it is not known."""

    id: int
    process: int
    thread: int
    gpu: str
    call: str
    kernel: str
    direction: str
    start: int
    end: int
    bytes: int
    code: int


@dataclass
class Calls:
    """``lacks`` are what none of the tools records, if all processes are theirs."""

    builders: list[TraceBuilder] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    singles: list[Single] = field(default_factory=list)
    tools: set[str] = field(default_factory=set)
    lacks: set[str] = field(default_factory=set)

    def load(self, seed: int) -> Trace:
        return loaded(self.builders, seed)


# What a tool may say that it does not record, beside the tables that are then empty.
_LACKS = ("the date", "which calls failed", "the sizes of what calls copy, set or allocate", "driver calls")
# What is not known where a tool's recording has no row of a table.
_TABLES = {
    "objects": ("allocations", "when memory was freed"),
    "call_totals": ("driver calls", "which calls failed", "the sizes of what calls copy, set or allocate"),
    "launches": ("launches", "the thread blocks of kernels"),
    "copies": ("copies by the host",),
    "counts": ("which memory kernels access",),
}


def make(seed: int) -> Calls:
    random = Random(seed)
    made = Calls()
    lacking: list[set[str]] = []
    for process in range(random.randint(1, 2)):
        builder = TraceBuilder(2, pid=100 + process)
        made.builders.append(builder)
        for _ in range(random.choice((0, 3, 14))):
            _add(made, builder, process, random)
        lacks: set[str] = set()
        if random.random() < 0.6:
            tool, lacks = random.choice(TOOLS), set(random.sample(_LACKS, random.randint(0, 3)))
            made.tools.add(tool)
            # A format of the future may have more.
            builder.header["tool"] |= {"imported_from": tool, "lacks": [*lacks, "weights"]}
            lacks |= {what for table, whats in _TABLES.items() if not builder.rows[table] for what in whats}
        else:
            builder.header["tool"] |= {"lacks": ["the date"]}
            made.tools.add("")
        lacking.append(lacks)
    made.lacks = set.intersection(*lacking)
    return made


def _add(made: Calls, builder: TraceBuilder, process: int, random: Random) -> None:
    """Calls of one kind, of one thread to one GPU: their sum, their histogram, and some by themselves."""
    # Most that tell of a bandwidth.
    call = random.choice((*CALLS, "cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2"))
    place, thread = random.choice((0, 1, UNKNOWN)), random.choice((4711, 4712))
    kernel = random.choice(KERNELS) if "Launch" in call else ""
    direction = random.choice((*WAITED, *DIRECTIONS[1:])) if "Memcpy" in call else ""
    gpu = "unknown" if place == UNKNOWN else f"GPU {place}"
    known = random.choice(("durations", "durations", "sum", "nothing"))
    number = random.randint(1, 12)
    took = [
        max(random.choice((0, 1, random.randrange(1 << random.randint(1, 30)))), known == "sum") for _ in range(number)
    ]
    codes = [random.choice((0, 0, 0, 2, 700)) for _ in took]
    size = random.choice((0, random.randint(1, 1 << 40))) if direction or "Alloc" in call else 0
    row = {"call": builder.string(call), "gpu": place, "thread": thread}
    more = {"kernel": builder.string(kernel), "direction": DIRECTIONS.index(direction)}
    made.parts.append(Part(process, thread, gpu, call, kernel, direction, known, took, codes, size))
    timed = known == "durations"
    builder.add(
        "call_totals", time=START_NS, calls=number, errors=sum(map(bool, codes)), bytes=size,
        total=0 if known == "nothing" else sum(took), least=min(took) if timed else 1, most=max(took) if timed else 0,
        **row, **more,
    )  # fmt: skip
    logs = [max(time, 1).bit_length() - 1 for time in took] if timed else []
    for log in set(logs):
        builder.add("call_times", log2=log, calls=logs.count(log), **row)
    for code in set(codes) - {0}:
        builder.add("call_errors", code=code, name=builder.string(f"ERROR_{code}"), calls=codes.count(code), **row)
    for time, code in list(zip(took, codes, strict=True))[: random.randint(0, 4)]:
        start, amount = START_NS + random.randrange(50), random.choice((0, 1, 99))
        end = 0 if known == "nothing" else start + time - random.choice((0, 0, 1))
        own = builder.add("calls", start=start, end=end, code=code, bytes=amount, **row, **more)
        before = sum(len(other.rows["calls"]) for other in made.builders[:process])
        made.singles.append(
            Single(own + before, process, thread, gpu, call, kernel, direction, start, end, amount, code)
        )


# --- What plain loops make of it ---


def by(made: Calls, keys: Sequence[str], some: Callable[[Part], bool] = lambda part: True) -> dict[Any, Row]:
    """The sums of the parts of each combination of keys. None is what is not known."""
    groups: dict[tuple[Hashable, ...], list[Part]] = {}
    for part in made.parts:
        if some(part):
            groups.setdefault(tuple(getattr(part, key) for key in keys), []).append(part)
    return {key: _sums(made, own) for key, own in groups.items()}


def _sums(made: Calls, parts: Collection[Part]) -> Row:
    calls, untimed = sum(len(part.took) for part in parts), sum(part.untimed for part in parts)
    unsized = sum(part.unsized for part in parts)
    spent = sum(sum(part.took) for part in parts if not part.untimed)
    every = [time for part in parts for time in part.took] if all(part.timed for part in parts) else None
    errors = sum(bool(code) for part in parts for code in part.codes)
    no_sizes = "the sizes of what calls copy, set or allocate" in made.lacks
    return {
        "calls": calls,
        "errors": None if "which calls failed" in made.lacks else errors,
        "launches": calls - errors,
        "host_ns": None if untimed == calls else spent,
        "mean_ns": None if untimed == calls else spent / (calls - untimed),
        "min_ns": None if every is None else min(every),
        "max_ns": None if every is None else max(every),
        "bytes": None if no_sizes or unsized == calls else sum(part.bytes for part in parts),
        "unsized": calls if no_sizes else unsized,
        "untimed": untimed,
    }


def by_call(made: Calls, keys: Sequence[str]) -> dict[Any, Row]:
    """The rows of `Trace.by_call` or, by process and thread alone, of `Trace.by_thread`."""
    found = by(made, keys)
    for key, row in found.items():
        own = [part for part in made.parts if tuple(getattr(part, name) for name in keys) == key and part.timed]
        times = sorted(time for part in own for time in part.took)
        for name, percent in PERCENTS.items():
            row[name] = _percentile(times, percent, row["max_ns"])
    return {key: without(row, "launches", "untimed") for key, row in found.items()}


def _percentile(times: Sequence[int], percent: int, longest: int | None) -> float | None:
    """The next power of two above that of the calls at that place, but no more than the longest took."""
    if not times:
        return None
    at = times[-(-len(times) * percent // 100) - 1]
    bound = 2 ** max(at, 1).bit_length()
    return float(bound if longest is None else min(bound, longest))


def by_kernel(made: Calls, keys: Sequence[str]) -> dict[Any, Row]:
    found = by(made, ["kernel", *keys], lambda part: bool(part.kernel))
    return {key: without(row, "calls", "bytes", "unsized", "untimed") for key, row in found.items()}


def by_direction(made: Calls, keys: Sequence[str]) -> dict[Any, Row]:
    found = by(made, ["direction", *keys, "call"], lambda part: bool(part.direction))
    for (direction, *_, call), row in found.items():
        row["asynchronous"] = call in _ASYNCHRONOUS
        waited = direction in WAITED and call not in _ASYNCHRONOUS and not row["untimed"] and not row["unsized"]
        spent = row["host_ns"] if waited else 0
        row["bandwidth"] = row["bytes"] / spent * 1e9 if spent else None
    left_out = ("launches", "mean_ns", "min_ns", "max_ns", "unsized", "untimed")
    return {key: without(row, *left_out) for key, row in found.items()}


def by_error(made: Calls, keys: Sequence[str]) -> dict[Any, Row]:
    """How many calls returned a code that is not 0."""
    found: dict[tuple[Hashable, ...], Row] = {}
    for part in made.parts:
        for code in filter(None, part.codes):
            key = (part.call, *(getattr(part, name) for name in keys), code, f"ERROR_{code}")
            found.setdefault(key, {"calls": 0})["calls"] += 1
    return found


def without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}


def single(made: Calls, call: str, origin: int) -> list[tuple[Any, ...]]:
    """The rows of `Trace.single_calls`, in no order."""
    return [
        (
            one.id, one.process, one.thread, one.gpu, one.kernel, one.direction, one.start - origin,
            max(one.end - one.start, 0) if one.end else None, one.bytes, one.code,
        )
        for one in made.singles
        if one.call == call
    ]  # fmt: skip


def unknown(made: Calls) -> set[str]:
    """What is said of what no tool recorded."""
    return {f"unknown: what {' and '.join(sorted(made.tools))} recorded does not include {what}" for what in made.lacks}
