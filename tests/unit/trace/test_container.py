"""The container: what is cut, flipped, foreign or hostile is refused by name, and never becomes a wrong number."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
import zstandard

import snoopie
from snoopie.errors import CorruptError, EmptyError, NotATraceError, SnoopieError, TruncatedError
from snoopie.joined.tables import Tables
from snoopie.trace.container import MAX_BLOCK, MAX_JSON, Container
from snoopie.trace.tables import Process
from tests.support.encoder import FOOTER, HEADER, SCHEMA, TraceBuilder, compress, encode_block
from tests.support.ring import ring_builder

# Tables by their ids in the blocks.
COUNTS, RECORDS = ({table["name"]: table["id"] for table in SCHEMA}[name] for name in ("counts", "records"))


# The tables that a trace must have and that this one writes, without the texts for people: a header, of which the tests
# that go through every byte read each, is a fifth as long.
TERSE = [
    {
        "name": table["name"],
        "id": table["id"],
        "columns": [{k: c[k] for k in ("name", "type")} for c in table["columns"]],
    }
    for table in SCHEMA
    if table.get("required") or table["name"] in ("patterns", "records")
]


def small_builder() -> TraceBuilder:
    """Three launches whose counts are 1, 10 and 100 accesses, one record each."""
    trace = TraceBuilder(2, schema=TERSE)
    kernel = trace.function("k")
    site = trace.site(kernel, "STG.E", "store", 4, line=trace.line("k.cu", 3))
    for accesses in (1, 10, 100):
        launch = trace.launch(kernel, 0)
        trace.count(launch, site, 1, accesses, 32 * accesses, 4 * accesses)
        trace.record(launch, site, 1, 0x1000, 4)
    return trace


SMALL = small_builder().blocks(block_rows=1)
# Where each block ends: a cut there leaves whole blocks only.
ENDS = [sum(map(len, SMALL[: count + 1])) for count in range(len(SMALL))]


def read(data: bytes, *, allow_truncated: bool = False) -> Process:
    return Process(Container("t.zst", data), allow_truncated=allow_truncated)


def check_prefix(process: Process, blocks: int) -> None:
    """The first blocks, no more and no less, with the numbers that were written."""
    assert process.checksums == read(b"".join(SMALL)).checksums[:blocks]
    tables = Tables([process])
    count_blocks = sum(1 for block in process.blocks if block.table == COUNTS)
    assert tables.counts["accesses"].tolist() == [1, 10, 100][:count_blocks]
    assert tables.counts["bytes"].tolist() == [128, 1280, 12800][:count_blocks]
    records = sum(1 for block in process.blocks if block.table == RECORDS)
    assert (
        tables.records.rows
        == records
        == sum(tables.records.each(lambda *block: len(tables.records.block(*block).table)))
    )


def test_whole_file() -> None:
    process = read(b"".join(SMALL))
    assert process.complete
    check_prefix(process, len(SMALL))


def test_cut_at_every_byte() -> None:
    data = b"".join(SMALL)
    checked = -1
    for cut in range(len(data)):
        whole = sum(1 for end in ENDS if end <= cut)
        expected = EmptyError if cut == 0 else TruncatedError
        with pytest.raises(expected) as raised:
            read(data[:cut])
        assert type(raised.value) is expected
        if whole == 0:
            with pytest.raises(expected):
                read(data[:cut], allow_truncated=True)
            continue
        assert f"{whole} blocks, {ENDS[whole - 1]} of {cut} bytes" in str(raised.value)
        process = read(data[:cut], allow_truncated=True)
        assert not process.complete
        assert len(process.checksums) == whole
        if whole != checked:
            check_prefix(process, whole)
            checked = whole


def test_flipped_bit_at_every_byte() -> None:
    data = b"".join(SMALL)
    checked = -1
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        whole = sum(1 for end in ENDS if end <= place)
        with pytest.raises(NotATraceError if place < 12 else CorruptError):
            read(bytes(flipped))
        if whole == 0:
            with pytest.raises(SnoopieError):
                read(bytes(flipped), allow_truncated=True)
            continue
        process = read(bytes(flipped), allow_truncated=True)
        assert not process.complete
        assert len(process.checksums) == whole
        if whole != checked:
            check_prefix(process, whole)
            checked = whole


def test_missing_and_swapped_blocks() -> None:
    data = [*SMALL[:5], *SMALL[6:]]
    with pytest.raises(CorruptError, match="block 5 is missing"):
        read(b"".join(data))
    check_prefix(read(b"".join(data), allow_truncated=True), 5)
    with pytest.raises(CorruptError):
        read(b"".join([*SMALL[:5], SMALL[6], SMALL[5], *SMALL[7:]]))


def test_bytes_after_the_footer() -> None:
    data = b"".join(SMALL) + b"\0"
    with pytest.raises(CorruptError, match="has 1 bytes after its footer"):
        read(data)
    process = read(data, allow_truncated=True)
    assert not process.complete
    assert process.footer is not None
    check_prefix(process, len(SMALL))


def test_a_killed_process_has_no_footer() -> None:
    data = small_builder().encode(footer=False)
    with pytest.raises(TruncatedError, match=r"killed.*allow_truncated=True"):
        read(data)
    assert read(data, allow_truncated=True).footer is None


def test_a_second_header_is_refused() -> None:
    extra = encode_block(len(SMALL) - 1, HEADER, 1, b"{}")
    with pytest.raises(CorruptError, match="second header"):
        read(b"".join(SMALL[:-1]) + extra)


def test_no_header_is_refused() -> None:
    with pytest.raises(CorruptError, match="no header"):
        read(encode_block(0, FOOTER, 1, b"{}"))


# A count that says 2 and not 1: what a reader must never return.
WRONG = bytes([*[1, 0, 0, 0], *[1, 0, 0, 0], 1, *[2, *[0] * 7], *[32, *[0] * 7], *[4, *[0] * 7], *[0, 0, 0, 0]])


def with_counts_block(data: bytes, *, rows: int = 1, **entry: Any) -> bytes:
    """The small trace whose first block of counts holds ``data`` as its frame, with right checksums."""
    place = next(place for place, block in enumerate(SMALL) if int.from_bytes(block[16:20], "little") == COUNTS)
    block = encode_block(place, COUNTS, rows, WRONG, data=data, **entry)
    return b"".join([*SMALL[:place], block, *SMALL[place + 1 :]])


def without_checksum(raw: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=False).compress(raw)


def without_content_size(raw: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress(raw)


def not_ended(raw: bytes) -> bytes:
    compressor = zstandard.ZstdCompressor(write_checksum=True).compressobj(size=len(raw))
    return compressor.compress(raw) + compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


def test_the_crafted_block_is_read_when_its_frame_is_right() -> None:
    assert Tables([read(with_counts_block(compress(WRONG)))]).counts["accesses"].tolist() == [2, 10, 100]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(without_checksum(WRONG), id="no checksum"),
        pytest.param(without_content_size(WRONG), id="no content size"),
        pytest.param(not_ended(WRONG), id="not ended"),
        pytest.param(compress(WRONG)[:-1], id="cut"),
        pytest.param(compress(WRONG) + b"\0", id="a byte more"),
        pytest.param(compress(WRONG) * 2, id="two frames"),
        pytest.param(compress(WRONG[:5]) + compress(WRONG[5:]), id="one content in two frames"),
        pytest.param(b"\x50\x2a\x4d\x18\0\0\0\0" + compress(WRONG), id="a skippable frame before"),
        pytest.param(compress(WRONG) + b"\x50\x2a\x4d\x18\0\0\0\0", id="a skippable frame after"),
        pytest.param(compress(WRONG)[:-4] + b"\0\0\0\0", id="wrong zstd checksum"),
        pytest.param(b"", id="nothing"),
        pytest.param(WRONG, id="not compressed"),
        pytest.param(gzip.compress(WRONG, mtime=0), id="gzip"),
        pytest.param(compress(WRONG + b"\0"), id="larger content"),
        pytest.param(compress(WRONG[:-1]), id="smaller content"),
    ],
)
def test_frames_that_are_not_exactly_one_ended_frame(data: bytes) -> None:
    with pytest.raises(CorruptError):
        read(with_counts_block(data))
    place = sum(1 for block in SMALL if int.from_bytes(block[16:20], "little") < COUNTS) - 1  # the footer is 1
    check_prefix(read(with_counts_block(data), allow_truncated=True), place)


@pytest.mark.parametrize("rows", [0, 2, 2**32 - 1])
def test_rows_that_do_not_fit_the_content(rows: int) -> None:
    with pytest.raises(CorruptError):
        read(with_counts_block(compress(WRONG), rows=rows))


@pytest.mark.parametrize("raw_size", [0, len(WRONG) - 1, len(WRONG) + 1, MAX_BLOCK + 1, 2**64 - 1])
def test_raw_size_that_is_not_that_of_the_content(raw_size: int) -> None:
    with pytest.raises(CorruptError):
        read(with_counts_block(compress(WRONG), raw_size=raw_size))


@pytest.mark.parametrize("data_size", [2**64 - 1, 2**63, 10**6])
def test_data_size_beyond_the_file_is_a_cut(data_size: int) -> None:
    with pytest.raises(TruncatedError):
        read(with_counts_block(compress(WRONG), data_size=data_size))


def test_a_bomb_is_refused_before_it_is_decompressed() -> None:
    bomb = compress(bytes(MAX_BLOCK + 1))
    with pytest.raises(CorruptError, match="more than"):
        read(with_counts_block(bomb, raw_size=MAX_BLOCK + 1, rows=1))
    header = compress(b" " * (MAX_JSON + 1))
    with pytest.raises(CorruptError, match="more than"):
        read(encode_block(0, HEADER, 1, b"", data=header, raw_size=MAX_JSON + 1) + SMALL[-1])


def test_a_hostile_record_block_is_refused_when_it_is_asked_for() -> None:
    trace = small_builder()
    trace.rows["records"][1]["pattern"] = 99
    process = read(trace.encode(block_rows=1))
    with pytest.raises(CorruptError, match=r"records\.pattern"):
        _ = [process.record_block(block) for block in process.record_blocks()]
    process = read(trace.encode(block_rows=1), allow_truncated=True)
    assert not process.complete
    assert [len(process.record_block(block)[1]["launch"]) for block in process.record_blocks()] == [1]


def test_rows_of_record_blocks_are_not_believed() -> None:
    builder = small_builder()
    table, rows, raw = next(content for content in builder.contents() if content[0] == RECORDS)
    blocks = [*builder.blocks(footer=False)]
    blocks.append(encode_block(len(blocks), table, rows + 1, raw))
    blocks.append(encode_block(len(blocks), FOOTER, 1, b"{}"))
    with pytest.raises(CorruptError, match="rows of records"):
        read(b"".join(blocks))


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", EmptyError),
        (b"GPU,bytes\n0,1\n", NotATraceError),
        (gzip.compress(b"text", mtime=0), NotATraceError),
        (zstandard.compress(b"op_code, addr, thread_indx\n"), NotATraceError),
        (b"\x53\x2a\x4d\x18\x10\0\0\0" + bytes(16), NotATraceError),
        (bytes(1000), NotATraceError),
        (b"S", TruncatedError),
    ],
)
def test_other_files(tmp_path: Path, content: bytes, error: type[SnoopieError]) -> None:
    path = tmp_path / "trace.zst"
    path.write_bytes(content)
    for allow_truncated in (False, True):
        with pytest.raises(error) as raised:
            snoopie.load(path, allow_truncated=allow_truncated)
        assert type(raised.value) is error
        assert str(path) in str(raised.value)
        assert "\n" not in str(raised.value)


def test_things_that_are_no_files(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.zst"
    os.mkfifo(pipe)
    for source in (pipe, "/dev/null", tmp_path / "absent.zst", tmp_path / "nul\0.zst", "x" * 5000):
        with pytest.raises(NotATraceError):
            snoopie.load(source)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = ring_builder().write(tmp_path / "ring.zst")
    path.chmod(0)
    with pytest.raises(NotATraceError, match="Permission denied"):
        snoopie.load(path)


def test_zstd_can_decode_the_whole_file() -> None:
    """As docs/trace-format.md promises of the files: entries are skippable, data are ordinary frames."""
    reader = zstandard.ZstdDecompressor().stream_reader(b"".join(SMALL), read_across_frames=True)
    assert reader.read().startswith(b'{"format": "snoopie"')
