"""Random collectives of programs that are recorded twice, and for whom plain loops say that others waited."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from snoopie.api.trace import Trace
from tests.plain.drawing import loaded_with_times
from tests.support.encoder import START_NS, TraceBuilder

KERNEL = "ncclDevKernel_AllReduce(int)"
_AHEAD = 60_000_000_000


class Came(NamedTuple):
    """When a rank's kernel of a collective began, and on what host: 0 where it is not known."""

    rank: int
    start: int
    host: str


@dataclass
class Arrivals:
    exact: list[TraceBuilder]
    clean: list[TraceBuilder]
    # Communicator and number of the collective → those of its ranks of which something is known; how many there are.
    came: dict[tuple[int, int], list[Came]] = field(default_factory=dict)
    ranks: dict[int, int] = field(default_factory=dict)

    def load(self, seed: int) -> Trace:
        return loaded_with_times(self.exact, self.clean, seed)


def make(seed: int) -> Arrivals:
    """Ranks that are processes of their own, or GPUs of one, of which some send to others between collectives."""
    random = Random(seed)
    gpus = random.randint(2, 4)
    processes = random.choice((1, gpus))
    exact, clean = (
        [
            TraceBuilder(gpus, pid=number + pid, ranks={"RANK": str(number), "WORLD_SIZE": str(processes)})
            for number in range(processes)
        ]
        for pid in (100, 200)
    )
    made = Arrivals(exact, clean)
    hosts = [random.choice(("node1",) * 9 + ("node2",)) for _ in range(processes)]
    for builder, host in zip(made.clean, hosts, strict=True):
        builder.header["process"]["host"] = host
        builder.header["tool"] |= {"imported_from": "CUPTI"}
    for builder in (*made.exact, *made.clean):
        builder.function(KERNEL)
    groups = [0] * processes
    communicators = [
        (handle, random.sample(range(gpus), random.randint(1, gpus))) for handle in range(1, random.randint(2, 3))
    ]
    for handle, members in communicators:
        made.ranks[handle] = len(members)
    numbers = dict.fromkeys(made.ranks, 0)
    for step in range(random.randint(1, 8)):
        handle, members = random.choice(communicators)
        others = random.random() < 0.2
        together = 1 if others or random.random() < 0.8 else 2
        start = START_NS - _AHEAD + 1000 * step
        # One thread that calls for all GPUs of its process does so in one group.
        one_group = random.random() < 0.5
        for process in range(processes):
            groups[process] += 1
        for rank, gpu in enumerate(members):
            process = gpu if processes > 1 else 0
            if others and rank > 1:
                continue
            groups[process] += not one_group
            for _ in range(together):
                what = ("Send" if rank == 0 else "Recv") if others else "AllReduce"
                made.exact[process].collective(
                    groups[process], what, 5, gpu=gpu, communicator=handle, rank=rank, ranks=len(members),
                    peer=1 - rank if others else -1, start=START_NS + 1000 * step,
                )  # fmt: skip
            began = start + random.choice((0, 1, random.randrange(500)))
            known = _ran(made, process, gpu, step, groups[process], began, random)
            if not others and known:
                # Of several at once, the first counts.
                made.came.setdefault((handle, numbers[handle]), []).append(Came(rank, began, hosts[process]))
        numbers[handle] += 0 if others else together
    return made


def _ran(made: Arrivals, process: int, gpu: int, step: int, group: int, began: int, random: Random) -> bool:
    """Adds the launch to both recordings; whether it is known when it ran."""
    # Each step has a shape of its own, so that all that both have is matched.
    shape = {"grid_x": step + 1, "time": began}
    clean, exact = made.clean[process], made.exact[process]
    spanned, lost = random.random() < 0.95, random.random() < 0.05
    exact.launch(1, gpu, group=group, stream=64, grid_x=step + 1)
    if not lost:
        launch = clean.launch(1, gpu, stream=7, **shape)
        if spanned:
            clean.add("spans", launch=launch, start=began, end=began + 100)
    return spanned and not lost


def by_rank(made: Arrivals) -> list[tuple[int, ...]]:
    """rank, collectives, came last, waited, waited for."""
    found: dict[int, list[int]] = {}
    for (communicator, _), came in made.came.items():
        if len(came) < made.ranks[communicator] or len(came) < 2 or len({one.host for one in came}) > 1:
            continue
        last = max(one.start for one in came)
        alone = sum(one.start == last for one in came) == 1
        for one in came:
            row = found.setdefault(one.rank, [0, 0, 0, 0])
            row[0] += 1
            row[2] += last - one.start
            # Of two that come at once nobody waits for either alone.
            if alone and one.start == last:
                row[1] += 1
                row[3] += sum(last - other.start for other in came)
    return [(rank, *row) for rank, row in found.items()]
