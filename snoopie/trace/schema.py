"""The header of a trace: JSON → checked declarations of the tables, and what the process said about itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from snoopie.errors import CorruptError, MissingColumnError, NotATraceError, VersionError

# Version 1 has no bulk, copies, collectives and sets, and says nothing of how often unmeasured sites ran.
VERSIONS = (1, 2)
OPERATIONS = ("load", "store", "atomic", "reduction")

# A column is an array of rows values, of rows × n values, or of strings (dtype object).
Columns = dict[str, NDArray[Any]]

_T = TypeVar("_T")
_TYPE = re.compile(r"([uif])([1248])(?:\[([1-9][0-9]{0,3})\])?")

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
    "records": _integers("launch site issuer owner time block warp mask base stride"),
    "scattered": _integers("launch site issuer owner time block warp mask") | {"addresses": "a"},
    "bulk": _integers("launch site issuer owner time block warp mask base bytes"),
    "copies": _integers(
        "id kind call source destination source_address destination_address bytes gpu stream thread start end"
    ),
    "collectives": _integers(
        "id group operation reduction type count bytes peer communicator rank ranks gpu stream thread start end"
    ),
    "sets": _integers("owner gpu"),
    "objects": _integers("id address bytes owner kind time"),
    "frees": _integers("object time"),
    "notices": {"time": "i", "text": "s"},
}
_OPTIONAL = frozenset({"records", "scattered", "bulk", "copies", "collectives", "sets", "objects", "frees", "notices"})
# Columns that are read where they are declared, and are 0 where they are not.
OPTIONAL_COLUMNS: Mapping[str, Mapping[str, str]] = {"launches": {"group": "i"}}
READ: Mapping[str, Mapping[str, str]] = {
    table: {**columns, **OPTIONAL_COLUMNS.get(table, {})} for table, columns in NEEDED.items()
}


@dataclass(frozen=True, slots=True)
class Column:
    """One declared column. ``dtype`` is None for strings; ``width`` values a row; ``ref`` names a table or is ""."""

    name: str
    type: str
    unit: str
    doc: str
    ref: str
    dtype: np.dtype[Any] | None
    width: int


@dataclass(frozen=True, slots=True)
class Table:
    """One declared table."""

    name: str
    id: int
    doc: str
    columns: tuple[Column, ...]

    @property
    def row_size(self) -> int | None:
        """Bytes of a row; None where it holds a string."""
        sizes = [column.width * column.dtype.itemsize for column in self.columns if column.dtype is not None]
        return sum(sizes) if len(sizes) == len(self.columns) else None

    def decode(self, content: bytes, rows: int) -> Columns:
        """The columns of a block. Raises ValueError where the content is not exactly ``rows`` rows."""
        columns: Columns = {}
        position = 0
        for column in self.columns:
            if column.dtype is None:
                values, position = _decode_text(content, position, rows)
            else:
                size = rows * column.width * column.dtype.itemsize
                if position + size > len(content):
                    raise ValueError(f"is too short for {rows} rows of {self.name}")
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
    tables: dict[int, Table]
    schema: dict[str, dict[str, Any]]


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
        readable = " and ".join(map(str, VERSIONS))
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
    _check_needed(name, tables)
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
        dtype, width = None, 1
    elif match and (match[1] != "f" or match[2] in "48"):
        dtype, width = np.dtype("<" + match[1] + match[2]), int(match[3] or 1)
    else:
        raise VersionError(
            f"{read.name} declares the column {table}.{name} with the type {type_!r}, which this Snoopie does not know",
            "upgrade Snoopie",
        )
    unit, doc = read.get(column, "unit", str, ""), read.get(column, "doc", str, "")
    return Column(name, type_, unit, doc, read.get(column, "ref", str, ""), dtype, width)


def _check_needed(name: str, tables: Mapping[int, Table]) -> None:
    remedy = "record it with the collector of this version"
    declared = {table.name: {column.name: column for column in table.columns} for table in tables.values()}
    for table, needed in NEEDED.items():
        if table not in declared:
            if table in _OPTIONAL:
                continue
            raise MissingColumnError(f"{name} lacks the table {table!r}", remedy)
        for key in needed:
            if key not in declared[table]:
                raise MissingColumnError(f"{name} lacks the column {key!r} of the table {table!r}", remedy)
        for key, kind in READ[table].items():
            column = declared[table].get(key)
            if column is not None and not _is_kind(column, kind):
                raise MissingColumnError(
                    f"{name} has the column {key!r} of the table {table!r} with the type {column.type!r}", remedy
                )


def _is_kind(column: Column, kind: str) -> bool:
    if kind == "s":
        return column.dtype is None
    if kind == "a":
        return column.type == "u8[32]"
    return column.dtype is not None and column.dtype.kind in "ui" and column.width == 1
