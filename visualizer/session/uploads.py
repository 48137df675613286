"""Traces that a browser sent: kept in a folder of the server until it ends."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import BinaryIO, Protocol

import streamlit as st


class Upload(Protocol):
    """A file from a browser."""

    name: str

    def getbuffer(self) -> memoryview: ...


@st.cache_resource(show_spinner=False)
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="snoopie-")


def keep(files: Sequence[Upload]) -> list[str]:
    """Where they lie now: together, as the traces of a run, and under their own names."""
    folder = Path(tempfile.mkdtemp(dir=_folder().name))
    paths = []
    for number, file in enumerate(files):
        # A name from elsewhere is no path here.
        path = folder / (PurePath(file.name.replace("\\", "/")).name or f"{number}.zst")
        _write(path.open("xb"), file)
        paths.append(str(path))
    return paths


def has(path: str) -> bool:
    """Whether a file is one that a browser sent, which is gone when the server ends."""
    return Path(path).is_relative_to(_folder().name)


def _write(to: BinaryIO, file: Upload) -> None:
    with to:
        to.write(file.getbuffer())
