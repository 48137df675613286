"""A time axis whose marks the server makes: where they stand, and what they say in a unit that suits what is shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from snoopie.analysis.time.folding import Folding

_UNITS = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))
_MARKS = 8


def unit(length: int) -> tuple[str, int]:
    """The largest unit of which a time has at least ten, and its nanoseconds."""
    return next(((name, size) for size, name in _UNITS if length >= 10 * size), ("ns", 1))


def axis(first: int, last: int, origin: int, folding: Folding | None = None) -> dict[str, Any]:
    """A plotly axis from ``first`` to ``last`` (host ns); its values are ns after ``origin``, without the folds. What
    stands at its marks is the time that it is there."""
    folding = folding or Folding(())
    low, high = (folding.folded(np.array([first, last])) - origin).tolist()
    step = _step(high - low)
    # 0.5 s, but 200 ms, as in the timeline (components/timeline_time.js).
    name, size = next((name, size) for size, name in _UNITS if 2 * step >= size)
    # After a fold, marks are at no round times.
    digits = 0 if step >= (10 * size if folding and size > 1 else size) else 1
    marks = np.arange(-(-low // step) * step, high + 1, step)
    moments = folding.starts(marks + origin) - origin
    return {
        "range": [low, high],
        "fixedrange": True,
        "tickvals": marks.tolist(),
        "ticktext": [f"{moment / size:,.{digits}f}" for moment in moments],
        "title": {"text": f"{name} after the start"},
    }


def _step(length: int) -> int:
    """1, 2 or 5 times a power of ten, so that few marks cover a length."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if length <= _MARKS * factor * power:
                return factor * power
        power *= 10
