"""The log's first generations (January to June 2023), which print JSON lines between those of the program.

    {"op": "mem_alloc", "dev_id": 0, "bytesize": 4096, "start": "0x…", "end": "0x…"}
    {"op": "STG.E", "kernel_name": "f(int)", "addr": "0x…", "object_allocation_pc": "0x…", …, "code_line_linenum": 125}

Their keys changed twenty times, some lack a quote, and the very first ones quote no key. So a line is read by the keys
of the first one that looks like it, in their order, whatever is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.importers.amounts import LIMIT
from snoopie.importers.snoopie_log.alike import Alike, UnlikeError
from snoopie.importers.snoopie_log.fields import Flags, Ints
from snoopie.importers.snoopie_log.side_files import Frame, Range, SideFiles

_QUOTED, _BARE = re.compile(r'"(\w+)": ?', re.ASCII), re.compile(r"[{ ]([a-z_*]+): ", re.ASCII)
# How lines begin: with the newline before them, so that they are searched for at once.
_BEGINS = ('\n{"op": "', '\n{op: "')
_ACCESS, _UNQUOTED = b'{"op": "', b'{op: "'
_LINE = re.compile(r'\n(\{(?:"op"|op): ".*)')
_ALLOCATION = "mem_alloc"
# The names that keys of later generations have, by those of earlier ones.
_RENAMED = {
    "from": "running_device_id", "on": "mem_device_id", "dtpr*": "start", "allocation_pc": "object_allocation_pc",
    "variable_name": "object_variable_name", "file_name": "object_allocation_file_name",
    "func_name": "object_allocation_func_name", "line_num": "object_allocation_line_num",
}  # fmt: skip
_NUMBERS = ("thread_index", "running_device_id", "mem_device_id", "code_line_linenum", "object_allocation_line_num")
_NEEDED = frozenset({"op", "addr", "running_device_id", "mem_device_id"})
_NAMES = frozenset({"kernel_name", "object_variable_name", "object_allocation_file_name", "object_allocation_func_name",
                    "code_line_filename", "code_line_dirname"})  # fmt: skip
_WANTED = _NEEDED | _NAMES | set(_NUMBERS) | {"object_allocation_pc", "bytesize", "start", "dev_id"}
_NAME, _WORD = r'{}[^"\n]*?)', r'{}[^",\n}}]*)'
_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)
_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]{1,16}", re.ASCII)
_NOBODY = 64
# Distinct kinds of lines, of which a log has two or three.
_MOST_KINDS = 16
# Lines of a piece from which a kind is made that does not even fit themselves: torn ones, of which a log has a few.
_MOST_TORN = 500


@dataclass(frozen=True, slots=True)
class Read:
    """The accesses of a piece: as `log` has them in columns, with the kernel of each as its context."""

    opcodes: list[str]
    table: pd.DataFrame
    address: NDArray[np.uint64]
    wrong: int
    lines: int


class _Kind:
    """Lines with the same keys in the same order."""

    def __init__(self, line: str) -> None:
        keys = (_QUOTED if line.startswith('{"') else _BARE).findall(line)
        self.keys = [_RENAMED.get(key, key) for key in keys]
        self.access = set(self.keys) >= _NEEDED
        self.allocation = {"bytesize", "start"} <= set(self.keys)
        begin = next(begin for begin in _BEGINS if ("\n" + line).startswith(begin))
        # Names of functions have commas; what is not needed is passed over.
        fields = [
            rf'"?{re.escape(key)}"?: ?"?'
            + (_NAME if known in _NAMES else _WORD).format("(" if known in _WANTED else "(?:")
            for key, known in zip(keys[1:], self.keys[1:], strict=True)
        ]
        self.keys = [key for key in self.keys if key in _WANTED]
        first = _WORD.format("(") if self.access else f"({_ALLOCATION})"
        parts = r'[", ]*'.join([re.escape(begin) + first, *fields])
        self.pattern = re.compile(parts + r'[", ]*\}[ \t\r]*(?=\n)')


class JsonLines:
    """Reads pieces of a log; keeps what they say of kernels, source lines and objects."""

    ACCESSES, ALLOCATIONS = (b'{"op": "', b'{op: "'), (b'{"op": "mem_alloc"', b'{op: "mem_alloc"')

    def __init__(self) -> None:
        self.rows = 0
        self.kernels: dict[str, int] = {}
        self._kinds: list[_Kind] = []
        self._lines: dict[tuple[str, int], int] = {}
        self._indices: dict[int, tuple[str, int]] = {}
        self._frames: dict[int, tuple[str, Frame]] = {}
        # Allocations in the order of their addresses, each with its device and the pc of the call.
        self._ranges: dict[int, tuple[int, int, int]] = {}

    def begins(self, piece: bytes) -> bool:
        """Whether a piece is of such a log: it has a line of it, or one before had."""
        return self.rows > 0 or any(
            piece.startswith(line) or b"\n" + line in piece for line in (*self.ACCESSES, *self.ALLOCATIONS)
        )

    def read(self, piece: bytes) -> Read:
        """The accesses in some whole lines."""
        lines = piece.split(b"\n")[:-1]
        accesses = [line for line in lines if line.startswith(_ACCESS)]
        others = [line for line in lines if line.startswith(self.ALLOCATIONS)]
        if others:
            accesses = [line for line in accesses if not line.startswith(self.ALLOCATIONS)]
        fields = None if any(line.startswith(_UNQUOTED) for line in lines) else self._alike(accesses)
        if fields is None:
            return self._read(_text(lines))
        # What is accessed was allocated before.
        before = self._read(_text(others))
        self.rows += fields.rows
        opcodes, table, address, wrong = self._accesses(fields)
        return Read(opcodes, table, address, wrong + before.wrong, fields.rows + before.lines)

    def _alike(self, lines: list[bytes]) -> Alike | None:
        """The accesses, if they are of one kind that can be read so."""
        try:
            fields = Alike(lines, _RENAMED)
        except UnlikeError:
            return None
        return fields if set(fields.keys) >= _NEEDED else None

    def _read(self, text: str) -> Read:
        lines = sum(text.count(begin) for begin in _BEGINS)
        found = [(kind, kind.pattern.findall(text)) for kind in self._kinds]
        if sum(len(rows) for _, rows in found) < lines:
            found += [(kind, kind.pattern.findall(text)) for kind in self._learnt(text)]
        parts: list[_Texts] = []
        for kind, rows in found:
            if not rows:
                continue
            columns = dict(zip(kind.keys, zip(*rows, strict=True), strict=True))
            if kind.allocation:
                self._allocate(columns)
            else:
                parts.append(_Texts(columns))
        self.rows += lines
        opcodes, table, address, wrong = _together([self._accesses(fields) for fields in parts])
        return Read(opcodes, table, address, wrong + max(lines - sum(len(rows) for _, rows in found), 0), lines)

    def _learnt(self, text: str) -> list[_Kind]:
        """Kinds of lines that were not there before."""
        fresh: list[_Kind] = []
        torn = 0
        for line in _LINE.findall(text):
            known = [*self._kinds, *fresh]
            if len(known) >= _MOST_KINDS or torn >= _MOST_TORN:
                break
            if any(kind.pattern.match(f"\n{line}\n") for kind in known):
                continue
            kind = _Kind(line)
            if (kind.access or kind.allocation) and kind.pattern.match(f"\n{line}\n"):
                fresh.append(kind)
            else:
                torn += 1
        self._kinds += fresh
        return fresh

    def side(self) -> SideFiles:
        """What other generations have in files beside the log."""
        places = [Range(base, size, device, pc) for base, (size, device, pc) in self._ranges.items()]
        return SideFiles(
            lines=dict(self._indices),
            ranges=places,
            names={pc: name for pc, (name, _) in self._frames.items()},
            allocated={pc: (pc,) for pc in self._frames},
            allocators={pc: frame for pc, (_, frame) in self._frames.items()},
        )

    def _allocate(self, columns: dict[str, Sequence[str]]) -> None:
        devices = columns.get("dev_id", [str(_NOBODY)] * len(columns["start"]))
        for start, size, device in zip(columns["start"], columns["bytesize"], devices, strict=True):
            if _ADDRESS.fullmatch(start) and _NUMBER.fullmatch(size) and 0 <= int(size) < LIMIT:
                number = int(device) if _NUMBER.fullmatch(device) else _NOBODY
                self._ranges.pop(int(start, 16), None)
                self._ranges[int(start, 16)] = int(size), number, 0

    def _accesses(self, fields: _Fields) -> tuple[list[str], pd.DataFrame, NDArray[np.uint64], int]:
        rows = fields.rows
        address, good = fields.addresses("addr")
        numbers = {}
        for name in _NUMBERS:
            if name in fields.keys:
                numbers[name], fine = fields.numbers(name)
                # An object that is not known has no line.
                good &= fine | (name == "object_allocation_line_num")
            else:
                numbers[name] = np.zeros(rows, np.int64)
        opcode, opcodes = fields.texts("op")
        kernel = self._kernels(fields)
        table = pd.DataFrame(
            {
                "opcode": opcode, "thread_indx": numbers["thread_index"],
                "running_dev_id": numbers["running_device_id"], "mem_dev_id": numbers["mem_device_id"],
                "code_linenum": numbers["code_line_linenum"],
                "code_line_index": self._places(fields), "code_line_context": kernel,
                "kernel": kernel, "obj_offset": self._objects(fields, address, numbers),
            }
        )  # fmt: skip
        return opcodes, table[good], address[good], int((~good).sum())

    def _kernels(self, fields: _Fields) -> Ints:
        codes, distinct = _texts(fields, "kernel_name")
        known = [self.kernels.setdefault(name, len(self.kernels)) for name in distinct]
        return np.array(known, np.int64)[codes]

    def _places(self, fields: _Fields) -> Ints:
        """The index of each source line's file."""
        if "code_line_filename" not in fields.keys:
            return np.zeros(fields.rows, np.int64)
        (files, file_names), (folders, folder_names) = (
            _texts(fields, name) for name in ("code_line_filename", "code_line_dirname")
        )
        codes, pairs = pd.factorize(folders * len(file_names) + files)
        known = []
        for pair in pairs.tolist():
            folder, file = (
                folder_names[pair // len(file_names)].strip(", "),
                file_names[pair % len(file_names)].strip(", "),
            )
            path = file if not folder or not file or file.startswith("/") else f"{folder.rstrip('/')}/{file}"
            index = self._lines.setdefault((path, 0), len(self._lines) + 1)
            self._indices[index] = path, 0
            known.append(index)
        return np.array(known, np.int64)[codes]

    def _objects(self, fields: _Fields, address: NDArray[np.uint64], numbers: dict[str, Ints]) -> Ints:
        """The base of the allocation that each address is in, 0 where none is known; and who allocated that."""
        bases = np.array(sorted(self._ranges), np.uint64)
        if not len(bases):
            return np.zeros(len(address), np.int64)
        place = np.searchsorted(bases, address, "right") - 1
        base = bases[np.maximum(place, 0)]
        size = np.array([self._ranges[int(each)][0] for each in bases.tolist()], np.uint64)[np.maximum(place, 0)]
        inside = (place >= 0) & (address - base < size)
        self._describe(fields, np.where(inside, base, 0), numbers)
        return np.where(inside, base, 0).view(np.int64)

    def _describe(self, fields: _Fields, base: NDArray[np.uint64], numbers: dict[str, Ints]) -> None:
        pcs, spelled = _texts(fields, "object_allocation_pc")
        frame = pd.DataFrame({"base": base, "pc": pcs, "device": numbers["mem_device_id"]})
        for row in np.flatnonzero(~frame.duplicated().to_numpy() & (base > 0)).tolist():
            at, text = int(base[row]), spelled[pcs[row]].strip(", ")
            size, device, pc = self._ranges[at]
            pc = int(text, 16) if _ADDRESS.fullmatch(text) else pc
            self._ranges[at] = size, int(numbers["mem_device_id"][row]) if device == _NOBODY else device, pc
            if pc and pc not in self._frames:
                named = {}
                for key in ("variable_name", "allocation_func_name", "allocation_file_name"):
                    codes, texts = _texts(fields, f"object_{key}")
                    named[key] = texts[codes[row]].strip(", ")
                line = max(int(numbers["object_allocation_line_num"][row]), 0)
                self._frames[pc] = (
                    named["variable_name"],
                    Frame(
                        pc, named["allocation_func_name"], named["allocation_file_name"], line if line < 1 << 32 else 0
                    ),
                )


class _Fields(Protocol):
    """The values of some lines by their keys, as `Alike` has them."""

    rows: int
    keys: list[str]

    def numbers(self, key: str) -> tuple[Ints, Flags]: ...

    def addresses(self, key: str) -> tuple[NDArray[np.uint64], Flags]: ...

    def texts(self, key: str) -> tuple[Ints, list[str]]: ...


class _Texts:
    """The same, of values that a pattern found."""

    def __init__(self, columns: dict[str, Sequence[str]]) -> None:
        self.rows = len(columns["addr"])
        self.keys = list(columns)
        self._columns = columns

    def numbers(self, key: str) -> tuple[Ints, Flags]:
        return _numbers(self._columns[key])

    def addresses(self, key: str) -> tuple[NDArray[np.uint64], Flags]:
        texts = self._columns[key]
        good = np.fromiter((_ADDRESS.fullmatch(text) is not None for text in texts), np.bool_, self.rows)
        values = (int(text, 16) if fine else 0 for text, fine in zip(texts, good, strict=True))
        return np.fromiter(values, np.uint64, self.rows), good

    def texts(self, key: str) -> tuple[Ints, list[str]]:
        codes, distinct = pd.factorize(np.array(self._columns[key], object))
        return codes, [str(text) for text in distinct]


def _texts(fields: _Fields, key: str) -> tuple[Ints, list[str]]:
    """The distinct texts of a key and the place of each line's among them; "" where the lines do not have it."""
    return fields.texts(key) if key in fields.keys else (np.zeros(fields.rows, np.int64), [""])


def _text(lines: list[bytes]) -> str:
    return b"\n".join([b"", *lines, b""]).decode("utf-8", "backslashreplace")


def _numbers(texts: Sequence[str]) -> tuple[Ints, Flags]:
    codes, distinct = pd.factorize(np.array(texts, object))
    stripped = [str(text).strip(", ") for text in distinct]
    good = np.array([_NUMBER.fullmatch(text) is not None for text in stripped], np.bool_)
    values = np.array([int(text) if fine else 0 for text, fine in zip(stripped, good, strict=True)], np.int64)
    return values[codes], good[codes]


def _together(
    parts: Sequence[tuple[list[str], pd.DataFrame, NDArray[np.uint64], int]],
) -> tuple[list[str], pd.DataFrame, NDArray[np.uint64], int]:
    """The accesses of all kinds of lines as one table; nearly always there is one kind."""
    if not parts:
        names = (
            "opcode", "thread_indx", "running_dev_id", "mem_dev_id", "code_linenum", "code_line_index",
            "code_line_context", "kernel", "obj_offset",
        )  # fmt: skip
        return [], pd.DataFrame({name: np.empty(0, np.int64) for name in names}), np.empty(0, np.uint64), 0
    opcodes: list[str] = []
    tables = []
    for own, table, _, _ in parts:
        tables.append(table.assign(opcode=table["opcode"] + len(opcodes)))
        opcodes += own
    addresses = np.concatenate([address for _, _, address, _ in parts])
    return opcodes, pd.concat(tables, ignore_index=True), addresses, sum(wrong for *_, wrong in parts)
