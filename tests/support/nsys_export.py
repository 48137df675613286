"""Small SQLite exports of Nsight Systems, by the published schema, as four years' versions have it.

``write_export`` makes one of `Export`, whose members are rows; what a version lacks is left out of its tables.
"""

from __future__ import annotations

import json
import sqlite3
import struct
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

EPOCH = 1_700_000_000_000_000_000
UUIDS = tuple(f"aaaaaaaa-bbbb-cccc-dddd-{number:012x}" for number in range(4))
RUNTIME, DRIVER, BACKTRACE = 0, 1, 67
KINDS = ("Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown")

# table → columns; @ says since which version it is there.
_SCHEMA: dict[str, str] = {
    "StringIds": "id value",
    "EXPORT_META_DATA@-2022": "name value",
    "META_DATA_EXPORT@2023": "name value",
    "META_DATA_CAPTURE@2024": "name value",
    "DIAGNOSTIC_EVENT@2023": "timestamp timestampType source severity text globalPid",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName name nameEnum value",
    "TARGET_INFO_SESSION_START_TIME@2023": "utcEpochNs utcTime localTime systemClockNs@2025",
    "TARGET_INFO_GPU": "vmId id name busLocation totalMemory smCount uuid@2023 cuDevice@2023 computeMajor@2023 "
    "computeMinor@2023",
    "TARGET_INFO_CUDA_GPU@2022": "vmId name pciBusId deviceId pid",
    "TARGET_INFO_CUDA_DEVICE@2024": "gpuId cudaId pid uuid numMultiprocessors",
    "PROCESSES@2024": "globalPid pid name",
    "ThreadNames": "nameId priority globalTid",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId returnValue callchainId",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start end deviceId contextId greenContextId@2024 streamId correlationId globalPid "
    "demangledName shortName mangledName@2023 gridX gridY gridZ blockX blockY blockZ dynamicSharedMemory",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start end deviceId contextId streamId correlationId globalPid bytes copyKind "
    "srcKind dstKind srcDeviceId dstDeviceId graphNodeId",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start end deviceId contextId streamId correlationId globalPid graphId",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start end deviceId contextId streamId correlationId globalPid value bytes memKind",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": "start globalPid deviceId contextId address pc bytes memKind memoryOperationType "
    "name correlationId streamId@2023 localMemoryPoolAddress@2023 localMemoryPoolSize@2023 "
    "localMemoryPoolUtilizedSize@2023 importedMemoryPoolAddress@2023",
    "CUDA_GPU_MEMORY_POOL_EVENTS@2025": "start globalPid deviceId address operationType poolType correlationId "
    "localMemoryPoolSize localMemoryPoolUtilizedSize",
    "NVTX_EVENTS": "start end eventType text globalTid textId domainId jsonTextId@2024 jsonText@2024 binaryData@2024",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES@2024": "domainId schemaId idx flags type name description arrayOrUnionDetail offset",
    "NVTX_PAYLOAD_ENUM_ENTRIES@2024": "domainId schemaId idx name value",
    "CUDA_CALLCHAINS": "id symbol module unresolved@2023 originalIP@2023 stackDepth",
    "ENUM_CUDA_MEM_KIND@2023": "id name label",
    "ENUM_CUDA_DEV_MEM_EVENT_OPER@2023": "id name label",
}
_TEXT = {"value", "name", "uuid", "busLocation", "pciBusId", "label", "devStateName", "utcTime", "localTime", "text",
         "jsonText", "binaryData", "description"}  # fmt: skip
# The tables of metadata have one name in one version.
_ALIASES = {"META_DATA_EXPORT": "EXPORT_META_DATA"}
# Payloads of NCCL: schema → entries of (name, NVTX's type, struct's letter), and where its enumeration is.
_COMMUNICATOR = ("NCCL communicator ID", 18, "Q")
_SIZE = ("Message size [bytes]", 22, "Q")
_REDUCTION = 0x1000010
NCCL_SCHEMAS: dict[int, tuple[tuple[str, int, str], ...]] = {
    0x1000002: (_COMMUNICATOR, ("No. of ranks", 5, "i"), ("Rank", 5, "i"), ("CUDA device", 5, "i")),
    0x1000004: (_COMMUNICATOR, _SIZE),
    0x1000006: (_COMMUNICATOR, _SIZE, ("Root", 5, "i")),
    0x1000007: (_COMMUNICATOR, _SIZE, ("Reduction operation", _REDUCTION, "i")),
    0x1000009: (_COMMUNICATOR, _SIZE, ("Peer rank", 5, "i")),
}


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
    _schemas: set[int] = field(default_factory=set)

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
        table = _ALIASES.get(table, table) if self.version <= "2022" else table
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
        if chain and self.version == "2022":
            # There the ids of calls count from 0, and those of backtraces from 1.
            chain -= 1
        if again and chain is not None:
            repeated = {**row, "start": start - 1, "end": end + 1, "nameId": self.string(name.partition("_v")[0])}
            self.add("CUPTI_ACTIVITY_KIND_RUNTIME", eventClass=BACKTRACE, callchainId=chain, **repeated)
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", eventClass=event, callchainId=None if again else chain, **row)
        return self._correlations

    def nccl(
        self, name: str, start: int, end: int, *, schema: int = 0, values: tuple[int, ...] = (), tid: int = 1,
        pid: int | None = None, spelled: bool = False,
    ) -> None:  # fmt: skip
        """A range of NCCL's with a payload: as bytes, or ``spelled`` as JSON, as newer versions of nsys have it."""
        payload: dict[str, Any] = {}
        if spelled:
            named = zip(NCCL_SCHEMAS[schema], values, strict=True)
            payload = {"jsonText": json.dumps({entry[0]: value for entry, value in named})}
        elif schema:
            entries = NCCL_SCHEMAS[schema]
            content = b"".join(
                struct.pack(f"<{letter}", value) for (*_, letter), value in zip(entries, values, strict=True)
            )
            content += b"\0" * (-len(content) % 8)
            payload = {"binaryData": struct.pack("<QQQQ", 1, schema, len(content), 32 + len(content)) + content}
            if schema not in self._schemas:
                self._schemas.add(schema)
                offset = 0
                for place, (entry, kind, letter) in enumerate(entries):
                    self.add("NVTX_PAYLOAD_SCHEMA_ENTRIES", domainId=1, schemaId=schema, idx=place, type=kind,
                             name=entry, offset=offset or None)  # fmt: skip
                    offset += struct.calcsize(letter)
        self.add("NVTX_EVENTS", start=start, end=end, eventType=59, textId=self.string(name), domainId=1,
                 globalTid=global_tid(pid or self.pid, tid), **payload)  # fmt: skip

    def reductions(self, *names: str) -> None:
        """The names of NCCL's reductions."""
        for value, name in enumerate(names):
            self.add("NVTX_PAYLOAD_ENUM_ENTRIES", domainId=1, schemaId=_REDUCTION, idx=value, name=name, value=value)

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

    def write_parquet(self, folder: Path) -> Path:
        """Makes a folder of parquet files; bytes of payloads are in columns of text, as nsys has them."""
        folder.mkdir()
        for table, names in self.schema().items():
            rows = self.rows.get(table, [])
            if not rows:
                continue
            columns = {}
            for name in names:
                values = [row.get(name) for row in rows]
                if name == "binaryData":
                    valid, offsets, data = pa.array(values, pa.large_binary()).buffers()
                    columns[name] = pa.LargeStringArray.from_buffers(len(rows), offsets, data, valid)
                else:
                    columns[name] = pa.array(
                        values, pa.large_string() if any(isinstance(cell, str) for cell in values) else pa.int64()
                    )
            pq.write_table(pa.table(columns), folder / f"{table}.parquet")
        return folder

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
            if self.version <= since[1:] if since[:1] == "-" else since <= self.version:
                words = (column.partition("@") for column in columns.split())
                found[name] = [column for column, _, first in words if first <= self.version]
        return found
