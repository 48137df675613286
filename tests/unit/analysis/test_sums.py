"""Sums by keys are those of pandas, in its order and with its types."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from snoopie.analysis import sums

ROWS = 500


def table(rows: int = ROWS) -> pd.DataFrame:
    random = np.random.default_rng(rows)
    names = np.array(["", "put", "a long name"])
    return pd.DataFrame(
        {
            "number": random.integers(-3, 3, rows),
            "name": pd.Series(names[random.integers(0, 3, rows)], dtype="str"),
            "kernel": pd.Categorical.from_codes(random.integers(0, 2, rows), categories=["k", "l", "never"]),
            "weight": random.choice([1.0, 2.5], rows),
            "address": random.integers(-(1 << 62), 1 << 62, rows),
            "bytes": random.integers(0, 1 << 60, rows),
            "lanes": random.integers(0, 33, rows),
        }
    )


def expected(table: pd.DataFrame, keys: list[str], values: list[str]) -> pd.DataFrame:
    return table.groupby(keys, observed=True, sort=False)[values].sum().reset_index()


@pytest.mark.parametrize("rows", [0, 1, ROWS])
@pytest.mark.parametrize(
    "keys", [["number"], ["name"], ["kernel"], ["kernel", "name", "number", "weight"], ["address", "number", "kernel"]]
)
def test_sums_are_those_of_pandas(keys: list[str], rows: int) -> None:
    values = ["lanes", "bytes"]
    found = sums.by(table(rows), keys, values)
    pd.testing.assert_frame_equal(found, expected(table(rows), keys, values), check_index_type=False)


def test_combinations_that_fit_into_no_number() -> None:
    """Keys of so many values that their products go beyond 64 bits."""
    rows = 40_000
    some = pd.DataFrame({f"key {number}": np.arange(rows) // (number + 1) for number in range(6)}).assign(bytes=1)
    keys = [*some.columns[:-1]]
    pd.testing.assert_frame_equal(sums.by(some, keys, ["bytes"]), expected(some, keys, ["bytes"]))


def test_what_is_left_to_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows without a key, sums of numbers that are not whole, and many rows."""
    some = table()
    some.loc[::7, "name"] = pd.NA
    pd.testing.assert_frame_equal(sums.by(some, ["name"], ["bytes"]), expected(some, ["name"], ["bytes"]))
    pd.testing.assert_frame_equal(sums.by(some, ["kernel"], ["weight"]), expected(some, ["kernel"], ["weight"]))
    monkeypatch.setattr(sums, "_MANY", 10)
    pd.testing.assert_frame_equal(sums.by(some, ["kernel"], ["bytes"]), expected(some, ["kernel"], ["bytes"]))


def test_rows_of_any_index() -> None:
    some = table().iloc[::-1]
    pd.testing.assert_frame_equal(sums.by(some, ["kernel"], ["bytes"]), expected(some, ["kernel"], ["bytes"]))


@pytest.mark.parametrize("rows", [0, 1, ROWS])
def test_codes_are_the_rows_of_sums(rows: int) -> None:
    some = table(rows)
    keys = ["kernel", "name"]
    codes = sums.codes(some, keys)
    found = sums.by(some, keys, ["bytes"])
    assert codes.tolist() == some.groupby(keys, observed=True, sort=False).ngroup().tolist()
    pd.testing.assert_frame_equal(
        found[keys].astype("str").iloc[codes].reset_index(drop=True), some[keys].astype("str").reset_index(drop=True)
    )
