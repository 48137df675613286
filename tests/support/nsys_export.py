"""Small SQLite exports of Nsight Systems, by the published schema, as four years' versions have it.

``write_export`` makes one of `Export`, whose members are rows; what a version lacks is left out of its tables.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EPOCH = 1_700_000_000_000_000_000
UUIDS = tuple(f"aaaaaaaa-bbbb-cccc-dddd-{number:012x}" for number in range(4))
RUNTIME, DRIVER, BACKTRACE = 0, 1, 67
KINDS = ("Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown")

# table → columns; @ says since which version it is there.
_SCHEMA: dict[str, str] = {
    "StringIds": "id value",
    "META_DATA_EXPORT": "name value",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName name nameEnum value",
    "TARGET_INFO_SESSION_START_TIME@2023": "utcEpochNs utcTime localTime systemClockNs@2025",
    "TARGET_INFO_GPU": "vmId id name busLocation totalMemory smCount uuid@2023 cuDevice@2023 computeMajor@2023 "
    "computeMinor@2023",
    "TARGET_INFO_CUDA_DEVICE@2024": "gpuId cudaId pid uuid numMultiprocessors",
    "PROCESSES@2024": "globalPid pid name",
    "ThreadNames": "nameId priority globalTid",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId returnValue callchainId",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start end deviceId contextId greenContextId@2024 streamId correlationId globalPid "
    "demangledName shortName mangledName@2023 gridX gridY gridZ blockX blockY blockZ dynamicSharedMemory",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start end deviceId contextId streamId correlationId globalPid bytes copyKind "
    "srcKind dstKind srcDeviceId dstDeviceId",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start end deviceId contextId streamId correlationId globalPid value bytes memKind",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": "start globalPid deviceId contextId address pc bytes memKind memoryOperationType "
    "name correlationId streamId@2023 localMemoryPoolAddress@2023 localMemoryPoolSize@2023 "
    "localMemoryPoolUtilizedSize@2023 importedMemoryPoolAddress@2023",
    "CUDA_CALLCHAINS": "id symbol module unresolved@2023 originalIP@2023 stackDepth",
    "ENUM_CUDA_MEM_KIND@2023": "id name label",
    "ENUM_CUDA_DEV_MEM_EVENT_OPER@2023": "id name label",
}
_TEXT = {"value", "name", "uuid", "busLocation", "label", "devStateName", "utcTime", "localTime"}


def global_pid(pid: int) -> int:
    return 1 << 56 | pid << 24


def global_tid(pid: int, tid: int) -> int:
    return global_pid(pid) | tid


@dataclass
class Export:
    """The rows of an export, by table; a row has the columns that matter, the others are NULL."""

    version: str = "2025"
    pid: int = 4711
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _strings: dict[str, int] = field(default_factory=dict)
    _correlations: int = 0
    _chains: int = 0

    def __post_init__(self) -> None:
        self.add("META_DATA_EXPORT", name="EXPORT_PRODUCT_VERSION", value=f"{self.version}.4.1")
        self.add("TARGET_INFO_SYSTEM_ENV", name="Hostname", value="node1", devStateName="x", nameEnum=0)
        self.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=EPOCH, utcTime="", localTime="")
        for number, operation in enumerate(("Allocation", "Deallocation")):
            self.add("ENUM_CUDA_DEV_MEM_EVENT_OPER", id=number, label=operation)
        for number, kind in enumerate(KINDS):
            self.add("ENUM_CUDA_MEM_KIND", id=number, label=kind)
        for number in range(2):
            self.add(
                "TARGET_INFO_GPU", vmId=0, id=number, name="NVIDIA H200", busLocation=f"0000:{number:02x}:00.0",
                totalMemory=1 << 37, smCount=132, uuid=UUIDS[number], cuDevice=number, computeMajor=9, computeMinor=0,
            )  # fmt: skip

    def add(self, table: str, **row: Any) -> None:
        self.rows.setdefault(table, []).append(row)

    def string(self, text: str) -> int:
        if text not in self._strings:
            self._strings[text] = len(self._strings) + 1
            self.add("StringIds", id=self._strings[text], value=text)
        return self._strings[text]

    def call(
        self, name: str, start: int, end: int, *, tid: int = 1, pid: int | None = None, code: int = 0,
        chain: int | None = None, event: int = RUNTIME, again: bool = True,
    ) -> int:  # fmt: skip
        """A call, its backtrace in a second row if ``again``; returns its correlation id."""
        self._correlations += 1
        row = {
            "start": start, "end": end, "globalTid": global_tid(pid or self.pid, tid), "nameId": self.string(name),
            "correlationId": self._correlations, "returnValue": code,
        }  # fmt: skip
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", eventClass=event, callchainId=None if again else chain, **row)
        if again and chain:
            self.add("CUPTI_ACTIVITY_KIND_RUNTIME", eventClass=BACKTRACE, callchainId=chain, **row)
        return self._correlations

    def chain(self, *frames: tuple[str, str, int]) -> int:
        """A backtrace: (symbol, module, address) from the innermost; returns its id."""
        self._chains += 1
        for depth, (symbol, module, address) in enumerate(frames):
            self.add(
                "CUDA_CALLCHAINS", id=self._chains, symbol=self.string(symbol), module=self.string(module),
                unresolved=int(symbol.startswith("0x")), originalIP=address, stackDepth=depth,
            )  # fmt: skip
        return self._chains

    def memory(
        self, time: int, address: int, size: int, *, device: int = 0, kind: int = 2, free: bool = False,
        call: int | None = None, pid: int | None = None, **row: Any,
    ) -> None:  # fmt: skip
        self.add(
            "CUDA_GPU_MEMORY_USAGE_EVENTS", start=time, globalPid=global_pid(pid or self.pid), deviceId=device,
            contextId=1, address=address, pc=0, bytes=size, memKind=kind, memoryOperationType=int(free),
            correlationId=call, **row,
        )  # fmt: skip

    def kernel(self, name: str, start: int, end: int, call: int, *, device: int = 0, pid: int | None = None) -> None:
        names = {"demangledName": self.string(name), "shortName": self.string(name.split("(")[0])}
        self.add(
            "CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=device, contextId=1, streamId=7,
            correlationId=call, globalPid=global_pid(pid or self.pid), gridX=4, gridY=3, gridZ=2, blockX=128, blockY=1,
            blockZ=1, dynamicSharedMemory=64, mangledName=self.string(f"_Z{name}"), **names,
        )  # fmt: skip

    def copy(
        self, kind: int, size: int, start: int, end: int, call: int, *, device: int = 0, pid: int | None = None,
        ends: tuple[int | None, int | None] = (None, None),
    ) -> None:  # fmt: skip
        self.add(
            "CUPTI_ACTIVITY_KIND_MEMCPY", start=start, end=end, deviceId=device, contextId=1, streamId=7,
            correlationId=call, globalPid=global_pid(pid or self.pid), bytes=size, copyKind=kind, srcDeviceId=ends[0],
            dstDeviceId=ends[1],
        )  # fmt: skip

    def without(self, *tables: str) -> Export:
        for table in tables:
            self.rows.pop(table, None)
        return self

    def write(self, path: Path, *, empty: tuple[str, ...] = ()) -> Path:
        """Makes the database. Tables are made lazily, as nsys does: those with rows, and ``empty`` ones."""
        with closing(sqlite3.connect(path)) as connection:
            for table, names in self.schema().items():
                rows = self.rows.get(table, [])
                if not rows and table not in empty:
                    continue
                types = (f'"{name}" {"TEXT" if name in _TEXT else "INTEGER"}' for name in names)
                connection.execute(f"CREATE TABLE {table} ({', '.join(types)})")
                marks = ", ".join("?" * len(names))
                values = [[row.get(name) for name in names] for row in rows]
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
            connection.commit()
        return path

    def schema(self) -> dict[str, list[str]]:
        """The tables and columns of this version."""
        found: dict[str, list[str]] = {}
        for table, columns in _SCHEMA.items():
            name, _, since = table.partition("@")
            if since <= self.version:
                words = (column.partition("@") for column in columns.split())
                found[name] = [column for column, _, first in words if first <= self.version]
        return found
