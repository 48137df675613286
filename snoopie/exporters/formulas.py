"""Text that a spreadsheet would run: a cell that begins like a formula can open programs and send what others hold."""

from __future__ import annotations

import csv
from typing import Literal, TextIO

import pandas as pd

# What begins a formula, and what stands before one here: the reader of a cell takes away one "'", where there is one.
_BEGIN = ("=", "+", "-", "@", "\t", "\r", "'")


def write_csv(table: pd.DataFrame, file: TextIO, *, header: bool) -> None:
    """Writes the rows with a "'" before each text that begins so: spreadsheets know text by it. Numbers stay as they
    are."""
    texts = {str(name): _quoted(column) for name, column in table.select_dtypes(exclude=["number", "bool"]).items()}
    # Outside quotes a carriage return ends a row for most readers, and its rest would begin a cell.
    broken = any("\r" in text for column in texts.values() for text in column.unique() if isinstance(text, str))
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if broken else csv.QUOTE_MINIMAL
    table.assign(**texts).to_csv(file, index=False, header=header, lineterminator="\n", quoting=quoting)


def _quoted(column: pd.Series[str]) -> pd.Series[str]:
    # Names are few, and stand in many rows.
    named = {text: f"'{text}" for text in column.unique() if isinstance(text, str) and text.startswith(_BEGIN)}
    return column.replace(named) if named else column
