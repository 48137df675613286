"""The text of rtg_tracer: one record a line, times in ns.

A dispatch has a line of the host, with its shape, and one of the GPU, with its times; ids say which belong together.
Sizes of grids are in threads, as HSA has them. By default each thread of the program has a file of its own, and the
lines of the GPU stand in those of the tracer's threads.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.garbage import uncollected
from snoopie.importers import Progress
from snoopie.importers.amounts import LIMIT
from snoopie.importers.rocm.recording import Recordings, Texts, handles, numbers, sane
from snoopie.importers.text import TextFile, side_by_side
from snoopie.trace.writer import DIRECTIONS, UNKNOWN

# With a newline before each line, all of them begin with a text that is searched for at once; its newline stays.
_LINE = r"\n{} pid:(\d{{1,9}}) tid:([^ \n]+) {}(?=[ \t\r]*\n)"
_TRIPLE = r"\{\s*+(\d{1,9}+)\s*+,\s*+(\d{1,9}+)\s*+,\s*+(\d{1,9}+)\s*+\}"


def _lines(kind: str, what: str) -> re.Pattern[str]:
    return re.compile(_LINE.format(kind, what), re.ASCII)


_RETURNED = r"(.*) ret=(\S+) @(\d{1,19}) \+(\d{1,19})"
_HIP = _lines("HIP:", _RETURNED)
_HSA = _lines("HSA:", f"(?!(?:dispatch|copy|barrier|vendor) (?:queue|agent):){_RETURNED}")
_MARK = _lines("RTX:", r"(.*?) @(\d{1,19})(?: \+(\d{1,19}))?")
# Of the host, or of the GPU: both begin alike, and are searched for together.
_DISPATCH = _lines(
    "HSA:", r"dispatch queue:(\S++) agent:(\S++) signal:\S++ name:'(.*)' "
    rf"(?:tick:(\d{{1,19}}+) id:(\d{{1,18}}+) workgroup:{_TRIPLE} grid:{_TRIPLE}"
    r"|start:(\d{1,19}+) stop:(\d{1,19}+) id:(\d{1,18}+))",
)  # fmt: skip
# Groups of the two: what they have in common, and what is of the host alone.
_COMMON, _OF_HOST = 5, 8
_COPY = _lines("HSA:", r"copy agent:(\S++) signal:\S++ start:(\d{1,19}+) stop:(\d{1,19}+)(?: dep\d:\S++)*+")
_BARRIER = _lines(
    "HSA:", r"(barrier|vendor) queue:(\S+) agent:(\S+) signal:\S+ start:(\d{1,19}) stop:(\d{1,19})[ \w:]*"
)
# Of the host alone: when a barrier was put into a queue.
_ENQUEUED = _lines("HSA:", r"(?:barrier|vendor) queue:\S+ agent:\S+ signal:\S+ dep[ \w:]*")
_BLANK, _INDENT = re.compile(r"\n[ \t\r]*(?=\n)"), re.compile(r"\n[ \t]+")
_NAME = re.compile(r"[\w:~<>]+", re.ASCII)
_CODE = re.compile(r"-?\d{1,9}", re.ASCII)
# What arguments say of a copy or an allocation, with RTG_HIP_API_ARGS; HSA's have no names.
_SIZE = re.compile(r"\b(?:sizeBytes|size|byteCount|count)=(\d{1,18})\b", re.ASCII)
_KIND = re.compile(r"\bkind=(?:(\d)\b|hipMemcpy(\w+))", re.ASCII)
_HSA_COPY = re.compile(r"hsa_amd_memory_async_copy\s*\((?:[^,()]*,){4}\s*(\d{1,18})\s*,", re.ASCII)
_DIRECTIONS = {
    kind: DIRECTIONS.index(name)
    for kinds, name in (
        (("0", "HostToHost"), "host to host"), (("1", "HostToDevice"), "host to device"),
        (("2", "DeviceToHost"), "device to host"), (("3", "DeviceToDevice"), "device to device"),
    )
    for kind in kinds
}  # fmt: skip
_SIZED = re.compile(r"hip(?:Memcpy|Memset|Malloc|HostMalloc|HostAlloc)")
_SHAPE = ["block_x", "block_y", "block_z", "grid_x", "grid_y", "grid_z"]
_NO_SHAPE = dict.fromkeys(_SHAPE, 0)
_CACHED = 1 << 16

Rows = list[tuple[str, ...]]


def read(texts: Sequence[TextFile], progress: Progress) -> tuple[Recordings, int]:
    """What was recorded of each process by its number, and how many lines were none of it."""
    reader = _Reader()
    lines = 0
    for parts in side_by_side(texts):
        with uncollected():
            lines += sum(reader.take(part) for part in parts)
        reader.join()
        progress(texts[0].path.name, lines)
    reader.join(last=True)
    return reader.recordings, reader.other


class _Dispatches:
    """Of one process: the two lines of each dispatch, as they come; each waits for the other."""

    def __init__(self) -> None:
        self.queued: list[pd.DataFrame] = []
        self.ran: list[pd.DataFrame] = []
        self.by_host = False

    def joined(self, last: bool) -> pd.DataFrame:
        """The kernels of which nothing more will be read."""
        if not self.queued and not self.ran:
            return pd.DataFrame()
        ran = pd.concat(self.ran, ignore_index=True) if self.ran else pd.DataFrame()
        if not self.queued:
            # Mostly the host's lines are not recorded.
            self.ran = [ran] if self.by_host and not last else []
            return ran if not self.ran else pd.DataFrame()
        queued = pd.concat(self.queued, ignore_index=True).drop_duplicates("id", keep="last")
        if ran.empty:
            self.queued = [queued] if not last else []
            return queued if last else pd.DataFrame()
        of_host = queued.set_index("id")[["time", "thread", *_SHAPE]]
        found = ran["id"].isin(of_host.index).to_numpy()
        both = ran[found].drop(columns=["time", "thread", *_SHAPE]).join(of_host, on="id")
        left = queued[~queued["id"].isin(ran["id"])]
        self.queued, self.ran = ([], []) if last else ([left] if len(left) else [], [])
        if last:
            return pd.concat([part for part in (both, ran[~found], left) if len(part)], ignore_index=True)
        self.ran = [ran[~found]] if not found.all() else []
        return both


class _Reader:
    def __init__(self) -> None:
        self.recordings = Recordings()
        self.other = 0
        self._dispatches: defaultdict[int, _Dispatches] = defaultdict(_Dispatches)
        self._known: dict[tuple[str, bool], tuple[str, str, int, int]] = {}

    def take(self, text: str) -> int:
        """Reads some whole lines; returns how many of them are records."""
        text = "\n" + text
        if "\n " in text or "\n\t" in text:
            text = _INDENT.sub("\n", text)
        lines = text.count("\n") - 1
        taken = 0
        # The rarest last: each pattern goes through the text, unless all lines are known by then.
        for pattern, take in (
            (_HIP, self._hip_calls), (_DISPATCH, self._dispatched), (_COPY, self._copies), (_HSA, self._hsa_calls),
            (_BARRIER, self._barriers), (_ENQUEUED, lambda _, rows: len(rows)), (_MARK, self._marks),
        ):  # fmt: skip
            if taken < lines:
                taken += self._each(pattern, text, take)
        if taken < lines:
            self.other += max(lines - taken - len(_BLANK.findall(text)), 0)
        return taken

    @staticmethod
    def _each(pattern: re.Pattern[str], text: str, take: Callable[[int, Rows], int]) -> int:
        return sum(take(process, rows) for process, rows in _by_process(pattern.findall(text)))

    def join(self, *, last: bool = False) -> None:
        """Has dispatches whose lines were all read written; the ``last`` time all."""
        for process, dispatches in self._dispatches.items():
            kernels = dispatches.joined(last)
            if len(kernels):
                self.recordings[process].add_kernels(kernels)

    def _hip_calls(self, process: int, rows: Rows) -> int:
        return self._calls(process, rows, kernels=True)

    def _hsa_calls(self, process: int, rows: Rows) -> int:
        return self._calls(process, rows, kernels=False)

    def _calls(self, process: int, rows: Rows, *, kernels: bool) -> int:
        _, tid, what, returned, begin, spent = zip(*rows, strict=True)
        start, end, good = _span(begin, spent)
        called = [self._called(text, kernels) for text in what]
        names, launched, sizes, directions = zip(*called, strict=True)
        recording = self.recordings[process]
        table = pd.DataFrame(
            {
                "call": recording.texts(names), "kernel": recording.texts(launched), "thread": _threads(tid),
                "start": start, "end": end, "code": _codes(returned), "bytes": sizes, "direction": directions,
            }
        )[good]  # fmt: skip
        recording.add_calls(table)
        return len(table)

    def _marks(self, process: int, rows: Rows) -> int:
        _, tid, texts, begin, spent = zip(*rows, strict=True)
        start, end, good = _span(begin, [duration or "0" for duration in spent])
        recording = self.recordings[process]
        table = pd.DataFrame(
            {
                "call": recording.texts([f"roctx: {text}" for text in texts]), "kernel": 0, "thread": _threads(tid),
                "start": start, "end": end, "code": 0, "bytes": 0, "direction": 0,
            }
        )[good]  # fmt: skip
        recording.add_calls(table)
        recording.add_marks(start[good], [text for text, kept in zip(texts, good, strict=True) if kept])
        recording.counts["marks"] += len(table)
        return len(table)

    def _dispatched(self, process: int, rows: Rows) -> int:
        queued = [row for row in rows if row[_COMMON]]
        ran = [row for row in rows if not row[_COMMON]]
        return (self._queued(process, queued) if queued else 0) + (self._ran(process, ran) if ran else 0)

    def _queued(self, process: int, rows: Rows) -> int:
        _, tid, queue, agent, name, tick, number, *shape = list(zip(*rows, strict=True))[: _COMMON + _OF_HOST]
        time = numbers(tick)
        good = time < LIMIT
        threads = {axis: numbers(values).astype(np.int64) for axis, values in zip(_SHAPE, shape, strict=True)}
        for axis in "xyz":
            block = np.maximum(threads[f"block_{axis}"], 1)
            blocks = -(-threads[f"grid_{axis}"] // block)
            threads[f"grid_{axis}"] = np.where(threads[f"block_{axis}"] > 0, blocks, 0)
        table = pd.DataFrame(
            {
                **self._on_gpu(process, agent, queue), "function": self.recordings[process].functions(name),
                "time": np.where(good, time, 0).astype(np.int64), "thread": _threads(tid), "start": 0, "end": 0,
                "id": numbers(number), **threads,
            }
        )[good]  # fmt: skip
        if len(table):
            self._dispatches[process].queued.append(table)
            self._dispatches[process].by_host = True
        return len(table)

    def _ran(self, process: int, rows: Rows) -> int:
        columns = list(zip(*rows, strict=True))
        (_, _, queue, agent, name), (start, stop, number) = columns[:_COMMON], columns[_COMMON + _OF_HOST :]
        times, good = _times(start, stop)
        table = pd.DataFrame(
            {
                **self._on_gpu(process, agent, queue), "function": self.recordings[process].functions(name),
                **times, "time": times["start"], "thread": 0, "id": numbers(number), **_NO_SHAPE,
            }
        )[good]  # fmt: skip
        if len(table):
            self._dispatches[process].ran.append(table)
        return len(table)

    def _copies(self, process: int, rows: Rows) -> int:
        _, _, agent, start, stop = zip(*rows, strict=True)
        times, good = _times(start, stop)
        recording = self.recordings[process]
        table = pd.DataFrame(
            {
                **self._on_gpu(process, agent, [""] * len(rows)), "name": recording.body.intern("copy"), **times,
                "source": UNKNOWN, "destination": UNKNOWN, "bytes": -1,
            }
        )[good]  # fmt: skip
        recording.add_copies(table)
        return len(table)

    def _barriers(self, process: int, rows: Rows) -> int:
        _, _, kind, queue, agent, start, stop = zip(*rows, strict=True)
        times, good = _times(start, stop)
        recording = self.recordings[process]
        table = pd.DataFrame({**self._on_gpu(process, agent, queue), "name": recording.texts(kind), **times})[good]
        recording.add_barriers(table)
        return len(table)

    def _on_gpu(self, process: int, agents: Texts, queues: Texts) -> dict[str, Any]:
        codes, distinct = pd.factorize(np.fromiter(agents, object, len(agents)))
        known = self.recordings[process].agents
        return {"gpu": np.array([known.code(agent) for agent in distinct])[codes], "stream": handles(queues)}

    def _called(self, text: str, kernels: bool) -> tuple[str, str, int, int]:
        """Name, kernel, bytes and direction of a call."""
        key = text, kernels
        if key not in self._known:
            if len(self._known) >= _CACHED:
                self._known.clear()
            self._known[key] = *_called(text, kernels), *_size_of(text)
        return self._known[key]


def _by_process(rows: Rows) -> list[tuple[int, Rows]]:
    """The rows of each process, whose number comes first."""
    if not rows:
        return []
    # Nearly always there is one.
    if len({row[0] for row in rows}) == 1:
        return [(int(rows[0][0]), rows)]
    found: defaultdict[int, Rows] = defaultdict(list)
    for row in rows:
        found[int(row[0])].append(row)
    return list(found.items())


def _span(begin: Texts, spent: Texts) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Starts and ends, and which of them make sense; 0 where they do not."""
    start, duration = numbers(begin), numbers(spent)
    small = (start < LIMIT) & (duration < LIMIT)
    start, end = np.where(small, start, 0), np.where(small, start + duration, 0)
    good = sane(start, end)
    return start.astype(np.int64), np.where(good, end, 0).astype(np.int64), good


def _times(start: Texts, end: Texts) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.bool_]]:
    """Starts and ends on a GPU, and which of them make sense."""
    begin, stop = numbers(start), numbers(end)
    times = {name: np.minimum(time, LIMIT).astype(np.int64) for name, time in (("start", begin), ("end", stop))}
    return times, sane(begin, stop)


def _threads(texts: Texts) -> NDArray[np.int64]:
    return (handles(texts) & np.uint64(0xFFFF_FFFF)).astype(np.int64)


def _codes(texts: Texts) -> NDArray[np.int64]:
    """What calls returned; 0 of those that return something else than a code."""
    codes, distinct = pd.factorize(np.fromiter(texts, object, len(texts)))
    return np.array([int(text) if _CODE.fullmatch(text) else 0 for text in distinct], np.int64)[codes]


def _called(text: str, kernels: bool) -> tuple[str, str]:
    """The name of a call, and that of the kernel that it launches."""
    name = _NAME.match(text)
    if name is None:
        return text, ""
    rest = text[name.end() :].rstrip()
    if not kernels or not rest.endswith("]"):
        return name[0], ""
    # A kernel's name may have brackets of its own, so the first one that can begin it does.
    begin = 0 if rest.startswith(" [") else rest.find(") [") + 1
    return name[0], rest[begin + 2 : -1] if begin or rest.startswith(" [") else ""


def _size_of(text: str) -> tuple[int, int]:
    """The bytes and the direction of a copy or an allocation, as far as its arguments are there."""
    if "," not in text and "=" not in text:
        return 0, 0
    if copied := _HSA_COPY.match(text):
        return int(copied[1]), 0
    if not _SIZED.match(text):
        return 0, 0
    size, kind = _SIZE.search(text), _KIND.search(text)
    return int(size[1]) if size else 0, _DIRECTIONS.get(kind[1] or kind[2] or "", 0) if kind else 0
