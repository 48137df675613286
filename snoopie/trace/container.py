"""The container of a trace: a file → verified blocks.

The index is walked and every checksum is verified without decoding anything; each block is then decoded alone.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
import threading
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import zstandard

from snoopie.errors import CorruptError, EmptyError, NotATraceError, SnoopieError, TruncatedError
from snoopie.trace.parallel import ordered

MAX_BLOCK = 64 << 20
MAX_JSON = 16 << 20
HEADER = 0
FOOTER = 1

_SKIPPABLE = struct.pack("<II", 0x184D2A53, 48)
_MAGIC = b"SNPB"
_START = _SKIPPABLE + _MAGIC
_ENTRY = struct.Struct("<4sIIIQQQII")  # magic sequence table rows raw_size data_size dropped data_crc entry_crc
# Blocks that a thread verifies at once.
_RUN = 64
_ENTRY_SIZE = len(_SKIPPABLE) + _ENTRY.size

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ALLOW = "load(…, allow_truncated=True)"
_RERUN = f"record it again, or read the whole blocks before it with {_ALLOW}"


class Block(NamedTuple):
    """The index entry of one block. ``offset`` and ``size`` (bytes) say where its zstd frame lies in the file."""

    sequence: int
    table: int
    rows: int
    raw_size: int
    offset: int
    size: int
    dropped: int
    crc: int


class Container:
    """The verified blocks of one trace file.

    ``blocks`` holds the entries whose checksums are right, the header's first. ``problem`` is None for a whole file
    (header … footer), else the error that says what ends the readable part. ``path`` is absolute; "" for bytes.
    """

    def __init__(self, name: str, data: bytes | mmap.mmap) -> None:
        self.name = name
        self.size = len(data)
        self.path = ""
        self._keep = True
        self._mapped: memoryview | None = memoryview(data)
        self.blocks, self.problem = _walk(name, self._mapped)

    @classmethod
    def open(cls, path: Path) -> Container:
        """Maps the file. Raises NotATraceError where there is no readable regular file, EmptyError for 0 bytes."""
        container = cls(str(path), _map(path))
        container.path = os.path.abspath(path)
        return container

    def unmap(self) -> None:
        """Lets go of the file of a container that was opened: from now on it is mapped only while a block is read."""
        self._mapped, self._keep = None, False

    # One that was opened can go to another process: the index goes with it, the file is mapped again where it is read.
    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_mapped": None}

    @property
    def _data(self) -> memoryview:
        if self._mapped is None:
            data = memoryview(_map(Path(self.path)))
            first = self.blocks[0]
            if len(data) != self.size or zlib.crc32(data[first.offset : first.offset + first.size]) != first.crc:
                raise CorruptError(f"{self.path} is not the file that was opened", "open it again")
            if not self._keep:
                return data
            self._mapped = data
        return self._mapped

    def decode(self, block: Block) -> bytes:
        """The content of one block, ``raw_size`` bytes. CorruptError if its frame is not what the entry says."""
        frame = self._frame(block)
        self._check(block, frame)
        try:
            content = _decompressor().decompress(frame, max_output_size=block.raw_size)
        except (zstandard.ZstdError, MemoryError, ValueError):
            raise self.corrupt(block, "does not decompress") from None
        if len(content) != block.raw_size:
            raise self.corrupt(block, f"decompresses to {len(content)} bytes instead of {block.raw_size}")
        return content

    def check(self, block: Block) -> None:
        """Checks all that can be checked of a block without decoding it. Raises CorruptError."""
        self._check(block, self._frame(block))

    def _check(self, block: Block, frame: memoryview) -> None:
        limit = MAX_JSON if block.table in (HEADER, FOOTER) else MAX_BLOCK
        if block.raw_size > limit:
            raise self.corrupt(block, f"claims {block.raw_size} bytes, more than the {limit} that a block may hold")
        _check_frame(self, block, frame)

    def _frame(self, block: Block) -> memoryview:
        return self._data[block.offset : block.offset + block.size]

    def corrupt(self, block: Block, what: str) -> CorruptError:
        """The error that says what is wrong with a block."""
        return CorruptError(f"{self.name}: block {block.sequence} (table {block.table}) {what}", _RERUN)


class GrowingContainer(Container):
    """A file that is still being written: `appended` names its blocks, each once.

    ``blocks`` is the header's entry alone. Only what is decoded is read.
    """

    def __init__(self, path: Path) -> None:
        # Nothing is mapped: a writer whose disk is full cuts its file, and a mapping then ends the reader.
        self.name = str(path)
        self.path = os.path.abspath(path)
        self._file = _open(path)
        self._position = 0
        self._count = 0
        self._footer: Block | None = None
        try:
            first = next(iter(self.appended()), None)
        except BaseException:
            self.close()
            raise
        self.size = self._position
        self.blocks = [first] if first is not None else []
        self.problem: SnoopieError | None = _truncated(self.name, self.blocks, self._position, self._position)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)

    def appended(self) -> Iterator[Block]:
        """The entries of the whole blocks that were not named before. CorruptError on a wrong one."""
        size = os.fstat(self._file).st_size
        # Rows that come after the footer take its place, and another one stands behind them.
        if self._footer is not None and size == self._footer.offset + self._footer.size:
            return
        while self._position + _ENTRY_SIZE <= size:
            entry = os.pread(self._file, _ENTRY_SIZE, self._position)
            if len(entry) < _ENTRY_SIZE:
                return
            if not entry.startswith(_START):
                _check_start(self.name, memoryview(entry))
                raise CorruptError(f"{self.name}: no block begins at byte {self._position} where one should", _RERUN)
            block = _parse_entry(self.name, entry, self._position, self._count)
            if isinstance(block, SnoopieError):
                raise block
            if block.size > size - block.offset:
                return
            if block.table == FOOTER:
                self._footer = block
                yield block
                return
            self._position = block.offset + block.size
            self._count += 1
            yield block

    def _frame(self, block: Block) -> memoryview:
        limit = MAX_JSON if block.table in (HEADER, FOOTER) else MAX_BLOCK
        data = os.pread(self._file, min(block.size, limit), block.offset)
        if zlib.crc32(data) != block.crc:
            raise self.corrupt(block, "has a wrong checksum")
        return memoryview(data)


def _open(path: Path) -> int:
    """A descriptor of a regular file. NotATraceError where there is none that can be read."""
    try:
        # O_NONBLOCK: opening a pipe must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        raise NotATraceError(f"there is no file {path}", "name a trace file or a folder of them") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise NotATraceError(f"{path} cannot be opened ({reason})", "name a readable trace file") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotATraceError(f"{path} is not a regular file", "give the path of a trace file")
    return descriptor


def _map(path: Path) -> mmap.mmap:
    descriptor = _open(path)
    try:
        if os.fstat(descriptor).st_size == 0:
            raise _empty(str(path))
        try:
            return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise NotATraceError(f"{path} cannot be mapped ({error})", "name a trace file") from None
    finally:
        os.close(descriptor)


_of_thread = threading.local()


def _decompressor() -> zstandard.ZstdDecompressor:
    """This thread's: to make one takes longer than to decompress a small block."""
    if not hasattr(_of_thread, "decompressor"):
        _of_thread.decompressor = zstandard.ZstdDecompressor()
    made: zstandard.ZstdDecompressor = _of_thread.decompressor
    return made


def _empty(name: str) -> EmptyError:
    return EmptyError(f"{name} is empty (0 bytes)", "the recording wrote nothing: record it again")


def _check_frame(container: Container, block: Block, frame: memoryview) -> None:
    """Checks that the bytes are one ended zstd frame, no more and no less, with content size and checksum.

    Done by following the frame's own block sizes: a decompressor may stop early and say nothing.
    """
    if bytes(frame[:4]) != _ZSTD_MAGIC:
        raise container.corrupt(block, "is not a zstd frame")
    try:
        parameters = zstandard.get_frame_parameters(frame)
        position = zstandard.frame_header_size(frame)
    except (zstandard.ZstdError, ValueError):
        raise container.corrupt(block, "has a damaged zstd frame header") from None
    if not parameters.has_checksum:
        raise container.corrupt(block, "has a zstd frame without checksum")
    if parameters.dict_id:
        raise container.corrupt(block, "has a zstd frame that needs a dictionary")
    # An unknown content size reads as 2^64 − 1 and so differs as well.
    if parameters.content_size != block.raw_size:
        raise container.corrupt(block, f"has a zstd frame of other content than {block.raw_size} bytes")
    last = False
    while not last:
        if position + 3 > len(frame):
            raise container.corrupt(block, "has a zstd frame that does not end")
        header = int.from_bytes(frame[position : position + 3], "little")
        last = bool(header & 1)
        size = 1 if (header >> 1) & 3 == 1 else header >> 3  # type 1: one byte, repeated
        position += 3 + size
    if position + 4 != len(frame):
        raise container.corrupt(block, "is not exactly one ended zstd frame")


def _walk(name: str, data: memoryview) -> tuple[list[Block], SnoopieError | None]:
    """Walks the index: the blocks up to the first that is not whole, and the reason why the walk ended there."""
    _check_start(name, data)
    blocks, problem = _entries(name, data)
    # Checksums last, because several threads verify them at once.
    runs = [blocks[start : start + _RUN] for start in range(0, len(blocks), _RUN)]
    for bad in ordered(lambda run: _first_wrong(data, run), runs):
        if bad is not None:
            return blocks[: bad.sequence], CorruptError(f"{name}: block {bad.sequence} has a wrong checksum", _RERUN)
    return blocks, problem


def _first_wrong(data: memoryview, blocks: Sequence[Block]) -> Block | None:
    """The first block whose data is not what its entry says."""
    return next((own for own in blocks if zlib.crc32(data[own.offset : own.offset + own.size]) != own.crc), None)


def _entries(name: str, data: memoryview) -> tuple[list[Block], SnoopieError | None]:
    """The entries up to the first that is wrong or whose data the file ends in, and what ended them."""
    blocks: list[Block] = []
    position = 0
    while position < len(data):
        if blocks and blocks[-1].table == FOOTER:
            extra = len(data) - position
            return blocks, CorruptError(f"{name} has {extra} bytes after its footer", _RERUN)
        found = _read_entry(name, data, position, len(blocks))
        if isinstance(found, SnoopieError):
            return blocks, found
        if found is None:
            return blocks, _truncated(name, blocks, position, len(data))
        blocks.append(found)
        position = found.offset + found.size
    if blocks[-1].table != FOOTER:
        return blocks, _truncated(name, blocks, position, len(data))
    return blocks, None


def _read_entry(name: str, data: memoryview, position: int, expected: int) -> Block | SnoopieError | None:
    """The entry at a position; None where the file ends inside the entry or its data; an error where it is wrong."""
    entry = bytes(data[position : position + _ENTRY_SIZE])
    if not entry.startswith(_START) and not _START.startswith(entry):
        return CorruptError(f"{name}: no block begins at byte {position} where one should", _RERUN)
    if len(entry) < _ENTRY_SIZE:
        return None
    block = _parse_entry(name, entry, position, expected)
    if isinstance(block, Block) and block.size > len(data) - block.offset:
        return None
    return block


def _parse_entry(name: str, entry: bytes, position: int, expected: int) -> Block | SnoopieError:
    """A whole entry that begins at a position of the file."""
    _, sequence, table, rows, raw_size, data_size, dropped, data_crc, entry_crc = _ENTRY.unpack_from(
        entry, len(_SKIPPABLE)
    )
    if zlib.crc32(entry[len(_SKIPPABLE) : -4]) != entry_crc:
        return CorruptError(f"{name}: the entry of block {expected} has a wrong checksum", _RERUN)
    if sequence != expected:
        return CorruptError(f"{name}: block {expected} is missing (found {sequence} in its place)", _RERUN)
    if (table == HEADER) != (expected == 0):
        what = "a second header" if expected else "no header in its first block"
        return CorruptError(f"{name} has {what}", _RERUN)
    return Block(sequence, table, rows, raw_size, position + _ENTRY_SIZE, data_size, dropped, data_crc)


def _check_start(name: str, data: memoryview) -> None:
    if len(data) == 0:
        raise _empty(name)
    start = bytes(data[: len(_START)])
    if _START.startswith(start):
        return
    kind = "not a Snoopie trace"
    if start.startswith(b"\x1f\x8b"):
        kind = "a gzip file, not a Snoopie trace"
    elif start.startswith(_ZSTD_MAGIC):
        kind = "a zstd file, but not a Snoopie trace (of a log of 2023–2024, `snoopie import snoopie-log` makes one)"
    raise NotATraceError(f"{name} is {kind}", "give a file that `snoopie run` or mem_multigpu.so wrote")


def _truncated(name: str, blocks: Sequence[Block], whole: int, size: int) -> TruncatedError:
    if not blocks:
        return TruncatedError(
            f"{name} is truncated inside its header: 0 of {size} bytes are intact",
            "nothing can be read: record it again",
        )
    return TruncatedError(
        f"{name} is incomplete, its end is missing (the process was killed or is still running): "
        f"{len(blocks)} blocks, {whole} of {size} bytes, are intact",
        f"{_ALLOW} reads them",
    )
