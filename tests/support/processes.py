"""The processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def alone(body: Callable[..., None], *arguments: object) -> None:
    """Calls a function of a module in a process of its own, where nothing that earlier tests left ends meanwhile."""
    call = f"from {body.__module__} import {body.__name__}; {body.__name__}(*{arguments!r})"
    done = subprocess.run([sys.executable, "-c", call], cwd=ROOT, stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def stats() -> Iterator[tuple[int, list[str]]]:
    """Each one's number, and what its `stat` says after its name, which may hold anything: state, parent, …"""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield int(stat.parent.name), text.rpartition(")")[2].split()


def open_files() -> list[str]:
    """What this process has open, as Linux names it: a path, or a kind and a number."""
    names = []
    for link in Path("/proc/self/fd").iterdir():
        # Another thread may close it meanwhile, as the listing of this folder closes its own.
        with suppress(FileNotFoundError):
            names.append(os.readlink(link))
    return names
