"""The files beside a log: source lines, allocations, and call stacks. Nothing in them is escaped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from snoopie.importers.amounts import LIMIT
from snoopie.importers.text import TextFile

# Of a deeper stack the outermost frames are left out.
_DEEPEST = 1024
_U32, _U64 = 1 << 32, 1 << 64


@dataclass(frozen=True, slots=True)
class Range:
    """One allocation: ``stack`` and ``name`` are those of its site."""

    base: int
    bytes: int
    device: int
    site: int


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a call was made, by the number that the log has for the place; line 0 and texts "" are unknown."""

    address: int
    function: str = ""
    file: str = ""
    line: int = 0


Stack = tuple[int, ...]


@dataclass(slots=True)
class SideFiles:
    """What the files of one process say. Stacks are ids of frames, innermost first; ``wrong`` is lines that make no
    sense, ``absent`` the files that are not there.
    """

    lines: dict[int, tuple[str, int]] = field(default_factory=dict)
    ranges: list[Range] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    allocated: dict[int, Stack] = field(default_factory=dict)
    allocators: dict[int, Frame] = field(default_factory=dict)
    contexts: dict[int, Stack] = field(default_factory=dict)
    callers: dict[int, Frame] = field(default_factory=dict)
    wrong: int = 0
    absent: list[str] = field(default_factory=list)


def read_side_files(folder: Path, pid: str, allow_truncated: bool) -> tuple[SideFiles, list[str]]:
    """The files of a process in a folder, and sentences on those that end too early."""
    files = SideFiles()
    cut: list[str] = []
    for name, take in _FILES.items():
        path = _find(folder, f"{name}_{pid}")
        if path is None:
            files.absent.append(name)
            continue
        text = TextFile(path, allow_truncated)
        legacy = False
        for line in text.lines():
            head = line.partition(",")[0].strip()
            if head in _HEADINGS:
                legacy = "estimated" not in line
                continue
            if not line.strip():
                continue
            try:
                take(files, line, legacy)
            except ValueError:
                files.wrong += 1
        cut += [text.cut] if text.cut else []
    return files, cut


def _find(folder: Path, stem: str) -> Path | None:
    return next((path for path in sorted(folder.glob(f"{stem}.*")) if path.is_file()), None)


def _range(files: SideFiles, line: str, _: bool) -> None:
    base, size, site, device = line.split(",")
    files.ranges.append(Range(_number(base, 16, _U64), _number(size, 10, LIMIT), _device(device), _number(site)))


def _object(files: SideFiles, line: str, _: bool) -> None:
    number, rest = line.split(",", 1)
    name, stack = rest.rsplit(",", 1)
    site = _number(number)
    files.allocated[site] = _stack(stack)
    files.names[site] = _unquoted(name)


def _allocator(files: SideFiles, line: str, _: bool) -> None:
    address, rest = line.split(",", 1)
    function, file, number = rest.rsplit(",", 2)
    pc = _number(address, 10, _U64)
    files.allocators[pc] = Frame(pc, _unquoted(function), _unquoted(file), _line_number(number))


def _code_line(files: SideFiles, line: str, legacy: bool) -> None:
    index, rest = line.split(",", 1)
    fields = rest.rsplit(",", 2 if legacy else 3)
    folder, file, number = (_unquoted(text) for text in fields[:3])
    path = file if not folder or file.startswith("/") or not file else f"{folder.rstrip('/')}/{file}"
    files.lines[_number(index)] = path, _line_number(number)


def _caller(files: SideFiles, line: str, _: bool) -> None:
    site, rest = line.split(",", 1)
    file, number = rest.rsplit(",", 1)
    place = _number(site, 10, _U64)
    files.callers[place] = Frame(place, "", _unquoted(file), _line_number(number))


def _context(files: SideFiles, line: str, _: bool) -> None:
    number, stack = line.split(",", 1)
    files.contexts[_number(number)] = _stack(stack)


_FILES: dict[str, Callable[[SideFiles, str, bool], None]] = {
    "codeline_log": _code_line,
    "address_range_log": _range,
    "data_object_log": _object,
    "mem_alloc_site_log": _allocator,
    "exec_site_log": _caller,
    "exec_context_log": _context,
}
_HEADINGS = frozenset({"offset", "obj_id", "pc", "code_line_index", "site_id", "context_id"})


def _number(text: str, base: int = 10, limit: int = _U32) -> int:
    value = int(text.strip(), base)
    if not 0 <= value < limit:
        raise ValueError(f"{text} is out of range")
    return value


def _device(text: str) -> int:
    """A number of a device, of which those below 0 are of the host or unknown."""
    return -_number(text.strip()[1:]) if text.strip().startswith("-") else _number(text)


def _line_number(text: str) -> int:
    """A number of a line, 0 where there is none."""
    text = text.strip().strip('"')
    return _number(text) if text.lstrip("-").isdigit() and not text.startswith("-") else 0


def _stack(text: str) -> Stack:
    return tuple(_number(part, 10, _U64) for part in text.strip().strip('"').split("<")[:_DEEPEST] if part.strip())


def _unquoted(text: str) -> str:
    """Without the quotes around it, of which the second may be missing."""
    return text.strip().removeprefix('"').removesuffix('"')
