"""Allocations: rows of CUDA_GPU_MEMORY_USAGE_EVENTS → objects, frees, and the size of memory pools."""

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
from snoopie.trace.writer import HOST, OBJECT_KINDS, UNKNOWN, TableWriter

TABLE = "CUDA_GPU_MEMORY_USAGE_EVENTS"
POOL_TABLE = "CUDA_GPU_MEMORY_POOL_EVENTS"
# Kinds of memory that this tool distinguishes, besides those of the collector.
KINDS = (*OBJECT_KINDS, "pageable", "device static", "managed static", "unknown")
# ENUM_CUDA_MEM_KIND: labels, and the ids where an export has no such table.
_LABELS = {"pageable": "pageable", "pinned": "host", "device": "device", "array": "array", "managed": "managed",
           "device static": "device static", "managed static": "managed static"}  # fmt: skip
_KIND_IDS = dict(enumerate(_LABELS.values()))
_OF_HOST = ("pageable", "host")
_ALLOCATION, _FREE = 0, 1
# ENUM_CUDA_MEMPOOL_OPER, where an export has no such table.
_POOL_DESTROYED = 2


@dataclass(frozen=True, slots=True)
class Memory:
    """The events of a process in the order of time; ``kind`` is a place in KINDS.

    What the calls say of them comes from `called`: ``thread``, ``call`` and ``stack`` (of the trace), 0 until then.
    """

    time: Ints
    frees: NDArray[np.bool_]
    device: Ints
    address: Ints
    bytes: Ints
    kind: Ints
    name: list[str]
    pool: Ints
    pool_reserved: Ints
    pool_used: Ints
    correlation: Ints
    thread: Ints
    call: Ints
    stack: Ints

    def called(self, calls: Calls, names: NDArray[np.uint32], stacks: NDArray[np.uint32]) -> Ints:
        """Takes in what some calls say of their events; ``names`` and ``stacks`` are theirs. Returns the row of the
        call of each event, -1 where it is none of these."""
        row = calls.behind(self.correlation, self.time)
        found = row >= 0
        for own, of_calls in ((self.thread, calls.thread), (self.call, names), (self.stack, stacks)):
            own[found] = of_calls[row[found]]
        return row


@dataclass(frozen=True, slots=True)
class Pools:
    """Sizes of memory pools as events say them, in the order of time; ``pool`` is an address."""

    time: Ints
    device: Ints
    pool: Ints
    reserved: Ints
    used: Ints


def read_memory(export: Export, process: int, only: bool) -> tuple[Memory, int]:
    """The events of a process, and the number of rows that made no sense."""
    columns = (
        "rowid start deviceId address bytes memKind memoryOperationType correlationId localMemoryPoolAddress "
        "localMemoryPoolSize localMemoryPoolUtilizedSize importedMemoryPoolAddress"
    )
    table = numbers(export, TABLE, columns, "globalPid", process, only)
    operations = _operations(export)
    operation, start = table.pop("memoryOperationType"), table.pop("start")
    freeing = np.isin(operation, [number for number, meaning in operations.items() if meaning == _FREE])
    sane = is_time(start) & (table["address"] != MISSING) & np.isin(operation, list(operations))
    sane &= freeing | ((table["bytes"] >= 0) & (table["bytes"] < LIMIT))
    order = np.flatnonzero(sane)[np.argsort(start[sane], kind="stable")]
    # One column after the other: of millions of rows, two copies of all are many.
    kept = {name: table.pop(name)[order] for name in list(table)}
    kind = _kind_of(export, kept.pop("memKind"))
    pooled = (kept["localMemoryPoolAddress"] > 0) | (kept.pop("importedMemoryPoolAddress") > 0)
    kind[pooled & (kind == KINDS.index("device"))] = KINDS.index("pool")
    names = export.texts(TABLE, "name", "globalPid", process, only)
    rows = kept.pop("rowid")
    return Memory(
        time=start[order],
        frees=freeing[order],
        device=kept["deviceId"],
        address=kept["address"],
        bytes=kept["bytes"],
        kind=kind,
        name=[names.get(row, "") for row in rows.tolist()] if names else [""] * len(rows),
        pool=kept["localMemoryPoolAddress"],
        pool_reserved=kept["localMemoryPoolSize"],
        pool_used=kept["localMemoryPoolUtilizedSize"],
        correlation=kept["correlationId"],
        thread=np.zeros(len(rows), np.int64),
        call=np.zeros(len(rows), np.int64),
        stack=np.zeros(len(rows), np.int64),
    ), int((~sane).sum())


def read_pools(export: Export, memory: Memory, process: int, only: bool) -> tuple[Pools, int]:
    """The sizes of pools that allocations and, in current versions, the pools' own events say; wrong rows."""
    columns = "start deviceId address operationType localMemoryPoolSize localMemoryPoolUtilizedSize"
    table = numbers(export, POOL_TABLE, columns, "globalPid", process, only)
    sane = is_time(table["start"]) & (table["address"] > 0)
    wrong = int((~sane).sum())
    gone = np.isin(table["operationType"], _destroying(export))
    allocating = memory.pool > 0
    parts = (
        (memory.time, table["start"]),
        (memory.device, table["deviceId"]),
        (memory.pool, table["address"]),
        (memory.pool_reserved, np.where(gone, 0, table["localMemoryPoolSize"])),
        (memory.pool_used, np.where(gone, 0, table["localMemoryPoolUtilizedSize"])),
    )
    time, device, pool, reserved, used = (np.concatenate([own[allocating], more[sane]]) for own, more in parts)
    known = (reserved >= 0) & (reserved < LIMIT)
    order = np.flatnonzero(known)[np.argsort(time[known], kind="stable")]
    return Pools(time[order], device[order], pool[order], reserved[order], used[order]), wrong


def owners(memory: Memory, devices: Devices) -> Ints:
    """Whose memory each event is about."""
    of_host = np.isin(memory.kind, [KINDS.index(kind) for kind in _OF_HOST])
    return np.where(of_host, HOST, devices.places(memory.device))


def pairs(memory: Memory, owner: Ints) -> tuple[Ints, Ints]:
    """Rows of allocations and of the frees that end them.

    A free ends the latest live allocation at its address and of its owner, on whichever thread; where there is none, at
    its address alone, because a free may name the device that was current instead.
    """
    by_owner = pd.DataFrame({"owner": owner, "address": memory.address}).groupby(["owner", "address"]).ngroup()
    made, ended = _matched(by_owner.to_numpy().astype(np.int64), memory.frees)
    rest = np.ones(len(owner), np.bool_)
    rest[made] = rest[ended] = False
    rows = np.flatnonzero(rest)
    more_made, more_ended = _matched(memory.address[rows], memory.frees[rows])
    return np.concatenate([made, rows[more_made]]), np.concatenate([ended, rows[more_ended]])


def _matched(place: Ints, frees: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Pairs each free with the latest allocation before it at the same place that no other free has, like brackets."""
    order = np.argsort(place, kind="stable")
    order = order[~_closes_nothing(place[order], frees[order])]
    closing = frees[order]
    live = _running(place[order], np.where(closing, -1, 1))
    # What a free closes was opened when as many were live: there, the two take turns.
    level = np.where(closing, live + 1, live)
    by_level = np.lexsort((np.arange(len(order)), level, place[order]))
    order, closing = order[by_level], closing[by_level]
    same = (place[order][1:] == place[order][:-1]) & (level[by_level][1:] == level[by_level][:-1])
    first = np.flatnonzero(same & closing[1:] & ~closing[:-1])
    return order[first], order[first + 1]


def _closes_nothing(place: Ints, frees: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Frees where nothing is live: where the balance falls below all that it was, and below 0."""
    balance = pd.Series(_running(place, np.where(frees, -1, 1)))
    lowest = balance.groupby(place).cummin().groupby(place).shift(1, fill_value=0).clip(upper=0)
    return frees & (balance < lowest).to_numpy(np.bool_)


def _running(place: Ints, steps: Ints) -> Ints:
    """The sum of the steps so far, in each place apart; equal places stand together."""
    return pd.Series(steps).groupby(place).cumsum().to_numpy(np.int64)


def write_memory(
    writer: TableWriter, memory: Memory, pools: Pools, devices: Devices, host: Callable[[Ints], Ints]
) -> int:
    """Writes objects, frees and sizes of pools.

    Returns the number of frees whose allocation the report does not have.
    """
    owner = owners(memory, devices)
    made = np.flatnonzero(~memory.frees)
    object_of = np.zeros(len(memory.time), np.int64)
    object_of[made] = np.arange(1, len(made) + 1)
    time, thread = host(memory.time), memory.thread
    writer.write(
        "objects", id=object_of[made], address=memory.address[made].view(np.uint64), bytes=memory.bytes[made],
        owner=owner[made], kind=memory.kind[made], time=time[made], thread=thread[made],
        call=memory.call[made], stack=memory.stack[made],
        name=writer.intern_all(memory.name[row] for row in made.tolist()),
    )  # fmt: skip
    allocations, frees = pairs(memory, owner)
    in_time = np.argsort(frees)
    allocations, frees = allocations[in_time], frees[in_time]
    writer.write("frees", object=object_of[allocations], time=time[frees], thread=thread[frees])
    _write_pools(writer, pools, devices.places(pools.device), host(pools.time))
    return int(memory.frees.sum()) - len(frees)


def _write_pools(writer: TableWriter, pools: Pools, gpu: NDArray[np.uint8], time: Ints) -> None:
    """The pools of each GPU together, after each event of one."""
    for place in np.unique(gpu[gpu != UNKNOWN]).tolist():
        rows = np.flatnonzero(gpu == place)
        total = {"reserved": np.zeros(len(rows), np.int64), "used": np.zeros(len(rows), np.int64)}
        for pool in np.unique(pools.pool[rows]).tolist():
            here = pools.pool[rows] == pool
            latest = np.maximum.accumulate(np.where(here, np.arange(len(rows)), -1))
            for name, sizes in (("reserved", pools.reserved), ("used", pools.used)):
                total[name] += np.where(latest >= 0, sizes[rows[latest]].clip(0, LIMIT), 0)
        writer.write("memory_use", time=time[rows], gpu=place, used=-1, own=-1,
                     pool_reserved=total["reserved"], pool_used=total["used"])  # fmt: skip


def _destroying(export: Export) -> list[int]:
    """The values of operationType with which a pool ends."""
    found = [
        number
        for number, label in export.rows("ENUM_CUDA_MEMPOOL_OPER", "id label")
        if isinstance(number, int) and isinstance(label, str) and "destroy" in label.casefold()
    ]
    return found or [_POOL_DESTROYED]


def _operations(export: Export) -> dict[int, int]:
    """What the values of memoryOperationType mean."""
    found = {
        number: _FREE if "dealloc" in label.casefold() else _ALLOCATION
        for number, label in export.rows("ENUM_CUDA_DEV_MEM_EVENT_OPER", "id label")
        if isinstance(number, int) and isinstance(label, str) and "alloc" in label.casefold()
    }
    return found if {_FREE, _ALLOCATION} <= set(found.values()) else {0: _ALLOCATION, 1: _FREE}


def _kind_of(export: Export, numbers: Ints) -> Ints:
    """The places in KINDS that values of memKind mean."""
    kinds = _kinds(export)
    distinct, places = np.unique(numbers, return_inverse=True)
    known = [kinds.get(number, KINDS.index("unknown")) for number in distinct.tolist()]
    return np.array(known, np.int64)[places]


def _kinds(export: Export) -> dict[int, int]:
    """What the values of memKind mean, as places in KINDS."""
    labels = {
        number: _LABELS[label.strip().casefold()]
        for number, label in export.rows("ENUM_CUDA_MEM_KIND", "id label")
        if isinstance(number, int) and isinstance(label, str) and label.strip().casefold() in _LABELS
    }
    return {number: KINDS.index(kind) for number, kind in (_KIND_IDS | labels).items()}
