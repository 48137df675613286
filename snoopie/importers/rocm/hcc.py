"""What a program prints with HCC_PROFILE=2, between its own lines: one record a line, times in ns.

A record has three times (enqueued, start, stop), two, or none, and then only how long it took. Its number is that of
the device, of the queue, and of the record in that queue; others that it waits for may follow (deps=#0.1.9).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.garbage import uncollected
from snoopie.importers import Progress
from snoopie.importers.amounts import LIMIT
from snoopie.importers.rocm.recording import Ints, Recording, Recordings, numbers, sane
from snoopie.importers.text import TextFile, side_by_side
from snoopie.trace.writer import HOST, UNKNOWN

_TIME = r"(?:(\d{1,19});[ \t]*)?"
# What the program prints may stand before it on the line.
_RECORD = re.compile(
    rf"profile:[ \t]*(kernel|copyslo|copy|barrier);([^;\n]*);[ \t]*([\d.]{{1,20}}) us;[ \t]*{_TIME}{_TIME}{_TIME}"
    r"(?:#(\d{1,9})\.(\d{1,19})\.\d+;?)?([^\n]*)",
    re.ASCII,
)
_GROUPS = _RECORD.groups
_SIZE = re.compile(r"\s*(\d{1,18}) bytes;", re.ASCII)
_FROM, _TO = re.compile(r"(Host|Device)To"), re.compile(r"To(Host|Device)")
# Lines of the program that wait for a record, at most.
_WAITING = 1 << 16
_NO_SHAPE = dict.fromkeys(("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"), 0)


def read(texts: Sequence[TextFile], progress: Progress) -> tuple[Recordings, int]:
    """What was recorded of the one process, whose number is not known (0), and how many lines were none of it."""
    recordings = Recordings()
    reader = _Reader(recordings[0])
    for parts in side_by_side(texts):
        with uncollected():
            for part in parts:
                reader.take(part)
        progress(texts[0].path.name, reader.records)
    reader.finish()
    return recordings, reader.other


class _Reader:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.records = self.other = 0
        # The program's own lines since the last record with a time, and that time.
        self._printed: list[str] = []
        self._last = 0

    def take(self, text: str) -> None:
        """Reads some whole lines."""
        parts = _RECORD.split(text)
        between = parts[:: _GROUPS + 1]
        kind, name, spent, first, second, third, device, queue, rest = (
            parts[group :: _GROUPS + 1] for group in range(1, _GROUPS + 1)
        )
        start = numbers([b if c else a or "0" for a, b, c in zip(first, second, third, strict=True)])
        end = numbers([c or b or a or "0" for a, b, c in zip(first, second, third, strict=True)])
        # One time alone does not say what it is of.
        timed = np.fromiter((b is not None for b in second), np.bool_, len(second))
        untimed = np.fromiter((a is None for a in first), np.bool_, len(first))
        good = (timed & sane(start, end)) | untimed
        self._recording.counts["untimed ns"] += sum(_nanoseconds(spent[row]) for row in np.flatnonzero(untimed))
        self._marks(between, np.where(good & timed, start, 0).astype(np.int64))
        self.other += int((~good).sum())
        if not good.any():
            return
        table = pd.DataFrame(
            {
                "gpu": self._gpus(device), "stream": numbers([number or "0" for number in queue]),
                "start": np.where(timed & good, start, 0).astype(np.int64),
                "end": np.where(timed & good, end, 0).astype(np.int64),
            }
        )  # fmt: skip
        self.records += int(good.sum())
        names = np.array([text.strip() for text in name], object)
        kinds = np.array(kind, object)
        self._kernels(table, names, good & (kinds == "kernel"))
        self._copies(table, names, rest, good & np.isin(kinds, ["copy", "copyslo"]))
        waited = good & timed & (kinds == "barrier")
        self._recording.add_barriers(table[waited].assign(name=self._recording.texts(names[waited].tolist())))

    def _kernels(self, table: pd.DataFrame, names: NDArray[np.object_], rows: NDArray[np.bool_]) -> None:
        kernels = table[rows]
        functions = self._recording.functions(names[rows].tolist())
        self._recording.add_kernels(kernels.assign(function=functions, time=kernels["start"], thread=0, **_NO_SHAPE))

    def _copies(
        self, table: pd.DataFrame, names: NDArray[np.object_], rest: Sequence[str], rows: NDArray[np.bool_]
    ) -> None:  # fmt: skip
        copies = table[rows]
        if copies.empty:
            return
        codes, distinct = pd.factorize(names[rows])
        gpu = copies["gpu"].to_numpy()
        ends = {
            end: np.select(
                [np.array([_is(side, name, "Host") for name in distinct])[codes],
                 np.array([_is(side, name, "Device") for name in distinct])[codes]],
                [HOST, gpu], UNKNOWN,
            )
            for end, side in (("source", _FROM), ("destination", _TO))
        }  # fmt: skip
        sizes = [_SIZE.match(rest[row]) for row in np.flatnonzero(rows).tolist()]
        self._recording.add_copies(
            copies.assign(
                name=self._recording.texts(names[rows].tolist()),
                bytes=[int(size[1]) if size else -1 for size in sizes],
                **ends,
            )
        )

    def _gpus(self, devices: Sequence[str | None]) -> Ints:
        codes, distinct = pd.factorize(np.array([device or "0" for device in devices], object))
        numbered = [self._recording.agents.numbered(int(device)) for device in distinct]
        gpus: Ints = np.array(numbered, np.int64)[codes]
        return gpus

    def _marks(self, between: Sequence[str], start: Ints) -> None:
        """Marks of what the program printed before each record: at the start of the next one that has a time."""
        printed = [(0, line) for line in self._printed]
        for place, text in enumerate(between):
            if len(text) < 2 or text.isspace():
                continue
            for line in filter(None, map(str.strip, text.split("\n"))):
                if "profile:" in line:
                    self.other += 1
                else:
                    printed.append((place, line))
        timed = np.flatnonzero(start)
        following = np.searchsorted(timed, np.array([place for place, _ in printed], np.int64))
        ready = following < len(timed)
        texts = [line for _, line in printed]
        self._recording.add_marks(start[timed[following[ready]]], [texts[row] for row in np.flatnonzero(ready)])
        self._printed = [texts[row] for row in np.flatnonzero(~ready)]
        if len(timed):
            self._last = int(start[timed[-1]])
        if len(self._printed) > _WAITING:
            self.finish()

    def finish(self) -> None:
        """Writes the lines that no record with a time follows, at the time of the one before."""
        self._recording.add_marks(np.full(len(self._printed), self._last, np.int64), self._printed)
        self._printed = []


def _nanoseconds(microseconds: str) -> int:
    """How long a record took, 0 where it is no number."""
    try:
        return min(round(1000 * float(microseconds)), LIMIT)
    except ValueError:
        return 0


def _is(side: re.Pattern[str], name: str, what: str) -> bool:
    """Whether a copy of that name begins or ends there; of two different GPUs nothing says which is which."""
    match = side.search(name)
    return match is not None and match[1] == what
