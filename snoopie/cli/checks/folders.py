"""Folders that a run uses: whether they take files, and whether code can be loaded from them."""

import os
from pathlib import Path

from snoopie.cli import tool
from snoopie.cli.checks.row import Row, ok, problem, refusal, warning
from snoopie.words import units

# NVBit puts the code of one function at a time there.
_LEAST, _COMFORTABLE = 16 << 20, 512 << 20


def scratch() -> Row:
    """NVBit's folder for temporary files."""
    name = str(tool.SCRATCH)
    if refused := tool.unwritable_scratch():
        return refusal(name, refused)
    try:
        state = os.statvfs(tool.SCRATCH)
    except OSError as error:
        return problem(name, f"cannot be looked at: {error.strerror}", "make it a folder that you can write to")
    return room(name, state.f_bavail * state.f_frsize)


def room(name: str, free: int) -> Row:
    """Whether so many bytes are enough there."""
    found = f"writable, {units.bytes(free)} free"
    if free < _LEAST:
        return problem(name, found, "delete what is not needed there: NVBit puts the code that it instruments there")
    if free < _COMFORTABLE:
        return warning(name, found, "make room: libraries with large kernels need some hundred MiB")
    # Mounted with noexec it serves as well: nothing in it is executed.
    return ok(name, found)


def executable(folder: Path) -> bool:
    """Whether the system loads code from this folder: it does not where it is mounted with noexec."""
    try:
        return not os.statvfs(folder).f_flag & os.ST_NOEXEC
    except OSError:
        return True
