"""An axis of bytes, with marks where people expect them."""

from __future__ import annotations

from typing import Any

from snoopie.words import units


def binary(highest: float, lowest: float = 0) -> dict[str, Any]:
    """From the lowest to the highest number of bytes, with marks at multiples of a power of two."""
    highest, lowest = max(int(highest), 1), min(int(lowest), 0)
    step = 1
    while highest - lowest > 5 * step:
        step *= 2
    marks = range(-(-lowest // step) * step, int(highest * 1.1) + 1, step)
    return {
        "range": [lowest * 1.1, highest * 1.1],
        "tickvals": list(marks),
        "ticktext": [units.bytes(mark) for mark in marks],
    }
