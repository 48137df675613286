"""Lines of JSON that differ in their values alone, thousands at once: bytes → columns.

Lines of one length, with their quotes in the same places, are rows of a matrix. What is the same in all rows is read
once, and of the rest the few columns of bytes that differ: several times as fast as a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.importers.snoopie_log.fields import HEX, Flags, Ints

Letters = NDArray[np.uint8]

_QUOTE, _NEWLINE, _MINUS, _ZERO = b'"\n-0'
# Some versions forget a quote, or write one too many.
_FIELD = re.compile(rb'"(\w+)": ?"?([^"\n]*?)[", ]*(?="\w+": |\}[ \t\r]*$)', re.ASCII)
_DIGITS, _HEX_DIGITS = 18, 16
# Layouts in a piece; a log has a few dozen, one for each number of digits.
_MOST_LAYOUTS = 512


class UnlikeError(Exception):
    """The lines are of several kinds, or not all of them can be read so."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Some lines as a matrix, and where in them the values are. ``rows``: their places among all lines."""

    rows: Ints
    letters: Letters
    spans: dict[str, tuple[int, int]]


class Alike:
    """The values of lines that all have the same keys, in the order of the lines."""

    def __init__(self, lines: list[bytes], renamed: Mapping[str, str]) -> None:
        """``renamed``: other names of keys. Raises UnlikeError where not all lines have the same."""
        self.rows = len(lines)
        self._layouts = [layout for rows in _by_length(lines) for layout in _layouts(rows, lines, renamed)]
        self.keys = list(self._layouts[0].spans) if self._layouts else []
        if any(list(layout.spans) != self.keys for layout in self._layouts):
            raise UnlikeError

    def numbers(self, key: str) -> tuple[Ints, Flags]:
        """The decimal numbers of a key, and where there is one; 0 elsewhere."""
        values, good = np.zeros(self.rows, np.int64), np.zeros(self.rows, np.bool_)
        for layout, letters in self._values(key):
            if not letters.shape[1]:
                continue
            negative = letters[:, 0] == _MINUS
            digits = letters.copy()
            digits[negative, 0] = _ZERO
            found, fine = _spelled(digits, 10)
            length = letters.shape[1] - negative
            fine &= (length > 0) & (length <= _DIGITS)
            number = np.where(fine, found, 0).view(np.int64)
            values[layout.rows] = np.where(negative, -number, number)
            good[layout.rows] = fine
        return values, good

    def addresses(self, key: str) -> tuple[NDArray[np.uint64], Flags]:
        """The numbers of a key that are spelled 0x…, and where there is one; 0 elsewhere."""
        values, good = np.zeros(self.rows, np.uint64), np.zeros(self.rows, np.bool_)
        for layout, letters in self._values(key):
            if not 2 < letters.shape[1] <= 2 + _HEX_DIGITS:
                continue
            found, fine = _spelled(letters[:, 2:], 16)
            fine &= (letters[:, 0] == _ZERO) & (letters[:, 1] | 32 == ord("x"))
            values[layout.rows], good[layout.rows] = np.where(fine, found, 0), fine
        return values, good

    def texts(self, key: str) -> tuple[Ints, list[str]]:
        """The distinct texts of a key, and of each line the place among them."""
        codes = np.zeros(self.rows, np.int64)
        distinct: dict[bytes, int] = {}
        for layout, letters in self._values(key):
            if not (letters[1:] != letters[0]).any():
                codes[layout.rows] = distinct.setdefault(letters[0].tobytes(), len(distinct))
                continue
            own, known = pd.factorize(np.ascontiguousarray(letters).view(f"V{letters.shape[1]}").ravel().astype(object))
            places = [distinct.setdefault(bytes(text), len(distinct)) for text in known]
            codes[layout.rows] = np.array(places, np.int64)[own]
        return codes, [text.decode("utf-8", "backslashreplace") for text in distinct]

    def _values(self, key: str) -> Iterator[tuple[_Layout, Letters]]:
        for layout in self._layouts:
            first, after = layout.spans[key]
            yield layout, layout.letters[:, first:after]


def _by_length(lines: list[bytes]) -> Iterator[Ints]:
    """The places of lines of one length."""
    yield from _equal(np.fromiter(map(len, lines), np.int64, len(lines)))


def _equal(values: Ints) -> Iterator[Ints]:
    codes, distinct = pd.factorize(values)
    if len(distinct) > _MOST_LAYOUTS:
        raise UnlikeError
    order = np.argsort(codes, kind="stable")
    if len(distinct):
        yield from np.split(order, np.searchsorted(codes[order], np.arange(1, len(distinct))))


def _layouts(rows: Ints, lines: list[bytes], renamed: Mapping[str, str]) -> Iterator[_Layout]:
    """Lines of one length: mostly what differs are the values; else their quotes tell them apart."""
    letters = np.frombuffer(b"".join([lines[row] for row in rows.tolist()]), np.uint8).reshape(len(rows), -1)
    spans = _spans(lines[int(rows[0])], renamed)
    different = _different(letters)
    quotes = letters[:, different] == _QUOTE
    if not quotes.any() and _are_values(different, spans):
        yield _Layout(rows, letters, spans)
        return
    # Equal sums do not prove equal places: what differs shows whether they are.
    for own in _equal(quotes @ (different * different)):
        spans, some = _spans(lines[int(rows[own[0]])], renamed), letters[own]
        different = _different(some)
        if (some[:, different] == _QUOTE).any() or not _are_values(different, spans):
            raise UnlikeError
        yield _Layout(rows[own], some, spans)


def _spans(line: bytes, renamed: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Where the values are in a line, by their keys."""
    spans: dict[str, tuple[int, int]] = {}
    at = 1
    for match in _FIELD.finditer(line):
        key = match[1].decode()
        key = renamed.get(key, key)
        if match.start() != at or key in spans:
            raise UnlikeError
        spans[key] = match.span(2)
        at = match.end()
    if line[:1] != b"{" or not spans or line[at:].rstrip() != b"}":
        raise UnlikeError
    return spans


def _different(letters: Letters) -> Ints:
    """Where lines differ."""
    return np.flatnonzero(np.bitwise_or.reduce(letters ^ letters[0], axis=0))


def _are_values(different: Ints, spans: Mapping[str, tuple[int, int]]) -> bool:
    """Whether all of these places are in values."""
    return all(any(first <= place < after for first, after in spans.values()) for place in different.tolist())


def _spelled(letters: Letters, base: int) -> tuple[NDArray[np.uint64], Flags]:
    """The number that each row spells, and whether it does."""
    digits = HEX[letters]
    values = np.zeros(len(letters), np.uint64)
    for place in range(letters.shape[1]):
        values = values * np.uint64(base) + digits[:, place]
    good: Flags = np.logical_and.reduce(digits < base, axis=1)
    return values, good
