"""What ran on the GPUs: kernels → launches and spans, copies between memories → copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.importers.amounts import LIMIT
from snoopie.importers.nsys.calls import Calls
from snoopie.importers.nsys.devices import Devices
from snoopie.importers.nsys.export import CORRELATION, Export, Ints, is_time, joined, slices, small
from snoopie.importers.words import NAMELESS
from snoopie.trace.writer import COPY_KINDS, DIRECTIONS, HOST, UNKNOWN, TableWriter

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
SETS = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"

_GRID = {"grid_x": "gridX", "grid_y": "gridY", "grid_z": "gridZ", "block_x": "blockX", "block_y": "blockY",
         "block_z": "blockZ", "shared_memory": "dynamicSharedMemory"}  # fmt: skip
# ENUM_CUDA_MEMCPY_OPER: the kinds of copies by where their ends are. The last three are moves of managed pages.
_FROM_HOST, _TO_HOST, _ON_HOST, _PEER, _MOVES = (1, 3, 11), (2, 4, 12), (9,), (10,), (11, 12, 13)
_ON_DEVICES = (5, 6, 7, 8, 10, 13)
# Types of columns; a number of 32 bits that a row lacks is NONE.
NONE = -1
_KINDS: dict[str, dict[str, Any]] = {
    KERNELS: {
        "streamId": np.int64,
        **dict.fromkeys(("demangledName", "shortName", "mangledName", *_GRID.values()), np.int32),
    },
    COPIES: {
        "streamId": np.int64, "bytes": np.int64,
        **dict.fromkeys(("copyKind", "srcDeviceId", "dstDeviceId", "graphNodeId"), np.int32),
    },
    SETS: {"bytes": np.int64},
    GRAPHS: {},
}  # fmt: skip
# The columns of each table that are read.
COLUMNS = {table: " ".join(("start", "end", "deviceId", *kinds, CORRELATION)) for table, kinds in _KINDS.items()}
_MOVED = "unified memory migration"


# source, destination and direction of copies.
Ends = tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]


@dataclass(frozen=True, slots=True)
class GpuWork:
    """Rows of one table of a process; ``call`` is the row of the call behind each, -1 for none."""

    columns: dict[str, NDArray[Any]]
    call: Ints

    def __len__(self) -> int:
        return len(self.call)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    @property
    def spent(self) -> Ints:
        """How long each took, in ns."""
        spent: Ints = self["end"] - self["start"]
        return spent

    def ordered(self, order: Ints, **more: NDArray[Any]) -> GpuWork:
        """The rows in another order, or some of them, with more columns."""
        columns = self.columns | more
        if len(order) == len(self) and (order[1:] > order[:-1]).all():
            return GpuWork(columns, self.call)
        return GpuWork({name: values[order] for name, values in columns.items()}, self.call[order])


@dataclass(slots=True)
class Copies:
    """What a process moved; ``call`` is a string of the trace, ``source`` and ``destination`` are codes of owners."""

    kind: Ints
    call: Ints
    source: NDArray[np.uint8]
    destination: NDArray[np.uint8]
    bytes: Ints
    gpu: NDArray[np.uint8]
    stream: NDArray[np.uint64]
    thread: Ints
    start: Ints
    end: Ints
    stack: Ints


def sane(piece: Mapping[str, Ints]) -> NDArray[np.bool_]:
    """Which rows make sense."""
    good: NDArray[np.bool_] = is_time(piece["start"]) & is_time(piece["end"]) & (piece["end"] >= piece["start"])
    return good & (piece["bytes"] >= 0) & (piece["bytes"] < LIMIT) if "bytes" in piece else good


def read_kernels(export: Export, calls: Calls, process: int, only: bool) -> GpuWork:
    """The kernels, in the order of launching, which is a column of its own."""
    read = _read(export, KERNELS, calls, process, only)
    launched = np.where(read.call >= 0, calls.of(calls.start, read.call, 0), read["start"])
    return read.ordered(np.lexsort((read["start"], launched)), launched=launched)


def read_copies(export: Export, calls: Calls, process: int, only: bool) -> GpuWork:
    """The copies, in the order of their ends."""
    read = _read(export, COPIES, calls, process, only)
    return read.ordered(np.argsort(read["end"], kind="stable"))


def read_sets(export: Export, calls: Calls, process: int, only: bool) -> GpuWork:
    """What set memory to a value."""
    return _read(export, SETS, calls, process, only)


def read_graphs(export: Export, calls: Calls, process: int, only: bool) -> GpuWork:
    """CUDA graphs that were recorded as a whole."""
    return _read(export, GRAPHS, calls, process, only)


def _read(export: Export, table: str, calls: Calls, process: int, only: bool) -> GpuWork:
    """Rows of a table that make sense; a number that is none, or does not fit into its column, is NONE."""
    kinds = {"start": np.int64, "end": np.int64, "deviceId": np.int32, **_KINDS[table]}

    def pieces() -> Iterator[dict[str, NDArray[Any]]]:
        for piece in export.pieces(table, COLUMNS[table], "globalPid", process, only):
            few = {name: small(piece[name], NONE) for name, kind in kinds.items() if kind is np.int32}
            yield {**piece, **few, "call": calls.behind(piece[CORRELATION])}

    columns = joined(pieces(), {**kinds, "call": np.int64})
    call = columns.pop("call")
    return GpuWork(columns, call)


class Functions:
    """The functions of a trace, written when they are first launched; an id for each name of the report."""

    def __init__(self, writer: TableWriter, export: Export) -> None:
        self._writer, self._export = writer, export
        # By the ids of name and mangled name: id, string of the trace, and whether it is a kernel of NCCL.
        self._known: dict[tuple[int, int], tuple[int, int, bool]] = {}

    def of(self, name: NDArray[np.int32], mangled: NDArray[np.int32]) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """The id, the name (a string of the trace), and whether it is a kernel of NCCL, of each launch."""
        pairs = name.astype(np.int64) << 32 | mangled.astype(np.int64) & 0xFFFF_FFFF
        distinct, place = np.unique(pairs, return_inverse=True)
        names, others = distinct >> 32, (distinct & 0xFFFF_FFFF).astype(np.uint32).view(np.int32)
        keys = list(zip(names.tolist(), others.tolist(), strict=True))
        fresh = [key for key in keys if key not in self._known]
        if fresh:
            self._write(fresh)
        found = np.array([self._known[key] for key in keys], np.int64).reshape(-1, 3)
        return found[place, 0], found[place, 1], found[place, 2] > 0

    def _write(self, keys: list[tuple[int, int]]) -> None:
        first = len(self._known) + 1
        spelled = self._export.strings({number for key in keys for number in key})
        texts = self._writer.intern_all(spelled[name] or NAMELESS for name, _ in keys)
        self._writer.write(
            "functions", id=np.arange(first, first + len(keys)), name=texts, kernel=1,
            mangled=self._writer.intern_all(spelled[mangled] for _, mangled in keys),
        )  # fmt: skip
        for number, (key, text) in enumerate(zip(keys, texts.tolist(), strict=True), start=first):
            self._known[key] = number, text, spelled[key[0]].startswith("nccl")


def write_kernels(
    writer: TableWriter, functions: Functions, kernels: GpuWork, gpu: NDArray[np.uint8],
    group: Callable[[Ints, Ints], Ints], calls: Calls, stacks: NDArray[np.uint32], host: Callable[[Ints], Ints],
) -> int:  # fmt: skip
    """Writes functions, launches and spans, and names the kernels of calls. Returns how many had no known GPU.

    ``group`` says from threads and times of launches which group of NCCL's calls they belong to.
    """
    known = gpu != UNKNOWN
    homeless = int((~known).sum())
    if homeless:
        kernels, gpu = kernels.ordered(np.flatnonzero(known)), gpu[known]
    named = kernels["demangledName"]
    function, text, of_nccl = functions.of(np.where(named != NONE, named, kernels["shortName"]), kernels["mangledName"])
    # A call that launched many, as a graph, is none of theirs.
    behind = np.flatnonzero(kernels.call >= 0)
    behind = behind[np.bincount(kernels.call[behind], minlength=len(calls))[kernels.call[behind]] == 1]
    calls.kernel[kernels.call[behind]] = text[behind]
    for rows in slices(len(kernels)):
        call, launched = kernels.call[rows], kernels["launched"][rows]
        first = writer.rows("launches") + 1
        ids = np.arange(first, first + len(call))
        shape = {column: kernels[of][rows].clip(0) for column, of in _GRID.items()}
        thread = calls.of(calls.thread, call, 0)
        writer.write(
            "launches", id=ids, function=function[rows], gpu=gpu[rows], stream=_handle(kernels["streamId"][rows]),
            thread=thread, time=host(launched), stack=calls.of(stacks, call, 0),
            group=np.where(of_nccl[rows], group(thread, launched), 0), **shape,
        )  # fmt: skip
        writer.write("spans", launch=ids, start=host(kernels["start"][rows]), end=host(kernels["end"][rows]))
    return homeless


def ends_of(copies: GpuWork, devices: Devices) -> Ends:
    """source and destination (codes of owners) and direction of each copy."""
    kind = copies["copyKind"]
    own = copies["deviceId"]
    ends = []
    for column, of_host in (("srcDeviceId", _FROM_HOST), ("dstDeviceId", _TO_HOST)):
        named = copies[column]
        # Of a copy between peers, the other end may not be said: then it is not that of the GPU that copies.
        unsaid = (named == NONE) & np.isin(kind, _PEER)
        place = devices.places(np.where(named == NONE, own, named))
        place[np.isin(kind, [*of_host, *_ON_HOST])] = HOST
        place[~np.isin(kind, [*_FROM_HOST, *_TO_HOST, *_ON_HOST, *_ON_DEVICES]) | unsaid] = UNKNOWN
        ends.append(place)
    source, destination = ends
    direction = np.zeros(len(kind), np.uint8)
    for name, kinds in (
        ("host to device", _FROM_HOST),
        ("device to host", _TO_HOST),
        ("host to host", _ON_HOST),
        ("device to device", _ON_DEVICES),
    ):
        direction[np.isin(kind, kinds)] = DIRECTIONS.index(name)
    peer = np.isin(kind, _PEER) | (np.isin(kind, _ON_DEVICES) & (source != destination))
    direction[peer] = DIRECTIONS.index("peer")
    return source, destination, direction


def inside(ends: Ends) -> NDArray[np.bool_]:
    """Which copies have both ends in one memory, so that they are no traffic."""
    source, destination, _ = ends
    both: NDArray[np.bool_] = (source == destination) & (source != UNKNOWN)
    return both


def across(
    writer: TableWriter, copies: GpuWork, ends: Ends, gpu: NDArray[np.uint8], calls: Calls,
    names: NDArray[np.uint32], stacks: NDArray[np.uint32],
) -> Copies:  # fmt: skip
    """The copies whose ends lie on different GPUs, or on host and GPU. Their times are those on the GPU."""
    rows = np.flatnonzero(~inside(ends))
    some = copies.ordered(rows)
    name = calls.of(names, some.call, 0)
    name[np.isin(some["copyKind"], _MOVES)] = writer.intern(_MOVED)
    return Copies(
        kind=np.where(some["graphNodeId"] > 0, COPY_KINDS.index("graph"), COPY_KINDS.index("linear")),
        call=name,
        source=ends[0][rows],
        destination=ends[1][rows],
        bytes=some["bytes"],
        gpu=gpu[rows],
        stream=_handle(some["streamId"]),
        thread=calls.of(calls.thread, some.call, 0),
        start=some["start"],
        end=some["end"],
        stack=calls.of(stacks, some.call, 0),
    )


def write_copies(writer: TableWriter, copies: Copies, host: Callable[[Ints], Ints]) -> int:
    """Writes copies. Returns the sum of their bytes."""
    columns = {name: getattr(copies, name) for name in Copies.__slots__}
    for rows in slices(len(copies.end)):
        some = {name: values[rows] for name, values in columns.items()}
        some |= {name: host(some[name]) for name in ("start", "end")}
        first = writer.rows("copies") + 1
        writer.write("copies", id=np.arange(first, first + len(some["end"])), **some)
    return int(copies.bytes.sum())


def _handle(values: Ints) -> NDArray[np.uint64]:
    """Numbers of streams, 0 for what is none."""
    return values.clip(0).astype(np.uint64)
