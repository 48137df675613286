"""Parquet, CSV, SQLite and pandas have the same tables, and these are all that a trace has."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

import snoopie
from snoopie.errors import UsageError
from snoopie.exporters import folder, sqlite
from snoopie.exporters.tables import LANES, TABLES, frames
from snoopie.trace.declaration import known_tables
from tests.support import everything, mixed

# Tables of the trace's format that have no table of their own, and where their columns are.
WITHIN = {
    "strings": "functions",
    "frees": "objects",
    "patterns": "records",
    "scattered": "records",
    "bulk": "records",
}


@pytest.fixture
def trace(tmp_path: Path) -> snoopie.Trace:
    """Two ranks, and a process with rows in every table."""
    there = tmp_path / "traces"
    there.mkdir()
    mixed.write_mixed(there)
    everything.everything_builder().write(there / "every.zst")
    return snoopie.load(there, all_runs=True)


@pytest.fixture
def tables(trace: snoopie.Trace) -> dict[str, pd.DataFrame]:
    return frames(trace, lanes=True)


def test_no_table_is_missing(trace: snoopie.Trace, tables: dict[str, pd.DataFrame]) -> None:
    every = set(known_tables())
    assert {WITHIN.get(name, name) for name in every} <= set(TABLES)
    assert set(WITHIN) <= every
    # Every table of the package itself, and every one has a row here, so that what follows compares something.
    own = {name for name in dir(type(trace)) if not name.startswith("_")}
    attributes = {name for name in own if isinstance(getattr(trace, name), pd.DataFrame)}
    assert attributes - {"places"} <= set(TABLES)
    assert [name for name, table in tables.items() if table.empty] == []


def test_references_point_somewhere(tables: dict[str, pd.DataFrame]) -> None:
    for name, column, target, key in (
        ("launches", "stack", "stacks", "stack"),
        ("objects", "stack", "stacks", "stack"),
        ("copies", "stack", "stacks", "stack"),
        ("stacks", "caller", "stacks", "stack"),
        ("stacks", "frame", "frames", "frame"),
        ("symbols", "frame", "frames", "frame"),
        ("frames", "module", "modules", "module"),
        ("sampling", "function", "functions", "function"),
        ("traffic_by_object", "object", "objects", "object"),
    ):
        used = set(tables[name][column]) - {0}
        assert used, (name, column)
        assert used <= set(tables[target][key]), (name, column)


def test_parquet_has_the_same(trace: snoopie.Trace, tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    paths = folder.export(trace, tmp_path / "out", "parquet", lanes=True)
    assert set(paths) == set(tables) == {*TABLES, *LANES}
    for name, table in tables.items():
        found = pd.read_parquet(paths[name])
        assert pyarrow.parquet.read_schema(paths[name]).names == list(table.columns), name
        pd.testing.assert_frame_equal(found, table, check_exact=True, check_categorical=False, obj=name)


def test_csv_has_the_same(trace: snoopie.Trace, tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    paths = folder.export(trace, tmp_path / "out", "csv", lanes=True)
    assert set(paths) == set(tables)
    for name, table in tables.items():
        # Text has no types: what is read must fit those of the table, to the last digit.
        text = {column: str for column in table.columns if table[column].dtype.kind not in "iufb"}
        types: dict[Any, Any] = table.dtypes.to_dict() | text
        found = pd.read_csv(paths[name], dtype=types, keep_default_na=False, na_values={n: [""] for n in floats(table)})
        assert list(found.columns) == list(table.columns), name
        for column in table.columns:
            assert same(found[column], table[column]), (name, column)


def test_sqlite_has_the_same(trace: snoopie.Trace, tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    assert sqlite.export(trace, path, lanes=True) == {name: len(table) for name, table in tables.items()}
    kinds = {"i": "INTEGER", "u": "INTEGER", "b": "INTEGER", "f": "REAL"}
    with closing(sqlite3.connect(path)) as database:
        for name, table in tables.items():
            declared = {row[1]: row[2] for row in database.execute(f'PRAGMA table_info("{name}")')}
            assert declared == {column: kinds.get(kind(table[column]), "TEXT") for column in table.columns}, name
            rows = database.execute(f'SELECT * FROM "{name}" ORDER BY rowid').fetchall()
            # A key is the row's number: such a table is in its order.
            order = table
            if any(row[5] for row in database.execute(f'PRAGMA table_info("{name}")')):
                order = table.sort_values(str(table.columns[0]), ignore_index=True)
            for column, values in zip(table.columns, zip(*rows, strict=True), strict=True):
                kept = pd.Series(values)
                if order[column].dtype == "uint64":
                    kept = pd.Series(np.array(values, np.int64).view(np.uint64))
                assert same(kept, order[column]), (name, column)


def test_one_table(trace: snoopie.Trace, tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    assert list(frames(trace, "stacks")) == ["stacks"]
    folder.export_table(trace, "stacks", tmp_path / "x.parquet", "parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "x.parquet"), tables["stacks"])
    assert sqlite.export(trace, tmp_path / "x.sqlite", table="stacks") == {"stacks": len(tables["stacks"])}
    with pytest.raises(UsageError, match="there is no table stack; choose one of runs, "):
        folder.export_table(trace, "stack", tmp_path / "y.csv", "csv")


def kind(column: pd.Series[Any]) -> str:
    return str(column.dtype.kind)


def floats(table: pd.DataFrame) -> list[str]:
    return [str(column) for column in table.columns if kind(table[column]) == "f"]


def same(found: pd.Series[Any], expected: pd.Series[Any]) -> bool:
    """Equal in every row, as numbers or as text; what is not a number equals only itself."""
    if kind(expected) in "iufb":
        return np.array_equal(found.to_numpy(expected.dtype), expected.to_numpy(), equal_nan=kind(expected) == "f")
    return found.astype(str).tolist() == expected.astype(str).tolist()
