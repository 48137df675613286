"""What a profiler recorded of one process, as columns of numbers that grow a chunk at a time, on disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.importers.spool import Spool

_Array = NDArray[Any]
_JOINED = "correlation"
_DEVICES = frozenset({"device", "source", "destination"})

# What stands for an end of a copy, besides the numbers of GPUs: as its name says, the host, and not known.
AS_NAMED, ON_HOST, NOT_KNOWN = -1, -2, -3


class Names(dict[str, int]):
    """Texts, numbered as they come; "" is 0, and so is what is no text."""

    def __init__(self) -> None:
        super().__init__({"": 0})

    def __missing__(self, text: object) -> int:
        if not isinstance(text, str):
            return 0
        number = self[text] = len(self)
        return number

    def numbers(self, texts: Sequence[Any]) -> NDArray[np.uint32]:
        try:
            return np.array(list(map(self.__getitem__, texts)), np.uint32)
        except TypeError:
            # Of lists and objects there is no hash.
            return np.array([self[text] if isinstance(text, str) else 0 for text in texts], np.uint32)


class Columns:
    """Columns of equal lengths that grow a chunk at a time; what has one correlation id is read back together.

    ``devices``: the numbers of GPUs that stand in them, each once.
    """

    def __init__(self, **types: Any) -> None:
        self.spool = Spool(types)
        self.devices: set[int] = set()

    @property
    def rows(self) -> int:
        return self.spool.rows

    def append(self, keep: NDArray[np.bool_], **columns: _Array) -> None:
        """The rows to be kept of a chunk."""
        kept = {name: columns[name][keep].astype(kind) for name, kind in self.spool.kinds.items()}
        for name in _DEVICES & kept.keys():
            self.devices.update(np.unique(kept[name]).tolist())
        own = columns[_JOINED][keep] if _JOINED in kept else np.zeros(int(keep.sum()), np.int64)
        self.spool.add(own.astype(np.int64), kept)


class Activity:
    """Kernels, copies, memsets and calls; what the GPU did and the call that asked for it have one correlation id.

    Times are ns after a base that comes later; a device is a number that the file gives it, or MISSING. ``wrong`` is
    the number of rows that made no sense. Kernels of NCCL have the numbers, from 1 on, of what they say of collectives.
    """

    def __init__(self) -> None:
        self.names = Names()
        self.kernels = Columns(
            start=np.int64, spent=np.int64, name=np.uint32, device=np.int32, stream=np.uint64, correlation=np.int64,
            grid_x=np.uint32, grid_y=np.uint32, grid_z=np.uint32, block_x=np.uint32, block_y=np.uint32,
            block_z=np.uint32, shared_memory=np.uint32, collective=np.uint32,
        )  # fmt: skip
        self.copies = Columns(
            start=np.int64, spent=np.int64, name=np.uint32, device=np.int32, stream=np.uint64, correlation=np.int64,
            bytes=np.int64, source=np.int32, destination=np.int32,
        )  # fmt: skip
        self.sets = Columns(device=np.int32, correlation=np.int64, bytes=np.int64)
        self.calls = Columns(
            start=np.int64, spent=np.int64, name=np.uint32, thread=np.uint32, correlation=np.int64, bytes=np.int64
        )
        self.memory = Columns(time=np.int64, device=np.int32, reserved=np.int64, allocated=np.int64)
        self.wrong = 0

    @property
    def tables(self) -> tuple[Columns, ...]:
        return self.kernels, self.copies, self.sets, self.calls, self.memory

    def used(self) -> NDArray[np.int64]:
        """The numbers of the GPUs that did anything."""
        return np.array(sorted(set().union(*(table.devices for table in self.tables))), np.int64)

    def close(self) -> None:
        """Gives up what is set aside."""
        for table in self.tables:
            table.spool.close()
