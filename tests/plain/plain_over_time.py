"""What flowed when, by plain loops: amounts as exact fractions, with how far whole numbers may be from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from tests.plain.plain_runs import Copy, Count, Run

NARROWEST = 1000
Folds = Sequence[tuple[int, int]]


class Piece(NamedTuple):
    """An amount that lies evenly from start to end, or all at its start; ``slack``: how far from it ours may be."""

    key: Any
    start: int
    end: int
    amount: Fraction | int
    slack: int = 0


def directed(count: Count, reading: str) -> list[tuple[int, int]]:
    """The pairs of places that an amount counts for: an atomic flows both ways."""
    issuer, owner, operation = count.launch.gpu, count.owner, count.site.operation
    if reading == "issued":
        return [(issuer, owner)]
    out = [] if operation == "load" else [(issuer, owner)]
    return out + ([(owner, issuer)] if operation in ("load", "atomic") else [])


def copied(copy: Copy, reading: str) -> list[tuple[int, int]]:
    """As issued, a copy belongs to its issuer and the end that is not it; where neither is, to both."""
    if reading == "flow":
        return [(copy.source, copy.destination)]
    if copy.source == copy.destination:
        return [(copy.issuer, copy.source)]
    return [(copy.issuer, place) for place in (copy.source, copy.destination) if place != copy.issuer]


def by_launch(run: Run, reading: str) -> dict[tuple[int, int, int], list[int]]:
    """launch and pair → accesses, lanes, bytes, wire units, wire bytes."""
    sums: dict[tuple[int, int, int], list[int]] = defaultdict(lambda: [0] * 5)
    for count in run.counts:
        for pair in directed(count, reading):
            amounts = count.accesses, count.lanes, count.bytes, count.wire_units, count.wire_bytes
            for place, amount in enumerate(amounts):
                sums[count.launch.id, *pair][place] += amount
    return dict(sums)


def pieces(run: Run, reading: str, initiated: str) -> list[Piece]:
    found = []
    if initiated != "host":
        when = {launch.id: launch for launch in run.launches}
        for (launch, *pair), sums in by_launch(run, reading).items():
            found.append(Piece(tuple(pair), when[launch].start, when[launch].end, sums[2]))
    if initiated != "device":
        for copy in run.copies:
            found += [Piece(pair, copy.start, copy.end, copy.bytes) for pair in copied(copy, reading)]
    return found


def folded(time: int, folds: Folds) -> int:
    """A moment in the time that is left: what lies in a fold is where it begins."""
    return time - sum(min(end, time) - start for start, end in folds if start < time)


def unfolded(time: int, folds: Folds, *, behind: bool) -> int:
    """The moment of host time of one of the time that is left; at a fold, that behind or before it."""
    gone = 0
    for start, end in folds:
        if start - gone < time or (behind and start - gone == time):
            gone += end - start
    return time + gone


Cells = dict[tuple[Any, int, int], tuple[Fraction, int]]


def over_time(every: Iterable[Piece], bins: int, first: int | None, last: int | None, folds: Folds = ()) -> Cells:
    """key, start and end of the bin → amount, slack."""
    every = [piece._replace(start=folded(piece.start, folds), end=folded(piece.end, folds)) for piece in every]
    first = min((piece.start for piece in every), default=0) if first is None else folded(first, folds)
    last = max((piece.end for piece in every), default=0) + 1 if last is None else folded(last, folds)
    width = max(-(-(last - first) // bins), NARROWEST)
    cells: dict[tuple[Any, int], tuple[Fraction, int]] = defaultdict(lambda: (Fraction(0), 0))
    for key, start, end, amount, slack in every:
        if start == end:
            if first <= start < last:
                before, slack_before = cells[key, (start - first) // width]
                cells[key, (start - first) // width] = before + amount, slack_before + slack
            continue
        for place in range(max(start - first, 0) // width, (min(end, last) - 1 - first) // width + 1):
            begin, until = first + place * width, min(first + (place + 1) * width, last)
            inside = min(end, until) - max(start, begin)
            if inside <= 0:
                continue
            # A share of an amount that ends at the end of the time and a bin is rounded there, too: twice.
            cut = 0 if inside == end - start else 2
            before, slack_before = cells[key, place]
            cells[key, place] = before + Fraction(amount) * inside / (end - start), slack_before + slack + cut
    return {
        (
            key,
            unfolded(first + place * width, folds, behind=True),
            unfolded(first + (place + 1) * width, folds, behind=False),
        ): cell
        for (key, place), cell in cells.items()
    }
