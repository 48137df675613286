"""Text that a spreadsheet would run: a cell that begins like a formula can open programs and send what others hold."""

from __future__ import annotations

import csv
import re
from typing import Literal, TextIO

import pandas as pd

# What some spreadsheets leave out before a formula: spaces, and letters that are not seen (of control, of no width,
# marks of direction).
_UNSEEN = r"\s\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
# What begins a formula, also in its wide and small forms, which some take for the same; a break, whose rest could begin
# a cell; and what stands before a formula here: the reader of a cell takes away one "'", where there is one.
# Not what follows a semicolon, where some spreadsheets divide cells: source code has it everywhere, as in "; ++i".
_BEGIN = re.compile(rf"['\t\r\n]|[{_UNSEEN}]*[-=+@＝＋－＠﹦﹢﹣﹫]")


def write_csv(table: pd.DataFrame, file: TextIO, *, header: bool) -> None:
    """Writes the rows with a "'" before each text that begins so: spreadsheets know text by it. Numbers stay as they
    are, also among texts."""
    texts = {str(name): _quoted(column) for name, column in table.select_dtypes(exclude=["number", "bool"]).items()}
    # Outside quotes a carriage return ends a row for most readers, and its rest would begin a cell.
    broken = any("\r" in text for column in texts.values() for text in column.unique() if isinstance(text, str))
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if broken else csv.QUOTE_MINIMAL
    table.assign(**texts).to_csv(file, index=False, header=header, lineterminator="\n", quoting=quoting)


def _quoted(column: pd.Series[str]) -> pd.Series[str]:
    # Names are few, and stand in many rows.
    named = {text: guarded(text) for text in column.unique() if isinstance(text, str) and _BEGIN.match(text)}
    return column.map(lambda value: named.get(value, value)) if named else column


def guarded(text: str) -> str:
    """A text with a "'" before what a spreadsheet would run."""
    return f"'{text}" if _BEGIN.match(text) else text
