"""The declared columns of a table, and the content of a block → their values."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.trace.roles import UNSIGNED, Role

# A column is an array of rows values, of rows × n values, or of strings (dtype object).
Columns = dict[str, NDArray[Any]]

_TYPE = re.compile(r"([uif]|delta)([1248])(?:\[([1-9][0-9]{0,3})\])?")
_SIZES = {"u": "1248", "i": "1248", "f": "48", "delta": "48"}


class LongStringError(Exception):
    """A string is longer than allowed, ``length`` bytes."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length


@dataclass(frozen=True, slots=True)
class Type:
    """How values are stored. ``dtype`` is None for strings; ``width`` values a row.

    ``delta`` is the number of bytes of a stored difference, 0 where values are stored as they are.
    """

    name: str
    dtype: np.dtype[Any] | None
    width: int = 1
    delta: int = 0

    @staticmethod
    @lru_cache(64)
    def parse(name: str) -> Type | None:
        """The type of a name in a declaration, None for one that Snoopie does not know."""
        if name == "utf8":
            return Type(name, None)
        match = _TYPE.fullmatch(name)
        if match is None or match[2] not in _SIZES[match[1]]:
            return None
        delta = int(match[2]) if match[1] == "delta" else 0
        return Type(name, np.dtype("<u8" if delta else "<" + match[1] + match[2]), int(match[3] or 1), delta)

    def size(self, rows: int) -> int | None:
        """Bytes of so many rows; None for strings."""
        if self.dtype is None:
            return None
        return 8 + rows * self.width * self.delta if self.delta else rows * self.width * self.dtype.itemsize

    def accepts(self, other: Type) -> bool:
        """Whether a trace may declare the other type for this one: both strings, or both as many integers a row."""
        if self.dtype is None or other.dtype is None:
            return self.dtype is other.dtype
        return other.dtype.kind in "ui" and self.width == other.width


@dataclass(frozen=True, slots=True)
class Column:
    """One declared column. A trace may lack one that is not ``required``."""

    name: str
    stored: Type
    unit: str
    role: Role
    required: bool
    doc: str

    @property
    def kept(self) -> type[Any]:
        """What its values are in memory: strings, int64, or, of addresses and handles, uint64."""
        if self.stored.dtype is None:
            return object
        return np.uint64 if self.role.name in UNSIGNED else np.int64


# Equal only to itself: all files of a job share theirs, and what is known of one is found by it.
@dataclass(frozen=True, slots=True, eq=False)
class TableSchema:
    """One declared table. A trace may lack one that is not ``required``."""

    name: str
    id: int
    required: bool
    doc: str
    columns: dict[str, Column]

    def size(self, rows: int) -> int | None:
        """Bytes of so many rows; None where they hold strings."""
        sizes = [size for column in self.columns.values() if (size := column.stored.size(rows)) is not None]
        return sum(sizes) if len(sizes) == len(self.columns) else None

    def least(self, rows: int) -> int:
        """Bytes that so many rows have at least: strings may be empty, but not their lengths."""
        sizes = (column.stored.size(rows) for column in self.columns.values())
        return sum(4 * rows if size is None else size for size in sizes)

    def decode(
        self, content: bytes, rows: int, only: Collection[str] | None = None, longest: int | None = None
    ) -> Columns:
        """The columns of a block, or ``only`` some. ValueError where the content is not exactly ``rows`` rows,
        LongStringError where a string is longer than allowed."""
        columns: Columns = {}
        position = 0
        for name, column in self.columns.items():
            stored = column.stored
            size = stored.size(rows)
            if size is None or stored.dtype is None:
                values, position = _decode_text(content, position, rows, longest)
            else:
                if position + size > len(content):
                    raise ValueError(f"is too short for {rows} rows of {self.name}")
                if only is not None and name not in only:
                    position += size
                    continue
                if stored.delta:
                    values = _decode_differences(content, position, rows * stored.width, stored.delta)
                else:
                    values = np.frombuffer(content, stored.dtype, rows * stored.width, position)
                if stored.width != 1:
                    values = values.reshape(rows, stored.width)
                position += size
            columns[name] = values
        if position != len(content):
            raise ValueError(f"is too long for {rows} rows of {self.name}")
        return columns


def decode(text: bytes) -> str:
    """A string of a trace. It is whatever the program's files held: odd bytes stay visible, and refuse no trace."""
    return text.decode("utf-8", "backslashreplace")


def _decode_text(content: bytes, position: int, rows: int, longest: int | None) -> tuple[NDArray[Any], int]:
    if position + 4 * rows > len(content):
        raise ValueError(f"is too short for the lengths of {rows} strings")
    lengths = np.frombuffer(content, "<u4", rows, position)
    position += 4 * rows
    ends = position + np.cumsum(lengths, dtype=np.int64)
    stop = int(ends[-1]) if rows else position
    if stop > len(content):
        raise ValueError(f"is too short for {rows} strings")
    if longest is not None and rows and int(lengths.max()) > longest:
        raise LongStringError(int(lengths.max()))
    values = np.empty(rows, dtype=object)
    begin = position
    for row, end in enumerate(ends.tolist()):
        values[row] = decode(content[begin:end])
        begin = end
    return values, stop


def _decode_differences(content: bytes, position: int, count: int, size: int) -> NDArray[np.uint64]:
    """Values stored as the lowest one, then differences of ``size`` bytes, byte by byte: see docs/trace-format.md."""
    lowest = np.frombuffer(content, "<u8", 1, position)
    planes = np.frombuffer(content, np.uint8, count * size, position + 8).reshape(size, count)
    folded = planes[0].astype(f"<u{size}")
    for number, plane in enumerate(planes[1:], start=1):
        # The high bytes of small differences are all 0.
        if count and plane.max():
            folded |= plane.astype(folded.dtype) << folded.dtype.type(8 * number)
    one = folded.dtype.type(1)
    differences = folded >> one
    differences ^= ~(folded & one) + one
    # Sums of differences are modulo 2^(8 × size), as the differences are.
    offsets: NDArray[Any] = np.cumsum(differences, dtype=differences.dtype)
    values: NDArray[np.uint64] = offsets.astype(np.uint64, copy=False)
    values += lowest
    return values
