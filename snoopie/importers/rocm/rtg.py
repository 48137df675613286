"""The text of rtg_tracer: one record a line, times in ns.

A dispatch has a line of the host, with its shape, and one of the GPU, with its times; ids say which belong together.
Sizes of grids are in threads, as HSA has them.
"""

from __future__ import annotations

import re
from collections import defaultdict

from snoopie.importers import Progress
from snoopie.importers.amounts import LIMIT
from snoopie.importers.rocm.recording import Call, Copy, Kernel, Recording, Shape, handle
from snoopie.importers.text import TextFile

_TRIPLE = r"\{\s*(\d{1,10})\s*,\s*(\d{1,10})\s*,\s*(\d{1,10})\s*\}"
_RECORD = re.compile(r"(HIP|HSA|RTX): pid:(\d{1,10}) tid:(\S+) (.*)", re.ASCII)
_CALL = re.compile(r"(.*) ret=(\S+) @(\d{1,19}) \+(\d{1,19})$", re.ASCII)
_MARK = re.compile(r"(.*) @(\d{1,19})(?: \+(\d{1,19}))?$", re.ASCII)
_DISPATCH = re.compile(
    r"dispatch queue:(\S+) agent:(\S+) signal:\S+ name:'(.*)' "
    rf"(?:tick:(\d{{1,19}}) id:(\d+) workgroup:{_TRIPLE} grid:{_TRIPLE}"
    r"|start:(\d{1,19}) stop:(\d{1,19}) id:(\d+))$",
    re.ASCII,
)
_COPY = re.compile(r"copy agent:(\S+) signal:\S+ start:(\d{1,19}) stop:(\d{1,19})", re.ASCII)
_BARRIER = re.compile(r"barrier queue:\S+ agent:\S+ signal:\S+ (start|dep1|tick):", re.ASCII)
_NAME = re.compile(r"[\w:~<>]+", re.ASCII)
_CODE = re.compile(r"-?\d{1,9}", re.ASCII)
_EVERY = 1 << 16


class _Dispatches:
    """The two lines of each dispatch, as they come."""

    def __init__(self) -> None:
        self.host: dict[str, Kernel] = {}
        self.device: list[tuple[str, Kernel]] = []

    def kernels(self) -> list[Kernel]:
        found = []
        for number, kernel in self.device:
            called = self.host.pop(number, None)
            if called is not None:
                kernel = kernel._replace(time=called.time, thread=called.thread, grid=called.grid, block=called.block)
            found.append(kernel)
        return found + list(self.host.values())


def read(text: TextFile, progress: Progress) -> tuple[dict[int, Recording], int]:
    """What was recorded of each process by its number, and how many lines were none of it."""
    recordings: defaultdict[int, Recording] = defaultdict(Recording)
    dispatches: defaultdict[int, _Dispatches] = defaultdict(_Dispatches)
    other = 0
    for number, line in enumerate(text.lines(), start=1):
        record = _RECORD.fullmatch(line.strip())
        if record is None or not _take(recordings, dispatches, *record.groups()):
            other += bool(line.strip())
        if not number % _EVERY:
            progress(text.path.name, number)
    for process, found in dispatches.items():
        recordings[process].kernels = found.kernels()
    return dict(recordings), other


def _take(
    recordings: defaultdict[int, Recording], dispatches: defaultdict[int, _Dispatches], kind: str, pid: str, tid: str,
    what: str,
) -> bool:  # fmt: skip
    """Takes one record; False where it makes no sense."""
    process = int(pid)
    if process >= 1 << 31:
        return False
    thread = handle(tid) & 0xFFFF_FFFF
    if kind == "RTX":
        mark = _MARK.match(what)
        start, end = _span(mark[2], mark[3] or "0") if mark else (0, 0)
        if mark is None or not end:
            return False
        recordings[process].marks += 1
        recordings[process].calls.append(Call(f"roctx: {mark[1]}", "", thread, start, end, 0))
        return True
    if kind == "HSA" and what.startswith("dispatch "):
        return _dispatch(dispatches[process], thread, what)
    if kind == "HSA" and what.startswith("copy "):
        copy = _COPY.match(what)
        if copy is None or not _sane(int(copy[2]), int(copy[3])):
            return False
        recordings[process].copies.append(Copy("copy", copy[1], "", int(copy[2]), int(copy[3])))
        return True
    if kind == "HSA" and what.startswith("barrier "):
        barrier = _BARRIER.match(what)
        recordings[process].barriers += barrier is not None and barrier[1] == "start"
        return barrier is not None
    call = _CALL.match(what)
    start, end = _span(call[3], call[4]) if call else (0, 0)
    if call is None or not end:
        return False
    name, kernel = _called(call[1], kind)
    code = int(call[2]) if _CODE.fullmatch(call[2]) else 0
    recordings[process].calls.append(Call(name, kernel, thread, start, end, code))
    return True


def _dispatch(found: _Dispatches, thread: int, what: str) -> bool:
    match = _DISPATCH.match(what)
    if match is None:
        return False
    queue, agent, name, tick, number, *shape, start, stop, ended = match.groups()
    if ended is not None:
        if not _sane(int(start), int(stop)):
            return False
        found.device.append((ended, Kernel(name, agent, queue, int(start), int(stop), int(start))))
        return True
    block, threads = _shape(shape[:3]), _shape(shape[3:])
    grid = tuple(-(-threads[axis] // block[axis]) if block[axis] else 0 for axis in range(3))
    if int(tick) >= LIMIT or max(*threads, *block) >= 1 << 32:
        return False
    found.host[number] = Kernel(name, agent, queue, 0, 0, int(tick), thread, (grid[0], grid[1], grid[2]), block)
    return True


def _called(text: str, kind: str) -> tuple[str, str]:
    """The name of a call, and that of the kernel that it launches."""
    name = _NAME.match(text)
    if name is None:
        return text, ""
    rest = text[name.end() :]
    if kind != "HIP" or not rest.endswith("]"):
        return name[0], ""
    # A kernel's name may have brackets of its own, so the first one that can begin it does.
    begin = 0 if rest.startswith(" [") else rest.find(") [") + 1
    return name[0], rest[begin + 2 : -1] if begin or rest.startswith(" [") else ""


def _shape(texts: list[str]) -> Shape:
    return int(texts[0]), int(texts[1]), int(texts[2])


def _span(start: str, spent: str) -> tuple[int, int]:
    """Start and end; 0 for an end that makes no sense."""
    begin, end = int(start), int(start) + int(spent)
    return begin, end if _sane(begin, end) else 0


def _sane(start: int, end: int) -> bool:
    return 0 < start <= end < LIMIT
