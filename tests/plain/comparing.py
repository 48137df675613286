"""Tables of analyses against the rows that plain loops found."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd


def check_table(
    table: pd.DataFrame, keys: Sequence[str], expected: Mapping[Any, Mapping[str, Any]], most: str = "bytes"
) -> None:
    """That a table has a row for each of some keys and no other, with these values, most of something first."""
    assert set(table.columns) == {*keys, *(name for row in expected.values() for name in row)} or not expected
    rows = table.to_dict("records")
    found: dict[Hashable, dict[Hashable, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        assert key not in found
        found[key] = row
    assert set(found) == {key if isinstance(key, tuple) else (key,) for key in expected}
    for key, values in expected.items():
        row = found[key if isinstance(key, tuple) else (key,)]
        for name, value in values.items():
            assert same(row[name], value), (key, name, row[name], value)
    if most:
        falls([row[most] for row in rows])


def same(found: Any, expected: Any) -> bool:
    """Whether a value is the expected one: None stands for NaN, floats may differ in their last places."""
    if expected is None:
        return isinstance(found, float) and math.isnan(found)
    if isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-9)
    return bool(found == expected) and not isinstance(found, float)


def falls(numbers: Iterable[Any]) -> None:
    """That no number is larger than the one before."""
    every = list(numbers)
    assert every == sorted(every, reverse=True)
