"""Tables of analyses as plain rows, and against those that plain loops found."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pandas as pd

from tests.plain.plain_over_time import Folds, Piece, over_time


def rows(table: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of some columns, or of all."""
    return list(table[list(columns) or list(table.columns)].itertuples(index=False, name=None))


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows, by the names of the columns."""
    return [dict(zip(table.columns, row, strict=True)) for row in rows(table)]


def check_table(
    table: pd.DataFrame, keys: Sequence[str], expected: Mapping[Any, Mapping[str, Any]], most: str = "bytes"
) -> None:
    """That a table has a row for each of some keys and no other, with these values, most of something first."""
    assert set(table.columns) == {*keys, *(name for row in expected.values() for name in row)} or not expected
    found: dict[Hashable, dict[str, Any]] = {}
    for row in records(table):
        key = tuple(row[name] for name in keys)
        assert key not in found
        found[key] = row
    assert set(found) == {key if isinstance(key, tuple) else (key,) for key in expected}
    for key, values in expected.items():
        row = found[key if isinstance(key, tuple) else (key,)]
        for name, value in values.items():
            assert same(row[name], value), (key, name, row[name], value)
    if most:
        assert falls(table[most])


def same(found: Any, expected: Any) -> bool:
    """Whether a value is the expected one: None stands for NaN, floats may differ in their last places."""
    if expected is None:
        return isinstance(found, float) and math.isnan(found)
    if isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-9)
    return bool(found == expected) and not isinstance(found, float)


def alike(found: float, expected: float | None) -> bool:
    """The same of a share, which may be expected as a whole number."""
    return same(float(found), None if expected is None else float(expected))


def falls(numbers: Iterable[Any]) -> bool:
    """Whether no number is larger than the one before."""
    every = list(numbers)
    return every == sorted(every, reverse=True)


def compare_over_time(
    table: pd.DataFrame,
    keys: Sequence[str],
    pieces: Sequence[Piece],
    bins: int,
    window: tuple[int | None, int | None, Folds],
) -> None:
    """The bytes in bins of what ``pieces`` moved. What has no traffic is left out; how far whole numbers may be from
    fractions, each cell says."""
    found = {(row[:-3] if len(keys) > 1 else row[0], *row[-3:-1]): row[-1]
             for row in rows(table, *keys, "start", "end", "bytes")}  # fmt: skip
    assert len(found) == len(table)
    expected = over_time(pieces, bins, *window)
    for cell in {*found, *expected}:
        amount, slack = expected.get(cell, (Fraction(0), 0))
        # The fractions are floats.
        assert abs(found.get(cell, 0) - amount) <= slack * Fraction(1001, 1000), cell
    assert all(found.values())
    if window[:2] == (None, None):
        assert sum(found.values()) == sum(piece.amount for piece in pieces)


def check_times(table: pd.DataFrame, keys: list[str], expected: Mapping[Any, Mapping[str, Any]]) -> None:
    """That a comparison has these times, of which fractions of a ns may be lost."""
    found = {tuple(row[name] for name in keys): row for row in records(table)}
    assert len(found) == len(table)
    assert set(found) == {key if isinstance(key, tuple) else (key,) for key in expected}
    for key, values in expected.items():
        row = found[key if isinstance(key, tuple) else (key,)]
        for side in "ab":
            # Of floats, which hold 15 digits.
            assert abs(row[side] - values[side]) <= 1 + values[side] * 1e-15, (key, row, values)
        assert row["change"] == row["b"] - row["a"] and row["only"] == values["only"]
        assert same(row["ratio"], row["b"] / row["a"] if row["a"] else None)
    assert falls(table["change"].abs())
