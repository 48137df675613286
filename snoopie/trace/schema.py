"""The header of a trace: JSON → checked declarations of the tables, and what the process said about itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from snoopie.errors import CorruptError, MissingColumnError, NotATraceError, VersionError

# Version 1 has no bulk, copies, collectives and sets, and says nothing of how often unmeasured sites ran. Up to
# version 2 a record has all of its access; since then patterns have what many accesses have in common.
VERSIONS = (1, 2, 3)
OPERATIONS = ("load", "store", "atomic", "reduction")

# A column is an array of rows values, of rows × n values, or of strings (dtype object).
Columns = dict[str, NDArray[Any]]

_T = TypeVar("_T")
_TYPE = re.compile(r"([uif]|delta)([1248])(?:\[([1-9][0-9]{0,3})\])?")
_SIZES = {"u": "1248", "i": "1248", "f": "48", "delta": "48"}

GEOMETRY = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_memory")


def _integers(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "i")


# The columns that Snoopie reads: i an integer, s a string, a 32 addresses. The tables of _OPTIONAL may be undeclared.
NEEDED: Mapping[str, Mapping[str, str]] = {
    "strings": {"id": "i", "text": "s"},
    "lines": _integers("id file line function inlined_at"),
    "functions": _integers("id name mangled kernel has_lines"),
    "sites": _integers("id function offset sass opcode operation width measured line"),
    "launches": _integers("id function gpu stream thread time") | dict.fromkeys(GEOMETRY, "i"),
    "counts": _integers("launch site owner accesses lanes sectors"),
    "modules": _integers("id path build_id"),
    "frames": _integers("id module address"),
    "stacks": _integers("id frame caller"),
    "symbols": _integers("frame level function file line code"),
    "sampling": _integers("function gpu launches measured"),
    "patterns": _integers("id launch site issuer owner mask stride"),
    "records": _integers("pattern base time block warp"),
    "scattered": _integers("pattern time block warp") | {"addresses": "a"},
    "bulk": _integers("pattern base time block warp bytes"),
    "copies": _integers(
        "id kind call source destination source_address destination_address bytes gpu stream thread start end"
    ),
    "collectives": _integers(
        "id group operation reduction type count bytes peer communicator rank ranks gpu stream thread start end"
    ),
    "sets": _integers("owner gpu"),
    "objects": _integers("id address bytes owner kind time"),
    "frees": _integers("object time"),
    "spans": _integers("launch start end"),
    "call_totals": _integers("time call kernel thread gpu direction calls errors total least most bytes"),
    "call_times": _integers("call thread gpu log2 calls"),
    "call_errors": _integers("call thread gpu code name calls"),
    "calls": _integers("id call kernel thread gpu direction start end code bytes"),
    "memory_use": _integers("time gpu used own pool_reserved pool_used"),
    "notices": {"time": "i", "text": "s"},
}
_OPTIONAL = frozenset(NEEDED) - {"strings", "lines", "functions", "sites", "launches", "counts"}
_ACCESS = "launch site issuer owner time block warp mask"
_NEEDED_BEFORE_3: Mapping[str, Mapping[str, str]] = {
    "records": _integers(_ACCESS + " base stride"),
    "scattered": _integers(_ACCESS) | {"addresses": "a"},
    "bulk": _integers(_ACCESS + " base bytes"),
}
# Columns that are read where they are declared, and are 0 where they are not.
OPTIONAL_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "launches": _integers("group stack"),
    "counts": _integers("object"),
    "copies": _integers("stack"),
    "objects": _integers("thread call stack inside name"),
    "frees": _integers("thread by"),
}
READ: Mapping[str, Mapping[str, str]] = {
    table: {**columns, **OPTIONAL_COLUMNS.get(table, {})} for table, columns in NEEDED.items()
}
_READ_BEFORE_3 = {table: columns for table, columns in READ.items() if table != "patterns"} | dict(_NEEDED_BEFORE_3)


@dataclass(frozen=True, slots=True)
class Column:
    """One declared column. ``dtype`` is None for strings; ``width`` values a row; ``ref`` names a table or is "".

    ``delta`` is the number of bytes of a stored difference, 0 where values are stored as they are.
    """

    name: str
    type: str
    unit: str
    doc: str
    ref: str
    dtype: np.dtype[Any] | None
    width: int
    delta: int

    def size(self, rows: int) -> int | None:
        """Bytes of so many rows; None for strings."""
        if self.dtype is None:
            return None
        return 8 + rows * self.width * self.delta if self.delta else rows * self.width * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Table:
    """One declared table."""

    name: str
    id: int
    doc: str
    columns: tuple[Column, ...]

    def size(self, rows: int) -> int | None:
        """Bytes of so many rows; None where they hold strings."""
        sizes = [size for size in (column.size(rows) for column in self.columns) if size is not None]
        return sum(sizes) if len(sizes) == len(self.columns) else None

    def decode(self, content: bytes, rows: int, only: Collection[str] | None = None) -> Columns:
        """The columns of a block, or ``only`` some. ValueError where the content is not exactly ``rows`` rows."""
        columns: Columns = {}
        position = 0
        for column in self.columns:
            size = column.size(rows)
            if size is None or column.dtype is None:
                values, position = _decode_text(content, position, rows)
            else:
                if position + size > len(content):
                    raise ValueError(f"is too short for {rows} rows of {self.name}")
                if only is not None and column.name not in only:
                    position += size
                    continue
                if column.delta:
                    values = _decode_differences(content, position, rows * column.width, column.delta)
                else:
                    values = np.frombuffer(content, column.dtype, rows * column.width, position)
                if column.width != 1:
                    values = values.reshape(rows, column.width)
                position += size
            columns[column.name] = values
        if position != len(content):
            raise ValueError(f"is too long for {rows} rows of {self.name}")
        return columns


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as one process knew it. ``memory`` in bytes, ``nvlinks`` -1 where unknown.

    A GPU that the process could not use itself (``visible`` False) can still own memory that it reaches.
    """

    uuid: str
    name: str
    pci: str
    memory: int
    sm: int
    nvlinks: int
    visible: bool


@dataclass(frozen=True, slots=True)
class Link:
    """What the driver says about one GPU reaching another's memory; issuer and owner are places in ``gpus``."""

    issuer: int
    owner: int
    access: bool
    native_atomics: bool
    rank: int


@dataclass(frozen=True, slots=True)
class Header:
    """The checked header of one process. Owners from ``first_set`` up to ``host_owner`` are multicast objects."""

    version: int
    tool: dict[str, Any]
    settings: dict[str, Any]
    host: str
    pid: int
    program: str
    command: tuple[str, ...]
    start_ns: int
    environment: dict[str, str]
    ranks: dict[str, str]
    gpus: tuple[Gpu, ...]
    links: tuple[Link, ...]
    host_owner: int
    unknown_owner: int
    first_set: int
    operations: tuple[str, ...]
    copy_kinds: tuple[str, ...]
    object_kinds: tuple[str, ...]
    directions: tuple[str, ...]
    tables: dict[int, Table]
    schema: dict[str, dict[str, Any]]

    @property
    def read(self) -> Mapping[str, Mapping[str, str]]:
        """The columns that Snoopie reads of a trace of this version, by table."""
        return _read(self.version)


def _read(version: int) -> Mapping[str, Mapping[str, str]]:
    return READ if version >= 3 else _READ_BEFORE_3


def _decode_text(content: bytes, position: int, rows: int) -> tuple[NDArray[Any], int]:
    if position + 4 * rows > len(content):
        raise ValueError(f"is too short for the lengths of {rows} strings")
    lengths = np.frombuffer(content, "<u4", rows, position)
    position += 4 * rows
    ends = position + np.cumsum(lengths, dtype=np.int64)
    stop = int(ends[-1]) if rows else position
    if stop > len(content):
        raise ValueError(f"is too short for {rows} strings")
    values = np.empty(rows, dtype=object)
    begin = position
    for row, end in enumerate(ends.tolist()):
        # Names are whatever the program's files held: keep odd bytes visible rather than refuse the trace.
        values[row] = content[begin:end].decode("utf-8", "backslashreplace")
        begin = end
    return values, stop


def _decode_differences(content: bytes, position: int, count: int, size: int) -> NDArray[np.uint64]:
    """Values stored as the lowest one, then differences of ``size`` bytes, byte by byte: see docs/trace-format.md."""
    lowest = np.frombuffer(content, "<u8", 1, position)
    planes = np.frombuffer(content, np.uint8, count * size, position + 8).reshape(size, count)
    folded = planes[0].astype(f"<u{size}")
    for number, plane in enumerate(planes[1:], start=1):
        # The high bytes of small differences are all 0.
        if count and plane.max():
            folded |= plane.astype(folded.dtype) << folded.dtype.type(8 * number)
    one = folded.dtype.type(1)
    differences = folded >> one
    differences ^= ~(folded & one) + one
    # Sums of differences are modulo 2^(8 × size), as the differences are.
    offsets: NDArray[Any] = np.cumsum(differences, dtype=differences.dtype)
    values: NDArray[np.uint64] = offsets.astype(np.uint64, copy=False)
    values += lowest
    return values


def parse_json(name: str, what: str, content: bytes) -> dict[str, Any]:
    """A JSON object of a trace. CorruptError for anything else."""
    try:
        value = _clean(json.loads(content.decode("utf-8", "replace"), parse_constant=_refuse_constant))
    except (ValueError, RecursionError):
        raise CorruptError(f"{name}: the {what} is not JSON", "record it again") from None
    if not isinstance(value, dict):
        raise CorruptError(f"{name}: the {what} is not a JSON object", "record it again")
    return value


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _clean(value: Any) -> Any:
    """Replaces half surrogate pairs, which JSON can spell and no terminal, file or browser can show."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_clean(member) for member in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(member) for key, member in value.items()}
    return value


class _Reader:
    """Reads members of JSON objects with their types checked."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fail(self, what: str) -> CorruptError:
        return CorruptError(f"{self.name}: the header's {what}", "record it again")

    def get(self, members: Mapping[str, Any], key: str, kind: type[_T], default: _T | None = None) -> _T:
        value = members.get(key, default)
        # A bool is an int in Python, not in JSON.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.fail(f"{key!r} is missing or not of type {kind.__name__}")
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise self.fail(f"{key!r} is out of range")
        return value

    def strings(self, members: Mapping[str, Any], key: str) -> tuple[str, ...]:
        values = self.get(members, key, list, [])
        if not all(isinstance(value, str) for value in values):
            raise self.fail(f"{key!r} is not a list of strings")
        return tuple(values)

    def texts(self, members: Mapping[str, Any], key: str) -> dict[str, str]:
        return {str(name): str(value) for name, value in self.get(members, key, dict, {}).items()}

    def objects(self, members: Mapping[str, Any], key: str, make: Callable[[dict[str, Any]], _T]) -> tuple[_T, ...]:
        values = self.get(members, key, list, [])
        if not all(isinstance(value, dict) for value in values):
            raise self.fail(f"{key!r} is not a list of objects")
        return tuple(make(value) for value in values)


def parse_header(name: str, content: bytes) -> Header:
    """The header of a trace. Raises NotATraceError, VersionError, MissingColumnError or CorruptError."""
    members = parse_json(name, "header", content)
    if members.get("format") != "snoopie":
        raise NotATraceError(f"{name} is not a Snoopie trace (its format is another)", "give a trace of Snoopie")
    version = members.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version not in VERSIONS:
        shown = version if isinstance(version, int) and abs(version) < 1 << 32 else "?"
        newer = isinstance(version, int) and version > VERSIONS[-1]
        remedy = "upgrade Snoopie" if newer else "record it again with this version"
        readable = f"{VERSIONS[0]} to {VERSIONS[-1]}"
        raise VersionError(f"{name} has format version {shown}, and this Snoopie reads versions {readable}", remedy)
    read = _Reader(name)
    process = read.get(members, "process", dict)
    owners = read.get(members, "owners", dict)
    gpus = read.objects(members, "gpus", lambda gpu: _gpu(read, gpu))
    links = read.objects(members, "links", lambda link: _link(read, link, len(gpus)))
    operations = read.strings(members, "operations")
    if unknown := set(operations) - set(OPERATIONS):
        raise VersionError(
            f"{name} holds operations of a kind that this Snoopie does not know: {sorted(unknown)[0]!r}",
            "upgrade Snoopie",
        )
    host_owner, unknown_owner = read.get(owners, "host", int), read.get(owners, "unknown", int)
    if host_owner == unknown_owner or min(host_owner, unknown_owner) < len(gpus):
        raise read.fail("'owners' clash with the GPUs or with each other")
    first_set = read.get(owners, "first_set", int, host_owner)
    if first_set < len(gpus):
        raise read.fail("'owners' have multicast objects that clash with the GPUs")
    tables = _tables(read, members)
    _check_needed(name, tables, version)
    return Header(
        version=version,
        tool=read.get(members, "tool", dict, {}),
        settings=read.get(members, "settings", dict, {}),
        host=read.get(process, "host", str, ""),
        pid=read.get(process, "pid", int, 0),
        program=read.get(process, "program", str, ""),
        command=read.strings(process, "command"),
        start_ns=read.get(process, "start_ns", int, 0),
        environment=read.texts(process, "environment"),
        ranks=read.texts(process, "ranks"),
        gpus=gpus,
        links=links,
        host_owner=host_owner,
        unknown_owner=unknown_owner,
        first_set=first_set,
        operations=operations,
        copy_kinds=read.strings(members, "copy_kinds"),
        object_kinds=read.strings(members, "object_kinds"),
        directions=read.strings(members, "directions"),
        tables=tables,
        schema={table["name"]: table for table in members["schema"]},
    )


def _gpu(read: _Reader, gpu: dict[str, Any]) -> Gpu:
    return Gpu(
        uuid=read.get(gpu, "uuid", str, ""),
        name=read.get(gpu, "name", str, ""),
        pci=read.get(gpu, "pci", str, ""),
        memory=read.get(gpu, "memory", int, 0),
        sm=read.get(gpu, "sm", int, 0),
        nvlinks=read.get(gpu, "nvlinks", int, -1),
        visible=read.get(gpu, "visible", bool, True),
    )


def _link(read: _Reader, link: dict[str, Any], gpus: int) -> Link:
    result = Link(
        issuer=read.get(link, "issuer", int),
        owner=read.get(link, "owner", int),
        access=read.get(link, "access", bool, False),
        native_atomics=read.get(link, "native_atomics", bool, False),
        rank=read.get(link, "rank", int, 0),
    )
    if not (0 <= result.issuer < gpus and 0 <= result.owner < gpus):
        raise read.fail("'links' name a GPU that 'gpus' lacks")
    return result


def _tables(read: _Reader, members: Mapping[str, Any]) -> dict[int, Table]:
    tables = read.objects(members, "schema", lambda table: _table(read, table))
    if len({table.id for table in tables}) != len(tables) or len({table.name for table in tables}) != len(tables):
        raise read.fail("'schema' declares a table twice")
    return {table.id: table for table in tables}


def _table(read: _Reader, table: dict[str, Any]) -> Table:
    name = read.get(table, "name", str)
    number = read.get(table, "id", int)
    if not 2 <= number < 1 << 32:
        raise read.fail("'schema' has a table id that no block can have")
    columns = read.objects(table, "columns", lambda column: _column(read, name, column))
    if not columns or len({column.name for column in columns}) != len(columns):
        raise read.fail("'schema' has a table without columns, or with one twice")
    return Table(name, number, read.get(table, "doc", str, ""), columns)


def _column(read: _Reader, table: str, column: dict[str, Any]) -> Column:
    name, type_ = read.get(column, "name", str), read.get(column, "type", str)
    match = _TYPE.fullmatch(type_)
    if type_ == "utf8":
        dtype, width, delta = None, 1, 0
    elif match and match[2] in _SIZES[match[1]]:
        delta = int(match[2]) if match[1] == "delta" else 0
        dtype, width = np.dtype("<u8" if delta else "<" + match[1] + match[2]), int(match[3] or 1)
    else:
        raise VersionError(
            f"{read.name} declares the column {table}.{name} with the type {type_!r}, which this Snoopie does not know",
            "upgrade Snoopie",
        )
    unit, doc = read.get(column, "unit", str, ""), read.get(column, "doc", str, "")
    return Column(name, type_, unit, doc, read.get(column, "ref", str, ""), dtype, width, delta)


def _check_needed(name: str, tables: Mapping[int, Table], version: int) -> None:
    remedy = "record it with the collector of this version"
    declared = {table.name: {column.name: column for column in table.columns} for table in tables.values()}
    for table, kinds in _read(version).items():
        if table not in declared:
            if table in _OPTIONAL:
                continue
            raise MissingColumnError(f"{name} lacks the table {table!r}", remedy)
        for key, kind in kinds.items():
            column = declared[table].get(key)
            if column is None:
                if key in OPTIONAL_COLUMNS.get(table, {}):
                    continue
                raise MissingColumnError(f"{name} lacks the column {key!r} of the table {table!r}", remedy)
            if not _is_kind(column, kind):
                raise MissingColumnError(
                    f"{name} has the column {key!r} of the table {table!r} with the type {column.type!r}", remedy
                )


def _is_kind(column: Column, kind: str) -> bool:
    if kind == "s":
        return column.dtype is None
    if kind == "a":
        return column.type in ("u8[32]", "delta8[32]")
    return column.dtype is not None and column.dtype.kind in "ui" and column.width == 1
