"""Random traces whose loads are recorded, all or some, and between what limits the bytes on the wire lie."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from random import Random

from tests.support.encoder import HOST, TraceBuilder

SECTOR = 32
HEAP = 0x7F00_0000_0000


@dataclass
class Load:
    """A recorded load: the sectors that it touched, where its SM and these are known."""

    launch: int
    owner: int
    sm: int
    sectors: set[int]


@dataclass
class Wire:
    """``builder`` writes the trace; the rest is what is in it."""

    builder: TraceBuilder
    gpus: int
    # Launch → issuer.
    launches: dict[int, int] = field(default_factory=dict)
    # Launch, owner, operation, accesses, wire bytes.
    counts: list[tuple[int, int, str, int, int]] = field(default_factory=list)
    # Loads of which each record says what it touched.
    loads: list[Load] = field(default_factory=list)

    def label(self, place: int) -> str:
        """The name of a place."""
        return "host" if place == HOST else f"GPU {place}"


def make(seed: int) -> Wire:
    """A trace of a few launches, which load, store, update and copy by bulk and tensor instructions."""
    random = Random(seed)
    wire = Wire(TraceBuilder(3), 3)
    function = wire.builder.function("step()")
    sites = [
        ("load", width, wire.builder.site(function, "LDG.E", "load", width))
        for width in random.choices((1, 4, 16), k=2)
    ]
    sites.append(("bulk", 16, wire.builder.site(function, "UBLKCP.S.G", "load", 16)))
    sites += [
        (operation, 4, wire.builder.site(function, operation, operation, 4, wire_unit=16))
        for operation in ("store", "atomic", "reduction")
    ]
    # Of the loads of a tensor copy no record says what they touched.
    sites += [("tensor", 1, wire.builder.site(function, "UTMALDG.2D", "load", 1))] * (random.random() < 0.3)
    for _ in range(random.randint(0, 4)):
        issuer = random.randrange(wire.gpus)
        launch = wire.builder.launch(function, issuer)
        wire.launches[launch] = issuer
        # A trace names the SMs of all or, of older versions, of none.
        named = random.random() < 0.7
        for kind, width, site in random.sample(sites, random.randint(1, len(sites))):
            owner = random.choice([place for place in (*range(wire.gpus), HOST) if place != issuer])
            _access(wire, random, (launch, site, owner), kind, width, named=named)
    return wire


def _access(wire: Wire, random: Random, place: tuple[int, int, int], kind: str, width: int, *, named: bool) -> None:
    launch, site, owner = place
    if kind not in ("load", "bulk", "tensor"):
        accesses, units = random.randint(1, 1000), random.randint(0, 1000)
        wire.builder.count(launch, site, owner, accesses, accesses, units)
        wire.counts.append((launch, owner, kind, accesses, 16 * units))
        return
    recorded, units = random.randint(1, 6), 0
    for _ in range(recorded):
        sm = random.randint(1, 3) if named else 0
        base = HEAP + width * random.randrange(1024 // width)
        if kind == "load":
            touched = _load(wire, random, place, base, width, sm)
        else:
            size = 16 * random.randint(1, 20)
            wire.builder.bulk(launch, site, owner, base, size, sm=sm)
            touched = _sectors(base, size)
        units += len(touched)
        if kind != "tensor":
            wire.loads.append(Load(launch, owner, sm, touched))
    accesses = recorded + random.choice((0, 0, 0, 1))
    wire.builder.count(launch, site, owner, accesses, 32 * accesses, units)
    wire.counts.append((launch, owner, "load", accesses, SECTOR * units))


def _load(wire: Wire, random: Random, place: tuple[int, int, int], base: int, width: int, sm: int) -> set[int]:
    """Records a load by some lanes; the sectors that these touch."""
    lanes = sorted(random.sample(range(32), random.choice((1, 2, 31, 32))))
    if random.random() < 0.6:
        stride = width * random.choice((-40, -3, -1, 0, 1, 1, 2, 8, 9, 100))
        base += 1 << 20
        wire.builder.record(*place, base, stride, mask=sum(1 << lane for lane in lanes), sm=sm)
        addresses = [base + stride * (lane - lanes[0]) for lane in lanes]
    else:
        addresses = [base + width * random.randrange(100) for _ in lanes]
        wire.builder.scattered(*place, dict(zip(lanes, addresses, strict=True)), sm=sm)
    return set().union(*(_sectors(address, width) for address in addresses))


def _sectors(address: int, size: int) -> set[int]:
    return {byte // SECTOR for byte in range(address, address + size)}


def bounds(wire: Wire, reading: str) -> dict[tuple[str, str], dict[str, float | int | bool | None]]:
    """wire_least (None: not known), wire_bytes and per_sm by pair of places."""
    found: dict[tuple[str, str], dict[str, float | int | bool | None]] = {}
    for (launch, owner, operation), (accesses, moved) in _sums(wire).items():
        least: int | None = moved
        per_sm = True
        if operation == "load":
            own = [load for load in wire.loads if (load.launch, load.owner) == (launch, owner)]
            each: dict[int, set[int]] = defaultdict(set)
            for load in own:
                each[load.sm] |= load.sectors
            least = SECTOR * sum(map(len, each.values())) if len(own) == accesses else None
            per_sm = 0 not in each
        issuer, place = wire.label(wire.launches[launch]), wire.label(owner)
        pairs = [(issuer, place)]
        if reading == "flow":
            pairs = [(issuer, place)] * (operation != "load") + [(place, issuer)] * (operation in ("load", "atomic"))
        for pair in pairs:
            row = found.setdefault(pair, {"wire_least": 0.0, "wire_bytes": 0, "per_sm": True})
            before = row["wire_least"]
            row["wire_least"] = None if least is None or before is None else before + least
            row["wire_bytes"] = (row["wire_bytes"] or 0) + moved
            row["per_sm"] = bool(row["per_sm"] and per_sm)
    return found


def _sums(wire: Wire) -> dict[tuple[int, int, str], tuple[int, int]]:
    sums: dict[tuple[int, int, str], tuple[int, int]] = {}
    for launch, owner, operation, accesses, moved in wire.counts:
        before = sums.get((launch, owner, operation), (0, 0))
        sums[launch, owner, operation] = before[0] + accesses, before[1] + moved
    return sums
