"""Backtraces: CUDA_CALLCHAINS → modules, frames, symbols, and stacks that share their callers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.importers.nsys.calls import CHAIN, CHAINS, NO_CHAIN
from snoopie.importers.nsys.calls import TABLE as CALLS
from snoopie.importers.nsys.export import MISSING, Export, Ints, small
from snoopie.importers.nsys.names import CallNames
from snoopie.importers.spool import Spool, together
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
_COLUMNS = "id symbol module unresolved originalIP stackDepth"
# What makes a frame.
_FRAME = ["module", "symbol", "originalIP", "unresolved"]


class Chains:
    """The backtraces of a report, set aside by their ids when they are first needed.

    ``doubtful``: whether they name other calls than those that they are said to be of, so that none is of use.
    """

    def __init__(self, export: Export, names: CallNames) -> None:
        self.doubtful = False
        self._export = export
        self._names = names
        self._offset = 0
        self._spool: Spool | None = None
        # Whether nsys listens with a module.
        self._listening: dict[int, bool] = {}

    def of(self, ids: Ints) -> Iterator[pd.DataFrame]:
        """The frames of the backtraces of calls with these ids, some backtraces after others: in the order of
        backtrace, from the outermost inwards.

        The column id has the ids of the calls.
        """
        spool = self._read() if self._spool is None else self._spool
        for groups in () if self.doubtful else together([spool]):
            rows = pd.DataFrame(spool.read(groups))
            rows["id"] -= self._offset
            rows = rows[rows["id"].isin(ids) & ~self._listens(rows["module"])]
            rows = rows.sort_values(["id", "stackDepth"], kind="stable", ignore_index=True)
            rows = rows[rows.groupby("id").cumcount() < _DEEPEST]
            if len(rows):
                yield rows.iloc[::-1].sort_values("id", kind="stable", ignore_index=True)

    def close(self) -> None:
        """Gives up what is set aside."""
        if self._spool is not None:
            self._spool.close()

    def _read(self) -> Spool:
        self._spool = self._set_aside(CHAINS, _COLUMNS, "id")
        if self._spool.rows:
            self._find_offset(self._spool)
        return self._spool

    def _set_aside(self, table: str, columns: str, by: str) -> Spool:
        """Rows by the id of a backtrace."""
        spool = Spool(dict.fromkeys(columns.split(), np.int64))
        for piece in self._export.pieces(table, columns, known=by):
            good = (piece[by] >= min(_OFFSETS)) & (piece[by] < 1 << 32)
            # Keys are positive.
            spool.add(piece[by][good] - min(_OFFSETS) + 1, {name: values[good] for name, values in piece.items()})
        return spool

    def _listens(self, modules: pd.Series[int]) -> pd.Series[bool]:
        fresh = [number for number in modules.unique().tolist() if number not in self._listening]
        paths = self._export.strings(fresh)
        self._listening.update((number, _is_listener(paths[number])) for number in fresh)
        return modules.isin([number for number, listens in self._listening.items() if listens])

    def _find_offset(self, spool: Spool) -> None:
        """That with which the most backtraces have a frame of the very call that they are of."""
        calls = self._set_aside(CALLS, f"{CHAIN} nameId", CHAIN)
        found = {by: np.zeros(3, np.int64) for by in _OFFSETS}
        for groups in together([spool]):
            # A call and its backtrace may stand in neighbouring groups.
            near = calls.read({group + by for group in groups for by in _OFFSETS})
            said = near[CHAIN] >= 0
            self._compare(spool.read(groups), near[CHAIN][said], near["nameId"][said], found)
        calls.close()
        # Of those that name as many, or none, that with which the most exist.
        self._offset = max(_OFFSETS, key=lambda by: found[by][:2].tolist())
        hits, _, naming = found[self._offset].tolist()
        self.doubtful = 2 * hits < naming

    def _compare(self, rows: Mapping[str, Ints], chain: Ints, name: Ints, found: Mapping[int, Ints]) -> None:
        """Adds to ``found``, for each offset: calls that their backtrace names, that have one, and of the runtime with
        one that names a call of the runtime."""
        chains, symbols = rows["id"], rows["symbol"]
        codes = self._names.codes(np.concatenate([name, symbols]))
        call, frame = codes[: len(chain)], codes[len(chain) :]
        # Of the frames, those with the name of some call: a backtrace has few.
        named = np.isin(frame, call)
        held = pd.MultiIndex.from_arrays([chains[named], frame[named]])
        # A call of the runtime ends in others of the driver, but in no other of the runtime.
        of_runtime, naming = chain[self._of_runtime(name)], chains[self._of_runtime(symbols)]
        for by, counts in found.items():
            counts[0] += pd.MultiIndex.from_arrays([chain + by, call]).isin(held).sum()
            counts[1] += np.isin(chain + by, chains).sum()
            counts[2] += np.isin(of_runtime + by, naming).sum()

    def _of_runtime(self, ids: Ints) -> NDArray[np.bool_]:
        """Which ids are names of the runtime's calls."""
        distinct, places = np.unique(ids, return_inverse=True)
        named = [_RUNTIME.fullmatch(name) is not None for name in self._names.of(distinct.tolist())]
        return np.array(named, np.bool_)[places]


def _is_listener(path: str) -> bool:
    name = re.split(r"[/\\]", path)[-1].lower()
    return any(word in name for word in _LISTENING)


def write_stacks(writer: TableWriter, export: Export, chains: Chains, ids: Ints) -> tuple[Ints, Ints]:
    """Writes the stacks of these backtraces; returns the ids of those that have frames, rising, and their stacks."""
    wanted = np.unique(small(ids, NO_CHAIN))
    wanted = wanted[wanted != NO_CHAIN]
    written = _Stacks(writer, export)
    found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    if len(wanted) and export.has(CHAINS):
        found += [written.add(rows) for rows in chains.of(wanted)]
    known, stacks = zip(*found, strict=True)
    return np.concatenate(known), np.concatenate(stacks)


class _Stacks:
    """Modules, frames and stacks that were written, each once."""

    def __init__(self, writer: TableWriter, export: Export) -> None:
        self._writer = writer
        self._export = export
        self._modules: dict[str, int] = {}
        self._frames: dict[tuple[int, ...], int] = {}
        # (caller << 32 | frame) → stack
        self._stacks: dict[int, int] = {}

    def add(self, rows: pd.DataFrame) -> tuple[Ints, Ints]:
        """Writes what is new of some backtraces; returns their ids, rising, and their stacks."""
        numbered = self._numbered(rows)
        known, first, lengths = np.unique(rows["id"].to_numpy(), return_index=True, return_counts=True)
        stack = np.zeros(len(known), np.int64)
        # One level at a time, from the outermost: what is alike so far is one stack.
        for level in range(int(lengths.max())):
            deep = np.flatnonzero(lengths > level)
            distinct, place = np.unique(stack[deep] << 32 | numbered[first[deep] + level], return_inverse=True)
            stack[deep] = self._stacks_of(distinct)[place]
        return known, stack

    def _stacks_of(self, pairs: Ints) -> Ints:
        before = len(self._stacks)
        ids = [self._stacks.setdefault(pair, len(self._stacks) + 1) for pair in pairs.tolist()]
        stacks = np.array(ids, np.int64)
        fresh = stacks > before
        frame, caller = pairs[fresh] & 0xFFFF_FFFF, pairs[fresh] >> 32
        self._writer.write("stacks", id=stacks[fresh], frame=frame, caller=caller)
        return stacks

    def _numbered(self, rows: pd.DataFrame) -> Ints:
        """The frame of each row."""
        groups = rows.groupby(_FRAME, sort=False)
        distinct = list(groups.head(1)[_FRAME].itertuples(index=False, name=None))
        fresh = [frame for frame in distinct if frame not in self._frames]
        if fresh:
            self._write_frames(fresh)
        numbers = np.array([self._frames[frame] for frame in distinct], np.int64)
        return numbers[groups.ngroup().to_numpy()]

    def _write_frames(self, frames: list[tuple[int, ...]]) -> None:
        texts = self._export.strings({number for module, symbol, *_ in frames for number in (module, symbol)})
        before, first = len(self._modules), len(self._frames) + 1
        module, address, function = [], [], []
        for module_id, symbol, pointer, unresolved in frames:
            path, name = texts[module_id], texts[symbol]
            nowhere = path.strip().casefold() in _NOTHING
            module.append(0 if nowhere else self._modules.setdefault(path, len(self._modules) + 1))
            spelled = _ADDRESS.fullmatch(name.strip())
            known = unresolved in (0, MISSING) and not spelled and name.strip().casefold() not in _NOTHING
            function.append(name if known else "")
            if pointer in (0, MISSING):
                pointer = int(spelled[1], 16) if spelled else 0
            address.append(pointer % (1 << 64))
        writer, paths = self._writer, list(self._modules)[before:]
        writer.write("modules", id=np.arange(before + 1, before + 1 + len(paths)), path=writer.intern_all(paths))
        ids = np.arange(first, first + len(frames))
        writer.write("frames", id=ids, module=np.array(module, np.int64), address=np.array(address, np.uint64))
        names = writer.intern_all(function)
        writer.write("symbols", frame=ids[names > 0], function=names[names > 0])
        self._frames.update(zip(frames, ids.tolist(), strict=True))


def stacks_of(chains: NDArray[np.int32], known: Ints, stacks: Ints) -> NDArray[np.uint32]:
    """The stack of each backtrace, 0 for none."""
    if not len(known):
        return np.zeros(len(chains), np.uint32)
    places = np.searchsorted(known, chains).clip(max=len(known) - 1)
    return np.where(known[places] == chains, stacks[places], 0).astype(np.uint32)
