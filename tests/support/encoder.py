"""Writes trace files for tests, by the declaration of the tables in snoopie/trace/schema.json and docs/trace-format.md.

Written from the format's description, not from the reader: a mistake of the reader must not be repeated here. Used by
tests only; every part of a block can be overridden to make a wrong one.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import zstandard

SCHEMA: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "snoopie/trace/schema.json").read_text("utf-8"))
OPERATIONS = ["load", "store", "atomic", "reduction"]
COPY_KINDS = ["linear", "2d", "3d", "batch", "graph", "prefetch"]
OBJECT_KINDS = [
    *["device", "pool", "array", "mapping", "import", "managed", "host", "registered", "graph", "multicast"],
    *["physical", "symmetric"],
]
DIRECTIONS = ["", "host to device", "device to host", "device to device", "peer", "host to host", "other"]
HOST, UNKNOWN, FIRST_SET = 254, 255, 64
RECORDS = ("records", "scattered", "bulk")
HEADER, FOOTER = 0, 1
START_NS = 1_790_000_000_000_000_000

_PACK = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "f4": "f", "f8": "d"}

Row = Mapping[str, Any]


_PATTERN = ("launch", "site", "issuer", "owner", "mask", "stride")


def without(*tables: str) -> list[dict[str, Any]]:
    """The declaration of all tables but some."""
    return [table for table in SCHEMA if table["name"] not in tables]


def compress(raw: bytes) -> bytes:
    """One ended zstd frame with content size and checksum."""
    return zstandard.ZstdCompressor(write_checksum=True, write_content_size=True).compress(raw)


def encode_rows(columns: Sequence[Mapping[str, Any]], rows: Sequence[Row]) -> bytes:
    """The content of a block: the columns one after another."""
    out = b""
    for column in columns:
        values = [row[column["name"]] for row in rows]
        if column["type"].startswith("delta"):
            flat = [number for value in values for number in (value if isinstance(value, list) else [value])]
            out += encode_differences(flat, int(column["type"][5]))
        elif column["type"] == "utf8":
            texts = [value if isinstance(value, bytes) else value.encode() for value in values]
            out += struct.pack(f"<{len(texts)}I", *map(len, texts)) + b"".join(texts)
        elif column["type"].endswith("]"):
            kind, width = column["type"][:-1].split("[")
            out += b"".join(struct.pack(f"<{int(width)}{_PACK[kind]}", *value) for value in values)
        else:
            out += struct.pack(f"<{len(values)}{_PACK[column['type']]}", *values)
    return out


def encode_differences(values: Sequence[int], size: int) -> bytes:
    """The lowest value, then the difference of each from the one before in so many bytes, sign last: byte by byte."""
    lowest, limit = min(values), 1 << 8 * size
    stored = []
    for before, value in zip([lowest, *values], values, strict=False):
        difference = (value - before) % limit
        stored.append(2 * difference if difference < limit // 2 else 2 * (limit - difference) - 1)
    packed = [number.to_bytes(size, "little") for number in stored]
    return struct.pack("<Q", lowest) + bytes(number[place] for place in range(size) for number in packed)


def encode_block(
    sequence: int,
    table: int,
    rows: int,
    raw: bytes,
    *,
    dropped: int = 0,
    data: bytes | None = None,
    raw_size: int | None = None,
    data_size: int | None = None,
    data_crc: int | None = None,
    entry_crc: int | None = None,
    magic: bytes = b"SNPB",
) -> bytes:
    """An entry and its data; what is given by name replaces the right value."""
    data = compress(raw) if data is None else data
    entry = magic + struct.pack(
        "<IIIQQQI",
        sequence,
        table,
        rows,
        len(raw) if raw_size is None else raw_size,
        len(data) if data_size is None else data_size,
        dropped,
        zlib.crc32(data) if data_crc is None else data_crc,
    )
    entry += struct.pack("<I", zlib.crc32(entry) if entry_crc is None else entry_crc)
    return struct.pack("<II", 0x184D2A53, len(entry)) + entry + data


def gpu(number: int, **members: Any) -> dict[str, Any]:
    """A GPU of the header; equal numbers make equal UUIDs."""
    return {
        "uuid": f"GPU-0000000{number}-aaaa-bbbb-cccc-000000000000",
        "name": "NVIDIA H200",
        "pci": f"0000:{0x1B + number:02x}:00.0",
        "memory": 150_000_000_000,
        "sm": 90,
        "nvlinks": 18,
    } | members


class TraceBuilder:
    """Collects rows and encodes them. Every ``add`` returns the row's id; texts are interned on the way.

    ``header`` is the header's JSON object and ``totals`` the footer's totals: change them at will before `encode`.
    """

    def __init__(
        self,
        gpus: int | Iterable[int] = 4,
        *,
        pid: int = 4711,
        host: str = "node1",
        ranks: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
        schema: Sequence[Mapping[str, Any]] = SCHEMA,
    ) -> None:
        numbers = list(range(gpus)) if isinstance(gpus, int) else list(gpus)
        self.schema = {table["name"]: table for table in schema}
        self.header: dict[str, Any] = {
            "format": "snoopie",
            "version": 4,
            "tool": {"version": "0.1.0", "nvbit": "1.7.7.1", "cuda": "13.0", "driver": "13.0"},
            "settings": {"kernels": "all", "sample_size": 1, "code_attribution": True, "output": "trace.zst"}
            | dict(settings or {}),
            "process": {
                "host": host,
                "pid": pid,
                "program": "ring",
                "command": ["./ring", "65536", "3"],
                "directory": "/home/u",
                "start_ns": START_NS,
                "environment": {"CUDA_VISIBLE_DEVICES": ",".join(map(str, numbers))},
                "ranks": dict(ranks or {}),
            },
            "gpus": [gpu(number) for number in numbers],
            "links": [
                {"issuer": issuer, "owner": owner, "access": True, "native_atomics": True, "rank": 0}
                for issuer in range(len(numbers))
                for owner in range(len(numbers))
                if issuer != owner
            ],
            "owners": {"host": HOST, "unknown": UNKNOWN, "first_set": FIRST_SET},
            "operations": OPERATIONS,
            "codes": ["full", "partial", "original"],
            "copy_kinds": COPY_KINDS,
            "object_kinds": OBJECT_KINDS,
            "directions": DIRECTIONS,
            "schema": list(schema),
        }
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in self.schema}
        self.totals: dict[str, int] = {}
        self.exit_ns: int | None = None
        self.end_ns = START_NS + 2_000_000_000
        self.dropped = 0
        self._strings: dict[str, int] = {}
        self._patterns: dict[tuple[int, ...], int] = {}

    def add(self, table: str, **row: Any) -> int:
        """Adds a row as it stands, completing ``id`` and zeros; returns its id (0 in tables without)."""
        columns = [column["name"] for column in self.schema[table]["columns"]]
        complete = dict.fromkeys(columns, 0) | row
        if "id" in columns and "id" not in row:
            complete["id"] = len(self.rows[table]) + 1
        self.rows[table].append(complete)
        return int(complete.get("id", 0))

    def string(self, text: str) -> int:
        """The id of an interned string; 0 for the empty one."""
        if text and text not in self._strings:
            self._strings[text] = self.add("strings", text=text)
        return self._strings.get(text, 0)

    def line(self, file: str, line: int, function: str = "", inlined_at: int = 0) -> int:
        return self.add(
            "lines", file=self.string(file), line=line, function=self.string(function), inlined_at=inlined_at
        )

    def function(self, name: str, mangled: str = "", *, kernel: bool = True, has_lines: bool = True) -> int:
        mangled = mangled or f"_Z{name}"
        names = {"name": self.string(name), "mangled": self.string(mangled)}
        return self.add("functions", **names, kernel=int(kernel), has_lines=int(has_lines))

    def site(
        self,
        function: int,
        opcode: str,
        operation: str,
        width: int,
        *,
        wire_unit: int = 32,
        line: int = 0,
        offset: int | None = None,
        measured: bool = True,
        sass: str = "",
    ) -> int:
        offset = 16 * (len(self.rows["sites"]) + 1) if offset is None else offset
        site = self.add(
            "sites",
            function=function,
            offset=offset,
            sass=self.string(sass or f"{opcode} R4, [R2.64]"),
            opcode=self.string(opcode),
            operation=OPERATIONS.index(operation),
            width=width,
            wire_unit=wire_unit,
            measured=int(measured),
            line=line,
        )
        owner = next(row for row in self.rows["functions"] if row["id"] == function)
        owner["first_site"] = owner["first_site"] or site
        owner["sites"] += 1
        return site

    def launch(self, function: int, gpu: int, **row: Any) -> int:
        defaults = {"stream": 0x7F00_0000_1000 + gpu, "thread": 4711, "time": START_NS + 1000 * self._next("launches")}
        shape = {"grid_x": 4, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}
        return self.add("launches", function=function, gpu=gpu, **(defaults | shape | row))

    def count(self, launch: int, site: int, owner: int, accesses: int, lanes: int, wire_units: int) -> None:
        self.add("counts", launch=launch, site=site, owner=owner, accesses=accesses, lanes=lanes, wire_units=wire_units)

    def record(self, launch: int, site: int, owner: int, base: int, stride: int, **row: Any) -> None:
        """A strided access by all lanes, unless ``mask`` says otherwise."""
        self._record("records", launch, site, owner, {"base": base, "stride": stride} | row)

    def scattered(self, launch: int, site: int, owner: int, addresses: Mapping[int, int], **row: Any) -> None:
        """A scattered access: lane → address."""
        mask = sum(1 << lane for lane in addresses)
        values = [addresses.get(lane, 0) for lane in range(32)]
        self._record("scattered", launch, site, owner, {"mask": mask, "addresses": values} | row)

    def bulk(self, launch: int, site: int, owner: int, base: int, size: int, **row: Any) -> None:
        """A bulk access of ``size`` bytes, by lane 0 unless ``mask`` says otherwise."""
        self._record("bulk", launch, site, owner, {"mask": 1, "base": base, "bytes": size} | row)

    def copy(
        self, source: int, destination: int, size: int, *, gpu: int, call: str = "cuMemcpyAsync", kind: str = "linear",
        **row: Any,
    ) -> int:  # fmt: skip
        """A copy that the host started, 2 µs long."""
        start = START_NS + 100_000 * self._next("copies")
        defaults = {"source_address": 0x7F00_0000_0000, "destination_address": 0x7F40_0000_0000, "thread": 4711}
        ends = {"source": source, "destination": destination, "start": start, "end": start + 2000}
        named = {"kind": COPY_KINDS.index(kind), "call": self.string(call), "bytes": size, "gpu": gpu}
        return self.add("copies", **(defaults | ends | named | row))

    def collective(
        self, group: int, operation: str, count: int, *, gpu: int, reduction: str = "", type: str = "float32",
        communicator: int = 0xC0FFEE, **row: Any,
    ) -> int:  # fmt: skip
        """A call of NCCL on elements of 4 bytes."""
        start = START_NS + 100_000 * self._next("collectives")
        texts = {"operation": operation, "reduction": reduction, "type": type}
        sizes = {"group": group, "count": count, "bytes": 4 * count, "communicator": communicator, "gpu": gpu}
        rest = {"peer": -1, "rank": gpu, "ranks": 4, "thread": 4711, "start": start, "end": start + 3000}
        return self.add(
            "collectives", **{name: self.string(text) for name, text in texts.items()}, **(sizes | rest | row)
        )

    def set(self, owner: int, *members: int) -> int:
        """A multicast object by its value in columns of owners; a member of 255 stands for those of other processes."""
        for member in members:
            self.add("sets", owner=owner, gpu=member)
        return owner

    def allocation(
        self,
        kind: str,
        size: int,
        owner: int,
        start: int,
        end: int | None = None,
        *,
        by: int = 0,
        call: str = "",
        **row: Any,
    ) -> int:
        """An object, from and until so many ns after START_NS; without an end never freed. ``by``: of the free."""
        named = {"kind": OBJECT_KINDS.index(kind), "bytes": size, "owner": owner, "time": START_NS + start}
        thread = row.get("thread", 4711)
        freed_by = row.pop("freed_by", thread)
        made = self.add("objects", **({"thread": thread, "call": self.string(call)} | named | row))
        if end is not None:
            self.add("frees", object=made, time=START_NS + end, thread=freed_by, by=by)
        return made

    def memory_use(self, gpu: int, time: int, used: int, reserved: int = 0, pool_used: int = 0, own: int = -1) -> None:
        """What the driver reported so many ns after START_NS."""
        self.add(
            "memory_use", time=START_NS + time, gpu=gpu, used=used, own=own, pool_reserved=reserved, pool_used=pool_used
        )

    def notice(self, text: str) -> None:
        self.add("notices", time=START_NS, text=text)

    def _record(self, table: str, launch: int, site: int, owner: int, row: Mapping[str, Any]) -> None:
        issuer = next((known["gpu"] for known in self.rows["launches"] if known["id"] == launch), 0)
        time = START_NS + 500_000 + 10 * (sum(map(self._next, RECORDS)))
        access = {"launch": launch, "site": site, "issuer": issuer, "owner": owner, "time": time, "mask": 0xFFFF_FFFF}
        access |= row
        pattern = {name: access.pop(name, 0) for name in _PATTERN}
        key = tuple(pattern.values())
        if key not in self._patterns:
            self._patterns[key] = self.add("patterns", **pattern)
        self.add(table, pattern=self._patterns[key], **access)

    def _next(self, table: str) -> int:
        return len(self.rows.get(table, ())) + 1

    def contents(self, block_rows: int | None = None) -> list[tuple[int, int, bytes]]:
        """(table, rows, content) of every block of rows, at most ``block_rows`` rows each."""
        blocks = []
        for name, table in self.schema.items():
            rows = self.rows[name]
            step = block_rows or max(len(rows), 1)
            for start in range(0, len(rows), step):
                part = rows[start : start + step]
                blocks.append((table["id"], len(part), encode_rows(table["columns"], part)))
        return blocks

    def footer(self) -> dict[str, Any]:
        records = sum(len(self.rows.get(table, ())) for table in RECORDS)
        launches = len(self.rows["launches"])
        totals = {
            "launches_seen": launches,
            "launches_native": 0,
            "launches_measured": launches,
            "launches_lost": 0,
            "accesses": sum(row["accesses"] for row in self.rows["counts"]),
            "records_written": records,
            "records_dropped": self.dropped,
            "unmeasured_sites": sum(1 for row in self.rows["sites"] if not row["measured"]),
            "errors": 0,
        }
        began = {} if self.exit_ns is None else {"exit_ns": self.exit_ns}
        return {"end_ns": self.end_ns, "totals": totals | self.totals} | began

    def blocks(self, *, footer: bool = True, block_rows: int | None = None) -> list[bytes]:
        """The encoded blocks, header first."""
        contents = [(HEADER, 1, json.dumps(self.header).encode()), *self.contents(block_rows)]
        if footer:
            contents.append((FOOTER, 1, json.dumps(self.footer()).encode()))
        return [
            encode_block(sequence, table, rows, raw, dropped=self.dropped if sequence else 0)
            for sequence, (table, rows, raw) in enumerate(contents)
        ]

    def encode(self, *, footer: bool = True, block_rows: int | None = None) -> bytes:
        """The whole file."""
        return b"".join(self.blocks(footer=footer, block_rows=block_rows))

    def write(self, path: Path, *, footer: bool = True, block_rows: int | None = None) -> Path:
        path.write_bytes(self.encode(footer=footer, block_rows=block_rows))
        return path
