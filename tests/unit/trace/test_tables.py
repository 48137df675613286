"""The tables of one process: ids, references and codes are checked; what passes is exactly what was written."""

from __future__ import annotations

import gc
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from snoopie.api.trace import Trace
from snoopie.errors import CorruptError, SnoopieError
from snoopie.joined.tables import Tables
from snoopie.trace import tables as tables_module
from snoopie.trace.container import Container
from snoopie.trace.declaration import known_tables
from snoopie.trace.tables import RECORD_TABLES, Process, Rows
from tests.support import ranks
from tests.support.encoder import FOOTER, HEADER, SCHEMA, TraceBuilder, encode_block
from tests.support.ring import BUMP, PUT, ring_builder


def read(data: bytes, *, allow_truncated: bool = False) -> Process:
    return Process(Container("t.zst", data), allow_truncated=allow_truncated)


TABLES = (
    "processes", "gpus", "sets", "links", "functions", "lines", "sites", "launches", "sampling", "counts", "records",
    "copies", "collectives", "objects", "notices", "modules", "frames", "stacks", "symbols", "spans", "call_totals",
    "call_times", "call_errors", "calls", "memory_use",
)  # fmt: skip
ANALYSES = ("by_copy", "by_collective", "by_kernel", "by_line", "by_site", "by_operation", "by_launch", "not_measured")


def everything(process: Process) -> None:
    """Builds every table and every analysis."""
    trace = Trace(Tables([process]))
    for name in TABLES:
        assert len(getattr(trace, name)) >= 0
    for analysis in ANALYSES:
        getattr(trace, analysis)()
    for reading in ("issued", "flow"):
        for initiated in ("device", "host", "both"):
            trace.matrix(reading=reading, initiated=initiated)
            trace.by_pair(reading, initiated)
    trace.summary(), trace.losses(), trace.lane_accesses(), trace._repr_html_()
    for line_id in trace.sites["line_id"]:
        trace.line_chain(line_id)


WITH_IDS = (
    *("strings", "lines", "functions", "sites", "modules", "frames", "stacks", "objects"),
    *("launches", "copies", "collectives", "calls"),
)
# (table, column, a value that no row of that table may have)
WRONG = [
    ("lines", "file", 99),
    ("lines", "function", 99),
    ("lines", "inlined_at", 99),
    ("functions", "name", 99),
    ("functions", "mangled", 2**32 - 1),
    ("sites", "function", 0),
    ("sites", "function", 4),
    ("sites", "sass", 99),
    ("sites", "opcode", 99),
    ("sites", "line", 99),
    ("sites", "operation", 4),
    ("launches", "function", 0),
    ("launches", "function", 4),
    ("launches", "gpu", 4),
    ("launches", "gpu", 254),
    ("launches", "time", 2**63),
    ("counts", "launch", 0),
    ("counts", "launch", 12),
    ("counts", "site", 0),
    ("counts", "site", 6),
    ("counts", "owner", 4),
    ("counts", "owner", 63),
    ("counts", "lanes", 2**63),
    ("sampling", "function", 0),
    ("sampling", "function", 4),
    ("sampling", "gpu", 254),
    ("sampling", "launches", 2),
    ("sampling", "measured", 6),
    ("sampling", "measured", 2**63),
    ("patterns", "launch", 0),
    ("patterns", "launch", 12),
    ("patterns", "site", 0),
    ("patterns", "site", 6),
    ("patterns", "issuer", 4),
    ("patterns", "issuer", 255),
    ("patterns", "owner", 4),
    ("patterns", "id", 0),
    ("patterns", "id", 2),
    ("patterns", "id", 77),
    ("records", "pattern", 0),
    ("records", "pattern", 99),
    ("scattered", "pattern", 2**32 - 1),
    ("bulk", "pattern", 0),
    ("bulk", "bytes", 2**63),
    ("copies", "kind", 6),
    ("copies", "call", 99),
    ("copies", "source", 4),
    ("copies", "destination", 63),
    ("copies", "gpu", 254),
    ("copies", "bytes", 2**63),
    ("copies", "end", 2**63),
    ("collectives", "operation", 99),
    ("collectives", "reduction", 99),
    ("collectives", "type", 2**32 - 1),
    ("collectives", "gpu", 64),
    ("collectives", "start", 2**63),
    ("sets", "owner", 0),
    ("sets", "owner", 254),
    ("sets", "owner", 255),
    ("sets", "gpu", 64),
    ("objects", "owner", 4),
    ("objects", "kind", 12),
    ("objects", "call", 99),
    ("objects", "stack", 3),
    ("objects", "inside", 5),
    ("launches", "stack", 3),
    ("copies", "stack", 3),
    ("counts", "object", 5),
    ("modules", "path", 99),
    ("modules", "build_id", 99),
    ("frames", "module", 3),
    ("stacks", "frame", 0),
    ("stacks", "frame", 3),
    ("stacks", "caller", 3),
    ("symbols", "frame", 0),
    ("symbols", "function", 99),
    ("symbols", "file", 99),
    ("symbols", "code", 99),
    ("spans", "launch", 0),
    ("spans", "start", 2**63),
    ("call_totals", "call", 99),
    ("call_totals", "kernel", 99),
    ("call_totals", "gpu", 254),
    ("call_totals", "direction", 7),
    ("call_totals", "bytes", 2**63),
    ("call_times", "log2", 64),
    ("call_errors", "name", 99),
    ("calls", "direction", 7),
    ("calls", "end", 2**63),
    ("memory_use", "gpu", 255),
    ("frees", "object", 0),
    ("frees", "object", 5),
    *((table, "id", id) for table in WITH_IDS for id in (0, 2)),
]

HOST_TABLES = (
    *("modules", "frames", "stacks", "symbols", "spans"),
    *("call_totals", "call_times", "call_errors", "calls", "memory_use"),
)


def busy_builder() -> TraceBuilder:
    """The ring, with rows in every other table too."""
    trace = ring_builder()
    trace.add("sampling", function=1, gpu=1, launches=5, measured=3)
    for table in HOST_TABLES:
        trace.add(table, **{"frame": 1} if table in ("stacks", "symbols") else {})
        trace.add(table, **{"frame": 1} if table in ("stacks", "symbols") else {})
    trace.rows["spans"] = [dict(row, launch=1) for row in trace.rows["spans"]]
    trace.set(64, 0, 1)
    trace.set(65, 255)
    trace.count(1, 1, 64, 1, 32, 16)
    trace.bulk(1, 1, 1, 0x7F00_4000_0000, 4096)
    for _ in range(2):
        trace.copy(254, 0, 4096, gpu=0)
        trace.collective(7, "AllReduce", 1024, gpu=0, reduction="sum")
    trace.rows["launches"][0]["group"] = 7
    trace.notice("Mind this.")
    return trace


@pytest.mark.parametrize(("table", "column", "value"), WRONG)
def test_a_value_that_refers_to_nothing(table: str, column: str, value: int) -> None:
    trace = busy_builder()
    trace.rows[table][0][column] = value
    data = trace.encode()
    with pytest.raises(CorruptError, match=table):
        whole = read(data)
        # Records are checked when they are asked for; whatever wants one block of them checks it.
        for block in whole.record_blocks():
            whole.record_block(block)
    process = read(data, allow_truncated=True)
    assert not process.complete
    # What comes before the wrong block, and no more, is read.
    names = [process.header.tables[block.table].name for block in process.blocks]
    assert names == list(trace.schema)[: len(names)]
    assert list(trace.schema)[len(names)] in (table, *(RECORD_TABLES if table == "patterns" else ()))


@pytest.mark.parametrize("lost", sorted({table for table, _, _ in WRONG}))
def test_what_comes_before_a_wrong_block(lost: str) -> None:
    """Whatever is missing, there is an answer: each time from all tables and one of the analyses."""
    trace = busy_builder()
    place = list(trace.schema).index(lost)
    data = b"".join(trace.blocks(footer=False)[: place + 1])
    loaded = Trace(Tables([read(data, allow_truncated=True)]))
    for name in TABLES:
        assert len(getattr(loaded, name)) >= 0
    getattr(loaded, ANALYSES[place % len(ANALYSES)])()
    loaded.summary(), loaded.losses()


def test_a_reference_to_a_later_block() -> None:
    """A cut between the two would leave a row that refers to nothing, so the format forbids it."""
    trace = ring_builder()
    contents = [(HEADER, 1, json.dumps(trace.header).encode()), *trace.contents(), (FOOTER, 1, b"{}")]
    strings = contents.pop(1)
    contents.insert(2, strings)
    blocks = [encode_block(sequence, *content) for sequence, content in enumerate(contents)]
    with pytest.raises(CorruptError, match="that no earlier row has"):
        read(b"".join(blocks))


def test_ids_with_gaps_and_out_of_order() -> None:
    trace = TraceBuilder(2)
    kernel = trace.function("k")
    site = trace.site(kernel, "STG.E", "store", 4)
    for launch, owner in ((7, 1), (3, 0), (4_000_000_000, 1)):
        trace.launch(kernel, 1 - owner, id=launch)
        trace.count(launch, site, owner, launch % 100 + 1, 1, 1)
    for block_rows in (None, 1):
        tables = Tables([read(trace.encode(block_rows=block_rows))])
        assert tables.launches.index.tolist() == [7, 3, 4_000_000_000]
        assert tables.counts["issuer"].tolist() == [0, 1, 0]
        assert tables.counts["accesses"].tolist() == [8, 4, 1]
    trace.launch(kernel, 0, id=7)
    for block_rows in (None, 1):
        with pytest.raises(CorruptError, match="launches"):
            read(trace.encode(block_rows=block_rows))


def test_circles_of_inlined_lines() -> None:
    trace = TraceBuilder(2)
    for number, above in enumerate((2, 3, 1, 0, 4), start=1):
        trace.line("a.cu", number, inlined_at=above)
    with pytest.raises(CorruptError, match="circle"):
        read(trace.encode())
    trace.rows["lines"][2]["inlined_at"] = 5
    process = read(trace.encode())
    chain = Trace(Tables([process])).line_chain(1)
    assert [line for _, line, _ in chain] == [1, 2, 3, 5, 4]
    trace.rows["lines"][4]["inlined_at"] = 5
    with pytest.raises(CorruptError, match="circle"):
        read(trace.encode())


@pytest.mark.parametrize(("table", "column"), [("objects", "inside"), ("stacks", "caller")])
def test_circles_within_a_table(table: str, column: str) -> None:
    trace = busy_builder()
    first, second = trace.rows[table][:2]
    first[column], second[column] = 2, 0
    assert read(trace.encode()).complete
    second[column] = 1
    with pytest.raises(CorruptError, match=f"{table} whose {column} lead in a circle"):
        read(trace.encode())


@pytest.mark.parametrize(
    ("table", "column", "kind", "value", "what"),
    [
        ("objects", "thread", "u8", 2**32, r"of 2\^32 or more"),
        ("sites", "width", "u2", 256, r"of 2\^8 or more"),
        ("copies", "start", "i8", -1, "below 0"),
        ("memory_use", "used", "i8", -1, ""),
    ],
)
def test_a_number_that_its_own_type_does_not_hold(table: str, column: str, kind: str, value: int, what: str) -> None:
    """A trace may declare a wider type than Snoopie's, but not use it."""
    schema = [
        one | {"columns": [own | {"type": kind} if own["name"] == column else own for own in one["columns"]]}
        if one["name"] == table
        else one
        for one in SCHEMA
    ]
    trace = busy_builder()
    trace.header["schema"] = schema
    trace.schema = {one["name"]: one for one in schema}
    assert read(trace.encode()).complete
    trace.rows[table][0][column] = value
    if what:
        with pytest.raises(CorruptError, match=rf"{table}\.{column} {what}"):
            read(trace.encode())
    else:
        assert read(trace.encode()).column(table, column)[0] == value


def test_an_undeclared_table() -> None:
    blocks = ring_builder().blocks(footer=False)
    blocks += [encode_block(len(blocks), 77, 1, b"x"), encode_block(len(blocks) + 1, FOOTER, 1, b"{}")]
    with pytest.raises(CorruptError, match="table 77"):
        read(b"".join(blocks))


@pytest.mark.parametrize(
    "footer",
    [b"", b"[]", b'{"totals": []}', b'{"totals": {"errors": "no"}}', b'{"totals": {"errors": -1}}', b'{"end_ns": 1.5}',
     b'{"totals": {"errors": 1e3}}', b'{"end_ns": 99999999999999999999999}'],
)  # fmt: skip
def test_wrong_footers(footer: bytes) -> None:
    blocks = ring_builder().blocks(footer=False)
    data = b"".join([*blocks, encode_block(len(blocks), FOOTER, 1, footer)])
    with pytest.raises(CorruptError, match="footer"):
        read(data)
    process = read(data, allow_truncated=True)
    assert process.footer is None
    assert len(process.column("counts", "launch")) == 18


@pytest.mark.parametrize(
    ("table", "column"),
    [("counts", "lanes"), ("counts", "wire_units"), ("copies", "bytes"), ("copies", "end"), ("collectives", "bytes")],
)
def test_sums_of_more_than_63_bits(table: str, column: str) -> None:
    trace = busy_builder()
    trace.rows[table][0][column] = 2**62
    with pytest.raises(CorruptError, match=f"the {table} of t.zst add up"):
        getattr(Tables([read(trace.encode())]), table)


def test_strings_are_kept_as_they_are() -> None:
    trace = ring_builder()
    odd = ["<script>alert(1)</script>", "名前\0\x1b[31m", "", " \n", "a" * 70_000]
    for text in odd:
        trace.add("strings", text=text)
    trace.add("strings", text=b"\xff\xfe bytes")
    texts = read(trace.encode()).column("strings", "text").tolist()
    assert texts[-6:] == [*odd, "\\xff\\xfe bytes"]


def test_a_trace_of_a_header_only() -> None:
    process = read(TraceBuilder().encode(footer=False), allow_truncated=True)
    everything(process)
    everything(read(TraceBuilder(0).encode()))


BUSY = busy_builder()


@given(
    place=st.integers(0, 15),
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4),
    allow_truncated=st.booleans(),
)
@example(place=6, changes=[(0, 0)], allow_truncated=True)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_hostile_contents_with_right_checksums(
    place: int, changes: list[tuple[int, int]], allow_truncated: bool
) -> None:
    """Whatever a block holds, the answer is a trace or an error of the family."""
    trace = BUSY
    tables = trace.contents()
    place %= len(tables)
    contents = [(HEADER, 1, json.dumps(trace.header).encode()), *tables, (FOOTER, 1, b"{}")]
    table, rows, raw = contents[place + 1]
    hostile = bytearray(raw)
    for where, value in changes:
        hostile[where % len(hostile)] = value
    contents[place + 1] = (table, rows, bytes(hostile))
    data = b"".join(encode_block(sequence, *content) for sequence, content in enumerate(contents))
    try:
        process = read(data, allow_truncated=allow_truncated)
        everything(process)
    except SnoopieError as error:
        assert "\n" not in str(error)


def test_sampling() -> None:
    trace = busy_builder()
    trace.add("sampling", function=3, gpu=0, launches=7, measured=0)
    rows = Trace(Tables([read(trace.encode())])).sampling.to_dict("records")
    assert [row.pop("kernel") for row in rows] == [PUT, BUMP]
    assert rows == [
        {"process": 0, "function": 1, "gpu": 1, "launches": 5, "measured": 3},
        {"process": 0, "function": 3, "gpu": 0, "launches": 7, "measured": 0},
    ]


@pytest.mark.parametrize("kept", [1, 32])
@pytest.mark.parametrize("block_rows", [1, 3, 1000])
def test_patterns_in_other_blocks(monkeypatch: pytest.MonkeyPatch, block_rows: int, kept: int) -> None:
    """A block of records may refer to patterns of many blocks, again after others were read."""
    monkeypatch.setattr(tables_module, "_PATTERN_BLOCKS", kept)
    trace = TraceBuilder(2)
    kernel = trace.function("k")
    site = trace.site(kernel, "STG.E", "store", 4)
    launches = [trace.launch(kernel, 0) for _ in range(7)]
    order = [4, 0, 6, 2, 5, 1, 3, 3, 2, 6, 0, 4]
    for place, launch in enumerate(launches):
        trace.record(launch, site, 1, 256 * place, 4 * place)
    for place in order:
        trace.record(launches[place], site, 1, 256 * place, 4 * place)
    assert len(trace.rows["patterns"]) == 7
    records = Trace(Tables([read(trace.encode(block_rows=block_rows))])).records
    expected = [*range(7), *order]
    assert records["launch"].tolist() == [launches[place] for place in expected]
    assert records["stride"].tolist() == [4 * place for place in expected]
    assert records["base"].tolist() == [256 * place for place in expected]


@pytest.mark.parametrize("table", RECORD_TABLES)
@pytest.mark.parametrize("before", [1, 99], ids=["before all patterns", "behind them"])
@pytest.mark.parametrize("allow_truncated", [False, True])
def test_a_block_of_records_without_rows(table: str, before: int, allow_truncated: bool) -> None:
    declared = next(one for one in SCHEMA if one["name"] == table)
    trace = busy_builder()
    contents = [content for content in trace.contents() if content[1]]
    # The lowest values of columns of differences, which are there without a row.
    lowest = bytes(8) * sum(column["type"].startswith("delta") for column in declared["columns"])
    contents.insert(before, (declared["id"], 0, lowest))
    blocks = [
        (HEADER, 1, json.dumps(trace.header).encode()),
        *contents,
        (FOOTER, 1, json.dumps(trace.footer()).encode()),
    ]
    process = read(
        b"".join(encode_block(place, *block) for place, block in enumerate(blocks)), allow_truncated=allow_truncated
    )
    assert process.complete
    everything(process)
    assert Trace(Tables([process])).records.equals(Trace(Tables([read(trace.encode())])).records)


def test_patterns_whose_ids_are_not_their_places() -> None:
    trace = busy_builder()
    first, second = trace.rows["patterns"][:2]
    first["id"], second["id"] = 2, 1
    with pytest.raises(CorruptError, match="ids are not 1, 2, 3"):
        everything(read(trace.encode()))


@pytest.mark.parametrize("table", ["records", "scattered", "bulk", "patterns"])
@pytest.mark.parametrize("change", [-9, -1, 1])
def test_columns_of_differences_that_are_cut(table: str, change: int) -> None:
    trace = busy_builder()
    number = trace.schema[table]["id"]
    contents = [(HEADER, 1, json.dumps(trace.header).encode()), *trace.contents(), (FOOTER, 1, b"{}")]
    contents = [
        (own, rows, (raw + b"\0")[: len(raw) + change] if own == number else raw) for own, rows, raw in contents
    ]
    data = b"".join(encode_block(sequence, *content) for sequence, content in enumerate(contents))
    with pytest.raises(CorruptError, match=f"rows of {table}"):
        read(data)


@pytest.mark.parametrize("column", ["time", "block"])
def test_records_with_numbers_of_64_bits(column: str) -> None:
    trace = busy_builder()
    for row in trace.rows["records"]:
        row[column] = 2**63 - 1
    everything(read(trace.encode()))
    trace.rows["records"][-1][column] = 2**63
    with pytest.raises(CorruptError, match=f"records.{column} of 2"):
        everything(read(trace.encode()))


@pytest.mark.parametrize("parts", [[5], [0, 5], [5, 0], [2, 0, 3], [0], [2]])
def test_rows_of_several_blocks(parts: list[int]) -> None:
    """Also where no more blocks of a damaged file can be read."""
    table = known_tables()["spans"]
    rows = Rows(table, 5)
    first = 0
    for count in parts:
        values = np.arange(first, first + count)
        values.flags.writeable = False
        rows.add(dict.fromkeys(table.columns, values), count)
        first += count
    whole = list(range(sum(parts)))
    assert {name: values.tolist() for name, values in rows.columns().items()} == {name: whole for name in table.columns}


def test_columns_are_what_was_written() -> None:
    """Every number of a table through the encoder of the tests and back."""
    trace = TraceBuilder(2)
    kernel = trace.function("k")
    rng = np.random.default_rng(7)
    written: list[dict[str, Any]] = []
    for _ in range(100):
        row = {
            "stream": int(rng.integers(0, 2**64, dtype=np.uint64)),
            "time": int(rng.integers(0, 2**63)),
            "thread": int(rng.integers(0, 2**32)),
            "grid_x": int(rng.integers(1, 2**31)),
            "shared_memory": int(rng.integers(0, 2**17)),
        }
        trace.launch(kernel, int(rng.integers(0, 2)), **row)
        written.append(row)
    for block_rows in (None, 7):
        launches = Tables([read(trace.encode(block_rows=block_rows))]).launches
        assert launches[list(written[0])].to_dict("records") == written


# --- Many small traces ---


def test_a_small_trace_is_few_objects() -> None:
    """Python looks through all objects for garbage again and again: of ten thousand traces they must be few."""
    data = [ranks.rank_builder(rank, 16).encode() for rank in range(16)]
    read(data[0])
    gc.collect()
    before = len(gc.get_objects())
    opened = [read(one) for one in data]
    gc.collect()
    blocks = sum(len(process.container.blocks) for process in opened)
    assert len(gc.get_objects()) - before < blocks + 20 * len(opened)


def test_references_of_records_are_still_known_after_opening() -> None:
    process = read(ring_builder().encode())
    rows = [len(process.record_block(block)[1]["launch"]) for block in process.record_blocks()]
    assert sum(rows) == process.record_rows > 0
