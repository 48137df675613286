"""Amounts that add up to what 63 bits hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import NDArray

from snoopie.errors import CorruptError
from snoopie.trace.tables import Process

# Sums stay below this, so that twice as much still fits 63 bits (a flow counts an atomic twice) and so does adding two.
LIMIT = 1 << 61


def check_sums(what: str, sources: Sequence[Process], parts: Iterable[Sequence[NDArray[Any]]]) -> None:
    """Refuses columns, which come part by part, with negative numbers, or whose sums reach LIMIT."""
    sums: list[float] = []
    for columns in parts:
        sums = [
            before + (float(column.sum(dtype=float)) if column.min(initial=0) >= 0 else LIMIT)
            for before, column in zip(sums or [0.0] * len(columns), columns, strict=True)
        ]
    if any(total >= LIMIT for total in sums):
        names = ", ".join(str(source.path) for source in sources)
        raise CorruptError(f"the {what} of {names} add up to more than any machine can move", "record it again")
