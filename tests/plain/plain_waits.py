"""What kernels waited for and how long they moved: random waits, moves and stores, and plain loops over them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.plain.plain_moments import clock_of, clocks
from tests.plain.plain_runs import Count, Launch, Run, Site, label
from tests.plain.plain_stores import ADDRESSES, KNOWN_BY, Lane, Store, Target, add_stores, stores
from tests.support.encoder import START_NS


class Wait(NamedTuple):
    """``first`` and ``last`` are by the clock of the GPU, as those of moves."""

    launch: Launch
    site: Site
    block: int
    blocks: int
    owner: int
    object: int
    address: int
    waits: int
    given_up: int
    polls: int
    first: int
    last: int
    waited: int
    longest: int
    held: int

    @property
    def target(self) -> Target:
        return Target(self.launch.process, self.owner, self.object, self.address)


class Move(NamedTuple):
    launch: Launch
    site: Site
    block: int
    blocks: int
    accesses: int
    first: int
    last: int


@dataclass
class Waiting:
    run: Run
    waits: list[Wait] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    lanes: list[Lane] = field(default_factory=list)
    # What is known of each target.
    stores: dict[Target, list[Store]] = field(default_factory=dict)


def add_waits(run: Run) -> Waiting:
    """Of some launches, by clocks that are ahead; blocks are told apart, or two or four of them are in a row."""
    random, found = run.random, Waiting(run)
    found.lanes = add_stores(run)
    ahead: dict[tuple[int, int], int] = {}
    for launch in run.launches:
        line = launch.process, launch.gpu
        if line not in ahead or random.random() < 0.2:
            ahead[line] = random.choice((0, -3000, random.randrange(-(10**6), 10**6), 10**9 - START_NS))
        _waits(found, launch, ahead[line], [site for site in run.sites if site.process == launch.process])
        _moves(found, launch, ahead[line])
    targets = {wait.target for wait in found.waits}
    polled = [{target.address for target in targets if target.process == own} for own in range(len(run.builders))]
    found.stores = {target: stores(run, target, found.lanes, polled[target.process] - {0}) for target in targets}
    return found


def _times(run: Run, launch: Launch, ahead: int) -> tuple[int, int]:
    longest = launch.end - launch.start if launch.spanned else 20_000
    first, last = sorted(run.random.choice((0, longest, run.random.randint(0, longest))) for _ in range(2))
    # A few at no time that can be.
    odd = 10**6 if run.random.random() < 0.05 else 0
    return launch.start + ahead + first, launch.start + ahead + last + odd


def _waits(found: Waiting, launch: Launch, ahead: int, sites: list[Site]) -> None:
    run, random, process = found.run, found.run.random, launch.process
    blocks = random.choice((1, 1, 2, 4))
    known = set()
    for _ in range(random.choice((0, 1, 4))):
        site, block, owner = random.choice(sites), random.randrange(3) * blocks, random.choice(run.places[process])
        object_ = random.choice([0, *run.objects[process]])
        if (site, block, owner, object_) in known:
            continue
        known.add((site, block, owner, object_))
        first, last = _times(run, launch, ahead)
        waits, waited = random.randint(1, 3), random.choice((0, 100, random.randrange(10_000)))
        row = {
            "block": block, "blocks": blocks, "address": random.choice((0, *ADDRESSES)), "waits": waits,
            "given_up": random.randint(0, waits), "polls": random.randrange(100), "first": first, "last": last,
            "waited": waited, "longest": random.randint(0, waited), "held": random.randint(0, last - first),
        }  # fmt: skip
        run.builders[process].add(
            "waits", launch=run.own("launches", process, launch.id), site=run.own("sites", process, site.id),
            owner=run.code(process, owner), object=object_ and run.own("objects", process, object_), **row,
        )  # fmt: skip
        found.waits.append(Wait(launch=launch, site=site, owner=owner, object=object_, **row))


def _moves(found: Waiting, launch: Launch, ahead: int) -> None:
    run, random, process = found.run, found.run.random, launch.process
    blocks = random.choice((1, 1, 2, 4))
    for site in {count.site: None for count in run.counts if count.launch == launch}:
        for place in random.sample(range(3), random.randint(0, 3)):
            first, last = _times(run, launch, ahead)
            row = {"block": place * blocks, "blocks": blocks, "accesses": random.randint(1, 9)}
            row |= {"first": first, "last": last}
            run.builders[process].add(
                "moves", launch=run.own("launches", process, launch.id), site=run.own("sites", process, site.id), **row
            )
            found.moves.append(Move(launch, site, **row))


def line_of(site: Site, launch: Launch) -> str:
    return f"{site.file.rpartition('/')[2]}:{site.line}" if site.line else launch.kernel


def together(names: Iterable[str]) -> str:
    """There are never more of them than are shown."""
    return ", ".join(sorted({name for name in names if name}))


def awaited(found: Waiting, wait: Wait) -> str:
    return together(label(store.issuer) for store in found.stores[wait.target])


def keys(found: Waiting, row: Wait | Move, by: str) -> tuple[Any, ...]:
    launch, site = row.launch, row.site
    if by == "owner":
        assert isinstance(row, Wait)
        return (label(row.owner),)
    if by == "awaited":
        assert isinstance(row, Wait)
        return (awaited(found, row),)
    return {
        "line": (site.file, site.line), "site": (site.id,), "kernel": (launch.kernel,), "launch": (launch.id,),
        "block": (launch.id, row.block, row.blocks),
    }[by]  # fmt: skip


def moving(found: Waiting, moves: list[Move]) -> int:
    """From the first to the last access of each block, less what must have been waits in between."""
    blocks: dict[tuple[Launch, int, int], list[Move]] = defaultdict(list)
    for move in moves:
        blocks[move.launch, move.block, move.blocks].append(move)
    total = 0
    for (launch, block, number), own in blocks.items():
        first, last = min(move.first for move in own), max(move.last for move in own)
        waits = [
            wait
            for wait in found.waits
            if wait.launch == launch and block <= wait.block and wait.block + wait.blocks <= block + number
        ]
        between = 0
        if waits:
            before = max(first - min(wait.first for wait in waits), 0)
            after = max(max(wait.last for wait in waits) - last, 0)
            between = max(sum(wait.held for wait in waits) - before - after, 0)
        total += max(last - first - between, 0)
    return total


def by_wait(found: Waiting, by: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """keys → the columns of the row, by their names."""
    of_moves = by not in ("owner", "awaited")
    waits: dict[tuple[Any, ...], list[Wait]] = defaultdict(list)
    moves: dict[tuple[Any, ...], list[Move]] = defaultdict(list)
    for wait in found.waits:
        waits[keys(found, wait, by)].append(wait)
    for move in found.moves if of_moves else ():
        moves[keys(found, move, by)].append(move)
    result = {}
    for key in {**waits, **moves}:
        own, moved = waits[key], moves[key]
        said = [store for wait in own for store in found.stores[wait.target]]
        accessed = {move[:2] for move in moved}
        owners = {count.owner for count in found.run.counts if (count.launch, count.site) in accessed}
        row: dict[str, Any] = {
            "kernel": together(one.launch.kernel for one in (*own, *moved)),
            "issuer": together(label(one.launch.gpu) for one in (*own, *moved)),
            "owner": together(map(label, {wait.owner for wait in own} | owners)),
            "awaited": together(label(store.issuer) for store in said),
            "stored_by": together(store.line for store in said),
            "known_by": max((store.known_by for store in said), key=KNOWN_BY.index, default=""),
            **{
                name: sum(getattr(wait, name) for wait in own)
                for name in ("waits", "given_up", "polls", "waited", "held")
            },
            "longest": max((wait.longest for wait in own), default=0),
        }
        if by != "block":
            row["blocks"] = sum(blocks for *_, blocks in {(wait.launch, wait.block, wait.blocks) for wait in own})
        if of_moves:
            row |= {"accesses": sum(move.accesses for move in moved), "moving": moving(found, moved)}
        result[key] = row
    return result


def times(found: Waiting, rows: list[Any]) -> dict[Launch, tuple[int, int, int]]:
    """Of the launches of waits or moves whose clock is known start, end (host ns) and error."""
    every = clocks((one.launch, time) for one in (*found.waits, *found.moves) for time in (one.first, one.last))
    result = {}
    for launch in {row.launch for row in rows}:
        own = [row for row in rows if row.launch == launch]
        if (clock := clock_of(launch, every)) is None:
            continue
        start, end = min(row.first for row in own) - clock.ahead, max(row.last for row in own) - clock.ahead
        if launch.spanned:
            start = min(max(start, launch.start), launch.end)
            end = min(max(end, start), launch.end)
        result[launch] = start, max(end, start), clock.error
    return result


def where_most(
    found: Waiting, own: list[Any], owners: dict[tuple[Launch, Site], list[Count]] | None = None
) -> set[tuple[str, str, str, int]]:
    """name, whom (awaited or owner), file and line of where a launch waited or moved most: of several, any is right."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    for row in own:
        groups[row.site.file, row.site.line, awaited(found, row) if owners is None else ""].append(row)
    result: dict[tuple[str, str, str, int], tuple[int, int]] = {}
    for (file, line, whom), rows in groups.items():
        at = f"at {line_of(rows[0].site, rows[0].launch)}"
        if owners is None:
            result[f"for {whom} {at}" if whom else at, whom, file, line] = sum(row.waited for row in rows), 0
        else:
            whose = together(label(count.owner) for row in rows for count in owners[row.launch, row.site])
            amounts = moving(found, rows), sum(row.accesses for row in rows)
            result[f"{whose} {at}", whose, file, line] = amounts
    return {key for key, amounts in result.items() if amounts == max(result.values())}
