"""What tables of millions of rows amount to, found part by part: no more of them is in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from snoopie.joined.columns import JoinedColumns
from snoopie.joined.gpus import UNKNOWN
from snoopie.trace.tables import Ints


@dataclass(frozen=True, slots=True)
class Copied:
    """All copies: how many, their bytes, and of how many it is not known what memory one of the ends is."""

    copies: int
    bytes: int
    unknown: int

    @classmethod
    def of(cls, columns: JoinedColumns) -> Copied:
        size = unknown = 0
        for part in columns.parts("copies", ("source", "destination", "bytes")):
            ends = (part.joined("copies", name) for name in ("source", "destination"))
            unknown += int(np.logical_or(*(places == UNKNOWN for places in ends)).sum())
            size += int(part.raw("copies", "bytes").sum())
        return cls(columns.length("copies"), size, unknown)


def launched_functions(columns: JoinedColumns) -> Ints:
    """The functions that were launched, each once."""
    parts = columns.parts("launches", ("function",))
    found = [np.unique(part.joined("launches", "function")) for part in parts]
    return np.unique(np.concatenate([np.empty(0, np.int64), *found]))
