"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from snoopie.errors import SnoopieError


def check_free(path: Path, *, force: bool = False) -> None:
    """SnoopieError if a file is there already (unless ``force``) or a folder."""
    if path.is_dir():
        raise SnoopieError(f"{path} is a folder", "name a file in it")
    if path.exists() and not force:
        raise SnoopieError(f"{path} already exists", "name another file, or overwrite with --force")


@contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Another path to write to: what is there at the end takes the name ``path``, and nothing after an error.

    SnoopieError if the file already exists (unless ``force``) or cannot be written.
    """
    check_free(path, force=force)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder, so that the rename stays within one file system.
        folder = tempfile.mkdtemp(prefix=".snoopie-", dir=path.parent)
        unfinished = Path(folder, path.name)
        try:
            yield unfinished
            os.replace(unfinished, path)
        finally:
            with suppress(FileNotFoundError):
                unfinished.unlink()
            os.rmdir(folder)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SnoopieError(f"{path} cannot be written ({reason})", "name another file, or free space") from error
