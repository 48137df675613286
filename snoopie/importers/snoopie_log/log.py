"""The log itself: one line a lane, or a copy → accesses and copies.

The lines of one access stand together, and nothing else says that they are one: consecutive lines that differ in
nothing but the address are taken together, 32 at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.garbage import uncollected
from snoopie.importers import Progress
from snoopie.importers.amounts import LIMIT
from snoopie.importers.snoopie_log.accesses import Accesses, Copies
from snoopie.importers.snoopie_log.fields import Flags, Ints, Lines, lines_by_fields
from snoopie.importers.snoopie_log.json_lines import JsonLines
from snoopie.importers.snoopie_log.opcode import Opcode, decode
from snoopie.importers.snoopie_log.side_files import SideFiles
from snoopie.importers.text import TextFile
from snoopie.trace.writer import HOST, UNKNOWN

_Key = TypeVar("_Key")

LANES = 32
_PIECE = 8 << 20
# Numbers of devices from here on are no GPU's.
GPUS = 64
_ON_HOST = (-1, 999)
_HEADING = "op_code"
_COPY = "cuMemcpy"

# Each generation of the log added a column.
_NEWEST = ("op_code", "addr", "thread_indx", "running_dev_id", "mem_dev_id", "code_linenum", "code_line_index",
           "code_line_context", "code_line_estimated_status", "obj_offset", "mem_range")  # fmt: skip
_ADDED = ("code_line_context", "mem_range", "obj_offset")
_LAYOUTS = {
    len(_NEWEST) - count: tuple(name for name in _NEWEST if name not in _ADDED[:count])
    for count in range(len(_ADDED) + 1)
}
# What a line has that is of an older generation: no such number.
_MISSING = {"code_line_context": -1, "mem_range": 0, "obj_offset": 0}
_NEEDED = frozenset(_NEWEST) - {*_ADDED, "code_line_estimated_status"}


@dataclass(frozen=True, slots=True)
class Site:
    """A static instruction, as far as a log distinguishes them: ``index`` is that of the file of its line, ``kernel``
    a place in the kernels of `Log`, where it has any.
    """

    opcode: str
    line: int
    index: int
    kernel: int = 0


@dataclass(slots=True)
class Log:
    """What a log says. Launches are distinguished by issuer and context, all that is known of them.

    Logs of JSON lines name ``kernels``, which then stand for contexts, and have themselves what other generations have
    in the files beside them: ``side``.
    """

    sites: list[Site] = field(default_factory=list)
    launches: list[tuple[int, int]] = field(default_factory=list)
    bases: list[tuple[int, int]] = field(default_factory=list)
    accesses: Accesses = field(default_factory=Accesses)
    copies: Copies = field(default_factory=Copies)
    calls: list[str] = field(default_factory=list)
    devices: int = 0
    rows: int = 0
    wrong: int = 0
    local: int = 0
    local_copies: int = 0
    generations: set[int] = field(default_factory=set)
    kernels: list[str] = field(default_factory=list)
    side: SideFiles | None = None
    cut: str = ""


def read_log(text: TextFile, progress: Progress) -> Log:
    """Reads a log of any generation. Raises an error of the family where the file cannot be read."""
    reader = _Reader()
    for piece, last in _with_last(text.pieces(_PIECE)):
        reader.take(piece, last)
        progress(text.path.name, reader.log.rows)
    reader.finish()
    reader.log.cut = text.cut
    return reader.log


def _with_last(pieces: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    before = None
    for piece in pieces:
        if before is not None:
            yield before, False
        before = piece
    if before is not None:
        yield before, True


class _Reader:
    def __init__(self) -> None:
        self.log = Log()
        self._layouts = dict(_LAYOUTS)
        self._sites: dict[Site, int] = {}
        self._launches: dict[tuple[int, int], int] = {}
        self._bases: dict[tuple[int, int], int] = {}
        self._calls: dict[str, int] = {}
        self._carry = b""
        self._json = JsonLines()

    def take(self, piece: bytes, last: bool) -> None:
        """Reads a piece; the access at its end is kept for the next one, which may have more of it."""
        piece, self._carry = self._carry + piece, b""
        if self._json.begins(piece):
            with uncollected():
                self._take_json(piece, last)
            return
        self._layouts |= _layouts_named(piece)
        groups, rest = lines_by_fields(piece)
        for group in groups:
            layout = self._layouts.get(group.fields)
            if layout is None:
                continue
            rest -= len(group)
            held = self._group(group, layout, last)
            if held is not None:
                self._carry = piece[int(group.begins[held, 0]) :]
        self.log.rows += rest
        self.log.wrong += rest

    def finish(self) -> None:
        """Has the log know what only all of its lines say."""
        if self._json.rows:
            self.log.side, self.log.kernels = self._json.side(), list(self._json.kernels)

    def _take_json(self, piece: bytes, last: bool) -> None:
        read = self._json.read(piece)
        self.log.rows += read.lines
        self.log.wrong += read.wrong
        table = read.table
        gpu = (table["running_dev_id"] >= 0) & (table["running_dev_id"] < GPUS)
        self.log.wrong += int((~gpu).sum())
        rows = np.flatnonzero(gpu)
        table, address = table.iloc[rows].reset_index(drop=True), read.address[rows]
        starts = _starts(table)
        # All lines from the last access on, if none of them is of another kind.
        if not last and len(starts) and (held := _from_line(piece, len(table) - int(starts[-1]))) is not None:
            self._carry = piece[held:]
            self.log.rows -= len(table) - int(starts[-1])
            table, starts = table.iloc[: starts[-1]], starts[:-1]
        if len(table):
            self._accesses(read.opcodes, table, starts, address[: len(table)])

    def _group(self, lines: Lines, layout: Sequence[str], last: bool) -> int | None:
        """Reads lines of one layout; returns the first line that belongs to an access at the end of the piece."""
        place = {name: number for number, name in enumerate(layout)}
        texts, opcode, good = lines.texts(place["op_code"])
        address, fine = lines.addresses(place["addr"])
        good &= fine
        numbers: dict[str, Ints] = {}
        for name in _NEWEST[2:]:
            if name not in place:
                numbers[name] = np.full(len(lines), _MISSING.get(name, 0))
            elif name == "obj_offset":
                numbers[name], fine = _signed(lines.addresses(place[name]))
                good &= fine
            elif name != "code_line_estimated_status":
                numbers[name], fine = lines.decimals(place[name])
                good &= fine
        heading = np.isin(opcode, [number for number, text in enumerate(texts) if text.strip() == _HEADING])
        copy = np.isin(opcode, [number for number, text in enumerate(texts) if text.startswith(_COPY)]) & good
        gpu = (numbers["running_dev_id"] >= 0) & (numbers["running_dev_id"] < GPUS)
        access = good & ~copy & ~heading & gpu & (numbers["code_linenum"] < 1 << 32)
        # The columns that all lines of one access have in common.
        names = ("thread_indx", "running_dev_id", "mem_dev_id", "code_linenum", "code_line_index",
                 "code_line_context", "obj_offset")  # fmt: skip
        rows = np.flatnonzero(access)
        table = pd.DataFrame({"opcode": opcode[rows], **{name: numbers[name][rows] for name in names}})
        starts = _starts(table)
        held = None
        if not last and len(rows):
            first = int(rows[starts[-1]])
            # All lines from there to the end of the piece, none of them of another kind.
            if lines.number[first] + len(rows) - starts[-1] == lines.total:
                held, rows, table, starts = first, rows[: starts[-1]], table.iloc[: starts[-1]], starts[:-1]
        until = len(lines) if held is None else held
        self.log.rows += int((~heading[:until]).sum())
        self.log.wrong += int((~(access | copy | heading))[:until].sum())
        self.log.generations.add(lines.fields)
        self._copies(texts, opcode, copy, address, numbers)
        if len(rows):
            self._accesses(texts, table, starts, address[rows])
        return held

    def _copies(
        self, texts: Sequence[str], opcode: Ints, copy: Flags, address: NDArray[np.uint64], numbers: dict[str, Ints]
    ) -> None:
        rows = np.flatnonzero(copy)
        if not len(rows):
            return
        ends = {name: numbers[column][rows] for name, column in _ENDS.items()}
        self._see(*ends.values())
        size = numbers["mem_range"][rows]
        sane = (size >= 0) & (size < LIMIT)
        self.log.wrong += int((~sane).sum())
        call = [_number(self._calls, self.log.calls, texts[number]) for number in opcode[rows].tolist()]
        self.log.copies.add(
            {
                "call": np.array(call, np.int64)[sane],
                "destination_address": address[rows][sane],
                **{name: owners(devices)[sane] for name, devices in ends.items()},
                "context": numbers["code_line_context"][rows][sane],
                "bytes": size[sane],
            }
        )

    def _accesses(
        self, texts: Sequence[str], table: pd.DataFrame, starts: Ints, address: NDArray[np.uint64]
    ) -> None:  # fmt: skip
        first = table.iloc[starts].reset_index(drop=True)
        self._see(first["running_dev_id"].to_numpy(), first["mem_dev_id"].to_numpy())
        owner = owners(first["mem_dev_id"].to_numpy())
        known = np.array([decode(text) is not None for text in texts])
        opcodes = [decode(text) or Opcode("load", 1) for text in texts]
        width = np.array([opcode.width for opcode in opcodes])[first["opcode"]]
        unit = np.array([opcode.wire_unit for opcode in opcodes])[first["opcode"]]
        lanes = np.diff(starts, append=len(table))
        columns = pd.DataFrame(
            {
                "site": self._numbered(
                    first, ["opcode", "code_linenum", "code_line_index", *(["kernel"] if "kernel" in first else [])],
                    lambda key: _number(self._sites, self.log.sites, Site(texts[key[0]], *key[1:])),
                ),
                "launch": self._numbered(
                    first, ["running_dev_id", "code_line_context"],
                    lambda key: _number(self._launches, self.log.launches, (key[0], key[1])),
                ),
                "base": self._numbered(
                    first, ["obj_offset", "mem_dev_id"],
                    lambda key: _number(self._bases, self.log.bases, (key[0] % (1 << 64), key[1])),
                ),
                "issuer": first["running_dev_id"],
                "owner": np.where(known[first["opcode"]], owner, UNKNOWN),
                "measured": known[first["opcode"]],
                "lanes": lanes,
                "wire_units": _wire_units(address, starts, width, unit),
            }
        )  # fmt: skip
        even, stride = _strides(address, starts, lanes)
        columns["stride"] = stride
        # What a GPU does in its own memory crosses nothing.
        kept = owner != columns["issuer"].to_numpy()
        self.log.local += int(lanes[~kept].sum())
        rows = np.flatnonzero(kept & ~even & columns["measured"].to_numpy())
        lane = np.minimum(np.arange(LANES), lanes[rows, None] - 1)
        self.log.accesses.add(columns[kept], address[starts[kept]], even[kept], address[starts[rows, None] + lane])

    def _numbered(
        self, table: pd.DataFrame, names: Sequence[str], number: Callable[[tuple[int, ...]], int]
    ) -> Ints:  # fmt: skip
        """The number of each row's key, made for each distinct one."""
        groups = table.groupby(list(names), sort=False)
        place = groups.ngroup().to_numpy(np.int64)
        distinct = table[~pd.Series(place).duplicated()][list(names)].to_numpy()
        return np.array([number(tuple(key)) for key in distinct.tolist()], np.int64)[place]

    def _see(self, *devices: Ints) -> None:
        for values in devices:
            gpus = values[(values >= 0) & (values < GPUS)]
            self.log.devices = max(self.log.devices, int(gpus.max(initial=-1)) + 1)


_ENDS = {"source": "running_dev_id", "destination": "mem_dev_id"}


def owners(devices: Ints) -> Ints:
    """The codes of owners for the log's numbers of devices."""
    gpus = np.where((devices >= 0) & (devices < GPUS), devices, UNKNOWN)
    return np.where(np.isin(devices, _ON_HOST), HOST, gpus)


def _from_line(piece: bytes, lines: int) -> int | None:
    """Where the last lines of a piece begin, if each is an access in JSON."""
    begin = len(piece)
    for _ in range(lines):
        begin = piece.rfind(b"\n", 0, begin - 1) + 1
        if not piece.startswith(JsonLines.ACCESSES, begin) or piece.startswith(JsonLines.ALLOCATIONS, begin):
            return None
    return begin


def _layouts_named(piece: bytes) -> dict[int, tuple[str, ...]]:
    """The layouts that headers in a piece of text spell out, by their number of columns."""
    found = {}
    at = 0 if piece.startswith(_HEADING.encode()) else piece.find(b"\n" + _HEADING.encode()) + 1
    if at or piece.startswith(_HEADING.encode()):
        heading = piece[at : piece.find(b"\n", at)].decode("utf-8", "replace")
        names = tuple(name.strip() for name in heading.split(","))
        if names[0] == _HEADING and set(names) >= _NEEDED and len(set(names)) == len(names):
            found[len(names)] = names
    return found


def _starts(table: pd.DataFrame) -> Ints:
    """The first row of each access."""
    change = np.zeros(len(table), np.bool_)
    change[:1] = True
    for name in table.columns:
        values = table[name].to_numpy()
        change[1:] |= values[1:] != values[:-1]
    runs = np.flatnonzero(change)
    within = np.arange(len(table)) - np.repeat(runs, np.diff(runs, append=len(table)))
    return np.flatnonzero(within % LANES == 0)


def _strides(address: NDArray[np.uint64], starts: Ints, lanes: Ints) -> tuple[Flags, Ints]:
    """Whether the lanes of each access are evenly spaced, and how far apart; one lane alone is."""
    step = np.diff(address, append=address[-1:]).view(np.int64)
    stride: Ints = np.where(lanes > 1, step[starts], 0)
    inside = np.ones(len(address), np.bool_)
    inside[starts + lanes - 1] = False
    odd = inside & (step != np.repeat(stride, lanes))
    return ~np.logical_or.reduceat(odd, starts), stride


def _wire_units(address: NDArray[np.uint64], starts: Ints, width: Ints, unit: Ints) -> Ints:
    """The number of distinct wire units that each access touches; ``width`` and ``unit``: of each access, in bytes."""
    lanes = np.diff(starts, append=len(address))
    wide, size = (np.repeat(values, lanes).astype(np.uint64) for values in (width, unit))
    first = address // size
    # The last byte cannot lie behind the end of all addresses.
    last = np.maximum(address + (wide - np.uint64(1)), address) // size
    access = np.repeat(np.arange(len(starts)), lanes)
    number, access = np.concatenate([first, last]), np.concatenate([access, access])
    order = np.lexsort((number, access))
    number, access = number[order], access[order]
    fresh = np.ones(len(number), np.bool_)
    fresh[1:] = (number[1:] != number[:-1]) | (access[1:] != access[:-1])
    return np.bincount(access[fresh], minlength=len(starts))


def _signed(read: tuple[NDArray[np.uint64], Flags]) -> tuple[Ints, Flags]:
    return read[0].view(np.int64), read[1]


def _number(known: dict[_Key, int], every: list[_Key], key: _Key) -> int:
    """The place of a key in a list, to which it is added when it is new."""
    if key not in known:
        known[key] = len(every)
        every.append(key)
    return known[key]
