"""Backtraces: CUDA_CALLCHAINS → modules, frames, symbols, and stacks that share their callers."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.importers.nsys.calls import CHAINS, NO_CHAIN
from snoopie.importers.nsys.calls import TABLE as CALLS
from snoopie.importers.nsys.export import MISSING, Export, Ints, numbers, small
from snoopie.importers.nsys.names import CallNames
from snoopie.trace.writer import TableWriter

# Of a deeper stack the outermost frames are left out.
_DEEPEST = 1024
# What stands in the place of a symbol that was not found.
_ADDRESS = re.compile(r"0x([0-9a-fA-F]{1,16})")
_NOTHING = frozenset({"", "[unknown]", "<unknown>", "unknown"})
# What modules are called with which nsys listens: it is they who were called, not the program that called.
_LISTENING = ("cupti", "injection")
_RUNTIME = re.compile(r"cuda[A-Z]\w+")
# callchainId of a call + one of these = id of its backtrace. Versions count from 0 here and from 1 there.
_OFFSETS = (0, 1, -1)


class Chains:
    """The backtraces of a report, read when they are first needed.

    ``doubtful``: whether they name other calls than those that they are said to be of, so that none is of use.
    """

    def __init__(self, export: Export, names: CallNames) -> None:
        self.doubtful = False
        self._export = export
        self._names = names
        self._offset = 0
        self._rows: pd.DataFrame | None = None

    def of(self, ids: Ints) -> pd.DataFrame:
        """The frames of the backtraces of calls with these ids, in the order of backtrace, from the outermost inwards.

        The column id has the ids of the calls.
        """
        rows = self._read() if self._rows is None else self._rows
        return rows[rows["id"].isin(ids)]

    def _read(self) -> pd.DataFrame:
        rows = pd.DataFrame(numbers(self._export, CHAINS, "id symbol module unresolved originalIP stackDepth"))
        if len(rows):
            self._offset = self._best_offset(rows["id"].to_numpy(), rows["symbol"].to_numpy())
        modules = rows["module"].unique().tolist()
        paths = self._export.strings(modules)
        listening = [number for number in modules if _listens(paths[number])]
        rows = rows[~rows["module"].isin(listening)].assign(id=lambda table: table["id"] - self._offset)
        rows = rows.sort_values(["id", "stackDepth"], kind="stable", ignore_index=True)
        rows = rows[rows.groupby("id").cumcount() < _DEEPEST]
        self._rows = rows.iloc[::-1].sort_values("id", kind="stable", ignore_index=True)
        if self.doubtful:
            self._rows = self._rows.iloc[:0]
        return self._rows

    def _best_offset(self, chains: Ints, symbols: Ints) -> int:
        """That with which the most backtraces have a frame of the very call that they are of."""
        calls = numbers(self._export, CALLS, "callchainId nameId", known="callchainId")
        said = calls["callchainId"] >= 0
        chain = calls["callchainId"][said]
        codes = self._names.codes(np.concatenate([calls["nameId"][said], symbols]))
        call, frame = codes[: len(chain)], codes[len(chain) :]
        # Of the frames, those with the name of some call: a backtrace has few.
        named = np.isin(frame, call)
        held = pd.MultiIndex.from_arrays([chains[named], frame[named]])
        hits = {by: int(pd.MultiIndex.from_arrays([chain + by, call]).isin(held).sum()) for by in _OFFSETS}
        # Of those that name as many, or none, that with which the most exist.
        best = max(_OFFSETS, key=lambda by: (hits[by], int(np.isin(chain + by, chains).sum())))
        # A call of the runtime ends in others of the driver, but in no other of the runtime.
        of_runtime = self._of_runtime(calls["nameId"][said])
        naming = int(np.isin(chain[of_runtime] + best, chains[self._of_runtime(symbols)]).sum())
        self.doubtful = 2 * hits[best] < naming
        return best

    def _of_runtime(self, ids: Ints) -> NDArray[np.bool_]:
        """Which ids are names of the runtime's calls."""
        distinct, places = np.unique(ids, return_inverse=True)
        named = [_RUNTIME.fullmatch(name) is not None for name in self._names.of(distinct.tolist())]
        return np.array(named, np.bool_)[places]


def _listens(path: str) -> bool:
    name = re.split(r"[/\\]", path)[-1].lower()
    return any(word in name for word in _LISTENING)


def write_stacks(writer: TableWriter, export: Export, chains: Chains, ids: Ints) -> tuple[Ints, Ints]:
    """Writes the stacks of these backtraces; returns the ids of those that have frames, rising, and their stacks."""
    wanted = np.unique(small(ids, NO_CHAIN))
    wanted = wanted[wanted != NO_CHAIN]
    rows = chains.of(wanted) if len(wanted) and export.has(CHAINS) else pd.DataFrame()
    if rows.empty:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    numbered = rows.groupby(["module", "symbol", "originalIP", "unresolved"], sort=False).ngroup().to_numpy() + 1
    frames = rows[~pd.Series(numbered, rows.index).duplicated()]
    _write_frames(writer, export, frames)
    known, first, lengths = np.unique(rows["id"].to_numpy(), return_index=True, return_counts=True)
    stack = np.zeros(len(known), np.int64)
    written = 0
    # One level at a time, from the outermost: what is alike so far is one stack.
    for level in range(int(lengths.max())):
        deep = np.flatnonzero(lengths > level)
        pairs = stack[deep] << 32 | numbered[first[deep] + level]
        distinct, place = np.unique(pairs, return_inverse=True)
        fresh = written + 1 + np.arange(len(distinct))
        writer.write("stacks", id=fresh, frame=distinct & 0xFFFF_FFFF, caller=distinct >> 32)
        stack[deep] = fresh[place]
        written += len(distinct)
    return known, stack


def stacks_of(chains: NDArray[np.int32], known: Ints, stacks: Ints) -> NDArray[np.uint32]:
    """The stack of each backtrace, 0 for none."""
    if not len(known):
        return np.zeros(len(chains), np.uint32)
    places = np.searchsorted(known, chains).clip(max=len(known) - 1)
    return np.where(known[places] == chains, stacks[places], 0).astype(np.uint32)


def _write_frames(writer: TableWriter, export: Export, frames: pd.DataFrame) -> None:
    """Frames are 1, 2, 3, … in the order of these rows."""
    texts = export.strings({*frames["module"].unique().tolist(), *frames["symbol"].unique().tolist()})
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
