"""The header of a trace: JSON → checked declarations of the tables, and what the process said about itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from snoopie.errors import CorruptError, MissingColumnError, NotATraceError, VersionError
from snoopie.trace.columns import Column, TableSchema, Type
from snoopie.trace.declaration import known_columns, known_tables
from snoopie.trace.roles import LISTS, Codes, Role

VERSION = 4
# Older ones that are read too, with the columns that had another name: (table, then) → now.
_RENAMED: dict[int, dict[tuple[str, str], str]] = {3: {("counts", "sectors"): "wire_units"}, VERSION: {}}
_RUN_OF = ("run", "job", "process")
OPERATIONS = ("load", "store", "atomic", "reduction")

# Of a signed number of 64 bits.
_LOWEST = -(1 << 63)

_T = TypeVar("_T")


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
    """The checked header of one process. ``tables`` are those that it declares, by their numbers.

    ``identity`` stands for the header as written. ``run_id`` names the run; ``run_of`` says what that stands for: the
    "run", a launcher's "job", whose name may come again, or this "process" alone.
    """

    identity: bytes
    tool: dict[str, Any]
    settings: dict[str, Any]
    host: str
    pid: int
    program: str
    command: tuple[str, ...]
    start_ns: int
    run_id: str
    run_of: str
    environment: dict[str, str]
    ranks: dict[str, str]
    gpus: tuple[Gpu, ...]
    links: tuple[Link, ...]
    codes: Codes
    tables: dict[int, TableSchema]
    schema: dict[str, dict[str, Any]]


def parse_json(name: str, what: str, content: bytes) -> dict[str, Any]:
    """A JSON object of a trace. CorruptError for anything else."""
    try:
        value = _parse(content)
    except (ValueError, RecursionError):
        raise CorruptError(f"{name}: the {what} is not JSON", "record it again") from None
    if not isinstance(value, dict):
        raise CorruptError(f"{name}: the {what} is not a JSON object", "record it again")
    return value


def _parse(content: bytes) -> Any:
    value = json.loads(content.decode("utf-8", "replace"), parse_constant=_refuse_constant)
    # Half surrogate pairs can only come from such an escape: those in UTF-8 are replaced above.
    return _clean(value) if b"\\u" in content else value


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
    """Reads members of JSON objects with their types checked. ``renamed``: (table, column) → today's name."""

    def __init__(self, name: str, renamed: Mapping[tuple[str, str], str]) -> None:
        self.name = name
        self.renamed = renamed

    def fail(self, what: str) -> CorruptError:
        return CorruptError(f"{self.name}: the header's {what}", "record it again")

    def get(self, members: Mapping[str, Any], key: str, kind: type[_T], default: _T | None = None) -> _T:
        value = members.get(key, default)
        # Not isinstance: a bool is an int in Python, not in JSON.
        if type(value) is not kind:
            raise self.fail(f"{key!r} is missing or not of type {kind.__name__}")
        if isinstance(value, int) and not _LOWEST <= value < -_LOWEST:
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


@dataclass(frozen=True, slots=True)
class _Declared:
    """What a header declares: the tables by their numbers, checked, and as written by their names.

    ``digest`` is that of the bytes of the declaration.
    """

    tables: dict[int, TableSchema]
    schema: dict[str, dict[str, Any]]
    digest: bytes


# The declarations of the traces read so far, by the bytes and the version: all processes of a job have the same, and it
# is nearly all of their headers.
_declared: dict[tuple[bytes, int], _Declared] = {}
_MOST_DECLARED = 16
_SCHEMA = b'"schema":'

# What was made of other members of headers, by what they say: the processes of a host have the same GPUs.
_made: dict[tuple[str, Any, str], Any] = {}
_MOST_MADE = 256
_LONGEST_MADE = 1 << 16
_OF_CODES = (*LISTS, "owners")


def _shared(members: Mapping[str, Any], names: Sequence[str], context: Any, make: Callable[[], _T]) -> _T:
    """What ``make`` makes of some members and a context, made once of equal ones."""
    try:
        said = repr({name: members[name] for name in names if name in members})
    except RecursionError:
        return make()
    key = names[0], context, said
    made: _T | None = _made.get(key)
    if made is None:
        made = make()
        if len(_made) >= _MOST_MADE:
            _made.clear()
        if len(said) <= _LONGEST_MADE:
            _made[key] = made
    return made


def _split(content: bytes) -> tuple[bytes, bytes]:
    """A header without its declaration, and the declaration, where that is its last member; else all, and nothing."""
    place = content.find(_SCHEMA)
    if place < 0 or not content.endswith(b"}"):
        return content, b""
    return content[:place] + b'"schema":null}', content[place + len(_SCHEMA) : -1]


def _members(name: str, content: bytes, rest: bytes, declaration: bytes) -> dict[str, Any]:
    """The members of a header, which was split; without its declaration if that is known from another."""
    # Quotes in strings are escaped, so what is found is a key; if it is one of another object, the rest is no JSON.
    if any(declaration == known for known, _ in list(_declared)):
        try:
            members = parse_json(name, "header", rest)
        except CorruptError:
            members = {}
        if "schema" in members and members["schema"] is None:
            return members
    return parse_json(name, "header", content)


def parse_header(name: str, content: bytes) -> Header:
    """The header of a trace. Raises NotATraceError, VersionError, MissingColumnError or CorruptError."""
    rest, declaration = _split(content)
    members = _members(name, content, rest, declaration)
    if members.get("format") != "snoopie":
        raise NotATraceError(f"{name} is not a Snoopie trace (it has another format)", "give a Snoopie trace")
    version = members.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version not in _RENAMED:
        shown = version if isinstance(version, int) and abs(version) < 1 << 32 else "?"
        newer = isinstance(version, int) and version > VERSION
        remedy = "upgrade Snoopie" if newer else "record it again with this version"
        versions = " and ".join(map(str, sorted(_RENAMED)))
        raise VersionError(
            f"{name} has format version {shown}, and this version of Snoopie reads versions {versions}", remedy
        )
    read = _Reader(name, _RENAMED[version])
    process = read.get(members, "process", dict)
    run_id, run_of = _run(read, process)
    gpus = _shared(members, ("gpus",), None, lambda: read.objects(members, "gpus", lambda gpu: _gpu(read, gpu)))
    count = len(gpus)
    links = _shared(
        members, ("links",), count, lambda: read.objects(members, "links", lambda link: _link(read, link, count))
    )
    codes = _shared(members, _OF_CODES, count, lambda: _codes(read, members, count))
    known = _declared.get((declaration, version)) if members.get("schema") is None else None
    declared = known or _declare(read, members, content, declaration, version)
    return Header(
        identity=hashlib.sha256(rest).digest() + declared.digest,
        tool=read.get(members, "tool", dict, {}),
        settings=read.get(members, "settings", dict, {}),
        host=read.get(process, "host", str, ""),
        pid=read.get(process, "pid", int, 0),
        program=read.get(process, "program", str, ""),
        command=read.strings(process, "command"),
        start_ns=read.get(process, "start_ns", int, 0),
        run_id=run_id,
        run_of=run_of,
        environment=read.texts(process, "environment"),
        ranks=read.texts(process, "ranks"),
        gpus=gpus,
        links=links,
        codes=codes,
        tables=declared.tables,
        schema=declared.schema,
    )


def _run(read: _Reader, process: Mapping[str, Any]) -> tuple[str, str]:
    # Traces did not always name the run.
    run = read.get(process, "run", dict, {})
    run_id, run_of = read.get(run, "id", str, ""), read.get(run, "of", str, "process")
    if run_of not in _RUN_OF or (run_of != "process" and not run_id):
        raise read.fail("'run' is none")
    return run_id, run_of


def _declare(read: _Reader, members: Mapping[str, Any], content: bytes, declaration: bytes, version: int) -> _Declared:
    """What a header declares, checked, and kept for the next one."""
    if members.get("schema") is None:
        members = {**members, "schema": parse_json(read.name, "header", content).get("schema")}
    tables = _tables(read, members)
    _check_required(read.name, {table.name: table for table in tables.values()})
    schema = {table["name"]: table for table in members["schema"]}
    declared = _Declared(tables, schema, hashlib.sha256(declaration).digest())
    # It may not be the last member, or not the header's own.
    with suppress(ValueError, RecursionError):
        if _parse(declaration) == members["schema"]:
            if len(_declared) >= _MOST_DECLARED:
                _declared.clear()
            _declared[declaration, version] = declared
    return declared


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


def _codes(read: _Reader, members: Mapping[str, Any], gpus: int) -> Codes:
    # Before launches had codes, all of them ran all probes.
    lists = {name: read.strings({"codes": ["full"], **members}, name) for name in LISTS}
    if unknown := set(lists["operations"]) - set(OPERATIONS):
        raise VersionError(
            f"{read.name} has an operation that this version of Snoopie does not know: {sorted(unknown)[0]!r}",
            "upgrade Snoopie",
        )
    owners = read.get(members, "owners", dict)
    host, unknown_owner = read.get(owners, "host", int), read.get(owners, "unknown", int)
    if host == unknown_owner or min(host, unknown_owner) < gpus:
        raise read.fail("'owners' clash with the GPUs or with each other")
    first_set = read.get(owners, "first_set", int, host)
    if first_set < gpus:
        raise read.fail("'owners' have multicast objects that clash with the GPUs")
    return Codes(gpus, host, unknown_owner, first_set, lists)


def _tables(read: _Reader, members: Mapping[str, Any]) -> dict[int, TableSchema]:
    tables = read.objects(members, "schema", lambda table: _table(read, table))
    names = {table.name for table in tables}
    if len({table.id for table in tables}) != len(tables) or len(names) != len(tables):
        raise read.fail("'schema' declares a table twice")
    known = names | set(known_tables()) | {""}
    for table in tables:
        for column in table.columns.values():
            if column.role.ref not in known:
                raise read.fail(f"'schema' has {table.name}.{column.name} refer to a table that nobody declares")
    return {table.id: table for table in tables}


def _table(read: _Reader, table: dict[str, Any]) -> TableSchema:
    name = read.get(table, "name", str)
    number = read.get(table, "id", int)
    if not 2 <= number < 1 << 32:
        raise read.fail("'schema' has a table id that no block can have")
    columns = read.objects(table, "columns", lambda column: _column(read, name, column))
    if not columns or len({column.name for column in columns}) != len(columns):
        raise read.fail("'schema' has a table without columns, or with one twice")
    required, doc = read.get(table, "required", bool, False), read.get(table, "doc", str, "")
    return TableSchema(name, number, required, doc, {column.name: column for column in columns})


def _column(read: _Reader, table: str, column: dict[str, Any]) -> Column:
    name, type_ = read.get(column, "name", str), read.get(column, "type", str)
    name = read.renamed.get((table, name), name)
    stored = Type.parse(type_)
    if stored is None:
        raise VersionError(
            f"{read.name} declares the column {table}.{name} with the type {type_!r}, which this version of Snoopie "
            "does not know",
            "upgrade Snoopie",
        )
    role = Role(read.get(column, "role", str, ""), read.get(column, "ref", str, ""))
    known = known_columns(table).get(name)
    # Headers did not always name roles: then a column has the one that this package declares.
    if known is not None and "role" not in column:
        role = known.role
    if known is not None and role != known.role:
        raise VersionError(
            f"{read.name} declares the column {table}.{name} as {str(role)!r}, which this version of Snoopie reads as"
            f" {str(known.role)!r}",
            "upgrade Snoopie",
        )
    required, doc = read.get(column, "required", bool, False), read.get(column, "doc", str, "")
    return Column(name, stored, read.get(column, "unit", str, ""), role, required, doc)


def _check_required(name: str, declared: Mapping[str, TableSchema]) -> None:
    """Refuses a trace that lacks what this package needs, whatever the trace itself says is required."""
    remedy = "record it with the collector of this version"
    for table in known_tables().values():
        if table.name not in declared:
            if table.required:
                raise MissingColumnError(f"{name} lacks the table {table.name!r}", remedy)
            continue
        for key, column in table.columns.items():
            found = declared[table.name].columns.get(key)
            if found is None:
                if column.required:
                    raise MissingColumnError(f"{name} lacks the column {key!r} of the table {table.name!r}", remedy)
            elif not column.stored.accepts(found.stored):
                raise MissingColumnError(
                    f"{name} has the column {key!r} of the table {table.name!r} with the type {found.stored.name!r}",
                    remedy,
                )
