"""Folders and files of the source by what they moved, as a tree: folders that only lead to another are one with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pandas as pd


@dataclass
class _Folder:
    path: str
    bytes: int = 0
    folders: dict[str, _Folder] = field(default_factory=dict)
    # Name, recorded path, bytes.
    files: list[tuple[str, str, int]] = field(default_factory=list)


def tree(files: pd.DataFrame) -> pd.DataFrame:
    """path name depth folder (bool) bytes share (of all): folders and files, each folder followed by what it holds.

    ``files`` has the columns file and bytes. What lies in one folder is ordered by bytes, most first, then by name. The
    path of a file is the recorded one, that of a folder ends in "/" and has no ".."; the name of a folder has several
    parts where nothing else lies on the way. A file "" is what has no source line.
    """
    root = _Folder("")
    for file, moved in zip(files["file"], files["bytes"].tolist(), strict=True):
        *folders, name = _parts(file)
        at = root
        at.bytes += moved
        for part in folders:
            at = at.folders.setdefault(part, _Folder(f"{at.path}{part}" if part == "/" else f"{at.path}{part}/"))
            at.bytes += moved
        at.files.append((name, file, moved))
    total = max(root.bytes, 1)
    rows = [(*row, row[-1] / total) for row in _rows(root)]
    columns = ["path", "name", "depth", "folder", "bytes", "share"]
    kinds = {"path": "str", "name": "str", "depth": "int64", "folder": "bool", "bytes": "int64", "share": "float64"}
    return pd.DataFrame(rows, columns=columns).astype(kinds)


def _rows(root: _Folder) -> Iterator[tuple[str, str, int, bool, int]]:
    # Not by recursion: a path can be as deep as a trace pleases.
    waiting: list[tuple[str, str, int, _Folder | None, int]] = _inside(root, 0)
    while waiting:
        path, name, depth, folder, moved = waiting.pop()
        yield path, name, depth, folder is not None, moved
        if folder is not None:
            waiting += _inside(folder, depth + 1)


def _inside(folder: _Folder, depth: int) -> list[tuple[str, str, int, _Folder | None, int]]:
    """What a folder holds, the last first."""
    held: list[tuple[str, str, int, _Folder | None, int]] = [
        (path, name, depth, None, moved) for name, path, moved in folder.files
    ]
    for name, inner in folder.folders.items():
        while not inner.files and len(inner.folders) == 1:
            ((part, inner),) = inner.folders.items()
            name = f"{name}{part}" if name.endswith("/") else f"{name}/{part}"
        held.append((inner.path, name, depth, inner, inner.bytes))
    return sorted(held, key=lambda row: (-row[4], row[1], row[0]), reverse=True)


def _parts(file: str) -> list[str]:
    """The folders of a recorded path, "/" first where it has one, then its name; "a/../b" counts as "b"."""
    parts = ["/"] if file.startswith("/") else []
    for part in file.split("/"):
        if part == ".." and parts and parts[-1] not in ("/", ".."):
            parts.pop()
        elif part == ".." and parts[-1:] == ["/"]:
            pass
        elif part not in ("", "."):
            parts.append(part)
    return parts if parts and parts != ["/"] else [file]
