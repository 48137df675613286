"""The folders that the app may list, and the traces in them: where it was started, and where the traces lie that its
command line names. What leads out of them is not shown."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from visualizer.session import state

# Entries of a folder that are looked at, and of each kind that are shown.
_LOOKED_AT = 20_000
MOST = 200


@dataclass(frozen=True)
class Listing:
    """Folders by name and traces, the latest first, within a folder; ``more``: how many are not shown."""

    folders: tuple[Path, ...]
    traces: tuple[Path, ...]
    more: int


def roots() -> list[Path]:
    """The folders that may be listed with all that is in them, none within another."""
    named = [Path(name).expanduser() for name in state.arguments().traces]
    places = [Path.cwd(), *(path if path.is_dir() else path.parent for path in named)]
    every = list(dict.fromkeys(place.resolve() for place in places))
    return [place for place in every if not any(place != other and place.is_relative_to(other) for other in every)]


def allowed(folder: Path) -> bool:
    """Whether a folder, wherever its links lead, is one of the roots or in one."""
    try:
        whole = folder.resolve(strict=True)
    except (OSError, RuntimeError):
        return False
    return whole.is_dir() and any(whole.is_relative_to(root) for root in roots())


def listing(folder: Path) -> Listing:
    """What is in a folder, as far as it may be listed: nothing of one that may not."""
    if not allowed(folder):
        return Listing((), (), 0)
    folders: list[Path] = []
    traces: list[tuple[float, Path]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, _LOOKED_AT):
                path = Path(entry.path)
                if entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    folders += [path] if not entry.is_symlink() or allowed(path) else []
                elif entry.name.endswith(".zst") and not entry.is_symlink():
                    traces.append((entry.stat().st_mtime, path))
    except OSError:
        return Listing((), (), 0)
    folders.sort()
    latest = [path for _, path in sorted(traces, key=lambda trace: (-trace[0], trace[1]))]
    more = max(len(folders) - MOST, 0) + max(len(latest) - MOST, 0)
    return Listing(tuple(folders[:MOST]), tuple(latest[:MOST]), more)
