"""The database that is exported has what was loaded."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import snoopie
from snoopie import cli
from snoopie.errors import SnoopieError
from snoopie.exporters.sqlite import KEYS, export
from snoopie.exporters.tables import LANES, TABLES
from tests.support import mixed, ring
from tests.support.encoder import TraceBuilder


def ask(path: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(question).fetchall()


def same(path: Path, name: str, table: pd.DataFrame) -> None:
    """All columns and rows, with values as they were; those with an id in its order."""
    if table.index.name is not None:
        table = table.sort_index().reset_index()
    with closing(sqlite3.connect(path)) as database:
        cursor = database.execute(f'SELECT * FROM "{name}"')
        assert [column[0] for column in cursor.description] == list(table.columns), name
        found = cursor.fetchall()
    assert len(found) == len(table), name
    for column, values in zip(table.columns, zip(*found, strict=True), strict=False):
        kept: list[Any] = list(values)
        if table[column].dtype == "uint64":
            kept = np.array(kept, np.int64).view(np.uint64).tolist()
        assert kept == [expected(value) for value in table[column].tolist()], (name, column)


def expected(value: Any) -> Any:
    if isinstance(value, float) and value != value:
        return None
    return value if isinstance(value, (int, float, str)) else str(value)


@pytest.fixture
def trace(tmp_path: Path) -> snoopie.Trace:
    """Two processes with copies, NCCL and all kinds of owners, one of four GPUs with records of each shape."""
    folder = tmp_path / "traces"
    folder.mkdir()
    mixed.write_mixed(folder)
    more = ring.ring_builder(pid=4713)
    more.bulk(1, 1, 1, 2**63 + 1, 2**40)
    more.copy(254, 1, 2**54 + 1, gpu=1, stream=2**64 - 1)
    more.function("k<\"a\", 'b'>(int,\n  float) → é")
    more.write(folder / "ring.zst")
    return snoopie.load(folder, all_runs=True)


def test_every_table_comes_back(trace: snoopie.Trace, tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    rows = export(trace, path, lanes=True)
    tables = {name: pd.concat(list(pieces(trace))) for name, pieces in (TABLES | LANES).items()}
    assert rows == {name: len(table) for name, table in tables.items()}
    assert {name for (name,) in ask(path, "SELECT name FROM sqlite_master WHERE type = 'table'")} == set(tables)
    for name, table in tables.items():
        same(path, name, table)
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


def test_unsigned_values_keep_their_bits(trace: snoopie.Trace, tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    export(trace, path)
    found = ask(path, "SELECT base, printf('%x', base) FROM records WHERE shape = 'bulk'")
    assert found == [(2**63 + 1 - 2**64, "8000000000000001")]
    assert ask(path, "SELECT printf('%x', stream) FROM copies WHERE bytes = 18014398509481985") == [("f" * 16,)]


def test_what_differs_has_an_index(trace: snoopie.Trace, tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    export(trace, path)
    indexes = {name for (name,) in ask(path, "SELECT name FROM sqlite_master WHERE type = 'index'")}
    for (table,) in ask(path, "SELECT name FROM sqlite_master WHERE type = 'table'"):
        for _, column, _, _, _, primary in ask(path, f'PRAGMA table_info("{table}")'):
            if column in KEYS and not primary:
                values = len(ask(path, f'SELECT DISTINCT "{column}" FROM "{table}"'))
                assert (f"{table} by {column}" in indexes) == (values > 1), (table, column)
    assert {"counts by launch", "counts by process"} <= indexes
    assert "frames by process" not in indexes


def test_joins_go_by_indexes(trace: snoopie.Trace, tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    export(trace, path)
    question = (
        "SELECT sites.file, sites.line, sum(counts.bytes) FROM counts JOIN sites USING (site) "
        "JOIN launches USING (launch) WHERE launches.kernel LIKE 'ring_get%' GROUP BY 1, 2"
    )
    assert ask(path, question) == [(ring.SHIFT_H, 4, 8192)]
    plan = " ".join(row[3] for row in ask(path, "EXPLAIN QUERY PLAN SELECT * FROM counts WHERE launch = 3"))
    assert "counts by launch" in plan
    plan = " ".join(row[3] for row in ask(path, "EXPLAIN QUERY PLAN SELECT * FROM launches WHERE launch = 3"))
    assert "INTEGER PRIMARY KEY" in plan


def test_of_an_empty_trace(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    export(snoopie.load(TraceBuilder(2).write(tmp_path / "quiet.zst")), path)
    assert ask(path, "SELECT count(*), sum(bytes), max(launch) FROM counts") == [(0, None, None)]


def test_nothing_is_overwritten_without_force(ring_path: Path, tmp_path: Path) -> None:
    trace, mine = snoopie.load(ring_path), tmp_path / "out" / "mine.sqlite"
    mine.parent.mkdir()
    mine.write_text("mine")
    with pytest.raises(SnoopieError, match="already exists; name another file, or overwrite with --force"):
        export(trace, mine)
    assert mine.read_text() == "mine"
    export(trace, mine, force=True)
    assert ask(mine, "SELECT sum(bytes) FROM traffic_by_pair") == [(ring.TOTALS["bytes"],)]
    assert [path.name for path in mine.parent.iterdir()] == ["mine.sqlite"]
    with pytest.raises(SnoopieError, match="is a folder"):
        export(trace, tmp_path, force=True)
    with pytest.raises(SnoopieError, match="cannot be written"):
        export(trace, ring_path / "below.sqlite")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), sqlite3.OperationalError("disk is full")])
def test_a_failure_leaves_nothing_behind(
    ring_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    trace, folder = snoopie.load(ring_path), tmp_path / "out"

    def full(*_: object) -> None:
        raise error

    monkeypatch.setattr("snoopie.exporters.sqlite._create", full)
    with pytest.raises(SnoopieError, match=r"cannot be written \((No space left on device|disk is full)\)"):
        export(trace, folder / "x.sqlite")
    assert list(folder.iterdir()) == []


def test_the_command_says_where_and_what_next(
    ring_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "it's here.sqlite"
    words = ["export", str(ring_path), "--format", "sqlite", "-o", str(path)]
    assert cli.main(words) == 0
    done = capsys.readouterr()
    assert done.out == f"wrote {len(TABLES)} tables, {path.stat().st_size:,} bytes, to {path}\n"
    told = subprocess.run(
        done.err.removeprefix("Next: "), shell=True, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert told[0].startswith("('GPU 3', 'GPU 0', ")
    assert cli.main(words) == 1
    assert cli.main([*words, "--force", "--lanes"]) == 0
    assert ask(path, "SELECT count(*) FROM lane_accesses") == [(ring.TOTALS["lanes"],)]
