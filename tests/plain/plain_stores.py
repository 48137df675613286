"""Who stores to what is polled: random records of stores near polled addresses, and plain loops over them."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from tests.plain.plain_runs import Launch, Run, Site

KNOWN_BY = ("", "address", "object", "owner")
WRITES = ("store", "atomic", "reduction")
_BASE = 0x7F00_0000_0000
ADDRESSES = tuple(_BASE + offset for offset in (0, 4, 64, 68, 4096))


class Target(NamedTuple):
    process: int
    owner: int
    object: int
    address: int


class Lane(NamedTuple):
    """What one lane of a record touched; ``record`` tells records apart."""

    record: int
    launch: Launch
    site: Site
    owner: int
    address: int
    bytes: int


class Store(NamedTuple):
    issuer: int
    site: Site
    known_by: str
    accesses: int
    bytes: int

    @property
    def line(self) -> str:
        return f"{self.site.file.rpartition('/')[2]}:{self.site.line}" if self.site.line else self.site.kernel


def add_stores(run: Run) -> list[Lane]:
    random, found, record = run.random, list[Lane](), 0
    for count in run.counts:
        process, site = count.launch.process, count.site
        for _ in range(random.choice((0, 0, 1, 3))):
            place = run.own("launches", process, count.launch.id), run.own("sites", process, site.id)
            base, lanes = random.choice(ADDRESSES) + random.choice((0, 4, -4, -16, -64)), random.randint(1, 32)
            record += 1
            owner, builder = run.code(process, count.owner), run.builders[process]
            shape = random.choice(("strided", "scattered", "bulk"))
            if shape == "bulk":
                size = random.choice((4, 16, 4096))
                builder.bulk(*place, owner, base, size)
                found.append(Lane(record, count.launch, site, count.owner, base, size))
                continue
            if shape == "strided":
                stride = random.choice((0, 4, 16, 64, -4))
                builder.record(*place, owner, base, stride, mask=(1 << lanes) - 1)
                addresses = [base + stride * lane for lane in range(lanes)]
            else:
                addresses = [random.choice(ADDRESSES) + random.choice((0, 4, -8)) for _ in range(lanes)]
                builder.scattered(*place, owner, dict(enumerate(addresses)))
            found += [Lane(record, count.launch, site, count.owner, address, site.width) for address in addresses]
    return found


def stores(run: Run, target: Target, lanes: list[Lane], polled: set[int]) -> list[Store]:
    """Known by the best that tells: records of the address, counts of the allocation, or of the owner."""
    own = [
        lane
        for lane in lanes
        if lane.site.operation in WRITES
        and (lane.launch.process, lane.owner) == (target.process, target.owner)
        # A store counts for the lowest of the addresses that it touches.
        and target.address == min((at for at in polled if lane.address <= at < lane.address + lane.bytes), default=-1)
    ]
    if own:
        records: dict[tuple[int, Site], list[Lane]] = defaultdict(list)
        for lane in own:
            records[lane.launch.gpu, lane.site].append(lane)
        return [
            Store(issuer, site, "address", len({lane.record for lane in some}), sum(lane.bytes for lane in some))
            for (issuer, site), some in records.items()
        ]
    written = [count for count in run.counts if count.site.operation in WRITES and count.owner == target.owner]
    of_object = [
        count
        for count in written
        if target.object and (count.launch.process, count.object) == (target.process, target.object)
    ]
    sums: dict[tuple[int, Site], list[int]] = defaultdict(lambda: [0, 0])
    for count in of_object or written:
        sums[count.launch.gpu, count.site][0] += count.accesses
        sums[count.launch.gpu, count.site][1] += count.bytes
    known_by = "object" if of_object else "owner"
    return [Store(issuer, site, known_by, *amounts) for (issuer, site), amounts in sums.items()]
