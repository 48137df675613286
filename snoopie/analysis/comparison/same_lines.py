"""Which line of one version of a file is which of another: by their text, or by the instructions made of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from difflib import SequenceMatcher

import pandas as pd

# Beyond so many lines a comparison takes seconds.
_MOST = 20_000


def by_text(a: Sequence[str], b: Sequence[str]) -> dict[int, int]:
    """line of B → line of A, from 1: what is the same text in the same order, and what was changed in its place."""
    if max(len(a), len(b)) > _MOST:
        return {}
    # How far a line is indented says nothing of what it does.
    return {to + 1: of + 1 for of, to in _matched([line.strip() for line in a], [line.strip() for line in b])}


def by_code(a: pd.DataFrame, b: pd.DataFrame) -> dict[int, int]:
    """line of B → line of A, of lines with traffic alone: those of the same instructions, in the same order.

    Both tables have function, line, offset and opcode, of one file.
    """
    of_a, of_b = _code(a), _code(b)
    lines_a, lines_b = sorted(of_a), sorted(of_b)
    if max(len(lines_a), len(lines_b)) > _MOST:
        return {}
    pairs = _matched([of_a[line] for line in lines_a], [of_b[line] for line in lines_b])
    return {lines_b[to]: lines_a[of] for of, to in pairs}


def aligned(a: Sequence[int], b: Sequence[int], same: Mapping[int, int]) -> list[tuple[int, int]]:
    """Lines of A and of B, each in its order, side by side: 0 where the other has none. ``same``: line of B → of A."""
    rows: list[tuple[int, int]] = []
    paired, at = set(same.values()) & set(a), 0
    for other in b:
        line = same.get(other, 0)
        if line not in paired:
            rows.append((0, other))
            continue
        # What A has alone before it.
        while a[at] != line:
            rows.append((a[at], 0))
            at += 1
        rows.append((line, other))
        at += 1
    return rows + [(line, 0) for line in a[at:]]


def _code(sites: pd.DataFrame) -> Mapping[int, Hashable]:
    ordered = sites[["line", "function", "offset", "opcode"]].drop_duplicates().sort_values(["function", "offset"])
    return {
        int(str(line)): tuple(zip(own["function"], own["opcode"], strict=True)) for line, own in ordered.groupby("line")
    }


def _matched(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for kind, first, last, other, end in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal" or (kind == "replace" and last - first == end - other):
            pairs += zip(range(first, last), range(other, end), strict=True)
    return pairs
