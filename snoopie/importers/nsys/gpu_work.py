"""What ran on the GPUs: kernels → launches and spans, copies between memories → copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.importers.amounts import LIMIT
from snoopie.importers.nsys.calls import Calls
from snoopie.importers.nsys.devices import Devices
from snoopie.importers.nsys.export import MISSING, Export, Ints, is_time, numbers
from snoopie.trace.writer import COPY_KINDS, DIRECTIONS, HOST, UNKNOWN, TraceWriter

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
SETS = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"

_GRID = {"grid_x": "gridX", "grid_y": "gridY", "grid_z": "gridZ", "block_x": "blockX", "block_y": "blockY",
         "block_z": "blockZ", "shared_memory": "dynamicSharedMemory"}  # fmt: skip
# ENUM_CUDA_MEMCPY_OPER: the kinds of copies by where their ends are. The last three are moves of managed pages.
_FROM_HOST, _TO_HOST, _ON_HOST, _PEER, _MOVES = (1, 3, 11), (2, 4, 12), (9,), (10,), (11, 12, 13)
_ON_DEVICES = (5, 6, 7, 8, 10, 13)
_MOVED = "unified memory migration"


@dataclass(frozen=True, slots=True)
class GpuWork:
    """Rows of one table of a process; ``call`` is the row of the call behind each, -1 for none; ``wrong``: left out."""

    table: pd.DataFrame
    call: Ints
    wrong: int

    @property
    def device(self) -> Ints:
        return self.column("deviceId")

    def column(self, name: str) -> Ints:
        values: Ints = self.table[name].to_numpy()
        return values


@dataclass(slots=True)
class Copies:
    """What a process moved; ``call`` is a string of the trace, ``source`` and ``destination`` are codes of owners."""

    kind: Ints
    call: Ints
    source: Ints
    destination: Ints
    bytes: Ints
    gpu: Ints
    stream: NDArray[np.uint64]
    thread: Ints
    start: Ints
    end: Ints
    stack: Ints


def read_kernels(export: Export, calls: Calls, process: int, only: bool) -> GpuWork:
    """The kernels, in the order of launching."""
    columns = f"streamId demangledName shortName mangledName {' '.join(_GRID.values())}"
    read = _read(export, KERNELS, columns, calls, process, only)
    launched = calls.of(calls.start, read.call, MISSING)
    launched = np.where(launched == MISSING, read.column("start"), launched)
    order = np.lexsort((read.column("start"), launched))
    table = read.table.assign(launched=launched).iloc[order].reset_index(drop=True)
    return GpuWork(table, read.call[order], read.wrong)


def read_copies(export: Export, calls: Calls, process: int, only: bool) -> GpuWork:
    """The copies, in the order of their ends."""
    columns = "streamId bytes copyKind srcDeviceId dstDeviceId graphNodeId"
    read = _read(export, COPIES, columns, calls, process, only, sized=True)
    order = np.argsort(read.column("end"), kind="stable")
    return GpuWork(read.table.iloc[order].reset_index(drop=True), read.call[order], read.wrong)


def read_sets(export: Export, calls: Calls, process: int, only: bool) -> GpuWork:
    """What set memory to a value."""
    return _read(export, SETS, "bytes", calls, process, only, sized=True)


def read_graphs(export: Export, calls: Calls, process: int, only: bool) -> GpuWork:
    """CUDA graphs that were recorded as a whole."""
    return _read(export, GRAPHS, "graphId", calls, process, only)


def _read(
    export: Export, name: str, columns: str, calls: Calls, process: int, only: bool, *, sized: bool = False
) -> GpuWork:
    read = numbers(export, name, f"start end deviceId correlationId {columns}", "globalPid", process, only)
    sane = is_time(read["start"]) & is_time(read["end"]) & (read["end"] >= read["start"])
    if sized:
        sane &= (read["bytes"] >= 0) & (read["bytes"] < LIMIT)
    wrong = int((~sane).sum())
    table = pd.DataFrame({name: values[sane] for name, values in read.items()} if wrong else read)
    return GpuWork(table, calls.behind(table["correlationId"].to_numpy()), wrong)


def write_kernels(
    writer: TraceWriter, export: Export, kernels: GpuWork, gpu: Ints, group: Callable[[Ints, Ints], Ints],
    calls: Calls, stacks: Ints, host: Callable[[Ints], Ints],
) -> int:  # fmt: skip
    """Writes functions, launches and spans, and names the kernels of calls. Returns how many had no known GPU.

    ``group`` says from threads and times of launches which group of NCCL's calls they belong to.
    """
    known = gpu != UNKNOWN
    table, gpu, call = kernels.table[known].reset_index(drop=True), gpu[known], kernels.call[known]
    names = table["demangledName"].where(table["demangledName"] != MISSING, table["shortName"])
    groups = pd.DataFrame({"name": names, "mangled": table["mangledName"]}).groupby(["name", "mangled"], sort=False)
    function = groups.ngroup().to_numpy(np.int64) + 1
    each = groups.head(1)
    spelled = export.strings({*each["name"].tolist(), *each["mangled"].tolist()})
    texts = writer.intern_all(spelled[name] or "(a kernel without a name)" for name in each["name"].tolist())
    mangled = writer.intern_all(spelled[name] for name in each["mangled"].tolist())
    writer.write("functions", id=np.arange(1, len(each) + 1), name=texts, mangled=mangled, kernel=1)
    rows = call[call >= 0]
    calls.kernel[rows] = texts[function[call >= 0] - 1]

    ids = np.arange(1, len(table) + 1)
    shape = {name: _small(table[column]) for name, column in _GRID.items()}
    thread, launched = calls.of(calls.thread, call, 0), table["launched"].to_numpy()
    of_nccl = np.array([spelled[name].startswith("nccl") for name in each["name"].tolist()], np.bool_)
    writer.write(
        "launches", id=ids, function=function, gpu=gpu, stream=_handle(table["streamId"]), thread=thread,
        time=host(launched), stack=calls.of(stacks, call, 0),
        group=np.where(of_nccl[function - 1], group(thread, launched), 0), **shape,
    )  # fmt: skip
    writer.write("spans", launch=ids, start=host(table["start"].to_numpy()), end=host(table["end"].to_numpy()))
    return int((~known).sum())


def ends_of(copies: GpuWork, devices: Devices) -> tuple[Ints, Ints, Ints]:
    """source and destination (codes of owners) and direction of each copy."""
    kind = copies.column("copyKind")
    own = copies.device
    ends = []
    for column, of_host in (("srcDeviceId", _FROM_HOST), ("dstDeviceId", _TO_HOST)):
        named = copies.column(column)
        # Of a copy between peers, the other end may not be said: then it is not that of the GPU that copies.
        unsaid = (named == MISSING) & np.isin(kind, _PEER)
        place = devices.places(np.where(named == MISSING, own, named))
        place[np.isin(kind, [*of_host, *_ON_HOST])] = HOST
        place[~np.isin(kind, [*_FROM_HOST, *_TO_HOST, *_ON_HOST, *_ON_DEVICES]) | unsaid] = UNKNOWN
        ends.append(place)
    source, destination = ends
    direction = np.zeros(len(kind), np.int64)
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


def inside(ends: tuple[Ints, Ints, Ints]) -> NDArray[np.bool_]:
    """Which copies have both ends in one memory, so that they are no traffic."""
    source, destination, _ = ends
    both: NDArray[np.bool_] = (source == destination) & (source != UNKNOWN)
    return both


def across(
    writer: TraceWriter, copies: GpuWork, ends: tuple[Ints, Ints, Ints], gpu: Ints, calls: Calls,
    names: NDArray[np.uint32], stacks: Ints,
) -> Copies:  # fmt: skip
    """The copies whose ends lie on different GPUs, or on host and GPU. Their times are those on the GPU."""
    rows = np.flatnonzero(~inside(ends))
    table, call = copies.table.iloc[rows], copies.call[rows]
    name = calls.of(names, call, 0)
    name[table["copyKind"].isin(_MOVES).to_numpy()] = writer.intern(_MOVED)
    of_graph = (table["graphNodeId"] != MISSING) & (table["graphNodeId"] != 0)
    return Copies(
        kind=np.where(of_graph.to_numpy(), COPY_KINDS.index("graph"), COPY_KINDS.index("linear")),
        call=name,
        source=ends[0][rows],
        destination=ends[1][rows],
        bytes=table["bytes"].to_numpy(),
        gpu=gpu[rows],
        stream=_handle(table["streamId"]),
        thread=calls.of(calls.thread, call, 0),
        start=table["start"].to_numpy(),
        end=table["end"].to_numpy(),
        stack=calls.of(stacks, call, 0),
    )


def write_copies(writer: TraceWriter, parts: list[Copies], host: Callable[[Ints], Ints]) -> int:
    """Writes copies. Returns the sum of their bytes."""
    names = Copies.__slots__
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    order = np.argsort(columns["end"], kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    columns |= {name: host(columns[name]) for name in ("start", "end")}
    writer.write("copies", id=np.arange(1, len(order) + 1), **columns)
    return int(columns["bytes"].sum())


def _small(values: pd.Series[int]) -> Ints:
    """Numbers of 32 bits, 0 for what is none."""
    numbers = values.to_numpy()
    return np.where((numbers >= 0) & (numbers < 1 << 32), numbers, 0)


def _handle(values: pd.Series[int]) -> NDArray[np.uint64]:
    """Numbers of streams, 0 for what is none."""
    return values.where(values >= 0, 0).to_numpy().astype(np.uint64)
