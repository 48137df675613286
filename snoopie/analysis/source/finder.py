"""Where the text of a source file lies on this machine.

A path from a trace is never opened by itself: only files inside the folders that the user named are found, by their
name or by a mapping that says where what was built in one folder lies now.
"""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from snoopie.errors import UsageError

MAX_SOURCE = 8 << 20
# A named folder may be a whole home: the search for a file's name looks at no more entries than this.
_MAX_ENTRIES = 200_000
# Also folders that may be passed and not listed.
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)


@dataclass(frozen=True)
class Mapping:
    """What was ``built`` below one folder (or is that one file), as the trace names it, lies ``here``."""

    built: str
    here: str

    @classmethod
    def parse(cls, text: str) -> Mapping:
        """ "/a/b=/c/d", divided at the first "=". UsageError where a side is missing."""
        built, _, here = text.partition("=")
        if not built.strip() or not here.strip():
            raise UsageError(
                f"{text} does not map one folder to another", "use BUILT=HERE, such as /build/app=/home/me/app"
            )
        return cls(built.strip(), here.strip())

    def __str__(self) -> str:
        return f"{self.built}={self.here}"


class Finder:
    """Finds files inside folders, each of which is gone through once at most, and when that is needed.

    A mapping that fits leads to the file, that of the longest folder first; else it is the file of the same name whose
    path inside one of the folders ends most like the recorded one, the first of the folders first. Where there is no
    best one, none is found. What is found is resolved, lies inside the folder or what the mapping leads to (links that
    lead out do not count), is a regular file and has at most MAX_SOURCE bytes.
    """

    def __init__(self, folders: Iterable[str | Path], mappings: Iterable[Mapping] = ()) -> None:
        self._mappings = tuple(mappings)
        self._folders = [folder for folder in map(_Folder.at, folders) if folder]

    def find(self, file: str) -> Path | None:
        """Goes through folders as far as it takes."""
        parts = _parts(file)
        if not parts:
            return None
        return self._at_mapping(file, parts) or next(
            filter(None, (folder.find(parts) for folder in self._folders)), None
        )

    def near(self, file: str) -> Path | None:
        """What a mapping leads to, or lies where the recorded path would be right under a folder. Goes through none."""
        parts = _parts(file)
        if not parts:
            return None
        direct = (folder.direct(parts) for folder in self._folders)
        return self._at_mapping(file, parts) or next((path for path, _ in filter(None, direct)), None)

    def look(self, entries: int) -> bool:
        """Goes through so many entries of each folder at most, and on where it ended; whether all were gone through."""
        return all([folder.look(entries) for folder in self._folders])

    def _at_mapping(self, file: str, parts: Sequence[str]) -> Path | None:
        places = _mapped(file, parts, self._mappings)
        return next(filter(None, (_below(below, here) for below, here in places)), None)


class _Folder:
    """A folder, and where in it files of each name are, as far as it was gone through. For several threads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._walk = os.walk(root, followlinks=False)
        self._seen = 0
        self._ended = False
        self._places: dict[str, list[str]] = defaultdict(list)
        self._lock = Lock()

    @classmethod
    def at(cls, folder: str | Path) -> _Folder | None:
        try:
            return cls(Path(folder).resolve(strict=True))
        except (OSError, RuntimeError, ValueError):
            return None

    def look(self, entries: int) -> bool:
        """Whether it was gone through wholly, or as far as that goes at all."""
        with self._lock:
            enough = self._seen + entries
            while not self._ended and self._seen < enough:
                where, folders, names = next(self._walk, ("", [], []))
                folders.sort()
                self._seen += len(names) + len(folders)
                self._ended = not where or self._seen > _MAX_ENTRIES
                if not self._ended:
                    for name in names:
                        self._places[name].append(where)
            return self._ended

    def direct(self, parts: Sequence[str]) -> tuple[Path, int] | None:
        """As compiled in the folder itself: the longest end of the recorded path that exists, and how long that is."""
        for length in range(len(parts), 0, -1):
            found = _inside(self._root.joinpath(*parts[-length:]), self._root)
            if found:
                return found, length
        return None

    def find(self, parts: Sequence[str]) -> Path | None:
        direct = self.direct(parts)
        if direct and direct[1] == len(parts):
            return direct[0]
        self.look(_MAX_ENTRIES)
        least = direct[1] if direct else 0
        longer: dict[int, list[Path]] = defaultdict(list)
        for where in self._places.get(parts[-1], ()):
            path = Path(where, parts[-1])
            common = _common_suffix(parts, path.relative_to(self._root).parts)
            if common > least and _inside(path, self._root):
                longer[common].append(path)
        if not longer:
            return direct and direct[0]
        best = longer[max(longer)]
        return _inside(best[0], self._root) if len(best) == 1 else None


def _parts(file: str) -> list[str]:
    """The named parts of a recorded path; "a/../b" counts as "b". [] where it names no file."""
    parts: list[str] = []
    if "\0" in file or file.endswith("/"):
        return []
    for part in file.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return [] if file.split("/")[-1] in ("..", ".") else parts


def _mapped(file: str, parts: Sequence[str], mappings: Iterable[Mapping]) -> list[tuple[Sequence[str], Path]]:
    """What is left of the path below each mapping that it lies in, and where that leads, the longest mapping first."""
    fitting = []
    for mapping in mappings:
        built = _parts(mapping.built.rstrip("/"))
        # The same words from the root and from where the compiler stood are different places.
        same = file.startswith("/") == mapping.built.startswith("/")
        if same and parts[: len(built)] == built:
            fitting.append((built, mapping))
    fitting.sort(key=lambda fit: -len(fit[0]))
    return [(parts[len(built) :], Path(mapping.here).expanduser()) for built, mapping in fitting]


def _below(parts: Sequence[str], here: Path) -> Path | None:
    try:
        root = here.resolve(strict=True)
        return _inside(root.joinpath(*parts), root)
    except (OSError, RuntimeError, ValueError):
        return None


def _common_suffix(one: Sequence[str], other: Sequence[str]) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[-1 - length] == other[-1 - length]:
        length += 1
    return length


def _inside(path: Path, root: Path) -> Path | None:
    """Where the path leads, if to a small file inside the folder."""
    try:
        real = path.resolve(strict=True)
        status = real.stat()
    except (OSError, RuntimeError, ValueError):
        return None
    inside = real.is_relative_to(root) and stat.S_ISREG(status.st_mode) and status.st_size <= MAX_SOURCE
    return real if inside else None


def read_source(path: Path) -> str:
    """The text of a file that a `Finder` found, which has no link on its way. Raises UsageError where it cannot be
    read, is too large, or is no longer where it was found."""
    return read_bytes(path).decode("utf-8", "replace")


def read_bytes(path: Path) -> bytes:
    """The same, as it is stored."""
    try:
        with open(_open(path), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{path} is not a regular file", "name another source folder")
            content = file.read(MAX_SOURCE + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})", "name another source folder") from None
    if len(content) > MAX_SOURCE:
        raise UsageError(f"{path} is larger than {MAX_SOURCE >> 20} MiB", "name another source folder")
    return content


def _open(path: Path) -> int:
    """Opens a path without following a link, from folder to folder by their handles: whoever replaces one of them by a
    link after the path was found leads nowhere."""
    folder = os.open(path.anchor, _FOLDER)
    try:
        for name in path.parts[1:-1]:
            above, folder = folder, os.open(name, _FOLDER, dir_fd=folder)
            os.close(above)
        # Not blocking: the file may have become a pipe since it was found.
        return os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
