"""Random collectives of ranks in one or two processes, and what plain loops make of each over all its ranks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from snoopie.api.trace import Trace
from tests.plain.drawing import loaded
from tests.support.encoder import HOST, START_NS, TraceBuilder

# How NCCL names the functions that move the bytes, and what they say of the algorithm and the protocol.
FUNCTIONS = {
    "ncclDevFunc_AllReduce_Sum_f32_TREE_SIMPLE()": ("Tree", "Simple"),
    "ncclDevFunc_AllReduce_Sum_f32_RING_LL128()": ("Ring", "LL128"),
    "ncclDevFunc_Broadcast_RING_LL()": ("Ring", "LL"),
    "other()": ("", ""),
}
KERNEL = "ncclDevKernel_AllGather_RING_SIMPLE(int)"
OPERATIONS = ("AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Bcast", "Reduce", "AlltoAll", "Gather")
ROOTED = ("Broadcast", "Bcast", "Reduce", "Gather")


@dataclass
class Kernel:
    """A launch that carries out a group: when it ran on its GPU, if that is known, and what each function moved."""

    start: int
    end: int
    spanned: bool
    blocks: int
    moved: dict[str, int] = field(default_factory=dict)


@dataclass
class Call:
    """What one rank called; ``number`` is which call of its communicator it is. A size of -1 is not known."""

    communicator: str
    number: int
    operation: str
    reduction: str
    bytes: int
    rank: int
    ranks: int
    start: int
    end: int
    kernels: list[Kernel]
    # Whether another call was carried out by the same kernels, or it is not known which ones they were.
    shared: bool


@dataclass
class Sequence:
    builders: list[TraceBuilder]
    calls: list[Call] = field(default_factory=list)

    def load(self, seed: int) -> Trace:
        return loaded(self.builders, seed)

    @property
    def first(self) -> int:
        """The first moment of the trace."""
        called = [row["time"] for builder in self.builders for row in builder.rows["launches"]]
        lasted = [row for builder in self.builders for name in ("spans", "collectives") for row in builder.rows[name]]
        return int(min(called + [row[name] for row in lasted for name in ("start", "end")]))


def make(seed: int) -> Sequence:
    random = Random(seed)
    gpus = random.randint(2, 3)
    processes = random.choice((1, gpus))
    made = Sequence([TraceBuilder(gpus, pid=100 + number) for number in range(processes)])
    for builder in made.builders:
        for name in (KERNEL, *FUNCTIONS):
            function = builder.function(name, kernel=name == KERNEL)
            builder.site(function, "ST", "store", 4)
    groups = [0] * processes
    for handle in random.sample((0xA, 0xB, 2**64 - 5), random.randint(1, 2)):
        members = random.sample(range(gpus), random.randint(1, gpus))
        # A tool may not say how many ranks there are.
        known = random.random() < 0.8
        program = [_collective(random, len(members)) for _ in range(random.randint(1, 4))]
        for rank, gpu in enumerate(members):
            _calls(made, random, groups, handle, program, (rank, len(members)) if known else (0, 0), gpu)
    return made


def _collective(random: Random, ranks: int) -> tuple[str, str, int, int]:
    """operation, reduction, root and elements: the same on all ranks."""
    operation = random.choice(OPERATIONS)
    root = random.randrange(ranks) if operation in ROOTED else -1
    return operation, "sum" if "educe" in operation else "", root, random.choice((0, 1, 1024, 1 << 40))


def _calls(
    made: Sequence, random: Random, groups: list[int], handle: int, program: list[tuple[str, str, int, int]],
    place: tuple[int, int], gpu: int,
) -> None:  # fmt: skip
    """What one rank calls: the whole program or, if it ends early, the first part of it."""
    process = gpu if len(made.builders) > 1 else 0
    builder = made.builders[process]
    called = START_NS + random.randrange(40)
    program = program[: random.choice((len(program), len(program), random.randint(1, len(program))))]
    kernels: list[Kernel] = []
    alone = True
    for number, (operation, reduction, root, count) in enumerate(program):
        # Within ncclGroupStart and ncclGroupEnd, kernels carry out several calls.
        joins = number > 0 and random.random() < 0.2
        if joins:
            made.calls[-1].shared = True
        else:
            groups[process] += 1
        group = groups[process]
        size = -1 if random.random() < 0.1 else 4 * count
        called += random.choice((0, 1, 50))
        end = called + random.randint(-1, 90)
        builder.collective(
            group, operation, count, gpu=gpu, reduction=reduction, communicator=handle, peer=root, bytes=size,
            rank=place[0], ranks=place[1], start=called, end=end,
        )  # fmt: skip
        if not joins:
            alone = random.random() < 0.85
            kernels = [_kernel(builder, random, group, gpu, called) for _ in range(random.choice((0, 1, 1, 1, 2)))]
            if not alone:
                # A send or receive beside it, whose peer a tool may not say.
                other, peer = random.choice(("Send", "Recv")), random.choice((-1, 0))
                builder.collective(group, other, 5, gpu=gpu, communicator=handle, peer=peer, start=called)
        made.calls.append(
            Call(
                f"0x{handle:016x}", number, operation, reduction, size, *place, called, end, kernels, joins or not alone
            )
        )


def _kernel(builder: TraceBuilder, random: Random, group: int, gpu: int, called: int) -> Kernel:
    start = called + random.randrange(300)
    kernel = Kernel(start, start + random.choice((0, 1, random.randrange(900))), random.random() < 0.8, 0)
    kernel.blocks = random.randint(1, 32)
    launch = builder.launch(1, gpu, group=group, grid_x=kernel.blocks, time=called)
    if kernel.spanned:
        builder.add("spans", launch=launch, start=kernel.start, end=kernel.end)
    for number, name in enumerate(FUNCTIONS):
        for owner in random.sample([place for place in (0, 1, HOST) if place != gpu], random.choice((0, 0, 1, 2))):
            lanes = random.choice((0, 1, random.randint(1, 1 << 20), random.randint(1, 1 << 50)))
            builder.count(launch, 2 + number, owner, max(lanes, 1), lanes, lanes)
            kernel.moved[name] = kernel.moved.get(name, 0) + 4 * lanes
    return kernel


def by_sequence(made: Sequence) -> list[dict[str, Any]]:
    """The rows of `Trace.collective_sequence`, in no order. Where several values are right, they are a set."""
    found: dict[tuple[str, int], list[Call]] = {}
    for call in made.calls:
        found.setdefault((call.communicator, call.number), []).append(call)
    return [_row(made, calls) for calls in found.values()]


def _row(made: Sequence, calls: list[Call]) -> dict[str, Any]:
    on_gpus = all(call.kernels and all(kernel.spanned for kernel in call.kernels) for call in calls)
    came = {id(call): min(kernel.start for kernel in call.kernels) if on_gpus else call.start for call in calls}
    done = max(max(kernel.end for kernel in call.kernels) if on_gpus else call.end for call in calls)
    first, last = min(came.values()), max(came.values())
    took = max(done - last, 0)
    call, ranks, size = calls[0], calls[0].ranks, max(call.bytes for call in calls)
    moved = [None if call.shared or not call.kernels else _moved(call) for call in calls]
    # Of those whose bytes are known, the one that moved most tells how; of others any.
    most = max((amount for amount in moved if amount is not None), default=None)
    telling = [call for call, amount in zip(calls, moved, strict=True) if most is None or amount == most]
    expected = _expected(call.operation, ranks, size) if ranks and size >= 0 else -1
    return {
        "communicator": call.communicator, "number": call.number, "operation": call.operation,
        "reduction": call.reduction, "type": "float32", "call_bytes": size, "ranks": ranks, "called": len(calls),
        "began": first - made.first, "skew": last - first, "took": took,
        "last_rank": {call.rank for call in calls if came[id(call)] == last} if ranks else {-1},
        "how": {how for call in telling for how in _how(call)},
        "bytes": sum(amount or 0 for amount in moved) if len(calls) == ranks and None not in moved else -1,
        "expected": expected,
        "bus_bandwidth": _bandwidth(call.operation, ranks, size) * 1e9 / took if expected >= 0 and took else None,
    }  # fmt: skip


def _moved(call: Call) -> int:
    return sum(sum(kernel.moved.values()) for kernel in call.kernels)


def _how(call: Call) -> set[tuple[str, str, int]]:
    """Algorithm, protocol and channels, as the kernels of a call may say them."""
    blocks = max((kernel.blocks for kernel in call.kernels), default=-1)
    said = set()
    for kernel in call.kernels:
        most = max(kernel.moved.values(), default=0)
        said |= {FUNCTIONS[name] for name, size in kernel.moved.items() if size == most}
    return {(*how, blocks) for how in said or {("", "")}}


def _expected(operation: str, ranks: int, size: int) -> int:
    """What all ranks together send, at least; -1 where it is not known."""
    if operation == "Gather":
        return -1
    # Each rank passes on all but its own part; to reduce all, once to add up and once to hand out.
    return (ranks - 1) * size * (2 if operation == "AllReduce" else 1)


def _bandwidth(operation: str, ranks: int, size: int) -> float:
    """The bytes whose rate nccl-tests calls the bandwidth of the bus: of a call of ``size`` bytes."""
    if operation == "AllReduce":
        return size * 2 * (ranks - 1) / ranks
    if operation in ("AllGather", "ReduceScatter", "AlltoAll"):
        return size * (ranks - 1) / ranks
    return size


def kinds(made: Sequence) -> Counter[str]:
    """What there is among the collectives of a run."""
    found: Counter[str] = Counter()
    for row in by_sequence(made):
        found.update(
            [
                row["operation"], f"{row['ranks']} ranks", "known" if row["bytes"] > 0 else "not known",
                "part" if row["called"] < row["ranks"] else "whole", "skewed" if row["skew"] else "at once",
                "no time" if not row["took"] else "some time", f"size {min(row['call_bytes'], 1)}",
                *(algorithm for algorithm, _, _ in row["how"]),
            ]
        )  # fmt: skip
    return found
