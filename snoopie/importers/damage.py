"""What SQLite says of a database that is damaged."""

from __future__ import annotations

import sqlite3

# A sentence of SQLite's can quote the file, whose bytes then are no text to Python.
ERRORS = (sqlite3.Error, UnicodeDecodeError)


def reason(error: sqlite3.Error | UnicodeDecodeError) -> str:
    """The sentence."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.decode("utf-8", "replace")
    return str(error)
