"""Amounts that add up to what 63 bits hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from snoopie.errors import CorruptError
from snoopie.trace.tables import Process

# Sums stay below this, so that twice as much still fits 63 bits (a flow counts an atomic twice) and so does adding two.
LIMIT = 1 << 61


def check_sums(what: str, sources: Sequence[Process], columns: Sequence[NDArray[Any]]) -> None:
    """Refuses columns with negative numbers, or whose sums reach LIMIT."""
    if any(float(column.sum(dtype=float)) >= LIMIT or column.min(initial=0) < 0 for column in columns):
        names = ", ".join(str(source.path) for source in sources)
        raise CorruptError(f"the {what} of {names} add up to more than any machine can move", "record it again")
