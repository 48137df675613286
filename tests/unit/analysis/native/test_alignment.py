"""Two sequences of launches: what belongs together, and what is left out because nobody can tell."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from snoopie.analysis.native.alignment import MOST_DIFFERENCES, align


def pairs(one: str, other: str) -> list[tuple[int, int]]:
    places = align(*(np.array([ord(letter) for letter in text], np.int64) for text in (one, other)))
    return [(int(first), int(second)) for first, second in zip(*places, strict=True)]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("", "abc", []),
        # One is missing: the others are certain.
        ("abcabc", "abcac", [(0, 0), (1, 1), (2, 2), (3, 3), (5, 4)]),
        ("wabc", "abc", [(1, 0), (2, 1), (3, 2)]),
        # A warm-up in either, and another end.
        ("wwabcx", "vabcyy", [(2, 1), (3, 2), (4, 3)]),
        # Which of the three is missing, nobody knows.
        ("xaaay", "xaay", [(0, 0), (4, 3)]),
        # Nor which of three turns.
        ("abcabcabc", "abcabc", []),
        # Two branches of a graph in another order: each is there once.
        ("xaby", "xbay", [(0, 0), (1, 2), (2, 1), (3, 3)]),
        ("xababy", "xbabay", [(0, 0), (1, 2), (2, 1), (3, 4), (4, 3), (5, 5)]),
    ],
)
def test_what_is_certain(one: str, other: str, expected: list[tuple[int, int]]) -> None:
    assert pairs(one, other) == expected
    assert pairs(other, one) == sorted((second, first) for first, second in expected)


def test_against_all_longest_common_subsequences() -> None:
    """Of random short sequences: what is in all of them is paired, and with what is there."""
    random = np.random.default_rng(7)
    paired = 0
    for _ in range(400):
        one, other = ("".join(random.choice(list("abcd"), random.integers(1, 8))) for _ in range(2))
        found = pairs(one, other)
        assert all(one[first] == other[second] for first, second in found)
        assert len({second for _, second in found}) == len(found)
        always = in_all(one, other)
        assert always <= set(found)
        paired += len(always)
    assert paired > 300


def in_all(one: str, other: str) -> set[tuple[int, int]]:
    """The pairs of every longest common subsequence, by trying them all."""

    @cache
    def longest(first: int, second: int) -> int:
        if first == len(one) or second == len(other):
            return 0
        best = max(longest(first + 1, second), longest(first, second + 1))
        return max(best, 1 + longest(first + 1, second + 1)) if one[first] == other[second] else best

    @cache
    def every(first: int, second: int) -> frozenset[frozenset[tuple[int, int]]]:
        rest = longest(first, second)
        if rest == 0:
            return frozenset([frozenset()])
        ways: set[frozenset[tuple[int, int]]] = set()
        if one[first] == other[second] and longest(first + 1, second + 1) == rest - 1:
            ways |= {way | {(first, second)} for way in every(first + 1, second + 1)}
        if longest(first + 1, second) == rest:
            ways |= every(first + 1, second)
        if longest(first, second + 1) == rest:
            ways |= every(first, second + 1)
        return frozenset(ways)

    return set(frozenset.intersection(*every(0, 0)))


def test_long_sequences_are_quick_and_bounded() -> None:
    turns = np.tile(np.arange(40), 10_000)
    random = np.random.default_rng(0)
    missing = np.sort(random.choice(len(turns), 60, replace=False))
    first, second = align(turns, np.delete(turns, missing))
    assert len(first) == len(turns) - 60
    assert np.array_equal(first, np.delete(np.arange(len(turns)), missing))
    assert np.array_equal(second, np.arange(len(second)))
    # With more differences than are looked at, what is there equally often is still paired.
    many = np.concatenate([turns, np.full(MOST_DIFFERENCES + 1, 99)])
    first, second = align(many, turns)
    assert np.array_equal(first, second) and len(first) == len(turns)
