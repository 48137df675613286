"""Which bytes of objects were touched, and how often, as plain loops over bytes tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from tests.plain.plain_objects import Access, Objects, lanes_of


def heat(
    known: Objects, numbers: set[int], operations: Collection[str] = (), issuer: int | None = None
) -> dict[int, Counter[int]]:
    """issuer → byte of the object → how often it was touched."""
    found: dict[int, Counter[int]] = {}
    for access, begin in lanes_of(known, numbers):
        if issuer in (None, access.issuer) and (not operations or access.operation in operations):
            found.setdefault(access.issuer, Counter()).update(range(begin, begin + access.size))
    return found


def reuse(known: Objects) -> dict[int, tuple[int, int, int]]:
    """object → accesses, bytes, distinct bytes: those of each issuer and process for themselves."""
    records: dict[int, set[int]] = {}
    moved: Counter[int] = Counter()
    bytes_: dict[int, set[tuple[int, int, int]]] = {}
    for access in known.accesses:
        records.setdefault(access.object, set()).add(access.record)
        moved[access.object] += access.size
        own = bytes_.setdefault(access.object, set())
        own.update((access.process, access.issuer, access.address + place) for place in range(access.size))
    return {number: (len(own), moved[number], len(bytes_[number])) for number, own in records.items()}


def how_often(touched: dict[int, Counter[int]]) -> dict[tuple[int, int], int]:
    """(1, 1), (2, 2), (3, 4), (5, 8), … times → how many bytes were touched so often by one issuer."""
    found: Counter[tuple[int, int]] = Counter()
    for own in touched.values():
        for times in own.values():
            most = 1
            while most < times:
                most *= 2
            found[most // 2 + 1, most] += 1
    return dict(found)


def part(length: int, most: int, width: int) -> int:
    """The least whole elements, in bytes, of which at most so many parts cover a length."""
    step = width
    while -(-length // step) > most:
        step += width
    return step


def along(own: Counter[int], start: int, stop: int, step: int) -> list[int]:
    """The bytes in each part of a range."""
    return [
        sum(times for byte, times in own.items() if first <= byte < min(first + step, stop))
        for first in range(start, stop, step)
    ]


def offsets(known: Objects, number: int, bins: int, start: int, stop: int) -> dict[tuple[int, int, str], list[int]]:
    """offset of a part, issuer, operation → accesses, lanes and bytes of the lanes that begin in it."""
    step = part(stop - start, bins, 1)
    sums: dict[tuple[int, int, str], list[int]] = {}
    records: dict[tuple[int, int, str], set[int]] = {}
    for access, begin in lanes_of(known, {number}):
        for first in range(start, stop, step):
            if first <= begin < min(first + step, stop):
                key = first, access.issuer, access.operation
                own = sums.setdefault(key, [0, 0, 0])
                records.setdefault(key, set()).add(access.record)
                own[0], own[1], own[2] = len(records[key]), own[1] + 1, own[2] + access.size
    return sums


def touches(known: Objects, number: int) -> list[Access]:
    return [access for access, _ in lanes_of(known, {number})]
