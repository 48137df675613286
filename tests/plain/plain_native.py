"""Random programs that are recorded twice, with counts and with native times, and which launches are the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from snoopie.api.trace import Trace
from tests.plain.drawing import loaded_with_times
from tests.plain.plain_rates import covered
from tests.plain.plain_runs import label
from tests.support.encoder import HOST, START_NS, UNKNOWN, TraceBuilder

# Kernels as the collector writes them, and how other tools do.
SPELLINGS = {
    "step<4, true>(int*)": ("step<4, true>(int*)", "step<(int)4, (bool)1>(int *)", "void step<4, true>(int*)"),
    "n::halo(float*)": ("n::halo(float*)", "n::halo(float *)", "n::halo"),
    "sum(int)": ("sum(int)", "sum( int )", "sum"),
}
KERNELS = tuple(SPELLINGS)
# One that ran without probes alone, and one that ran with them alone.
TUNE, INIT = "tune(int)", "init(int)"
FILE = "/src/a.cu"
GPUS = 3
_UNITS = {"load": 32, "store": 16, "atomic": 16}
_PER_THREAD = 2
_AHEAD = 60_000_000_000

PROCESS = "no process of the clean recording is of their rank"
GPU = "no GPU of the clean recording is theirs"
KERNEL = "their kernel did not run in the clean recording"
SAMPLED = "only some launches of their kernel were measured"
STREAM = "no stream of the clean recording is like theirs"
COUNT = "the recordings have them in different numbers"
NOT_MEASURED = "their kernel was not measured in the exact recording"


@dataclass
class Moved:
    """What a line of a launch reached: memory of a place, -1 is the host's."""

    line: int
    owner: int
    operation: str
    bytes: int
    wire_bytes: int


@dataclass(eq=False)
class Launch:
    """``exact`` and ``clean`` are its numbers in the two recordings, 0 where it is not there."""

    process: int
    gpu: int
    stream: int
    kernel: str
    grid: int
    moved: list[Moved]
    start: int
    end: int
    spanned: bool
    exact: int = 0
    clean: int = 0


@dataclass
class Native:
    """``gpus`` are compute capability and NVLinks; ``elsewhere``: the clean recording is of another machine. ``alike``:
    process, GPU and stream of those that others run the same as."""

    exact: list[TraceBuilder]
    clean: list[TraceBuilder]
    gpus: list[tuple[int, int]]
    elsewhere: bool
    launches: list[Launch] = field(default_factory=list)
    # Copies of the clean recording: source, destination, issuer, start, end.
    copies: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    sampled: set[tuple[int, str]] = field(default_factory=set)
    alike: set[tuple[int, int, int]] = field(default_factory=set)

    def load(self, seed: int) -> Trace:
        return loaded_with_times(self.exact, self.clean, seed)


def make(seed: int) -> Native:
    random = Random(seed)
    processes = random.choice((1, 1, 2))
    ranked = processes > 1 or random.random() < 0.5
    elsewhere = random.random() < 0.3
    exact = [TraceBuilder(GPUS, pid=100 + number, ranks=_rank(number, ranked)) for number in range(processes)]
    numbers = range(5, 5 + GPUS) if elsewhere else range(GPUS)
    clean = [
        TraceBuilder(numbers, pid=200 + number, ranks=_rank(number, ranked), settings={"copy_times": "device"})
        for number in range(processes)
    ]
    made = Native(
        exact, clean, [(random.choice((90, 80, 0)), random.choice((18, 4, 0))) for _ in range(GPUS)], elsewhere
    )
    for builder in (*exact, *clean):
        for gpu, (sm, links) in zip(builder.header["gpus"], made.gpus, strict=True):
            gpu["sm"], gpu["nvlinks"] = sm, links
    for builder in clean:
        builder.header["tool"] |= {"imported_from": "CUPTI", "lacks": ["which memory kernels access"]}
    for process in range(processes):
        _program(made, process, random)
    # Without any native time there is nothing to match.
    made.launches[0].spanned, made.launches[0].clean = True, 0
    _write(made, random)
    return made


def _rank(number: int, ranked: bool) -> dict[str, str]:
    return {"RANK": str(number), "WORLD_SIZE": "9"} if ranked else {}


def _program(made: Native, process: int, random: Random) -> None:
    """The launches of a process, in their order, and which of them a recording lacks."""
    own = random.sample(range(GPUS), random.randint(1, 2)) if len(made.exact) == 1 else [process]
    queues: list[list[Launch]] = []
    for gpu in own:
        like = random.random() < 0.2
        for stream in range(2 if like else random.randint(1, 3)):
            keys = [(random.choice(KERNELS), 100 * stream + random.randint(1, 2)) for _ in range(random.randint(1, 7))]
            if like and stream:
                keys = [(launch.kernel, launch.grid) for launch in queues[-1]]
                made.alike |= {(process, gpu, 0), (process, gpu, 1)}
            queues.append([_launch(process, gpu, stream, *key, random) for key in keys])
    here = [launch for queue in queues for launch in queue]
    for queue in queues:
        first = queue[0]
        lacks = random.choice(("", "", "exact", "clean", "all"))
        if (process, first.gpu, first.stream) in made.alike or not lacks:
            continue
        # All streams of the exact recording have something, so that GPUs in their order are the same.
        most = len(queue) - 1 if lacks == "exact" else len(queue)
        for launch in queue if lacks == "all" else random.sample(queue, random.randint(min(1, most), most)):
            setattr(launch, "exact" if lacks == "exact" else "clean", -1)
    every: list[Launch] = []
    # In turn, as it happens.
    while queues := [queue for queue in queues if queue]:
        every.append(random.choice(queues).pop(0))
        if random.random() < 0.1:
            every.append(_launch(process, random.choice(here).gpu, 0, random.choice((TUNE, INIT)), 1, random))
            setattr(every[-1], "exact" if every[-1].kernel == TUNE else "clean", -1)
    for place, launch in enumerate(every):
        lasts = random.choice((0, 1, random.randrange(40_000), random.randrange(400_000)))
        launch.start = START_NS - _AHEAD + 10_000 * place + random.randrange(5_000)
        launch.end = launch.start + lasts
    made.launches += every
    if random.random() < 0.2 and any(launch.exact == 0 for launch in every):
        made.sampled.add((process, random.choice([launch.kernel for launch in every if launch.exact == 0])))


def _launch(process: int, gpu: int, stream: int, kernel: str, grid: int, random: Random) -> Launch:
    moved = []
    for _ in range(random.choice((0, 1, 3))):
        line, operation = random.randint(1, 2), random.choice(list(_UNITS))
        owner = random.choice([place for place in (0, 1, 2, -1, -2) if place != gpu])
        lanes, units = random.randint(1, 1 << 30), random.randint(0, 1 << 26)
        moved.append(Moved(line, owner, operation, 4 * lanes, units * _UNITS[operation]))
    return Launch(process, gpu, stream, kernel, grid, moved, 0, 0, random.random() < 0.9)


def _write(made: Native, random: Random) -> None:
    done = {"exact": 0, "clean": 0}
    # One tool recorded all. Where it tells the mangled name, that counts.
    tells = random.random() < 0.5
    spellings = {
        name: (random.choice(SPELLINGS.get(name, (name,))), f"_Z{name}" if tells else "") for name in (*KERNELS, TUNE)
    }
    for process, (exact, clean) in enumerate(zip(made.exact, made.clean, strict=True)):
        own = [launch for launch in made.launches if launch.process == process]
        _write_exact(made, exact, own, random, done["exact"])
        _write_clean(made, clean, own, random, done["clean"], spellings)
        done = {
            "exact": done["exact"] + len(exact.rows["launches"]),
            "clean": done["clean"] + len(clean.rows["launches"]),
        }


def _write_exact(made: Native, builder: TraceBuilder, own: list[Launch], random: Random, before: int) -> None:
    functions = {name: builder.function(name, f"_Z{name}") for name in (*KERNELS, INIT)}
    sites = {
        (name, line, operation): builder.site(
            functions[name], "OP", operation, 4, line=builder.line(FILE, line), wire_unit=_UNITS[operation]
        )
        for name in functions for line in (1, 2) for operation in _UNITS
    }  # fmt: skip
    per_thread = random.random() < 0.2
    for launch in own:
        if launch.exact:
            continue
        stream = (
            {"stream": _PER_THREAD, "thread": 1000 + launch.stream} if per_thread else {"stream": 64 + launch.stream}
        )
        made_here = builder.launch(functions[launch.kernel], launch.gpu, grid_x=launch.grid, **stream)
        launch.exact = before + made_here
        for moved in launch.moved:
            owner = {-1: HOST, -2: UNKNOWN}.get(moved.owner, moved.owner)
            site, unit = sites[launch.kernel, moved.line, moved.operation], _UNITS[moved.operation]
            builder.count(made_here, site, owner, 1, moved.bytes // 4, moved.wire_bytes // unit)
    for process, kernel in made.sampled:
        if made.exact[process] is builder:
            builder.add("sampling", function=functions[kernel], gpu=0, launches=9, measured=1)


def _write_clean(
    made: Native, builder: TraceBuilder, own: list[Launch], random: Random, before: int,
    spellings: dict[str, tuple[str, str]],
) -> None:  # fmt: skip
    functions = {
        name: builder.add("functions", name=builder.string(spelled), mangled=builder.string(mangled), kernel=1)
        for name, (spelled, mangled) in spellings.items()
    }
    # A stream that goes on under another number: its handle was used again.
    cut = {
        (launch.gpu, launch.stream): random.randint(1, 5)
        for launch in own
        if random.random() < 0.1 and (launch.process, launch.gpu, launch.stream) not in made.alike
    }
    lacking = {(launch.gpu, launch.stream) for launch in own if launch.clean or launch.exact < 0}
    ran: dict[tuple[int, int], int] = {}
    for launch in own:
        if launch.clean:
            launch.clean = 0
            continue
        key = launch.gpu, launch.stream
        ran[key] = ran.get(key, 0) + 1
        later = key not in lacking and key in cut and ran[key] > cut[key]
        number = builder.launch(
            functions[launch.kernel], launch.gpu, grid_x=launch.grid, stream=7 - launch.stream + (50 if later else 0),
            time=launch.start - (0 if launch.spanned else 1),
        )  # fmt: skip
        launch.clean = before + number
        if launch.spanned:
            builder.add("spans", launch=number, start=launch.start, end=launch.end)
    for launch in own:
        launch.exact = max(launch.exact, 0)
    for _ in range(random.randint(0, 3)):
        source, destination = random.sample((0, 1, 2, -1), 2)
        issuer = random.choice((0, 1, 2, UNKNOWN))
        start = START_NS - _AHEAD + random.randrange(100_000)
        end = start + random.choice((0, random.randrange(50_000)))
        ends = [HOST if place < 0 else place for place in (source, destination)]
        builder.copy(ends[0], ends[1], 8, gpu=issuer, start=start, end=end)
        made.copies.append((source, destination, issuer, start, end))


# --- What plain loops make of it ---


@dataclass
class Matched:
    """The launches that were matched, and why the others of each recording were not. ``told_apart`` is how many of
    them are in streams that run the same."""

    pairs: set[Launch] = field(default_factory=set)
    exact: dict[Launch, str] = field(default_factory=dict)
    clean: dict[Launch, str] = field(default_factory=dict)
    told_apart: int = 0


def matching(made: Native) -> Matched:
    found = Matched()
    there = {name: {launch.process for launch in made.launches if getattr(launch, name)} for name in ("exact", "clean")}
    for process in there["exact"] | there["clean"]:
        own = [launch for launch in made.launches if launch.process == process]
        exact, clean = ([launch for launch in own if getattr(launch, name)] for name in ("exact", "clean"))
        if not exact or not clean:
            found.exact |= dict.fromkeys(exact, PROCESS)
            found.clean |= dict.fromkeys(clean, PROCESS)
            continue
        used = [sorted({launch.gpu for launch in side}) for side in (exact, clean)]
        # On another machine the GPUs are others, in the same order.
        of_gpu = dict(zip(*used, strict=False)) if made.elsewhere else {gpu: gpu for gpu in used[0] if gpu in used[1]}
        if made.elsewhere and len(used[0]) != len(used[1]):
            of_gpu = {}
        found.exact |= {launch: GPU for launch in exact if launch.gpu not in of_gpu}
        found.clean |= {launch: GPU for launch in clean if launch.gpu not in of_gpu.values()}
        for gpu, other in of_gpu.items():
            near, far = ([launch for launch in side if launch.gpu == at] for side, at in ((exact, gpu), (clean, other)))
            _of_gpu(made, found, near, far)
    return found


def _of_gpu(made: Native, found: Matched, exact: list[Launch], clean: list[Launch]) -> None:
    there = [{launch.kernel for launch in side} for side in (exact, clean)]
    for launch in exact:
        if (launch.process, launch.kernel) in made.sampled:
            found.exact[launch] = SAMPLED
        elif launch.kernel not in there[1]:
            found.exact[launch] = KERNEL
    for launch in clean:
        if launch.kernel not in there[0]:
            found.clean[launch] = NOT_MEASURED
        elif (launch.process, launch.kernel) in made.sampled:
            found.clean[launch] = SAMPLED
    streams = {launch.stream for launch in (*exact, *clean)}
    for stream in streams:
        near = [launch for launch in exact if launch.stream == stream and launch not in found.exact]
        far = [launch for launch in clean if launch.stream == stream and launch not in found.clean]
        if not near or not far:
            found.exact |= dict.fromkeys(near, STREAM)
            found.clean |= dict.fromkeys(far, STREAM)
            continue
        certain = _certain(near, far)
        found.pairs |= certain
        found.exact |= {launch: COUNT for launch in near if launch not in certain}
        found.clean |= {launch: COUNT for launch in far if launch not in certain}
        if (near[0].process, near[0].gpu, stream) in made.alike:
            found.told_apart += len(certain)


def _certain(near: list[Launch], far: list[Launch]) -> set[Launch]:
    """Those whose partner is the same whichever ones the recording with less of them lacks: the earliest that there can
    be is the latest too."""
    few, many = (near, far) if len(near) <= len(far) else (far, near)
    earliest = _places([(launch.kernel, launch.grid) for launch in few], [(one.kernel, one.grid) for one in many])
    latest = _places(
        [(launch.kernel, launch.grid) for launch in reversed(few)], [(one.kernel, one.grid) for one in reversed(many)]
    )
    return {
        launch
        for launch, place, back in zip(few, earliest, reversed(latest), strict=True)
        if place == len(many) - 1 - back
    }


def _places(few: list[tuple[str, int]], many: list[tuple[str, int]]) -> list[int]:
    found: list[int] = []
    for key in few:
        found.append(many.index(key, found[-1] + 1 if found else 0))
    return found


def outcomes(made: Native) -> dict[tuple[str, str], int]:
    """recording and outcome → how many launches."""
    matched = matching(made)
    found = {("exact", "matched"): len(matched.pairs), ("clean", "matched"): len(matched.pairs)}
    for name, reasons in (("exact", matched.exact), ("clean", matched.clean)):
        for reason in reasons.values():
            said = reason.replace("the clean recording", "the exact recording") if name == "clean" else reason
            found[name, said] = found.get((name, said), 0) + 1
    return found


def times(made: Native) -> dict[int, tuple[int, int, int]]:
    """launch → that of the clean recording, and when it ran there."""
    return {launch.exact: (launch.clean, launch.start, launch.end) for launch in matching(made).pairs if launch.spanned}


def timed(made: Native) -> list[Launch]:
    """The launches of which the native time is known."""
    return [launch for launch in matching(made).pairs if launch.spanned]


def by(made: Native, what: str) -> dict[Any, dict[str, Any]]:
    """The rows of `Trace.native_by`: for each key the launches that moved something there."""
    found: dict[Any, dict[Launch, list[Moved]]] = {}
    for launch in timed(made):
        for moved in launch.moved:
            keys = {
                "kernel": (launch.kernel,), "line": (FILE, moved.line), "launch": (launch.exact,),
                "pair": (label(launch.gpu), label(moved.owner)),
            }  # fmt: skip
            found.setdefault(keys[what], {}).setdefault(launch, []).append(moved)
    return {key: _rated(made, own) for key, own in found.items()}


def _rated(made: Native, own: dict[Launch, list[Moved]]) -> dict[str, Any]:
    spent = sum(launch.end - launch.start for launch in own)
    size = sum(moved.bytes for every in own.values() for moved in every)
    least = {launch: _least(made, launch, every) for launch, every in own.items()}
    known = {launch: time for launch, time in least.items() if time is not None}
    limited = sum(launch.end - launch.start for launch in known)
    total = sum(known.values()) if known else None
    return {
        "native_launches": len(own), "native_time": spent, "native_bytes": size,
        "native_rate": 1e9 * size / spent if spent else None, "least_time": total,
        "link_share": total / limited if total is not None and limited else None,
    }  # fmt: skip


def _least(made: Native, launch: Launch, every: list[Moved]) -> float | None:
    """How long the GPU and the direction that takes longest needs for what went between GPUs."""
    sides: dict[tuple[int, int], int] = {}
    for moved in every:
        ways = [(launch.gpu, moved.owner)] if moved.operation != "load" else []
        ways += [(moved.owner, launch.gpu)] if moved.operation != "store" else []
        for way in ways:
            for side in (0, 1) if moved.owner >= 0 else ():
                sides[side, way[side]] = sides.get((side, way[side]), 0) + moved.wire_bytes
    known = {90: 25e9, 80: 25e9}
    times = []
    for (_, place), size in sides.items():
        sm, links = made.gpus[place]
        if links and sm in known:
            times.append(1e9 * size / (links * known[sm]))
    return max(times, default=None)


def overlap(made: Native) -> dict[tuple[str], dict[str, int]]:
    """The rows of `Trace.native_overlap`, a ns after another."""
    matched = set(timed(made))
    ran = [launch for launch in made.launches if launch.clean and launch.spanned]
    peers = [copy for copy in made.copies if copy[0] >= 0 and copy[1] >= 0]
    found = {}
    for gpu in {*(launch.gpu for launch in ran), *(copy[2] for copy in peers if copy[2] != UNKNOWN)}:
        moving: list[tuple[int, int]] = []
        others: list[tuple[int, int]] = []
        unknown: list[tuple[int, int]] = []
        for launch in (one for one in ran if one.gpu == gpu):
            crosses = any(moved.owner >= 0 for moved in launch.moved)
            (unknown if launch not in matched else moving if crosses else others).append((launch.start, launch.end))
        moving += [copy[3:] for copy in peers if copy[2] == gpu]
        both = covered(moving) + covered(others) - covered([*moving, *others])
        found[(label(gpu),)] = {
            "communication": covered(moving), "overlapped": both, "computation": covered(others),
            "not_known": covered(unknown),
        }  # fmt: skip
    return found
