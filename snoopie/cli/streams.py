"""Standard output and standard error, whatever they are: closed, full, a pipe without a reader, ASCII alone."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from typing import TextIO

# What stands for the letters of our own words where a stream cannot show them; of others their code does.
_PLAIN = {
    "→": "->", "←": "<-", "↓": "v", "…": "...", "–": "-", "—": "-", "≈": "~", "≤": "<=", "≥": ">=",
    "×": "x", "·": ".", "µ": "u", "“": '"', "”": '"', "‘": "'", "’": "'",
}  # fmt: skip
# Of a write that fails, whatever it is to.
_FAILED_WRITES = (errno.EPIPE, errno.ENOSPC, errno.EBADF, errno.EFBIG, errno.EDQUOT, errno.EIO)


def prepare() -> None:
    """Has both take any text. One that was closed can be written to, and fails when it is flushed."""
    # As a stream that is full: that nobody reads the answer is said then, and only where there is one.
    sys.stdout = sys.stdout or _nowhere(os.O_RDONLY)
    # None would be standard output, to `print`.
    sys.stderr = sys.stderr or _nowhere(os.O_WRONLY)
    codecs.register_error("snoopie", _plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="snoopie")


def failed(error: OSError) -> bool:
    """Whether it comes from writing to one of them. What cannot be written is then dropped, also when Python ends."""
    broken = [stream for stream in (sys.stdout, sys.stderr) if not _flushed(stream)]
    for stream in broken:
        # Python would complain once more when it flushes at its end.
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    # Without a buffer (PYTHONUNBUFFERED) nothing is left to be flushed. Files are named in their errors.
    return bool(broken) or (error.filename is None and error.errno in _FAILED_WRITES)


def _nowhere(mode: int) -> TextIO:
    return open(os.open(os.devnull, mode | os.O_CLOEXEC), "w", encoding="utf-8")


def _flushed(stream: TextIO) -> bool:
    try:
        stream.flush()
    except OSError:
        return False
    return True


def _plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    plain = "".join(_PLAIN.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in letters)
    return plain, error.end
