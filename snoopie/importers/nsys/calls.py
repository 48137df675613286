"""The calls of the CUDA runtime and driver: rows of CUPTI_ACTIVITY_KIND_RUNTIME → calls, and their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.importers.call_tables import write_call_tables
from snoopie.importers.nsys.export import ID_MASK, MISSING, Export, Ints, is_time, joined, slices, small
from snoopie.importers.nsys.names import CallNames
from snoopie.trace.writer import UNKNOWN, TableWriter

TABLE = "CUPTI_ACTIVITY_KIND_RUNTIME"
CHAINS, CHAIN = "CUDA_CALLCHAINS", "callchainId"
NO_CHAIN = NO_NAME = -1
_WITH_BACKTRACE = 67
# Calls that have one correlation id: of the runtime, and within it of the driver; more are no real report.
_NESTED = 16
_ERRORS = {
    1: "INVALID_VALUE", 2: "OUT_OF_MEMORY", 3: "NOT_INITIALIZED", 4: "DEINITIALIZED", 100: "NO_DEVICE",
    101: "INVALID_DEVICE", 201: "INVALID_CONTEXT", 400: "INVALID_HANDLE", 600: "NOT_READY", 700: "ILLEGAL_ADDRESS",
    701: "LAUNCH_OUT_OF_RESOURCES", 704: "PEER_ACCESS_ALREADY_ENABLED", 705: "PEER_ACCESS_NOT_ENABLED",
    719: "LAUNCH_FAILED", 801: "NOT_SUPPORTED",
}  # fmt: skip


@dataclass(slots=True)
class Calls:
    """The calls of a process, each once, in the order of their starts. Rows of ``start``, ``end`` (ns), ``thread``, …

    ``name`` and ``chain`` are ids of the report; of ``unsaid`` calls it is not known what they returned. What a call
    did (``device``, ``direction``, ``bytes``, ``kernel``: a string of the trace) is filled in by those who read it;
    ``device`` is a code of an owner.
    """

    start: Ints
    end: Ints
    thread: NDArray[np.uint32]
    correlation: InitVar[Ints]
    name: NDArray[np.int32]
    code: NDArray[np.int32]
    chain: NDArray[np.int32]
    unsaid: int
    device: NDArray[np.uint8] = field(init=False)
    direction: NDArray[np.uint8] = field(init=False)
    bytes: Ints = field(init=False)
    kernel: NDArray[np.uint32] = field(init=False)
    # The rows in the order of their correlation ids, and those.
    _order: NDArray[np.int32] = field(init=False)
    _ordered: Ints = field(init=False)

    def __post_init__(self, correlation: Ints) -> None:
        rows = len(self.start)
        self.device = np.full(rows, UNKNOWN, np.uint8)
        self.direction = np.zeros(rows, np.uint8)
        self.bytes, self.kernel = np.zeros(rows, np.int64), np.zeros(rows, np.uint32)
        # Of calls with one correlation id, first those whose stack is known, then the outermost, which began first.
        stackless = self.chain == NO_CHAIN
        order = np.argsort(correlation, kind="stable") if stackless.all() else np.lexsort((stackless, correlation))
        self._order = order.astype(np.int32)
        self._ordered = correlation[self._order]

    def __len__(self) -> int:
        return len(self.start)

    def behind(self, correlation: Ints, times: Ints | None = None) -> Ints:
        """The row of the call with a correlation id, during which the time was if one is given; -1 where none is."""
        first = np.searchsorted(self._ordered, correlation, "left")
        last = np.searchsorted(self._ordered, correlation, "right")
        found = np.full(len(correlation), -1, np.int64)
        known = (correlation != MISSING) & (correlation != 0)
        for nested in range(_NESTED):
            open_ = np.flatnonzero(known & (found < 0) & (first + nested < last))
            if not len(open_):
                break
            rows = self._order[first[open_] + nested]
            if times is not None:
                inside = (self.start[rows] <= times[open_]) & (times[open_] <= self.end[rows])
                open_, rows = open_[inside], rows[inside]
            found[open_] = rows
        return found

    def of(self, column: NDArray[Any], rows: Ints, otherwise: int) -> Ints:
        """A column's values in the rows that `behind` found."""
        if not len(self):
            return np.full(len(rows), otherwise, np.int64)
        return np.where(rows >= 0, column[rows].astype(np.int64), otherwise)

    def did(
        self, rows: Ints, devices: NDArray[np.uint8], sizes: Ints | None = None,
        directions: NDArray[np.uint8] | None = None,
    ) -> None:  # fmt: skip
        """Says what the calls of these rows (-1 = none) did: on which device, to how many bytes, in which direction."""
        known = rows >= 0
        rows = rows[known]
        self.device[rows] = devices[known]
        if sizes is not None:
            np.add.at(self.bytes, rows, sizes[known])
        if directions is not None:
            self.direction[rows] = directions[known]


def columns(export: Export) -> str:
    """The columns of TABLE that are read."""
    return "start end eventClass globalTid correlationId nameId returnValue" + (
        f" {CHAIN}" if export.has(CHAINS) else ""
    )


def sane(piece: Mapping[str, Ints]) -> NDArray[np.bool_]:
    """Which rows make sense."""
    good: NDArray[np.bool_] = is_time(piece["start"]) & is_time(piece["end"]) & (piece["start"] <= piece["end"])
    return good


def read_calls(export: Export, names: CallNames, process: int, only: bool) -> Calls:
    """The calls of a process, of rows that make sense."""
    unsaid = 0

    def pieces() -> Iterator[dict[str, Ints]]:
        nonlocal unsaid
        for piece in export.pieces(TABLE, columns(export), "globalTid", process, only):
            thread, returned = piece["globalTid"], piece["returnValue"]
            said = (returned >= -(1 << 31)) & (returned < 1 << 31)
            backtrace = piece["eventClass"] == _WITH_BACKTRACE
            unsaid += int((~said & ~backtrace).sum())
            # Versions differ in what stands for no backtrace.
            chain = piece[CHAIN] if CHAIN in piece else np.full(len(said), NO_CHAIN, np.int64)
            yield {
                "start": piece["start"],
                "end": piece["end"],
                "thread": np.where(thread == MISSING, 0, thread & ID_MASK),
                "correlation": piece["correlationId"],
                "name": small(piece["nameId"], NO_NAME),
                "code": np.where(said, returned, 0),
                "chain": small(chain, NO_CHAIN),
                "backtrace": backtrace,
            }

    kinds = {"start": np.int64, "end": np.int64, "thread": np.uint32, "correlation": np.int64, "name": np.int32,
             "code": np.int32, "chain": np.int32, "backtrace": np.bool_}  # fmt: skip
    table = _once(joined(pieces(), kinds), names)
    start = table["start"]
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        table = {name: values[order] for name, values in table.items()}
    return Calls(**table, unsaid=unsaid)


def _once(table: dict[str, NDArray[Any]], names: CallNames) -> dict[str, NDArray[Any]]:
    """Without the rows that repeat a call for the sake of its backtrace, which the call gets.

    Such a row has the call's thread and correlation id, its name without a version, and begins a little earlier.
    """
    backtrace = table.pop("backtrace")
    if not backtrace.any():
        return table
    alike = np.flatnonzero(backtrace | np.isin(table["correlation"], table["correlation"][backtrace]))
    keys = [
        table["start"][alike],
        names.codes(table["name"][alike]),
        table["correlation"][alike],
        table["thread"][alike],
    ]
    order = np.lexsort((~backtrace[alike], *keys))
    rows = alike[order]
    same = np.zeros(len(rows), np.bool_)
    same[1:] = np.logical_and.reduce([key[order][1:] == key[order][:-1] for key in keys[1:]])
    same[1:] &= (table["start"][rows][1:] <= table["end"][rows][:-1]) & (backtrace[rows][1:] != backtrace[rows][:-1])
    second = np.flatnonzero(same)
    first_repeats = backtrace[rows[second - 1]]
    repeats = np.where(first_repeats, rows[second - 1], rows[second])
    calls = np.where(first_repeats, rows[second], rows[second - 1])
    chain = table["chain"].copy()
    chain[calls] = np.where(chain[repeats] != NO_CHAIN, chain[repeats], chain[calls])
    kept = np.ones(len(chain), np.bool_)
    kept[repeats] = False
    return {name: values[kept] for name, values in (table | {"chain": chain}).items()}


def write_calls(writer: TableWriter, calls: Calls, names: NDArray[np.uint32], host: Callable[[Ints], Ints]) -> None:
    """Writes calls and their sums; ``names`` are the strings of the trace, ``host`` makes host times."""
    for rows in slices(len(calls)):
        start = host(calls.start[rows])
        write_call_tables(
            writer,
            {
                "call": names[rows], "kernel": calls.kernel[rows], "thread": calls.thread[rows],
                "gpu": calls.device[rows], "direction": calls.direction[rows], "start": start,
                "end": start + (calls.end[rows] - calls.start[rows]), "code": calls.code[rows],
                "bytes": calls.bytes[rows],
            },
            _meaning,
        )  # fmt: skip


def _meaning(code: int) -> str:
    return f"CUDA_ERROR_{_ERRORS[code]}" if code in _ERRORS else f"error {code}"
