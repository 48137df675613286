"""Chains, against following each link by itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snoopie.trace import chains


@st.composite
def links(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Values, and for each row one that is not before it in some order, or none."""
    number = draw(st.integers(1, 30))
    order = draw(st.permutations(range(number)))
    outward = np.full(number, -1)
    for place, row in enumerate(order):
        outward[row] = order[draw(st.integers(0, place - 1))] if place and draw(st.booleans()) else -1
    return np.array(draw(st.lists(st.integers(0, 3), min_size=number, max_size=number))), outward


def chain(row: int, outward: np.ndarray) -> Iterator[int]:
    while row >= 0:
        yield row
        row = int(outward[row])


@given(links())
def test_chains(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    values, outward = drawn
    every = [list(chain(row, outward)) for row in range(len(values))]
    assert chains.depths(outward).tolist() == [len(rows) - 1 for rows in every]
    assert chains.lowest(values, outward).tolist() == [min(values[rows]) for rows in every]
    first = [next(row for row in rows if values[row] == max(values[rows])) for rows in every]
    assert chains.first_highest(values, outward).tolist() == first
