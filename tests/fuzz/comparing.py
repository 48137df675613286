"""What comparisons of analyses with plain loops share: rows of tables, numbers that are nearly the same, and bins."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

from tests.fuzz.plain_over_time import Cells


def rows(table: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return list(table[list(columns)].itertuples(index=False, name=None))


def same(found: float, expected: float | None) -> bool:
    """A number, or NaN for none."""
    return math.isnan(found) if expected is None else found == pytest.approx(expected, rel=1e-9)


def falling(table: pd.DataFrame, column: str) -> bool:
    values = [value for value in table[column].tolist() if not math.isnan(value)]
    return values == sorted(values, reverse=True)


def compare_cells(found: dict[tuple[Any, int, int], int], expected: Cells) -> None:
    """What has no traffic is left out; how far whole numbers may be from fractions, each cell says."""
    for cell in {*found, *expected}:
        amount, slack = expected.get(cell, (Fraction(0), 0))
        # The fractions are floats.
        assert abs(found.get(cell, 0) - amount) <= slack * Fraction(1001, 1000), cell
    assert all(found.values())
