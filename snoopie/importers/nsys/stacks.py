"""Backtraces: CUDA_CALLCHAINS → modules, frames, symbols, and stacks that share their callers."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from snoopie.importers.nsys.database import MISSING, Database, Ints
from snoopie.trace.writer import TraceWriter

TABLE = "CUDA_CALLCHAINS"
# Of a deeper stack the outermost frames are left out.
_DEEPEST = 1024
# What stands in the place of a symbol that was not found.
_ADDRESS = re.compile(r"0x([0-9a-fA-F]{1,16})")
_NOTHING = frozenset({"", "[unknown]", "<unknown>", "unknown"})


class Chains:
    """The backtraces of a report, read when they are first needed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows: pd.DataFrame | None = None

    def of(self, ids: Ints) -> pd.DataFrame:
        """The frames of these backtraces, in the order of backtrace, then from the outermost to the innermost."""
        if self._rows is None:
            rows = pd.DataFrame(self._database.numbers(TABLE, "id symbol module unresolved originalIP stackDepth"))
            rows = rows.sort_values(["id", "stackDepth"], kind="stable", ignore_index=True)
            rows = rows[rows.groupby("id").cumcount() < _DEEPEST]
            self._rows = rows.iloc[::-1].sort_values("id", kind="stable", ignore_index=True)
        return self._rows[self._rows["id"].isin(ids)]


def write_stacks(writer: TraceWriter, database: Database, chains: Chains, ids: Ints) -> tuple[Ints, Ints]:
    """Writes the stacks of these backtraces; returns the ids of those that have frames, rising, and their stacks."""
    rows = chains.of(np.unique(ids[ids != MISSING]))
    if rows.empty:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    numbers = rows.groupby(["module", "symbol", "originalIP", "unresolved"], sort=False).ngroup().to_numpy() + 1
    frames = rows[~pd.Series(numbers, rows.index).duplicated()]
    _write_frames(writer, database, frames)
    known, first, lengths = np.unique(rows["id"].to_numpy(), return_index=True, return_counts=True)
    stack = np.zeros(len(known), np.int64)
    written = 0
    # One level at a time, from the outermost: what is alike so far is one stack.
    for level in range(int(lengths.max())):
        deep = np.flatnonzero(lengths > level)
        pairs = stack[deep] << 32 | numbers[first[deep] + level]
        distinct, place = np.unique(pairs, return_inverse=True)
        fresh = written + 1 + np.arange(len(distinct))
        writer.write("stacks", id=fresh, frame=distinct & 0xFFFF_FFFF, caller=distinct >> 32)
        stack[deep] = fresh[place]
        written += len(distinct)
    return known, stack


def stacks_of(chains: Ints, known: Ints, stacks: Ints) -> Ints:
    """The stack of each backtrace, 0 for none."""
    if not len(known):
        return np.zeros(len(chains), np.int64)
    places = np.searchsorted(known, chains).clip(max=len(known) - 1)
    return np.where(known[places] == chains, stacks[places], 0)


def _write_frames(writer: TraceWriter, database: Database, frames: pd.DataFrame) -> None:
    """Frames are 1, 2, 3, … in the order of these rows."""
    texts = database.strings({*frames["module"].unique().tolist(), *frames["symbol"].unique().tolist()})
    paths: dict[str, int] = {}
    module, address, function = [], [], []
    columns = (frames[name].tolist() for name in ("module", "symbol", "unresolved", "originalIP"))
    for module_id, symbol, unresolved, pointer in zip(*columns, strict=True):
        path, name = texts[module_id], texts[symbol]
        module.append(0 if path.strip().casefold() in _NOTHING else paths.setdefault(path, len(paths) + 1))
        spelled = _ADDRESS.fullmatch(name.strip())
        known = unresolved in (0, MISSING) and not spelled and name.strip().casefold() not in _NOTHING
        function.append(name if known else "")
        if pointer in (0, MISSING):
            pointer = int(spelled[1], 16) if spelled else 0
        address.append(pointer % (1 << 64))
    writer.write("modules", id=np.arange(1, len(paths) + 1), path=writer.intern_all(paths))
    ids = np.arange(1, len(frames) + 1)
    writer.write("frames", id=ids, module=np.array(module, np.int64), address=np.array(address, np.uint64))
    names = writer.intern_all(function)
    writer.write("symbols", frame=ids[names > 0], function=names[names > 0])
