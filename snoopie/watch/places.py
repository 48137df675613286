"""Addresses of a process → files, and places in them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from snoopie.watch.elf import ElfFile

# Seconds between two looks at the mappings of a process, which may load files at any time.
_AGAIN = 1.0


@dataclass(frozen=True, slots=True)
class Mapping:
    """Addresses from ``start`` to before ``end`` show a file from ``offset`` on."""

    start: int
    end: int
    offset: int
    path: str
    inode: int


class Files:
    """The files that processes have mapped, each read once."""

    def __init__(self) -> None:
        self._files: dict[tuple[int, int], ElfFile] = {}

    def get(self, pid: int, mapping: Mapping) -> ElfFile:
        """The file of a mapping."""
        found = where(pid, mapping)
        if found is None:
            return ElfFile(Path())
        path, status = found
        key = (status.st_dev, status.st_ino)
        if key not in self._files:
            self._files[key] = ElfFile(path)
        return self._files[key]


def where(pid: int, mapping: Mapping) -> tuple[Path, os.stat_result] | None:
    """A mapping's file as its process sees it, or, of a process that has ended, as it is here. None if it is gone."""
    for path in (Path(f"/proc/{pid}/root{mapping.path}"), Path(mapping.path)):
        try:
            status = path.stat()
        except OSError:
            continue
        # Another file may have taken its place.
        if status.st_ino == mapping.inode:
            return path, status
    return None


class Mappings:
    """What a process has mapped, read when an address is asked for that is in nothing known."""

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        self._path = proc / str(pid) / "maps"
        self._mappings: list[Mapping] = []
        self._read_at = float("-inf")

    def find(self, address: int) -> Mapping | None:
        """The mapping of a file that holds an address."""
        found = self._known(address)
        if found is None and time.monotonic() - self._read_at > _AGAIN:
            self.read()
            found = self._known(address)
        return found

    def read(self) -> None:
        """Reads what is mapped now. Of a process that has ended, what was known stays."""
        self._read_at = time.monotonic()
        try:
            text = self._path.read_text("utf-8", "replace")
        except OSError:
            return
        mappings = []
        for line in text.splitlines():
            words = line.split(None, 5)
            if len(words) < 6 or not words[5].startswith("/") or "x" not in words[1]:
                continue
            start, end = (int(word, 16) for word in words[0].split("-"))
            mappings.append(Mapping(start, end, int(words[2], 16), words[5].removesuffix(" (deleted)"), int(words[4])))
        if mappings:
            self._mappings = mappings

    def _known(self, address: int) -> Mapping | None:
        return next((one for one in self._mappings if one.start <= address < one.end), None)
