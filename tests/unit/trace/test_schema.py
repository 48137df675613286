"""The header: the declaration of the tables is followed, checked, and refused by name where Snoopie cannot."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snoopie.errors import CorruptError, MissingColumnError, NotATraceError, SnoopieError, VersionError
from snoopie.joined.tables import Tables
from snoopie.trace.container import Container
from snoopie.trace.declaration import known_tables
from snoopie.trace.roles import LISTS, REFERENCES, UNSIGNED
from snoopie.trace.schema import parse_header
from snoopie.trace.tables import Process
from tests.support.encoder import SCHEMA, TraceBuilder

EXTRA = {"name": "extra", "type": "u4", "unit": "", "doc": ""}


def read(trace: TraceBuilder) -> Process:
    return Process(Container("t.zst", trace.encode()), allow_truncated=False)


def changed(table: str, **members: Any) -> list[dict[str, Any]]:
    """The schema with members of one table replaced."""
    return [one | members if one["name"] == table else one for one in copy.deepcopy(SCHEMA)]


def columns(table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = next(one["columns"] for one in SCHEMA if one["name"] == table)
    return copy.deepcopy(found)


@pytest.mark.parametrize("table", sorted(known_tables()))
def test_every_needed_column_is_missed_by_name(table: str) -> None:
    for column in columns(table):
        trace = TraceBuilder()
        trace.header["schema"] = changed(table, columns=[one for one in columns(table) if one != column] or [EXTRA])
        if column["required"]:
            with pytest.raises(MissingColumnError, match=f"'{column['name']}'.*'{table}'"):
                read(trace)
        else:
            read(TraceBuilder(schema=trace.header["schema"]))


def test_a_missing_table() -> None:
    trace = TraceBuilder()
    trace.header["schema"] = [table for table in SCHEMA if table["name"] != "counts"]
    with pytest.raises(MissingColumnError, match="'counts'"):
        read(trace)


def test_tables_that_may_be_missing() -> None:
    must = ("strings", "lines", "functions", "sites", "launches", "counts")
    process = read(TraceBuilder(schema=[table for table in SCHEMA if table["name"] in must]))
    assert process.record_rows == 0
    for table in ("objects", "copies", "collectives"):
        assert len(process.column(table, "id")) == 0


def test_columns_that_may_be_missing_are_0() -> None:
    rest = [column for column in columns("launches") if column["required"]]
    optional = [column["name"] for column in columns("launches") if not column["required"]]
    assert optional == ["group", "stack", "code"]
    trace = TraceBuilder(2, schema=changed("launches", columns=rest))
    trace.launch(trace.function("k"), 0)
    process = read(trace)
    for name in optional:
        assert process.column("launches", name).tolist() == [0]
    assert process.column("launches", "stack").tolist() == [0]


def test_every_role_is_one_that_the_reader_knows() -> None:
    known = {"", "id", "later row", "owner", "gpu", "gpu or unknown", "set", "group", "flag", "log2"}
    known |= {*REFERENCES, *LISTS, *UNSIGNED}
    roles = {column["role"] for table in SCHEMA for column in table["columns"]}
    assert roles == known
    for table in SCHEMA:
        for column in table["columns"]:
            assert bool(column["ref"]) == column["role"].endswith(("row", "row or none"))


def test_a_header_without_roles_has_those_of_the_package() -> None:
    plain = copy.deepcopy(SCHEMA)
    for table in plain:
        del table["required"]
        for column in table["columns"]:
            del column["role"], column["required"]
    trace = TraceBuilder(2)
    trace.header["schema"] = plain
    trace.count(trace.launch(trace.function("k"), 0), trace.site(1, "LDG", "load", 4), 1, 5, 6, 7)
    for table in read(trace).header.tables.values():
        assert {name: column.role for name, column in table.columns.items()} == {
            name: column.role for name, column in known_tables()[table.name].columns.items()
        }
    trace.rows["counts"][0]["owner"] = 4
    with pytest.raises(CorruptError, match=r"counts\.owner"):
        read(trace)


@pytest.mark.parametrize(
    ("table", "column", "role", "ref", "what"),
    [
        ("counts", "owner", "", "", "'owner'"),
        ("counts", "owner", "gpu", "", "'gpu'"),
        ("counts", "owner", "row", "sites", "'row of sites'"),
        ("counts", "launch", "row or none", "launches", "'row of launches'"),
        ("counts", "launch", "row", "sites", "'row of sites'"),
        ("counts", "lanes", "mystery\n", "", "plain"),
        ("sites", "operation", "copy_kinds", "", "'operations'"),
        ("launches", "stream", "", "", "'handle'"),
    ],
)
def test_a_role_that_is_another_here(table: str, column: str, role: str, ref: str, what: str) -> None:
    trace = TraceBuilder()
    other = [one | {"role": role, "ref": ref} if one["name"] == column else one for one in columns(table)]
    trace.header["schema"] = changed(table, columns=other)
    with pytest.raises(VersionError, match=rf"{table}\.{column}.*{what}") as caught:
        read(trace)
    assert "\n" not in str(caught.value)


def test_a_column_that_refers_to_no_table() -> None:
    """Whether Snoopie reads it or not; tables that this trace lacks, but others have, are none of these."""
    trace = TraceBuilder()
    trace.header["schema"] = changed("counts", columns=[*columns("counts"), EXTRA | {"role": "row", "ref": "futures"}])
    with pytest.raises(CorruptError, match=r"counts\.extra.*a table that nobody declares"):
        read(trace)
    trace.header["schema"].append({"name": "futures", "id": 99, "doc": "", "columns": [EXTRA]})
    read(trace)


@pytest.mark.parametrize("wrong", [{"role": 7}, {"role": ["row"]}, {"ref": None}, {"ref": {}}])
def test_roles_of_other_types(wrong: dict[str, Any]) -> None:
    trace = TraceBuilder()
    trace.header["schema"] = changed("counts", columns=[*columns("counts"), EXTRA | wrong])
    with pytest.raises(CorruptError, match="is missing or not of type str"):
        read(trace)


def test_columns_of_differences() -> None:
    """Lowest first, negative ones, all 64 bits, several in a row, in narrow steps that go round."""
    added = {"unit": "", "ref": "", "doc": ""}
    extra = [{"name": name, "type": kind, **added} for name, kind in (("a", "delta4[3]"), ("b", "delta8"))]
    trace = TraceBuilder(2, schema=changed("objects", columns=[*columns("objects"), *extra]))
    rows = [
        ([7, 2**32 + 6, 8], 2**64 - 1),
        ([2**32 + 6, 7, 7], 0),
        ([100, 2**31, 2**31 + 1], 2**63),
    ]
    for a, b in rows:
        trace.add("objects", a=a, b=b)
    process = read(trace)
    table = next(table for table in process.header.tables.values() if table.name == "objects")
    (block,) = (block for block in process.blocks if block.table == table.id)
    decoded = table.decode(process.container.decode(block), block.rows)
    assert decoded["a"].tolist() == [a for a, _ in rows]
    assert decoded["b"].tolist() == [b for _, b in rows]
    assert {column.dtype for column in (decoded["a"], decoded["b"])} == {np.dtype(np.uint64)}


def test_a_column_that_may_be_missing_must_be_of_its_type() -> None:
    other = [column | {"type": "utf8"} if column["name"] == "group" else column for column in columns("launches")]
    with pytest.raises(MissingColumnError, match="'group'"):
        read(TraceBuilder(schema=changed("launches", columns=other)))


def test_unknown_columns_and_tables_are_ignored() -> None:
    added = {"unit": "", "ref": "", "doc": ""}
    extra = [
        {"name": "colour", "type": "utf8", **added},
        {"name": "weights", "type": "f4[3]", **added},
        *columns("counts"),
        {"name": "hue", "type": "i2", **added},
    ]
    unknown = {"name": "futures", "id": 99, "doc": "", "columns": [{"name": "x", "type": "u2", **added}]}
    trace = TraceBuilder(2, schema=[*changed("counts", columns=extra), unknown])
    site = trace.site(trace.function("k"), "LDG", "load", 4)
    for accesses in (3, 4):
        counts = {"launch": trace.launch(1, 0), "site": site, "owner": 1, "accesses": accesses}
        trace.add("counts", **counts, colour="blue" * accesses, weights=[1, 2, 3], hue=-1)
    trace.add("futures", x=7)
    assert read(trace).column("counts", "accesses").tolist() == [3, 4]


def test_other_integer_types_are_read_by_the_declaration() -> None:
    wider = [
        column | {"type": "u8"} if column["name"] in ("launch", "owner") else column for column in columns("counts")
    ]
    trace = TraceBuilder(2, schema=changed("counts", columns=wider))
    trace.count(trace.launch(trace.function("k"), 0), trace.site(1, "LDG", "load", 4), 1, 5, 6, 7)
    assert read(trace).column("counts", "lanes").tolist() == [6]


@pytest.mark.parametrize("kind", ["utf8", "f8", "u4[2]"])
def test_a_needed_column_of_another_type(kind: str) -> None:
    other = [column | {"type": kind} if column["name"] == "owner" else column for column in columns("counts")]
    with pytest.raises(MissingColumnError, match="'owner'"):
        read(TraceBuilder(schema=changed("counts", columns=other)))


@pytest.mark.parametrize(
    "kind", ["u3", "U4", "f2", "delta2", "delta", "u4[0]", "u4[99999]", "object", "", "u4[", "<u4"]
)
def test_an_unknown_type(kind: str) -> None:
    other = [column | {"type": kind} if column["name"] == "wire_units" else column for column in columns("counts")]
    trace = TraceBuilder()
    trace.header["schema"] = changed("counts", columns=other)
    with pytest.raises(VersionError, match=r"counts\.wire_units"):
        read(trace)


@pytest.mark.parametrize(
    ("version", "remedy"),
    [
        (5, "upgrade"),
        (2, "record it again"),
        (1, "record"),
        (0, "record"),
        ("3", "record"),
        (True, "record"),
        (None, "record"),
    ],
)
def test_other_versions(version: object, remedy: str) -> None:
    trace = TraceBuilder()
    trace.header["version"] = version
    with pytest.raises(VersionError, match=f"this version of Snoopie reads versions 3 and 4; {remedy}"):
        read(trace)
    # Cut or not: that another version is needed comes first.
    with pytest.raises(VersionError):
        Process(Container("t.zst", trace.encode(footer=False)), allow_truncated=False)


def test_the_third_version() -> None:
    """What it called sectors are wire units, of 32 bytes whatever the operation."""
    trace = TraceBuilder(2)
    site = trace.site(trace.function("k"), "STG", "store", 4)
    trace.count(trace.launch(1, 0), site, 1, 5, 6, 7)
    older = [
        {**column, "name": "sectors"} if column["name"] == "wire_units" else column for column in columns("counts")
    ]
    own = [column for column in columns("sites") if column["name"] != "wire_unit"]
    trace.header["schema"] = [
        {**table, "columns": {"counts": older, "sites": own}.get(table["name"], table["columns"])} for table in SCHEMA
    ]
    for row in trace.rows["counts"]:
        row["sectors"] = row.pop("wire_units")
    trace.schema = {table["name"]: table for table in trace.header["schema"]}
    trace.header["version"] = 3
    assert Tables([read(trace)]).counts[["wire_units", "wire_bytes"]].to_numpy().tolist() == [[7, 224]]
    # Of a later version, it lacks a column.
    trace.header["version"] = 4
    with pytest.raises(MissingColumnError, match="'wire_units'"):
        read(trace)


def test_another_format() -> None:
    trace = TraceBuilder()
    trace.header["format"] = "memray"
    with pytest.raises(NotATraceError):
        read(trace)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"format": "snoopie", "version": NaN}',
        b"[" * 100_000,
        b'{"version": ' + b"9" * 5000 + b"}",
        b"\xff\xfe",
    ],
)
def test_a_header_that_is_no_json_object(content: bytes) -> None:
    with pytest.raises(CorruptError):
        parse_header("t.zst", content)


@pytest.mark.parametrize(
    "change",
    [
        {"gpus": None},
        {"gpus": [1]},
        {"gpus": [{"uuid": 7}]},
        {"gpus": [{"memory": 1 << 70}]},
        {"links": [{"issuer": 0, "owner": 9}]},
        {"links": [{"issuer": True, "owner": 1}]},
        {"owners": {}},
        {"owners": {"host": 1, "unknown": 255}},
        {"owners": {"host": 255, "unknown": 255}},
        {"owners": {"host": 254, "unknown": 255, "first_set": 3}},
        {"owners": {"host": 254, "unknown": 255, "first_set": "64"}},
        {"gpus": [{"visible": 1}]},
        {"process": "ring"},
        {"process": {"command": [1]}},
        {"operations": "load"},
        {"schema": []},
        {"schema": [*SCHEMA, SCHEMA[0]]},
        {"schema": [*SCHEMA, {"name": "x", "id": 0, "columns": columns("frees")}]},
        {"schema": [*SCHEMA, {"name": "x", "id": 50, "columns": []}]},
    ],
)
def test_headers_that_contradict_themselves(change: dict[str, Any]) -> None:
    header = TraceBuilder().header | change
    with pytest.raises((CorruptError, MissingColumnError)):
        parse_header("t.zst", json.dumps(header).encode())


def test_an_operation_of_the_future() -> None:
    header = TraceBuilder().header | {"operations": ["load", "multicast"]}
    with pytest.raises(VersionError, match="multicast"):
        parse_header("t.zst", json.dumps(header).encode())


def test_half_surrogate_pairs_become_something_that_can_be_shown() -> None:
    header = TraceBuilder().header
    header["process"]["program"] = "ring\ud800"
    program = parse_header("t.zst", json.dumps(header).encode()).program
    assert program == "ring?"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(path=st.lists(st.integers(0, 30), min_size=1, max_size=5), value=JSON)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_member_of_the_header_may_be_anything(path: list[int], value: object) -> None:
    header: Any = copy.deepcopy(TraceBuilder().header)
    place = header
    for step in path:
        keys = list(place) if isinstance(place, dict) else list(range(len(place))) if isinstance(place, list) else []
        if not keys:
            break
        key = keys[step % len(keys)]
        if not isinstance(place[key], (dict, list)) or step is path[-1]:
            place[key] = value
            break
        place = place[key]
    try:
        parse_header("t.zst", json.dumps(header).encode())
    except SnoopieError as error:
        assert "\n" not in str(error)


# --- What processes say alike ---


def test_what_processes_of_a_host_say_of_its_gpus_is_made_once() -> None:
    first, same, other = (read(trace).header for trace in (TraceBuilder(4), TraceBuilder(4, pid=2), TraceBuilder(3)))
    assert first.gpus is same.gpus and first.links is same.links and first.codes is same.codes
    assert len(other.gpus) == 3 and first.pid != same.pid


def test_what_looks_alike_is_not_taken_for_the_same() -> None:
    read(TraceBuilder())
    flagged = TraceBuilder()
    for gpu in flagged.header["gpus"]:
        gpu["nvlinks"] = True
    with pytest.raises(CorruptError, match="'nvlinks'"):
        read(flagged)
    # Headers did not always have these; one that says null has them wrong.
    without, null = TraceBuilder(), TraceBuilder()
    without.header.pop("codes", None)
    null.header["codes"] = None
    assert read(without).header.codes.lists["codes"] == ("full",)
    with pytest.raises(CorruptError, match="'codes'"):
        read(null)


def test_links_are_checked_against_the_gpus_beside_them() -> None:
    known = read(TraceBuilder(4))
    assert known.header.links
    fewer = TraceBuilder(4)
    fewer.header["gpus"] = fewer.header["gpus"][:2]
    with pytest.raises(CorruptError, match="'links' name a GPU"):
        read(fewer)


def test_members_nested_beyond_what_python_can_write_down() -> None:
    deep = TraceBuilder()
    deep.header["gpus"] = "DEEP"
    for depth in (100, 300, 800, 950, 990):
        content = json.dumps(deep.header).replace('"DEEP"', "[" * depth + "]" * depth).encode()
        with pytest.raises(CorruptError):
            parse_header("t.zst", content)


def test_an_identity_stands_for_the_whole_header() -> None:
    headers = [TraceBuilder(), TraceBuilder(pid=2), TraceBuilder(), TraceBuilder()]
    headers[2].header["schema"] = changed("spans", doc="another")
    found = [read(trace).header.identity for trace in headers]
    assert len(set(found)) == 3 and found[0] == found[3]
