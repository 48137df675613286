"""Values of JSON, which can be anything, → arrays of numbers in which MISSING stands for what is none."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.importers.amounts import LIMIT

Ints = NDArray[np.int64]

MISSING = -(1 << 63)
# Longer texts are no numbers of any recording.
_LONGEST = 40


def nanoseconds(values: Sequence[Any]) -> Ints:
    """Times in µs, as numbers or as texts with a fraction, exactly; MISSING for none and for those out of bounds."""
    return np.array([_nanoseconds(value) for value in values], np.int64)


def _nanoseconds(value: Any) -> int:
    try:
        if type(value) is str:
            # What the profiler writes: three digits behind the point.
            if value[-4] == ".":
                whole, part = value[:-4], value[-3:]
                exact = int(whole + part) if part.isdecimal() and whole.isascii() else _exact(value)
            else:
                exact = _exact(value)
        elif type(value) is int:
            exact = 1000 * value
        else:
            return MISSING
    except (ValueError, IndexError):
        exact = _exact(value)
    return exact if -LIMIT < exact < LIMIT else MISSING


def _exact(text: str) -> int:
    try:
        number = Decimal(text) if len(text) <= _LONGEST else Decimal("NaN")
        return int((1000 * number).to_integral_value()) if number.is_finite() and number.adjusted() < 20 else MISSING
    except (InvalidOperation, ValueError):
        return MISSING


def whole(value: Any) -> int | None:
    """A whole number, also where it is spelled as a text ("0x7f00", "2560"); None for anything else."""
    if type(value) is int:
        return value
    if type(value) is not str or len(value) > _LONGEST:
        return None
    try:
        return int(value, 0) if value[:2].lower() == "0x" else int(value)
    except ValueError:
        nanos = _nanoseconds(value)
        return nanos // 1000 if nanos != MISSING and nanos % 1000 == 0 else None


def wholes(values: Sequence[Any], below: int, least: int = 0) -> Ints:
    """Whole numbers from ``least`` up to ``below``, MISSING for anything else."""
    try:
        found = np.array(values)
    except (ValueError, OverflowError):
        found = np.array([], object)
    if found.dtype.kind != "i" or found.ndim != 1:
        numbers = [whole(value) for value in values]
        return np.array(
            [MISSING if number is None or not least <= number < below else number for number in numbers], np.int64
        )
    return np.where((found >= least) & (found < below), found, MISSING).astype(np.int64)


def handles(values: Sequence[Any]) -> NDArray[np.uint64]:
    """Unsigned numbers of 64 bits, 0 for anything else."""
    numbers = wholes(values, 1 << 63)
    if (numbers != MISSING).all():
        return numbers.astype(np.uint64)
    exact = [whole(value) for value in values]
    return np.array([number if number is not None and 0 <= number < 1 << 64 else 0 for number in exact], np.uint64)


def shapes(values: Sequence[Any]) -> NDArray[np.uint32]:
    """Three extents a row, 0 where they are not known."""
    try:
        found = np.array(values)
        if found.shape == (len(values), 3) and found.dtype.kind == "i" and found.min() >= 0 and found.max() < 1 << 32:
            return found.astype(np.uint32)
    except (ValueError, OverflowError):
        pass
    rows = []
    for value in values:
        extents = [whole(part) for part in value] if isinstance(value, list) and len(value) == 3 else []
        sane = [part for part in extents if part is not None and 0 <= part < 1 << 32]
        rows.append(sane if len(sane) == 3 else [0, 0, 0])
    return np.array(rows, np.uint32).reshape(-1, 3)
