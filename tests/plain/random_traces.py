"""Random traces whose rows are known, and what plain loops make of them: slow, and written without a look at the
analyses."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.support.encoder import HOST, OPERATIONS, START_NS, UNKNOWN, TraceBuilder

_OPCODES = {"load": "LDG.E", "store": "STG.E", "atomic": "ATOMG.E.ADD", "reduction": "REDG.E.ADD"}
_HEAP = 0x7F00_0000_0000


@dataclass
class RandomTrace:
    """``builder`` writes it; the lists are what is in it, in words."""

    builder: TraceBuilder
    gpus: int
    # launch → (kernel, issuer); site → (operation, width, file, line)
    launches: dict[int, tuple[str, int]] = field(default_factory=dict)
    sites: dict[int, tuple[str, int, str, int]] = field(default_factory=dict)
    # launch → ns
    times: dict[int, int] = field(default_factory=dict)
    # launch, site, owner, accesses, lanes
    counts: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    # launch, site, addresses of the lanes
    records: list[tuple[int, int, list[int]]] = field(default_factory=list)
    # id, owner, address, bytes, allocated, freed (0 = never)
    objects: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    # source, destination, bytes, ns
    copies: list[tuple[int, int, int, int]] = field(default_factory=list)
    # call, thread, calls, errors, ns
    calls: list[tuple[str, int, int, int, int]] = field(default_factory=list)


def make(seed: int) -> RandomTrace:
    """A trace of a few GPUs and kernels with random traffic between them."""
    random = Random(seed)
    gpus = random.randint(2, 6)
    trace = RandomTrace(TraceBuilder(gpus), gpus)
    _kernels(trace, random)
    _objects(trace, random)
    places = [*range(gpus), HOST, UNKNOWN]
    for launch, (_, issuer) in trace.launches.items():
        for site in random.sample(list(trace.sites), random.randint(0, len(trace.sites))):
            for owner in random.sample([place for place in places if place != issuer], 2):
                accesses = random.randint(0, 1 << random.randint(1, 40))
                lanes = accesses * random.randint(1, 32)
                trace.builder.count(launch, site, owner, accesses, lanes, accesses)
                trace.counts.append((launch, site, owner, accesses, lanes))
            if random.random() < 0.5:
                _record(trace, launch, site, random)
    for _ in range(random.randint(0, 12)):
        source, destination = random.sample([*range(gpus), HOST], 2)
        size, took = random.randint(0, 1 << random.randint(1, 45)), random.randint(0, 10**9)
        gpu, start = random.randrange(gpus), START_NS + random.randrange(10**9)
        trace.builder.copy(source, destination, size, gpu=gpu, start=start, end=start + took)
        trace.copies.append((source, destination, size, took))
    for _ in range(random.randint(0, 12)):
        name, thread = random.choice(("cuMemAlloc_v2", "cuLaunchKernel", "cuMemFree_v2")), random.randint(1, 3)
        calls = random.randint(1, 1000)
        total, errors = calls * random.randint(1, 10**6), random.randint(0, calls)
        trace.builder.add(
            "call_totals", time=START_NS + 5, call=trace.builder.string(name), thread=thread, gpu=UNKNOWN,
            calls=calls, errors=errors, total=total, least=1, most=total,
        )  # fmt: skip
        trace.calls.append((name, thread, calls, errors, total))
    return trace


def _kernels(trace: RandomTrace, random: Random) -> None:
    names = [f"kernel_{number}(float*)" for number in range(random.randint(1, 4))]
    functions = {name: trace.builder.function(name) for name in names}
    for name in names:
        for _ in range(random.randint(1, 4)):
            issuer = random.randrange(trace.gpus)
            time = START_NS + random.randrange(3 * 10**8)
            launch = trace.builder.launch(functions[name], issuer, time=time)
            trace.launches[launch], trace.times[launch] = (name, issuer), time
    for _ in range(random.randint(1, 8)):
        operation, width = random.choice(OPERATIONS), random.choice((1, 2, 4, 8, 16))
        file, line = f"/src/{random.choice('abc')}.cu", random.randint(1, 5)
        site = trace.builder.site(
            functions[random.choice(names)], _OPCODES[operation], operation, width, line=trace.builder.line(file, line)
        )
        trace.sites[site] = operation, width, file, line


def _objects(trace: RandomTrace, random: Random) -> None:
    """Allocations that do not lie in one another while they live, though an address can be used again."""
    for place in range(random.randint(0, 6)):
        moment = 0
        for _ in range(random.randint(1, 3)):
            start = moment + random.randint(1, 10**8)
            end = start + random.randint(1, 10**8) if random.random() < 0.7 else None
            size, owner = random.randint(1, 4096), random.randrange(trace.gpus)
            address = _HEAP + place * 8192
            number = trace.builder.allocation("device", size, owner, start, end, address=address)
            freed = 0 if end is None else START_NS + end
            trace.objects.append((number, owner, address, size, START_NS + start, freed))
            if end is None:
                break
            moment = end


def _record(trace: RandomTrace, launch: int, site: int, random: Random) -> None:
    owner = random.choice([place for place in range(trace.gpus) if place != trace.launches[launch][1]])
    base = _HEAP + random.randrange(8192) * 4
    if random.random() < 0.5:
        stride = random.choice((0, 1, 4, 8, -4, 128))
        trace.builder.record(launch, site, owner, base + 8192, stride)
        trace.records.append((launch, site, [base + 8192 + stride * lane for lane in range(32)]))
    else:
        lanes = {lane: base + random.randrange(2048) for lane in random.sample(range(32), random.randint(1, 32))}
        trace.builder.scattered(launch, site, owner, lanes)
        trace.records.append((launch, site, [lanes[lane] for lane in sorted(lanes)]))


# --- What plain loops make of it ---

Sums = dict[Any, tuple[int, int, int]]


def sums_by(trace: RandomTrace, *key: str) -> Sums:
    """accesses, lanes and bytes by what is named: kernel, launch, site, operation, file, line, issuer, owner."""
    found: dict[Any, list[int]] = defaultdict(lambda: [0, 0, 0])
    for launch, site, owner, accesses, lanes in trace.counts:
        kernel, issuer = trace.launches[launch]
        operation, width, file, line = trace.sites[site]
        said = {
            "kernel": kernel, "launch": launch, "site": site, "operation": operation, "file": file, "line": line,
            "issuer": issuer, "owner": owner,
        }  # fmt: skip
        own = found[tuple(said[name] for name in key)]
        for place, number in enumerate((accesses, lanes, lanes * width)):
            own[place] += number
    return {name: (own[0], own[1], own[2]) for name, own in found.items() if own[0]}


def flow(trace: RandomTrace) -> Counter[tuple[int, int]]:
    """Bytes by where they came from and where they went."""
    moved: Counter[tuple[int, int]] = Counter()
    for launch, site, owner, _, lanes in trace.counts:
        _, issuer = trace.launches[launch]
        operation, width, _, _ = trace.sites[site]
        if operation in ("store", "reduction", "atomic"):
            moved[issuer, owner] += lanes * width
        if operation in ("load", "atomic"):
            moved[owner, issuer] += lanes * width
    return moved


def peak(trace: RandomTrace, gpu: int) -> int:
    """The most bytes that were allocated on a GPU at once: what is freed at a moment is so before what is allocated."""
    own = [row for row in trace.objects if row[1] == gpu]
    moments = {row[4] for row in own}
    return max(
        (
            sum(size for _, _, _, size, made, freed in own if made <= now and (freed == 0 or freed > now))
            for now in moments
        ),
        default=0,
    )


def object_at(trace: RandomTrace, address: int, time: int) -> int:
    """The object that held an address at a time, 0 for none."""
    for number, _, start, size, made, freed in trace.objects:
        if start <= address < start + size and made <= time and (freed == 0 or freed > time):
            return number
    return 0


def distinct_bytes(trace: RandomTrace) -> dict[tuple[int, int], int]:
    """How many bytes recorded accesses touched, by object and site; each issuer's own."""
    touched: dict[tuple[int, int, int], set[int]] = defaultdict(set)
    for launch, site, addresses in trace.records:
        width = trace.sites[site][1]
        for address in addresses:
            held = object_at(trace, address, trace.times[launch])
            touched[held, site, trace.launches[launch][1]].update(range(address, address + width))
    found: Counter[tuple[int, int]] = Counter()
    for (held, site, _), own in touched.items():
        found[held, site] += len(own)
    return dict(found)
