"""A question that is never answered."""

from __future__ import annotations

from pathlib import Path

import snoopie


def endless(trace: snoopie.Trace, begun: Path) -> None:
    """Works, once it has made a file that says so, until the process ends."""
    begun.touch()
    while True:
        pass
