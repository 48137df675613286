"""Text that a spreadsheet would run: a cell that begins like a formula can open programs and send what others hold."""

from __future__ import annotations

import csv
import io
import re
from typing import Literal, TextIO

import numpy as np
import pandas as pd

# What some spreadsheets leave out before a formula: spaces, and letters that are not seen (of control, of no width,
# marks of direction).
_UNSEEN = r"\s\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
# What begins a formula, also in its wide and small forms, which some take for the same; a break, whose rest could begin
# a cell; and what stands before a formula here: the reader of a cell takes away one "'", where there is one.
# Not what follows a semicolon, where some spreadsheets divide cells: source code has it everywhere, as in "; ++i".
_BEGIN = re.compile(rf"['\t\r\n]|[{_UNSEEN}]*[-=+@＝＋－＠﹦﹢﹣﹫]")
# Texts that need no quotes in any case, and so many rows as are worth another library.
_PLAIN = re.compile(r"[\w.:/()<>*& -]+")
_MANY = 100_000


def write_csv(table: pd.DataFrame, file: TextIO, *, header: bool) -> None:
    """Writes the rows with a "'" before each text that begins so: spreadsheets know text by it. Numbers stay as they
    are, also among texts."""
    texts = {str(name): _quoted(column) for name, column in table.select_dtypes(exclude=["number", "bool"]).items()}
    if len(table) >= _MANY and _is_plain(table, texts):
        return _write_plain(table.assign(**texts), file, header=header)
    # Outside quotes a carriage return ends a row for most readers, and its rest would begin a cell.
    broken = any("\r" in text for column in texts.values() for text in column.unique() if isinstance(text, str))
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if broken else csv.QUOTE_MINIMAL
    table.assign(**texts).to_csv(file, index=False, header=header, lineterminator="\n", quoting=quoting)


def _is_plain(table: pd.DataFrame, texts: dict[str, pd.Series[str]]) -> bool:
    """Whether all columns are whole numbers, or texts that no quotes are needed for."""
    numbers = table.dtypes.drop(list(texts))
    return all(isinstance(dtype, np.dtype) and dtype.kind in "iu" for dtype in numbers) and all(
        isinstance(text, str) and _PLAIN.fullmatch(text) for column in texts.values() for text in column.unique()
    )


def _write_plain(table: pd.DataFrame, file: TextIO, *, header: bool) -> None:
    """The same rows, which pyarrow writes in a fifth of the time."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    options = arrow_csv.WriteOptions(include_header=False, quoting_style="none")
    if header:
        table.head(0).to_csv(file, index=False, lineterminator="\n")
    for first in range(0, len(table), _MANY):
        rows = io.BytesIO()
        part = pa.Table.from_pandas(table.iloc[first : first + _MANY], preserve_index=False)
        arrow_csv.write_csv(part, rows, options)
        file.write(rows.getvalue().decode())


def _quoted(column: pd.Series[str]) -> pd.Series[str]:
    # Names are few, and stand in many rows.
    named = {text: guarded(text) for text in column.unique() if isinstance(text, str) and _BEGIN.match(text)}
    return column.map(lambda value: named.get(value, value)) if named else column


def guarded(text: str) -> str:
    """A text with a "'" before what a spreadsheet would run."""
    return f"'{text}" if _BEGIN.match(text) else text
