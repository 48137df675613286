"""Random calls of NCCL and the kernels that carried them out, and what plain loops make of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.plain.plain_traffic import Row, with_efficiency
from tests.support.encoder import START_NS, TraceBuilder

Signature = tuple[str, str, str, str]


@dataclass
class Call:
    """A call of NCCL; a size of -1 is not known."""

    id: int
    issuer: int
    group: int
    operation: str
    reduction: str
    type: str
    communicator: str
    bytes: int
    start: int
    end: int


@dataclass
class Calls:
    """``builder`` writes the trace; ``kernels`` are group, issuer, and what moved, of which each row is one value."""

    builder: TraceBuilder
    calls: list[Call] = field(default_factory=list)
    kernels: list[tuple[int, int, list[int]]] = field(default_factory=list)


def make(seed: int) -> Calls:
    """Calls of few kinds in few groups, of which some have no kernel, and kernels of which some have no call."""
    random = Random(seed)
    made = Calls(TraceBuilder(2))
    site = made.builder.site(made.builder.function("nccl()"), "STG.E", "store", 4, wire_unit=16)
    for _ in range(random.randint(0, 10)):
        operation, reduction = random.choice((("AllReduce", "sum"), ("AllReduce", "max"), ("Send", ""), ("Recv", "")))
        kind, communicator = random.choice(("float32", "int32")), random.choice((0xA, 2**64 - 5))
        group, issuer, count = random.randint(0, 4), random.randrange(2), random.choice((-1, 0, 5, 1 << 40))
        start = START_NS + random.randrange(3)
        end = start + random.randint(-1, 5)
        size = -1 if count < 0 else 4 * count
        number = made.builder.collective(
            group, operation, count, gpu=issuer, reduction=reduction, type=kind, communicator=communicator, bytes=size,
            peer=-1 if reduction else 1 - issuer, start=start, end=end,
        )  # fmt: skip
        spelled = f"0x{communicator:016x}"
        made.calls.append(Call(number, issuer, group, operation, reduction, kind, spelled, size, start, end))
    for _ in range(random.randint(0, 6)):
        group, issuer = random.randint(0, 5), random.randrange(2)
        launch = made.builder.launch(1, issuer, group=group)
        moved = [0] * 5
        if random.random() < 0.8:
            accesses, units = random.randint(1, 1000), random.randint(0, 1000)
            made.builder.count(launch, site, 1 - issuer, accesses, 32 * accesses, units)
            moved = [accesses, 32 * accesses, units, 128 * accesses, 16 * units]
        made.kernels.append((group, issuer, moved))
    return made


def units(made: Calls) -> dict[tuple[int, int], list[Call]]:
    """What is carried out at once: the calls of a group on a GPU. One that says nothing of its group is alone."""
    found: dict[tuple[int, int], list[Call]] = defaultdict(list)
    for call in made.calls:
        found[call.group or -call.id, call.issuer].append(call)
    for group, issuer, _ in made.kernels:
        if group:
            found.setdefault((group, issuer), [])
    return found


def signature(calls: list[Call]) -> Signature:
    """How the row of some calls is called."""
    operations = [call.operation for call in calls]
    named = [
        f"{operations.count(name)} × {name}" if operations.count(name) > 1 else name for name in sorted(set(operations))
    ]
    rest = [
        ", ".join(sorted({getattr(call, name) for call in calls} - {""}))
        for name in ("reduction", "type", "communicator")
    ]
    return " + ".join(named), rest[0], rest[1], rest[2]


def by_collective(made: Calls) -> dict[Signature, Row]:
    """calls, launches, call_bytes (None: not known), and the values of the launches' traffic."""
    found: dict[Signature, dict[str, Any]] = {}
    for (group, issuer), calls in units(made).items():
        kernels = [moved for number, gpu, moved in made.kernels if (number, gpu) == (group, issuer)]
        row = found.setdefault(signature(calls), {"calls": 0, "launches": 0, "sizes": [], "moved": []})
        row["calls"] += len(calls)
        row["launches"] += len(kernels)
        row["sizes"] += [call.bytes for call in calls]
        row["moved"] += kernels
    names = ("accesses", "lanes", "wire_units", "bytes", "wire_bytes")
    return {
        name: {
            "calls": row["calls"],
            "launches": row["launches"],
            "call_bytes": None if -1 in row["sizes"] else sum(row["sizes"]),
        }
        | with_efficiency({value: sum(moved[place] for moved in row["moved"]) for place, value in enumerate(names)})
        for name, row in found.items()
    }


def behind(made: Calls, wanted: Signature) -> list[tuple[object, ...]]:
    """collective, issuer, operation, bytes, host_ns and group of the calls of a row, the earliest first."""
    own = [call for calls in units(made).values() if signature(calls) == wanted for call in calls]
    own.sort(key=lambda call: (call.start, call.id))
    return [
        (call.id, f"GPU {call.issuer}", call.operation, call.bytes, max(call.end - call.start, 0), call.group)
        for call in own
    ]
