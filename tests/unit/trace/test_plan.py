"""What is worked out once for a declared table: how its columns are kept, and which are looked at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from snoopie.trace.columns import TableSchema, Type
from snoopie.trace.declaration import known_tables
from snoopie.trace.plan import plan_of
from snoopie.trace.roles import Codes, Role


def declared(table: str, **types: str) -> TableSchema:
    """A table as this package declares it, but with other types; "" leaves a column out."""
    known = known_tables()[table]
    columns = {}
    for name, column in known.columns.items():
        stored = Type.parse(types.get(name, column.stored.name))
        if stored is not None:
            columns[name] = replace(column, stored=stored)
    return replace(known, columns=columns)


def test_a_table_is_planned_once() -> None:
    tables = [declared("objects"), declared("objects", thread="u8")]
    assert plan_of(tables[0]) is plan_of(tables[0])
    assert plan_of(tables[0]) != plan_of(tables[1])


def test_values_are_kept_whatever_their_type_was() -> None:
    wide = {"start": "u8", "end": "i8"}
    for types in ({}, wide, {name: "u4" for name in wide}):
        table = declared("spans", **types)
        rows = {name: np.arange(3).astype(column.stored.dtype) for name, column in table.columns.items()}
        columns = plan_of(table).columns(rows, 3)
        assert {values.dtype for values in columns.values()} == {np.dtype(np.int64)}
        assert all(values.tolist() == [0, 1, 2] for values in columns.values())
        only = plan_of(table).columns(rows, 3, ("end",))
        assert list(only) == ["end"]


def test_a_column_that_is_not_declared_is_zero() -> None:
    table = declared("spans", end="")
    rows = {name: np.full(3, 7, column.stored.dtype) for name, column in table.columns.items()}
    columns = plan_of(table).columns(rows, 3)
    assert columns["end"].tolist() == [0, 0, 0] and columns["start"].tolist() == [7, 7, 7]


def test_a_number_beyond_the_type_of_today() -> None:
    table = declared("spans", end="i8")
    rows = {name: np.full(3, 7, column.stored.dtype) for name, column in table.columns.items()}
    rows["end"][1] = -1
    with pytest.raises(ValueError, match=r"spans\.end below 0"):
        plan_of(table).columns(rows, 3)


@pytest.mark.parametrize(
    ("role", "right", "wrong"),
    [
        ("gpu", [0, 3], [-1, 4, 1 << 62, -(1 << 63)]),
        ("gpu or unknown", [0, 3, 255], [-1, 4, 254]),
        ("owner", [0, 3, 200, 254, 255], [-1, 4, 199, 256]),
        ("set", [200, 253], [-1, 3, 254, 255]),
        ("operations", [0, 1], [-1, 2]),
        ("flag", [0, 1], [-1, 2]),
        ("log2", [0, 63], [-1, 64]),
    ],
)
def test_numbers_that_mean_something(role: str, right: list[int], wrong: list[int]) -> None:
    codes = Codes(gpus=4, host=254, unknown=255, first_set=200, lists={"operations": ("load", "store")})
    assert codes.mean_something(Role(role, ""), np.array(right))
    for number in wrong:
        assert not codes.mean_something(Role(role, ""), np.array([*right, number])), number
