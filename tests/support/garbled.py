"""A database whose schema is wrong in a sentence that is no UTF-8."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def garble(path: Path) -> None:
    """Spoils the schema of a database: SQLite says which table is wrong, by the bytes of its name."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE SPOILED (id)")
        database.commit()
    data = (
        path.read_bytes().replace(b"CREATE TABLE SPOILED", b"CREATE TABLX SPOILED").replace(b"SPOILED", b"SPO\xffLED")
    )
    path.write_bytes(data)
