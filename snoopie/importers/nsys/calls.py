"""The calls of the CUDA runtime and driver: rows of CUPTI_ACTIVITY_KIND_RUNTIME → calls, and their sums."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.importers.amounts import LIMIT
from snoopie.importers.call_tables import write_call_tables
from snoopie.importers.nsys.database import ID_MASK, MISSING, Database, Ints
from snoopie.trace.writer import UNKNOWN, TraceWriter

TABLE = "CUPTI_ACTIVITY_KIND_RUNTIME"
_WITH_BACKTRACE = 67
# Calls that have one correlation id: of the runtime, and within it of the driver; more are no real report.
_NESTED = 16
# cudaMalloc_v3020: the version in which the runtime's call became what it is. cuMemAlloc_v2 is the driver's name.
_RUNTIME_VERSION = re.compile(r"_v\d{4,5}(?=$|_pt[ds]s?z?$)")
_ERRORS = {
    1: "INVALID_VALUE", 2: "OUT_OF_MEMORY", 3: "NOT_INITIALIZED", 4: "DEINITIALIZED", 100: "NO_DEVICE",
    101: "INVALID_DEVICE", 201: "INVALID_CONTEXT", 400: "INVALID_HANDLE", 600: "NOT_READY", 700: "ILLEGAL_ADDRESS",
    701: "LAUNCH_OUT_OF_RESOURCES", 704: "PEER_ACCESS_ALREADY_ENABLED", 705: "PEER_ACCESS_NOT_ENABLED",
    719: "LAUNCH_FAILED", 801: "NOT_SUPPORTED",
}  # fmt: skip


@dataclass(slots=True)
class Calls:
    """The calls of a process, each once, in the order of their starts. Rows of ``start``, ``end`` (ns), ``thread``, …

    ``name`` and ``chain`` are ids of the report. What a call did (``device``, ``direction``, ``bytes``, ``kernel``: a
    string of the trace) is filled in by those who read it; ``device`` is a code of an owner.
    """

    start: Ints
    end: Ints
    thread: Ints
    correlation: Ints
    name: Ints
    code: Ints
    chain: Ints
    device: Ints = field(init=False)
    direction: Ints = field(init=False)
    bytes: Ints = field(init=False)
    kernel: Ints = field(init=False)
    _order: Ints = field(init=False)

    def __post_init__(self) -> None:
        rows = len(self.start)
        self.device = np.full(rows, UNKNOWN, np.int64)
        self.direction, self.bytes, self.kernel = (np.zeros(rows, np.int64) for _ in range(3))
        # Of calls with one correlation id, first those whose stack is known, then the outermost.
        self._order = np.lexsort((self.start, self.chain == MISSING, self.correlation))

    def __len__(self) -> int:
        return len(self.start)

    def behind(self, correlation: Ints, times: Ints | None = None) -> Ints:
        """The row of the call with a correlation id, during which the time was if one is given; -1 where none is."""
        ordered = self.correlation[self._order]
        first = np.searchsorted(ordered, correlation, "left")
        last = np.searchsorted(ordered, correlation, "right")
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

    def of(self, column: Ints, rows: Ints, otherwise: int) -> Ints:
        """A column's values in the rows that `behind` found."""
        if not len(self):
            return np.full(len(rows), otherwise, np.int64)
        return np.where(rows >= 0, column[rows], otherwise)

    def did(self, rows: Ints, devices: Ints, sizes: Ints | None = None, directions: Ints | None = None) -> None:
        """Says what the calls of these rows (-1 = none) did: on which device, to how many bytes, in which direction."""
        known = rows >= 0
        rows = rows[known]
        self.device[rows] = devices[known]
        if sizes is not None:
            np.add.at(self.bytes, rows, sizes[known])
        if directions is not None:
            self.direction[rows] = directions[known]


def read_calls(database: Database, process: int, only: bool) -> tuple[Calls, int]:
    """The calls of a process, and the number of rows that made no sense."""
    names = "start end eventClass globalTid correlationId nameId returnValue callchainId"
    table = pd.DataFrame(database.numbers(TABLE, names, "globalTid", process, only))
    sane = table["start"].between(-LIMIT, LIMIT) & (table["end"] >= table["start"]) & (table["end"] < LIMIT)
    wrong = int((~sane).sum())
    table = _once(table[sane]).sort_values("start", kind="stable", ignore_index=True)
    thread = table["globalTid"].to_numpy()
    code = table["returnValue"].to_numpy()
    chain = table["callchainId"].to_numpy()
    return Calls(
        start=table["start"].to_numpy(),
        end=table["end"].to_numpy(),
        thread=np.where(thread == MISSING, 0, thread & ID_MASK),
        correlation=table["correlationId"].to_numpy(),
        name=table["nameId"].to_numpy(),
        code=np.where(np.abs(code) < 1 << 31, code, 0),
        # Versions differ in what stands for no backtrace.
        chain=np.where(chain <= 0, MISSING, chain),
    ), wrong


def _once(table: pd.DataFrame) -> pd.DataFrame:
    """Without the rows that repeat a call for the sake of its backtrace, which the call gets."""
    if not table["eventClass"].eq(_WITH_BACKTRACE).any():
        return table
    keys = ["globalTid", "correlationId", "nameId"]
    table = table.sort_values([*keys, "start", "eventClass"], ignore_index=True)
    backtrace = (table["eventClass"] == _WITH_BACKTRACE).to_numpy()
    same = np.zeros(len(table), np.bool_)
    same[1:] = (table[keys].to_numpy()[1:] == table[keys].to_numpy()[:-1]).all(axis=1)
    same[1:] &= (table["start"].to_numpy()[1:] <= table["end"].to_numpy()[:-1]) & (backtrace[1:] != backtrace[:-1])
    second = np.flatnonzero(same)
    repeats = np.where(backtrace[second], second, second - 1)
    calls = np.where(backtrace[second], second - 1, second)
    chain = table["callchainId"].to_numpy().copy()
    chain[calls] = np.where(chain[repeats] > 0, chain[repeats], chain[calls])
    kept = np.ones(len(table), np.bool_)
    kept[repeats] = False
    return table.assign(callchainId=chain)[kept]


def call_name(text: str) -> str:
    """The name of a call without the version that the runtime's have."""
    return _RUNTIME_VERSION.sub("", text)


def write_calls(writer: TraceWriter, calls: Calls, names: NDArray[np.uint32], host: Callable[[Ints], Ints]) -> None:
    """Writes calls and their sums; ``names`` are the strings of the trace, ``host`` makes host times."""
    if not len(calls):
        return
    start = host(calls.start)
    write_call_tables(
        writer,
        {
            "call": names, "kernel": calls.kernel, "thread": calls.thread, "gpu": calls.device,
            "direction": calls.direction, "start": start, "end": start + calls.end - calls.start, "code": calls.code,
            "bytes": calls.bytes,
        },
        _meaning,
    )  # fmt: skip


def _meaning(code: int) -> str:
    return f"CUDA_ERROR_{_ERRORS[code]}" if code in _ERRORS else f"error {code}"
