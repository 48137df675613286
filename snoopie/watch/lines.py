"""Source lines of places in files, by addr2line of binutils.

It parses what anybody may have made, and a watch is root. So it runs as who owns the watched process, and has bounds.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

_PROGRAM = "addr2line"
_SECONDS = 60
_MEMORY = 4 << 30
# Bytes of an answer.
_MOST = 64 << 20
_UNKNOWN = "??"


class Line(NamedTuple):
    """A function, "" where it has no name, and the line in it."""

    function: str
    file: str
    line: int


def lines_of(path: Path, places: Sequence[int], owner: tuple[int, int]) -> list[list[Line]]:
    """Of each place the functions that it is in, innermost first: one that the compiler put into another has a line of
    its own. None where nothing is known. ``owner``: the user and group in whose name the file is read.
    """
    nothing: list[list[Line]] = [[] for _ in places]
    program = shutil.which(_PROGRAM)
    as_owner = _as(owner)
    if program is None or as_owner is None:
        return nothing
    command = [program, "--addresses", "--functions", "--inlines", "--demangle", f"--exe={path}"]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        try:
            subprocess.run(
                command, input="\n".join(map(hex, places)), text=True, stdout=output, stderr=subprocess.DEVNULL,
                timeout=_SECONDS, preexec_fn=_bound, cwd="/", env={"LC_ALL": "C"}, **as_owner,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return nothing
        output.seek(0)
        found = _read(output.read())
    return [found.get(place, []) for place in places]


def _as(owner: tuple[int, int]) -> dict[str, Any] | None:
    """How to start a program in that name; None where it cannot be."""
    user, group = owner
    if os.geteuid() == 0:
        return {"user": user, "group": group, "extra_groups": []}
    return {} if os.geteuid() == user else None


def _bound() -> None:
    for what, most in ((resource.RLIMIT_AS, _MEMORY), (resource.RLIMIT_FSIZE, _MOST), (resource.RLIMIT_CPU, _SECONDS)):
        resource.setrlimit(what, (most, most))


def _read(text: str) -> dict[int, list[Line]]:
    """An address stands before its pairs of a function and a place "file:line (discriminator 2)"."""
    found: dict[int, list[Line]] = {}
    lines = iter(text.splitlines())
    at: list[Line] = []
    for line in lines:
        if line.startswith("0x"):
            at = found.setdefault(int(line, 16), [])
            continue
        file, _, number = next(lines, "").partition(" (discriminator")[0].rpartition(":")
        if number.isdigit() and int(number) and file not in ("", _UNKNOWN):
            at.append(Line("" if line == _UNKNOWN else line, file, int(number)))
    return found
