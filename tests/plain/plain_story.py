"""Random traffic of one line that has a pattern or none, and how a sentence may call whom it is between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.support.encoder import HOST, UNKNOWN, TraceBuilder

VERBS = {
    "store": ("sends", "to"), "reduction": ("sends", "to"), "load": ("fetches", "from"), "atomic": ("updates", "on"),
}  # fmt: skip
PLACES = {-1: HOST, -2: UNKNOWN}

# Of each issuer the owners that it reaches; -1 is the host.
Ends = dict[int, set[int]]


@dataclass
class Story:
    """``moved``: bytes by issuer and owner; ``rest``: of another line, less than this one's."""

    builder: TraceBuilder
    gpus: int
    operation: str
    moved: dict[tuple[int, int], int] = field(default_factory=dict)
    rest: int = 0

    @property
    def size(self) -> int:
        return sum(self.moved.values())

    @property
    def ends(self) -> Ends:
        """Without what is less than a hundredth of the most that a GPU issues to one place."""
        found: Ends = {}
        for (issuer, owner), size in self.moved.items():
            most = max(amount for (gpu, _), amount in self.moved.items() if gpu == issuer)
            if 100 * size >= most:
                found.setdefault(issuer, set()).add(owner)
        return found


def make(seed: int) -> Story:
    random = Random(seed)
    gpus = random.randint(1, 6)
    made = Story(TraceBuilder(gpus), gpus, random.choice(list(VERBS)))
    every = range(gpus)
    issuers = random.choice((list(every), random.sample(every, random.randint(1, gpus))))
    step = random.choice((1, gpus - 1))
    patterns: list[Callable[[int], set[int]]] = [
        lambda gpu: {(gpu + step) % gpus},
        lambda gpu: {(gpu + 1) % gpus, (gpu - 1) % gpus},
        lambda gpu: {*every},
        lambda gpu: {random.randrange(gpus)},
        lambda gpu: {*random.sample(every, min(2, gpus))},
        lambda gpu: {*random.sample([*every, -1, -2], random.randint(1, gpus))},
        lambda gpu: set(),
    ]
    pattern = random.choice(patterns)
    # How often an issuer reaches the host too.
    host = random.choice((0, 0, 1, 0.8))
    noise = random.random() < 0.3
    for issuer in issuers:
        most = random.randint(200, 1 << 30)
        owners = (pattern(issuer) | ({-1} if random.random() < host else set())) - {issuer}
        for owner in owners:
            made.moved[issuer, owner] = random.choice((most, random.randint(-(-most // 100), most), -(-most // 100)))
        if owners:
            made.moved[issuer, random.choice(list(owners))] = most
        few = [owner for owner in (*every, -1, -2) if owner not in (*owners, issuer)]
        if noise and few and owners:
            made.moved[issuer, random.choice(few)] = random.randint(1, (most - 1) // 100)
    if made.moved:
        made.rest = random.choice((0, made.size // 10_000, made.size // 99, random.randint(1, made.size - 1)))
    _write(made, random)
    return made


def _write(made: Story, random: Random) -> None:
    builder = made.builder
    kernel = builder.function("step()")
    one, other = (
        builder.site(kernel, "OP", made.operation, 1, line=builder.line("/src/a.cu", line), wire_unit=16)
        for line in (1, 2)
    )
    for (issuer, owner), size in made.moved.items():
        code = PLACES.get(owner, owner)
        parts = random.choice((1, 2)) if size > 1 else 1
        for part in range(parts):
            lanes = size // parts + (size % parts if part == 0 else 0)
            builder.count(builder.launch(kernel, issuer), one, code, 1, lanes, lanes)
    if made.rest:
        builder.count(builder.launch(kernel, 0), other, HOST, 1, made.rest, made.rest)


def whom(ends: Ends, gpus: int) -> str:
    """Whom each of the issuers reaches: the first of these that is true."""
    if all(-1 in owners and len(owners) > 1 for owners in ends.values()):
        return f"{whom({issuer: owners - {-1} for issuer, owners in ends.items()}, gpus)} and the host"
    most = max(map(len, ends.values()))

    def all_reach(owners_of: Callable[[int], set[int]]) -> bool:
        return all(owners == owners_of(issuer) for issuer, owners in ends.items())

    ahead, behind = all_reach(lambda issuer: {(issuer + 1) % gpus}), all_reach(lambda issuer: {(issuer - 1) % gpus})
    patterns = {
        "the host": all_reach(lambda issuer: {-1}),
        "the next one": gpus > 2 and (ahead or behind),
        "one other": all(len(owners) == 1 and min(owners) >= 0 for owners in ends.values()),
        "all others": gpus > 3 and all_reach(lambda issuer: {*range(gpus)} - {issuer}),
        "its two neighbours": gpus > 2 and all_reach(lambda issuer: {(issuer + 1) % gpus, (issuer - 1) % gpus}),
        f"{most} others": all(len(owners) == most and min(owners) >= 0 for owners in ends.values()),
        f"up to {most} place{'' if most == 1 else 's'}": True,
    }  # fmt: skip
    return next(words for words, true in patterns.items() if true)


def sentence(made: Story) -> tuple[str, str]:
    """How the sentence begins, and what it says of whom."""
    verb, towards = VERBS[made.operation]
    share = made.size / (made.size + made.rest)
    part = "half of all bytes" if abs(share - 0.5) < 0.02 else "all bytes" if share >= 0.995 else ""
    ends = made.ends
    who = "each GPU" if len(ends) == made.gpus > 1 else f"{len(ends)} GPU{'' if len(ends) == 1 else 's'}"
    return f"a.cu:1 {verb} {part}", f", {who} {towards} {whom(ends, made.gpus)}, "
