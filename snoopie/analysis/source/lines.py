"""Source lines: what the lines of a file moved, and where its text lies on this machine.

A path from a trace is never opened by itself: only files inside the folders that the user named are found, by their
name or by a mapping that says where what was built in one folder lies now.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np
import pandas as pd

from snoopie.analysis.traffic import counts as _counts
from snoopie.errors import UsageError

MAX_SOURCE = 8 << 20
# A named folder may be a whole home: the search for a file's name looks at no more entries than this.
_MAX_ENTRIES = 200_000
# Of functions that are inlined into one another.
_MOST_STEPS = 32
# In which the instructions of one line are inlined.
_MOST_WAYS = 8
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


def file_lines(traffic: pd.DataFrame, file: str) -> pd.DataFrame:
    """The lines of one file with traffic, in the order of the file: line, kernel, VALUES, wire_efficiency."""
    table = _counts.by_line(traffic[traffic["file"] == file])
    return table.drop(columns="file").sort_values("line", ignore_index=True)


def of_line(traffic: pd.DataFrame, file: str, line: int) -> pd.DataFrame:
    """The part of a joined traffic table that belongs to one line; ("", 0) is all that has no line."""
    return traffic[(traffic["file"] == file) & (traffic["line"] == line)]


def line_chain(lines: pd.DataFrame, line_id: int) -> list[tuple[str, int, str]]:
    """(file, line, function) of a line, then of the line that it was inlined at, and so on outward. [] for 0."""
    chain: list[tuple[str, int, str]] = []
    while line_id:
        if line_id not in lines.index:
            raise UsageError(
                f"there is no line with id {line_id}", "take an id from trace.lines or trace.sites.line_id"
            )
        row = lines.loc[[line_id]].iloc[0]
        chain.append((row["file"], int(row["line"]), row["function"]))
        line_id = int(row["inlined_at"])
    return chain


def inlined(lines: pd.DataFrame, line_ids: Iterable[int]) -> list[str]:
    """Of each of these lines how its code came to be where it is, as in "inlined: shift.h:4 (shifted) ← ring.cu:12"; ""
    of what is not inlined."""
    at = lines.index.get_indexer(pd.Index(list(line_ids)))
    around = lines.index.get_indexer(pd.Index(lines["inlined_at"]))
    files, numbers, functions = (lines[name].to_numpy() for name in ("file", "line", "function"))
    chains: list[list[str]] = [[] for _ in at]
    for _ in range(_MOST_STEPS):
        going = np.flatnonzero(at >= 0)
        for own, place in zip(going.tolist(), at[going].tolist(), strict=True):
            function = f" ({functions[place]})" if functions[place] else ""
            chains[own].append(f"{PurePath(files[place]).name}:{numbers[place]}{function}")
        at[going] = around[at[going]]
    for own in np.flatnonzero(at >= 0).tolist():
        chains[own].append("…")
    return ["inlined: " + " ← ".join(chain) if len(chain) > 1 else "" for chain in chains]


def ways(inlined: Iterable[str]) -> list[str]:
    """Of what `inlined` says of a line's instructions each way once, or the first and how many others there are."""
    every = list(dict.fromkeys(filter(None, inlined)))
    more = len(every) - _MOST_WAYS
    return [*every[:_MOST_WAYS], *([f"inlined in {more:,} other ways"] if more > 0 else [])]


def find_source(file: str, folders: Iterable[str | Path], mappings: Iterable[Mapping] = ()) -> Path | None:
    """The file that a mapping leads to, else the one inside one of the folders whose path ends most like ``file``; None
    where there is none, or no best one.

    Of the mappings, the one of the longest folder goes first; of the folders, the first. The file's name must be equal,
    unless a mapping names the file itself. The result is resolved, lies inside the folder or what the mapping leads to
    (links that lead out do not count), is a regular file and has at most MAX_SOURCE bytes.
    """
    parts = _parts(file)
    if not parts:
        return None
    for below, here in _mapped(file, parts, mappings):
        found = _below(below, here)
        if found is not None:
            return found
    for folder in folders:
        found = _find_in(parts, Path(folder))
        if found is not None:
            return found
    return None


def read_source(path: Path) -> str:
    """The text of a file that `find_source` found, which has no link on its way. Raises UsageError where it cannot be
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


def _find_in(parts: Sequence[str], folder: Path) -> Path | None:
    try:
        root = folder.resolve(strict=True)
        # Right under the folder, as compiled there: the longest suffix that exists.
        direct = [(length, root.joinpath(*parts[-length:])) for length in range(len(parts), 0, -1)]
        best = [(length, path) for length, path in direct if _inside(path, root)][:1]
        if not best or best[0][0] < len(parts):
            best = _deeper(parts, root, best)
        return _inside(best[0][1], root) if len(best) == 1 else None
    except (OSError, RuntimeError, ValueError):
        return None


def _deeper(parts: Sequence[str], root: Path, best: list[tuple[int, Path]]) -> list[tuple[int, Path]]:
    """Files of that name anywhere in the folder with a longer common suffix than the best so far."""
    length = best[0][0] if best else 0
    seen = 0
    for where, folders, names in os.walk(root, followlinks=False):
        folders.sort()
        seen += len(names) + len(folders)
        if seen > _MAX_ENTRIES:
            break
        path = Path(where, parts[-1])
        if parts[-1] not in names or not _inside(path, root):
            continue
        common = _common_suffix(parts, path.relative_to(root).parts)
        if common > length:
            best, length = [(common, path)], common
        elif common == length and path not in (other for _, other in best) and not _is_direct(best, parts, root):
            best.append((common, path))
    return best


def _is_direct(best: list[tuple[int, Path]], parts: Sequence[str], root: Path) -> bool:
    """True if the best is what the recorded path would be, taken from the folder itself: no other equals that."""
    return bool(best) and best[0][1] == root.joinpath(*parts[-best[0][0] :])


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
