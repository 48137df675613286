"""Mutations of SQLite databases: of cells, rows, columns and tables, now and then of the file's bytes."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from random import Random
from typing import Any

from tests.fuzz import raw
from tests.fuzz.numbers import NUMBERS, TEXTS, near


def mutate(data: bytes, random: Random) -> bytes:
    """Another database, whose file is whole nine times in ten."""
    if random.random() < 0.1:
        return raw.mutate(data, random)
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.deserialize(data)
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            # What others would do when this is opened is not to be done here.
            connection.execute("PRAGMA trusted_schema = OFF")
            if names:
                # A change that this database does not allow is none.
                with suppress(sqlite3.Error, OverflowError):
                    _change(connection, random.choice(names), random)
            connection.commit()
            return connection.serialize()
        except (sqlite3.Error, OverflowError, UnicodeDecodeError):
            return raw.mutate(data, random)


def _change(connection: sqlite3.Connection, table: str, random: Random) -> None:
    name = _quoted(table)
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
    rows = [row for (row,) in connection.execute(f"SELECT rowid FROM {name} ORDER BY rowid LIMIT 1000")]
    column = _quoted(random.choice(columns))
    way = random.randrange(20)
    if way == 0:
        connection.execute(f"DROP TABLE {name}")
    elif way == 1:
        connection.execute(f"ALTER TABLE {name} DROP COLUMN {column}")
    elif way == 2:
        connection.execute(
            f"ALTER TABLE {name} RENAME COLUMN {column} TO {_quoted(random.choice(('x', 'id', 'value')))}"
        )
    elif way == 3:
        connection.execute(f"DELETE FROM {name}")
    elif way == 4:
        connection.execute(f"CREATE VIEW view AS SELECT * FROM {name}")
    elif rows and way <= 6:
        connection.execute(f"DELETE FROM {name} WHERE rowid = ?", (random.choice(rows),))
    elif rows and way <= 8:
        for _ in range(random.choice((1, 2, 50))):
            connection.execute(f"INSERT INTO {name} SELECT * FROM {name} WHERE rowid = ?", (random.choice(rows),))
    elif rows:
        row = random.choice(rows)
        found = connection.execute(f"SELECT {column} FROM {name} WHERE rowid = ?", (row,)).fetchone()
        value = found[0] if found else None
        where, values = ("WHERE rowid = ?", (row,)) if random.random() < 0.8 else ("", ())
        connection.execute(f"UPDATE {name} SET {column} = ? {where}", (_other(value, random), *values))


def _other(value: Any, random: Random) -> Any:
    if isinstance(value, int) and random.random() < 0.7:
        number = near(value, random)
        return number if -(1 << 63) <= number < 1 << 63 else number % (1 << 62)
    numbers = [number for number in NUMBERS if number < 1 << 63]
    texts = [text.encode("utf-8", "replace").decode() for text in TEXTS]
    return random.choice((None, 0.5, float("inf"), b"\xff\0", "", *random.sample(numbers, 4), *random.sample(texts, 4)))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
