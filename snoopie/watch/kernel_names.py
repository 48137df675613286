"""Names of kernels that a program asked for before it was watched, from its memory.

A handle points to a structure of the driver that somewhere points to the name, directly or through another one. Where,
nobody documents, and versions differ. So it is learnt: from handles whose names are known, because the program asked
for them while it was watched; else from a place at which each of several handles has the mangled name of another
function. What is not that certain stays unknown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping

import numpy as np

from snoopie.watch.elf import demangled

# Bytes of the structure, and of those that it points to, in which a name is looked for; and of a name.
_OUTER, _INNER, _NAME = 1024, 256, 1024
_PAGE = 4096
_IDENTIFIER = re.compile(rb"[A-Za-z_$.][\w$.]{2,}")
# Handles by which a place is learnt, at most.
_ENOUGH = 4
# Places in the structures, one for each pointer that is followed.
Path = tuple[int, ...]


class Layouts:
    """Places of names that have proved right, for all processes: most have the same driver."""

    def __init__(self) -> None:
        self.proved: list[Path] = []

    def names(self, pid: int, unknown: Collection[int], known: Mapping[int, str]) -> dict[int, str]:
        """The mangled names of those handles of which they can be told."""
        try:
            memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return {}
        try:
            found = {handle: _texts(memory, handle) for handle in unknown}
            for path in self._learnt(memory, known):
                if path not in self.proved:
                    self.proved.append(path)
        finally:
            os.close(memory)
        return _by_place(found, self.proved) or _by_agreement(found)

    def _learnt(self, memory: int, known: Mapping[int, str]) -> list[Path]:
        """The places that hold the names of handles whose names are known."""
        some = list(known.items())[-_ENOUGH:]
        if not some or self.proved:
            return []
        texts = [(_texts(memory, handle), name) for handle, name in some]
        return [path for path in texts[0][0] if all(own.get(path) == name for own, name in texts)]


def _by_place(found: Mapping[int, Mapping[Path, str]], places: Collection[Path]) -> dict[int, str]:
    for path in places:
        names = {handle: texts[path] for handle, texts in found.items() if path in texts}
        if names:
            return names
    return {}


def _by_agreement(found: Mapping[int, Mapping[Path, str]]) -> dict[int, str]:
    """Names at a place where each of several handles has another, and all are those of functions."""
    if len(found) < 2:
        return {}
    for path in sorted(next(iter(found.values())), key=len):
        names = {handle: texts.get(path, "") for handle, texts in found.items()}
        if len(set(names.values())) == len(names) and all(map(_is_function, names.values())):
            return names
    return {}


def _is_function(name: str) -> bool:
    return name.startswith("_Z") and "(" in demangled(name)


def _texts(memory: int, handle: int) -> dict[Path, str]:
    """What could be a name, by where a pointer to it is."""
    found: dict[Path, str] = {}
    inner: list[tuple[int, int]] = []
    for place, pointer in _pointers(memory, handle, _OUTER):
        if text := _text(memory, pointer):
            found[place,] = text
        else:
            inner.append((place, pointer))
    for place, outer in inner:
        for other, pointer in _pointers(memory, outer, _INNER):
            if text := _text(memory, pointer):
                found[place, other] = text
    return found


def _pointers(memory: int, address: int, size: int) -> list[tuple[int, int]]:
    data = _read(memory, address, size)
    words = np.frombuffer(data[: len(data) // 8 * 8], np.uint64)
    # Of user space.
    likely = np.flatnonzero((words >= 1 << 16) & (words < 1 << 47))
    return [(8 * int(place), int(words[place])) for place in likely]


def _text(memory: int, address: int) -> str:
    data, end, _ = _read(memory, address, _NAME).partition(b"\0")
    return data.decode() if end and _IDENTIFIER.fullmatch(data) else ""


def _read(memory: int, address: int, size: int) -> bytes:
    try:
        return os.pread(memory, size, address)
    except (OSError, OverflowError):
        pass
    # What comes after this page may not be there.
    try:
        return os.pread(memory, min(size, _PAGE - address % _PAGE), address)
    except (OSError, OverflowError):
        return b""
