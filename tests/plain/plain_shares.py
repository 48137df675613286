"""Counts shared out among what recorded accesses touched, as plain loops with exact fractions tell it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from tests.plain.plain_objects import Access, Objects

VALUES = ("accesses", "lanes", "bytes", "wire_units", "wire_bytes")
_WIRE = VALUES[3:]


@dataclass
class Share:
    """What came to one object; ``slack``: by how much rounding can change each value."""

    exact: bool = True
    copied_in: int = 0
    copied_out: int = 0
    sums: dict[str, Fraction] = field(default_factory=lambda: dict.fromkeys(VALUES, Fraction(0)))
    slack: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VALUES, 0))


Finder = Callable[[int, int, int], int]
Key = tuple[int, int, int]


def shared(known: Objects, find: Finder, *, named: bool) -> dict[int, Share]:
    """object → what of all counts came to it. ``find``: the object of a process, address and time; ``named``: counts
    name such objects."""
    found: dict[int, Share] = {}
    # launch, site, owner → object → what was counted of it
    counted: dict[Key, dict[int, dict[str, int]]] = {}
    for (launch, site, owner, number), (accesses, lanes, units) in known.counts.items():
        _, width, unit = known.sites[site]
        amounts = dict(zip(VALUES, (accesses, lanes, lanes * width, units, units * unit), strict=True))
        own = counted.setdefault((launch, site, owner), {}).setdefault(number if named else 0, dict.fromkeys(VALUES, 0))
        for name, amount in amounts.items():
            own[name] += amount
    for key, by_object in counted.items():
        for number, amounts in by_object.items():
            if number:
                _give(found, number, {name: Fraction(amount) for name, amount in amounts.items()})
        if 0 in by_object:
            recorded = _recorded(known, key, find)
            _divide(found, by_object[0], {number: own for number, own in recorded.items() if number not in by_object
                                          or number == 0})  # fmt: skip
    for process, time, source, destination, size in known.copies:
        for address, end in ((source, "copied_out"), (destination, "copied_in")):
            if number := find(process, address, time):
                share = found.setdefault(number, Share())
                setattr(share, end, getattr(share, end) + size)
    return found


def _recorded(known: Objects, key: Key, find: Finder) -> dict[int, dict[str, int]]:
    """object → recorded accesses, lanes and bytes; of a bulk copy the lanes are units of its width."""
    lanes: dict[int, list[Access]] = {}
    for access in known.accesses:
        if (access.launch, access.site, access.owner) == key:
            lanes.setdefault(find(access.process, access.address, access.time), []).append(access)
    width = known.sites[key[1]][1]
    return {
        number: {
            "accesses": len({access.record for access in own}),
            "lanes": sum(access.size for access in own) // width,
            "bytes": sum(access.size for access in own),
        }
        for number, own in lanes.items()
    }


def _divide(found: dict[int, Share], counted: dict[str, int], recorded: dict[int, dict[str, int]]) -> None:
    """Gives what was counted to what was recorded: as it was recorded, if that is all of it, else in proportion."""
    if not recorded:
        _give(found, 0, {name: Fraction(amount) for name, amount in counted.items()})
        return
    seen = {name: sum(own[name] for own in recorded.values()) for name in VALUES[:3]}
    whole = seen["accesses"] == counted["accesses"] and seen["lanes"] == counted["lanes"]
    for number, own in recorded.items():
        amounts = {}
        for name in VALUES:
            basis = "bytes" if name in _WIRE else name
            amounts[name] = Fraction(own[basis] * counted[name], seen[basis])
        slack = _WIRE if whole else VALUES
        _give(found, number, amounts, slack if len(recorded) > 1 else (), len(recorded), exact=whole)


def _give(
    found: dict[int, Share], number: int, amounts: dict[str, Fraction], rounded: tuple[str, ...] = (), by: int = 0, *,
    exact: bool = True,
) -> None:  # fmt: skip
    share = found.setdefault(number, Share())
    share.exact = share.exact and exact
    for name, amount in amounts.items():
        share.sums[name] += amount
        share.slack[name] += by if name in rounded else 0


def fits(share: Share, row: dict[str, int]) -> bool:
    """Whether a row has what came to an object: to the last byte, but for what rounding changed."""
    near = all(
        abs(row[name] - amount) <= share.slack[name] + (amount / 10**9 if share.slack[name] else 0)
        for name, amount in share.sums.items()
    )
    return near and (row["exact"], row["copied_in"], row["copied_out"]) == (
        share.exact, share.copied_in, share.copied_out
    )  # fmt: skip
