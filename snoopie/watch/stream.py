"""The frames that `snoopie_watch` writes: watch/src/abi.h in Python."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray


class Frame(IntEnum):
    """What a frame holds."""

    START = 0
    PROCESS = 1
    NAMES = 2
    STACK = 3
    EVENTS = 4
    SUMS = 5
    TIMES = 6
    ERRORS = 7
    MEMORY = 8
    LIVE = 9
    LOST = 10
    END = 11
    NOTE = 12
    ATTACHED = 13
    TICK = 14


class Kind(IntEnum):
    """What a driver function does, as far as single calls of it are told."""

    ALLOCATE = 1
    PITCHED = 2
    ARRAY = 3
    CREATE = 4
    MAP = 5
    REGISTER = 6
    FREE = 7
    LAUNCH = 8
    LAUNCH_EX = 9
    GRAPH = 10
    COPY = 11
    COPY_PEER = 12
    COPY_2D = 13
    COPY_3D = 14
    CONTEXT_ENDED = 26


MADE = (Kind.ALLOCATE, Kind.PITCHED, Kind.ARRAY, Kind.CREATE, Kind.MAP, Kind.REGISTER)
COPIED = (Kind.COPY, Kind.COPY_PEER, Kind.COPY_2D, Kind.COPY_3D)
LAUNCHED = (Kind.LAUNCH, Kind.LAUNCH_EX)

# In the place of a GPU.
ON_HOST, NOT_KNOWN = -1, -2
PHYSICAL = 10
# What the tables and rings of the kernel part can lose, in the order of the frame.
LOST = ("events", "calls", "sums", "objects", "stacks", "names", "news")

EVENT = np.dtype(
    [
        ("start", "u8"), ("end", "u8"), ("pid", "u4"), ("tid", "u4"), ("function", "u2"), ("kind", "u1"),
        ("direction", "u1"), ("code", "i4"), ("gpu", "i2"), ("destination", "i2"), ("source", "i2"), ("object", "i2"),
        ("stack", "i4"), ("shared_memory", "u4"), ("address", "u8"), ("other", "u8"), ("bytes", "u8"),
        ("stream", "u8"), ("context", "u8"), ("caller", "u8"), ("grid", "u4", 3), ("block", "u4", 3),
    ],
    align=True,
)  # fmt: skip
SUMS = np.dtype(
    [
        ("kernel", "u8"), ("pid", "u4"), ("tid", "u4"), ("function", "u2"), ("gpu", "i2"), ("direction", "u4"),
        ("calls", "u8"), ("errors", "u8"), ("total", "u8"), ("least", "u8"), ("most", "u8"), ("bytes", "u8"),
    ]
)  # fmt: skip
TIMES = np.dtype([("pid", "u4"), ("tid", "u4"), ("function", "u2"), ("gpu", "i2"), ("calls", "u8", 48)])
ERRORS = np.dtype([("pid", "u4"), ("tid", "u4"), ("function", "u2"), ("gpu", "i2"), ("code", "i4"), ("calls", "u8")])
MEMORY = np.dtype(
    [
        ("pid", "u4"), ("gpu", "i2"), ("object", "i2"), ("allocated", "u8"), ("freed", "u8"), ("allocations", "u8"),
        ("frees", "u8"),
    ]
)  # fmt: skip
LIVE = np.dtype(
    [
        ("address", "u8"), ("pid", "u4"), ("handle", "u4"), ("bytes", "u8"), ("time", "u8"), ("caller", "u8"),
        ("context", "u8"), ("tid", "u4"), ("stack", "i4"), ("gpu", "i2"), ("object", "i2"), ("function", "u2"),
        ("zero", "u2"),
    ]
)  # fmt: skip
NEWS = np.dtype([("news", "u4"), ("pid", "u4"), ("time", "u8"), ("uid", "u4"), ("zero", "u4"), ("program", "S16")])
NAME = np.dtype([("function", "u8"), ("pid", "u4"), ("zero", "u4"), ("name", "S1024")])
_ROWS = {
    Frame.EVENTS: EVENT, Frame.SUMS: SUMS, Frame.TIMES: TIMES, Frame.ERRORS: ERRORS, Frame.MEMORY: MEMORY,
    Frame.LIVE: LIVE, Frame.NAMES: NAME, Frame.PROCESS: NEWS, Frame.END: NEWS,
}  # fmt: skip
_NUMBERS = {Frame.STACK: "<u8", Frame.LOST: "<u8", Frame.TICK: "<u8"}
_HEADER = struct.Struct("=II")


@dataclass(frozen=True, slots=True)
class Start:
    """The beginning: what to add to times of the stream to have host times, and the names of functions by number."""

    offset: int
    functions: list[str]


def frames(stream: IO[bytes]) -> Iterator[tuple[Frame, Any]]:
    """The frames until the stream ends: an array of rows or of numbers, a text, or a `Start`."""
    while header := stream.read(_HEADER.size):
        if len(header) < _HEADER.size:
            return
        number, size = _HEADER.unpack(header)
        content = stream.read(size)
        # Where it was killed.
        if len(content) < size:
            return
        yield Frame(number), _content(Frame(number), content)


def _content(frame: Frame, content: bytes) -> Any:
    if frame is Frame.START:
        names = content[8:].split(b"\0")[:-1]
        return Start(int.from_bytes(content[:8], "little", signed=True), [name.decode() for name in names])
    if frame in (Frame.NOTE, Frame.ATTACHED):
        return content.decode("utf-8", "replace")
    rows: NDArray[Any] = np.frombuffer(content, _ROWS[frame] if frame in _ROWS else _NUMBERS[frame])
    return rows
