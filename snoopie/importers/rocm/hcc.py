"""What a program prints with HCC_PROFILE=2, between its own lines: one record a line, times in ns."""

from __future__ import annotations

import re

from snoopie.importers import Progress
from snoopie.importers.amounts import LIMIT
from snoopie.importers.rocm.recording import Copy, Kernel, Recording
from snoopie.importers.text import TextFile

_RECORD = re.compile(
    r"profile:\s*(\w+);([^;]*);\s*[\d.]+ us;\s*(\d{1,19});\s*(\d{1,19});"
    r"\s*#(\d{1,9})\.(\d{1,19})\.\d+;?(?:\s*(\d{1,18}) bytes;.*)?$",
    re.ASCII,
)
_COPIES = frozenset({"copy", "copyslo"})
_FROM, _TO = re.compile(r"(Host|Device)To"), re.compile(r"To(Host|Device)")
_EVERY = 1 << 16


def read(text: TextFile, progress: Progress) -> tuple[dict[int, Recording], int]:
    """What was recorded of the one process, whose number is not known (0), and how many lines were none of it."""
    recording = Recording()
    other = 0
    for number, line in enumerate(text.lines(), start=1):
        if not _take(recording, line):
            other += bool(line.strip())
        if not number % _EVERY:
            progress(text.path.name, number)
    some = recording.kernels or recording.copies or recording.barriers
    return {0: recording} if some else {}, other


def _take(recording: Recording, line: str) -> bool:
    # What the program prints may stand before it on the line.
    match = _RECORD.search(line.rstrip())
    if match is None:
        return False
    kind, name, begin, stop, agent, queue, size = match.groups()
    name, start, end = name.strip(), int(begin), int(stop)
    if not 0 < start <= end < LIMIT:
        return False
    if kind == "kernel":
        recording.kernels.append(Kernel(name, agent, queue, start, end, start))
    elif kind in _COPIES:
        source, destination = (_end(side.search(name), agent) for side in (_FROM, _TO))
        recording.copies.append(Copy(name, agent, queue, start, end, source, destination, int(size or 0)))
    elif kind == "barrier":
        recording.barriers += 1
    else:
        return False
    return True


def _end(match: re.Match[str] | None, agent: str) -> str:
    """Where a copy begins or ends; of two different GPUs nothing says which is which."""
    if match is None:
        return ""
    return "host" if match[1] == "Host" else agent
