"""What ran on the GPUs: kernels → launches and spans, copies between memories → copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.importers.amounts import LIMIT
from snoopie.importers.nsys.calls import Calls
from snoopie.importers.nsys.database import MISSING, Database, Ints
from snoopie.importers.nsys.report import Devices
from snoopie.trace.writer import DIRECTIONS, HOST, UNKNOWN, TraceWriter

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


def read_kernels(database: Database, calls: Calls, process: int, only: bool) -> GpuWork:
    """The kernels, in the order of launching."""
    columns = f"streamId demangledName shortName mangledName {' '.join(_GRID.values())}"
    read = _read(database, KERNELS, columns, calls, process, only)
    launched = calls.of(calls.start, read.call, MISSING)
    launched = np.where(launched == MISSING, read.column("start"), launched)
    order = np.lexsort((read.column("start"), launched))
    table = read.table.assign(launched=launched).iloc[order].reset_index(drop=True)
    return GpuWork(table, read.call[order], read.wrong)


def read_copies(database: Database, calls: Calls, process: int, only: bool) -> GpuWork:
    """The copies, in the order of their ends."""
    columns = "streamId bytes copyKind srcDeviceId dstDeviceId"
    read = _read(database, COPIES, columns, calls, process, only, sized=True)
    order = np.argsort(read.column("end"), kind="stable")
    return GpuWork(read.table.iloc[order].reset_index(drop=True), read.call[order], read.wrong)


def read_sets(database: Database, calls: Calls, process: int, only: bool) -> GpuWork:
    """What set memory to a value."""
    return _read(database, SETS, "bytes", calls, process, only, sized=True)


def _read(
    database: Database, name: str, columns: str, calls: Calls, process: int, only: bool, *, sized: bool = False
) -> GpuWork:
    read = database.numbers(name, f"start end deviceId correlationId {columns}", "globalPid", process, only)
    table = pd.DataFrame(read)
    sane = table["start"].between(-LIMIT, LIMIT) & (table["end"] >= table["start"]) & (table["end"] < LIMIT)
    if sized:
        sane &= table["bytes"].between(0, LIMIT - 1)
    table = table[sane].reset_index(drop=True)
    return GpuWork(table, calls.behind(table["correlationId"].to_numpy()), int((~sane).sum()))


def write_kernels(
    writer: TraceWriter, database: Database, kernels: GpuWork, gpu: Ints, calls: Calls, stacks: Ints,
    host: Callable[[Ints], Ints],
) -> int:  # fmt: skip
    """Writes functions, launches and spans, and names the kernels of calls. Returns how many had no known GPU."""
    known = gpu != UNKNOWN
    table, gpu, call = kernels.table[known].reset_index(drop=True), gpu[known], kernels.call[known]
    names = table["demangledName"].where(table["demangledName"] != MISSING, table["shortName"])
    groups = pd.DataFrame({"name": names, "mangled": table["mangledName"]}).groupby(["name", "mangled"], sort=False)
    function = groups.ngroup().to_numpy(np.int64) + 1
    each = groups.head(1)
    spelled = database.strings({*each["name"].tolist(), *each["mangled"].tolist()})
    texts = writer.intern_all(spelled[name] or "(a kernel without a name)" for name in each["name"].tolist())
    mangled = writer.intern_all(spelled[name] for name in each["mangled"].tolist())
    writer.write("functions", id=np.arange(1, len(each) + 1), name=texts, mangled=mangled, kernel=1)
    rows = call[call >= 0]
    calls.kernel[rows] = texts[function[call >= 0] - 1]

    ids = np.arange(1, len(table) + 1)
    shape = {name: _small(table[column]) for name, column in _GRID.items()}
    writer.write(
        "launches", id=ids, function=function, gpu=gpu, stream=_handle(table["streamId"]),
        thread=calls.of(calls.thread, call, 0), time=host(table["launched"].to_numpy()),
        stack=calls.of(stacks, call, 0), **shape,
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
        place = devices.places(np.where(named == MISSING, own, named))
        place[np.isin(kind, [*of_host, *_ON_HOST])] = HOST
        place[~np.isin(kind, [*_FROM_HOST, *_TO_HOST, *_ON_HOST, *_ON_DEVICES])] = UNKNOWN
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


def write_copies(
    writer: TraceWriter, copies: GpuWork, ends: tuple[Ints, Ints, Ints], gpu: Ints, calls: Calls,
    names: NDArray[np.uint32], stacks: Ints, host: Callable[[Ints], Ints],
) -> int:  # fmt: skip
    """Writes the copies whose ends lie on different GPUs, or on host and GPU. Returns the sum of their bytes.

    Their times are those on the GPU.
    """
    source, destination, _ = ends
    across = np.flatnonzero((source != destination) | (source == UNKNOWN))
    table, call = copies.table.iloc[across], copies.call[across]
    name = calls.of(names.astype(np.int64), call, 0)
    name[table["copyKind"].isin(_MOVES).to_numpy()] = writer.intern(_MOVED)
    writer.write(
        "copies", id=np.arange(1, len(across) + 1), kind=0, call=name, source=source[across],
        destination=destination[across], bytes=table["bytes"].to_numpy(), gpu=gpu[across],
        stream=_handle(table["streamId"]), thread=calls.of(calls.thread, call, 0),
        start=host(table["start"].to_numpy()), end=host(table["end"].to_numpy()), stack=calls.of(stacks, call, 0),
    )  # fmt: skip
    return int(table["bytes"].sum())


def _small(values: pd.Series[int]) -> Ints:
    """Numbers of 32 bits, 0 for what is none."""
    numbers = values.to_numpy()
    return np.where((numbers >= 0) & (numbers < 1 << 32), numbers, 0)


def _handle(values: pd.Series[int]) -> NDArray[np.uint64]:
    """Numbers of streams, 0 for what is none."""
    return values.where(values >= 0, 0).to_numpy().astype(np.uint64)
