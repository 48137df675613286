"""Lines of fields between commas, millions at once: bytes → columns of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_COMMA, _NEWLINE, _RETURN, _MINUS = b",\n\r-"
# Digits of a decimal number that surely fits 64 bits, and those of an address.
_DIGITS, _HEX_DIGITS = 18, 16
_LONGEST_TEXT = 64
_MOST_FIELDS = 64
_NO_DIGIT = 255
HEX = np.full(256, _NO_DIGIT, np.uint8)
for _digit, _letters in enumerate([b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9",
                                   b"aA", b"bB", b"cC", b"dD", b"eE", b"fF"]):  # fmt: skip
    HEX[list(_letters)] = _digit


@dataclass(frozen=True, slots=True)
class Lines:
    """Some lines that have equally many fields. ``number`` is the place of each among the ``total`` of a piece."""

    data: NDArray[np.uint8]
    total: int
    number: Ints
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.number)

    @property
    def fields(self) -> int:
        return int(self.begins.shape[1])

    def decimals(self, field: int) -> tuple[Ints, Flags]:
        """The numbers in a field, and where there is one; 0 elsewhere."""
        begin, end = self.begins[:, field], self.ends[:, field]
        negative = (begin < end) & (self.data[begin] == _MINUS)
        values, good = self._digits(begin + negative, end, 10, _DIGITS)
        values = values.view(np.int64)
        return np.where(negative, -values, values), good

    def addresses(self, field: int) -> tuple[NDArray[np.uint64], Flags]:
        """The numbers that a field spells 0x…, and where there is one; 0 elsewhere."""
        begin, end = self.begins[:, field], self.ends[:, field]
        # Behind the end of the last line there is nothing.
        second = self.data[np.minimum(begin + 1, len(self.data) - 1)]
        spelled = (end - begin > 2) & (self.data[begin] == ord("0")) & (second | 32 == ord("x"))
        values, good = self._digits(begin + 2, np.maximum(end, begin + 2), 16, _HEX_DIGITS)
        return np.where(spelled, values, 0), good & spelled

    def texts(self, field: int) -> tuple[list[str], Ints, Flags]:
        """The distinct texts of a field, the place of each line's among them, and where it is short enough."""
        begin, end = self.begins[:, field], self.ends[:, field]
        length = end - begin
        good = length <= _LONGEST_TEXT
        width = int(length[good].max(initial=1))
        places = begin[:, None] + np.arange(max(width, 1))
        letters = np.where(places < end[:, None], self.data[np.minimum(places, len(self.data) - 1)], 0)
        # Neighbours are mostly alike; only the first of each run is compared with all others.
        first = np.ones(len(self), np.bool_)
        first[1:] = (letters[1:] != letters[:-1]).any(axis=1)
        rows = np.ascontiguousarray(letters[first]).view(f"S{letters.shape[1]}").ravel()
        place, distinct = pd.factorize(rows.astype(object))
        texts = [row.decode("utf-8", "backslashreplace") for row in distinct]
        return texts, place[np.cumsum(first) - 1], good

    def _digits(self, begin: Ints, end: Ints, base: int, most: int) -> tuple[NDArray[np.uint64], Flags]:
        length = end - begin
        good = (length > 0) & (length <= most)
        values = np.zeros(len(begin), np.uint64)
        for place in range(int(length[good].max(initial=0))):
            inside = place < length
            digit = HEX[self.data[np.minimum(begin + place, len(self.data) - 1)]]
            good &= ~inside | (digit < base)
            values = np.where(inside, values * np.uint64(base) + digit, values)
        return np.where(good, values, 0), good


def lines_by_fields(piece: bytes) -> tuple[list[Lines], int]:
    """The lines of a piece of text that ends with a newline, those with equally many fields together.

    Lines of very many fields are left out, and empty ones. Also the number of lines that are not empty.
    """
    data = np.frombuffer(piece, np.uint8)
    ends = np.flatnonzero(data == _NEWLINE)
    # Empty lines first, of which a file can have any number.
    filled = np.diff(ends, prepend=-1) > 1
    begins, ends = np.concatenate([[0], ends[:-1] + 1])[filled], ends[filled]
    commas = np.flatnonzero(data == _COMMA)
    before = np.searchsorted(commas, begins)
    counts = np.searchsorted(commas, ends) - before
    ends = ends - ((ends > begins) & (data[ends - 1] == _RETURN))
    some = ends > begins
    groups = []
    for count in np.unique(counts[some & (counts < _MOST_FIELDS)]).tolist():
        number = np.flatnonzero(some & (counts == count))
        separators = commas[before[number][:, None] + np.arange(count)] if count else np.empty((len(number), 0), int)
        first = np.concatenate([begins[number][:, None], separators + 1], axis=1)
        last = np.concatenate([separators, ends[number][:, None]], axis=1)
        groups.append(Lines(data, len(ends), number, first, last))
    return groups, int(some.sum())
