"""Tables of analyses as plain rows, to be compared with what loops make."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pandas as pd


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
