"""What a profiler recorded of one process, as columns of numbers that grow a chunk at a time.

A row takes a few dozen bytes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[Any]

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
    """Columns of equal lengths that grow a chunk at a time."""

    def __init__(self, **types: Any) -> None:
        self._types = types
        self._parts: dict[str, list[_Array]] = {name: [] for name in types}
        self.rows = 0

    def append(self, keep: NDArray[np.bool_], **columns: _Array) -> None:
        """The rows to be kept of a chunk."""
        for name, kind in self._types.items():
            self._parts[name].append(columns[name][keep].astype(kind))
        self.rows += int(keep.sum())

    def column(self, name: str) -> _Array:
        """One of the columns."""
        return np.concatenate([np.zeros(0, self._types[name]), *self._parts[name]])

    def join(self) -> dict[str, _Array]:
        """The columns, each in one piece; those of a Columns can be taken once."""
        joined = {}
        for name, kind in self._types.items():
            joined[name] = np.concatenate([np.zeros(0, kind), *self._parts.pop(name)])
        return joined


class Activity:
    """Kernels, copies, memsets and calls; what the GPU did and the call that asked for it have one correlation id.

    Times are ns after a base that comes later; a device is a number that the file gives it, or MISSING. ``wrong`` is
    the number of rows that made no sense.
    """

    def __init__(self) -> None:
        self.names = Names()
        self.kernels = Columns(
            start=np.int64, spent=np.int64, name=np.uint32, device=np.int32, stream=np.uint64, correlation=np.int64,
            grid_x=np.uint32, grid_y=np.uint32, grid_z=np.uint32, block_x=np.uint32, block_y=np.uint32,
            block_z=np.uint32, shared_memory=np.uint32,
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
