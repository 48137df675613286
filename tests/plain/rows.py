"""Tables of analyses as plain rows, to be compared with what loops make."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pandas as pd

from tests.plain.plain_over_time import Cells


def rows(table: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of some columns, or of all."""
    return list(table[list(columns) or list(table.columns)].itertuples(index=False, name=None))


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows, by the names of the columns."""
    return [dict(zip(table.columns, row, strict=True)) for row in rows(table)]


def alike(found: float, expected: float | None) -> bool:
    """Whether a share is what was expected; None stands for one that there is not."""
    return math.isnan(found) if expected is None else math.isclose(found, expected, rel_tol=1e-9)


def falls(table: pd.DataFrame, *columns: str) -> bool:
    """Whether the sum of some columns never rises from row to row."""
    return all(before >= after for before, after in pairwise(table[list(columns)].sum(axis=1).tolist()))


def falling(table: pd.DataFrame, column: str) -> bool:
    """Whether what is known of a column never rises from row to row."""
    values = [value for value in table[column].tolist() if not math.isnan(value)]
    return values == sorted(values, reverse=True)


def compare_cells(found: dict[tuple[Any, int, int], int], expected: Cells) -> None:
    """What has no traffic is left out; how far whole numbers may be from fractions, each cell says."""
    for cell in {*found, *expected}:
        amount, slack = expected.get(cell, (Fraction(0), 0))
        # The fractions are floats.
        assert abs(found.get(cell, 0) - amount) <= slack * Fraction(1001, 1000), cell
    assert all(found.values())
