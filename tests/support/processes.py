"""The processes of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def stats() -> Iterator[tuple[int, list[str]]]:
    """Each one's number, and what its `stat` says after its name, which may hold anything: state, parent, …"""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield int(stat.parent.name), text.rpartition(")")[2].split()
