"""Files that are written whole or not at all.

A file takes its name when it is complete: it is written beside, and renamed. What has no content to lose (a pipe, a
device, standard output) is written to, never replaced, and only once all is there; a terminal is shown it so that
nothing steers it. A link stays: what it points to is written.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from snoopie.errors import SnoopieError
from snoopie.unwinding import unwound
from snoopie.words.text import visible_lines

# What the process has open already, by its number.
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d{1,6})")
_STREAMS = {"-": 1, "/dev/stdout": 1, "/dev/stderr": 2}
# Bytes, or letters, that are written at a time.
_PART = 1 << 20
_REMEDIES = {
    errno.ENOSPC: "free space",
    errno.EDQUOT: "free space",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.EROFS: "it is read-only",
}


def check_free(path: Path, *, force: bool = False, other: str = "another file") -> None:
    """SnoopieError if something is there already (unless ``force``) or if it is a folder.

    ``other``: what the remedy is to name. Standard output, as ``-`` or by its name, is always free.
    """
    if _descriptor(path) is not None:
        return
    try:
        folder = path.is_dir()
    except OSError as error:
        raise cannot_write(path, error, other) from error
    if folder:
        raise SnoopieError(f"{path} is a folder", "name a file in it")
    if os.path.lexists(path) and not force:
        raise SnoopieError(f"{path} already exists", f"name {other}, or overwrite with --force")


def to_standard_output(path: Path) -> bool:
    """Whether what is written to this path goes to standard output."""
    return _descriptor(path) == 1


def cannot_write(path: Path, error: OSError | ValueError, other: str = "another file") -> SnoopieError:
    """What the system said about writing, as a sentence with a remedy."""
    remedy = _REMEDIES.get(getattr(error, "errno", None) or 0)
    reason = getattr(error, "strerror", None) or str(error)
    return SnoopieError(f"{path} cannot be written ({reason})", f"name {other}" + (f", or {remedy}" if remedy else ""))


@contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Another path to write to: what is there at the end becomes the content of ``path``, and nothing after an error.

    SnoopieError if it already exists (unless ``force``) or cannot be written.
    """
    with whole_files([path], force=force) as (unfinished,):
        yield unfinished


@contextmanager
def whole_files(
    paths: Sequence[Path], *, force: bool = False, named: Path | None = None, other: str = "another file"
) -> Iterator[list[Path]]:
    """The same for several: none takes its name before all are complete.

    An error of the system names ``named`` (default: the first path), and its remedy ``other``.
    """
    for path in paths:
        check_free(path, force=force, other=other)
    with unwound():
        yield from _written(paths, named, other)


def _written(paths: Sequence[Path], named: Path | None, other: str) -> Iterator[list[Path]]:
    folders: dict[Path | None, Path] = {}
    try:
        beside = [_folder(path) for path in paths]
        for folder in beside:
            if folder not in folders:
                # It has a name before it is there: a signal may come at any moment.
                folders[folder] = (folder or Path(tempfile.gettempdir())) / f".snoopie-{secrets.token_hex(16)}"
                folders[folder].mkdir(mode=0o700)
        unfinished = [folders[folder] / path.name for folder, path in zip(beside, paths, strict=True)]
        yield unfinished
        for content, path, folder in zip(unfinished, paths, beside, strict=True):
            if folder is None:
                _pour(content, path)
            else:
                os.replace(content, folder / os.path.basename(os.path.realpath(path)))
    except BrokenPipeError:
        # Who read has seen enough: that is no error of writing.
        raise
    except OSError as error:
        raise cannot_write(named or paths[0], error, other) from error
    finally:
        for place in folders.values():
            shutil.rmtree(place, ignore_errors=True)


def _descriptor(path: Path) -> int | None:
    text = str(path)
    if text in _STREAMS:
        return _STREAMS[text]
    found = _DESCRIPTOR.fullmatch(text)
    return int(found[1]) if found else None


def _folder(path: Path) -> Path | None:
    """Where a file is, made if missing, so that it can be renamed within one file system; None for what is no file."""
    if _descriptor(path) is not None or (path.exists() and not path.is_file()):
        return None
    folder = Path(os.path.realpath(path)).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        # What exists is a file.
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
    return folder


def _pour(content: Path, path: Path) -> None:
    number = _descriptor(path)
    if number == 1:
        sys.stdout.flush()
    # Standard output stays open for others.
    with open(path if number is None else os.dup(number), "wb") as target:
        if target.isatty():
            _show(content, target)
            return
        with content.open("rb") as file:
            shutil.copyfileobj(file, target, _PART)


def _show(content: Path, terminal: BinaryIO) -> None:
    """Writes a file to a terminal, which acts on some letters: they are seen instead, and so are bytes of no text."""
    with content.open(encoding="utf-8", errors="backslashreplace", newline="") as file:
        while part := file.read(_PART):
            terminal.write(visible_lines(part).encode())
