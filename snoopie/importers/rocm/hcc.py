"""What a program prints with HCC_PROFILE=2, between its own lines: one record a line, times in ns.

A record has three times (enqueued, start, stop), two, or none, and then only how long it took. Its number is that of
the device, of the queue, and of the record in that queue; others that it waits for may follow (deps=#0.1.9).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from snoopie.importers import Progress
from snoopie.importers.amounts import LIMIT
from snoopie.importers.rocm.recording import Recording, Recordings, numbers
from snoopie.importers.text import TextFile, side_by_side
from snoopie.trace.writer import HOST, UNKNOWN

# What the program prints may stand before it on the line.
_RECORD = re.compile(
    r"^(.*?)profile:\s*(\w+);([^;\n]*);[ \t]*([\d.]{1,20}) us;[ \t]*((?:\d{1,19};[ \t]*){0,3})"
    r"(?:#(\d{1,9})\.(\d{1,19})\.\d+;?[ \t]*)?([^\n]*)$|^([^\n]*\S[^\n]*)$",
    re.ASCII | re.MULTILINE,
)
_KINDS = {"kernel": "kernel", "copy": "copy", "copyslo": "copy", "barrier": "barrier"}
_BYTES = re.compile(r"(\d{1,18}) bytes;", re.ASCII)
_FROM, _TO = re.compile(r"(Host|Device)To"), re.compile(r"To(Host|Device)")
_TEXT = "text"


def read(texts: Sequence[TextFile], progress: Progress) -> tuple[Recordings, int]:
    """What was recorded of the one process, whose number is not known (0), and how many lines were none of it."""
    reader = _Reader()
    for parts in side_by_side(texts):
        for part in parts:
            reader.take(part)
        progress(texts[0].path.name, reader.records)
    reader.finish()
    recordings = Recordings()
    if reader.records:
        recordings[0] = reader.recording
    return recordings, reader.other


class _Reader:
    def __init__(self) -> None:
        self.recording = Recording()
        self.records = self.other = 0
        # The program's own lines since the last record.
        self._before: list[str] = []
        self._last = 0

    def take(self, text: str) -> None:
        """Reads some whole lines."""
        rows = []
        for before, kind, name, spent, times, device, queue, rest, own in _RECORD.findall(text):
            rows.append(
                (own, _TEXT, "", "", (), "0", "0", "")
                if own
                else (
                    before,
                    _KINDS.get(kind, ""),
                    name.strip(),
                    spent,
                    _times(times),
                    device or "0",
                    queue or "0",
                    rest,
                )
            )
        if not rows:
            return
        table = pd.DataFrame(rows, columns=["before", "kind", "name", "spent", "times", "device", "queue", "rest"])
        start, end, good = self._spans(table)
        text_ = (table["kind"] == _TEXT).to_numpy()
        known = good & (table["kind"] != "").to_numpy() & ~text_
        self._marks(table, known, start)
        self.other += int((~known & ~text_).sum())
        table = table.assign(start=start, end=end)[known]
        self.records += len(table)
        if len(table):
            self._write(table)

    def finish(self) -> None:
        """The program's last lines."""
        self.recording.add_marks(np.full(len(self._before), self._last, np.int64), self._before)

    def _spans(self, table: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.Series]:
        """Start and end of each record, 0 where there are none, and which records make sense."""
        start = np.zeros(len(table), np.uint64)
        end = np.zeros(len(table), np.uint64)
        for count in (2, 3):
            rows = np.flatnonzero([len(times) == count for times in table["times"]])
            if len(rows):
                start[rows], end[rows] = (
                    numbers([table["times"].iat[row][place] for row in rows]) for place in (count - 2, count - 1)
                )
        timed = np.array([len(times) > 1 for times in table["times"]], np.bool_)
        good = ~timed | ((start > 0) & (start <= end) & (end < LIMIT))
        begin, stop = (np.where(good, times, 0).astype(np.int64) for times in (start, end))
        return pd.Series(begin, table.index), pd.Series(stop, table.index), pd.Series(good, table.index)

    def _marks(self, table: pd.DataFrame, known: pd.Series, start: pd.Series) -> None:
        """Text of the program: a mark at the start of the record after it."""
        times: list[int] = []
        texts: list[str] = []
        for before, is_record, time in zip(table["before"], known, start, strict=True):
            if before.strip():
                self._before.append(before.strip())
            if is_record and time > 0:
                texts += self._before
                times += [time] * len(self._before)
                self._before = []
                self._last = time
        self.recording.add_marks(np.array(times, np.int64), texts)

    def _write(self, table: pd.DataFrame) -> None:
        recording = self.recording
        table = table.assign(
            gpu=[recording.agents.numbered(int(device)) for device in table["device"]],
            stream=numbers(table["queue"].tolist()),
        )
        kernels = table[table["kind"] == "kernel"]
        shape = dict.fromkeys(("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"), 0)
        recording.add_kernels(kernels.assign(time=kernels["start"], thread=0, **shape))
        copies = table[table["kind"] == "copy"]
        if len(copies):
            recording.add_copies(_copies(copies))
        barriers = table[table["kind"] == "barrier"]
        recording.add_barriers(barriers[barriers["end"] > 0])


def _copies(copies: pd.DataFrame) -> pd.DataFrame:
    ends = {
        end: [_end(side.search(name), gpu) for name, gpu in zip(copies["name"], copies["gpu"], strict=True)]
        for end, side in (("source", _FROM), ("destination", _TO))
    }
    sizes = [_BYTES.search(rest) for rest in copies["rest"]]
    return copies.assign(bytes=[int(size[1]) if size else -1 for size in sizes], **ends)


def _times(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";")[:-1])


def _end(match: re.Match[str] | None, gpu: int) -> int:
    """Where a copy begins or ends; of two different GPUs nothing says which is which."""
    if match is None:
        return UNKNOWN
    return HOST if match[1] == "Host" else gpu
