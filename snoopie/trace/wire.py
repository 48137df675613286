"""The units in which NVLink moves data: all of one, however few of its bytes were asked for."""

from __future__ import annotations

READ, WRITTEN = 32, 16


def unit_of(operation: str, width: int) -> int:
    """The bytes of a wire unit of an instruction; ``width``: bytes a lane.

    A lane that writes 32 bytes writes two units that are always side by side, which count as one.
    """
    return READ if operation == "load" or width > WRITTEN else WRITTEN
