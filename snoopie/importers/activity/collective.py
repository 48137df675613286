"""One call of NCCL, as other tools tell of it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.trace.writer import TableWriter


@dataclass(frozen=True, slots=True)
class Collective:
    """One call of NCCL, as a rank made it."""

    operation: str
    reduction: str
    type: str
    count: int
    bytes: int
    peer: int
    communicator: int
    rank: int
    ranks: int


def identity(text: str) -> int:
    """A communicator's handle: equal in all processes that write the same of it."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()) >> 1


def columns_of(writer: TableWriter, calls: Sequence[Collective]) -> dict[str, NDArray[Any]]:
    """What calls have in common in the table of collectives, whoever made them and when."""
    numbers = {name: np.int64 for name in ("count", "bytes", "peer", "rank", "ranks")} | {"communicator": np.uint64}
    texts = ("operation", "reduction", "type")
    return {name: np.array([getattr(call, name) for call in calls], kind) for name, kind in numbers.items()} | {
        name: writer.intern_all(getattr(call, name) for call in calls) for name in texts
    }
