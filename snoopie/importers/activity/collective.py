"""One call of NCCL, as other tools tell of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


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
