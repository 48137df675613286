"""Sums of intervals, against counting byte by byte."""

from __future__ import annotations

import numpy as np
import pytest

from snoopie.analysis.objects import coverage
from snoopie.analysis.objects.coverage import Pieces, added, joined


def pieces(*rows: tuple[int, int, int, int]) -> Pieces:
    return Pieces(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))


def rows_of(some: Pieces) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in some), strict=True))


def counted(some: Pieces) -> list[tuple[int, ...]]:
    """The same, byte by byte."""
    result = []
    for group in sorted(set(some.groups.tolist())):
        level: dict[int, int] = {}
        for one, start, end, times in rows_of(some):
            for byte in range(start, end) if one == group else ():
                level[byte] = level.get(byte, 0) + times
        for byte in sorted(level):
            if result and result[-1][0] == group and result[-1][2] == byte and result[-1][3] == level[byte]:
                result[-1] = (*result[-1][:2], byte + 1, level[byte])
            else:
                result.append((group, byte, byte + 1, level[byte]))
    return result


def test_intervals_add_up() -> None:
    some = pieces((0, 10, 20, 1), (1, 0, 5, 1), (0, 15, 18, 2), (0, 20, 30, 1), (1, 7, 9, 1), (0, 40, 41, 7))
    expected = [(0, 10, 15, 1), (0, 15, 18, 3), (0, 18, 30, 1), (0, 40, 41, 7), (1, 0, 5, 1), (1, 7, 9, 1)]
    assert rows_of(added(some)) == expected


def test_nothing_adds_up_to_nothing() -> None:
    assert rows_of(added(Pieces(*np.empty((4, 0), np.int64)))) == []


@pytest.mark.parametrize("dense", [0, 8, 1 << 40])
@pytest.mark.parametrize("scale", [1, 16, (1 << 61) // 220])
def test_either_way_of_counting_gives_the_same(monkeypatch: pytest.MonkeyPatch, dense: int, scale: int) -> None:
    if dense > 8 and scale > 16:
        scale = 1 << 10
    monkeypatch.setattr(coverage, "_DENSE", dense)
    random = np.random.default_rng(dense % 7 + scale)
    for _ in range(30):
        number = random.integers(1, 40)
        start = random.integers(0, 200, number)
        end = start + random.integers(1, 20, number)
        some = Pieces(random.integers(0, 4, number), start, end, random.integers(1, 4, number))
        expected = [(group, scale * a, scale * b, times) for group, a, b, times in counted(some)]
        scaled = some._replace(starts=scale * start, ends=scale * end)
        assert rows_of(added(scaled)) == expected
        half = number // 2
        parts = [added(Pieces(*(column[rows] for column in scaled))) for rows in (slice(half), slice(half, None))]
        assert rows_of(added(joined(parts))) == expected
