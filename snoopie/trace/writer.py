"""Tables → a trace file, as docs/trace-format.md describes it: for what other tools recorded.

The declaration of the tables is schema.json, which is that of the collector.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import zstandard
from numpy.typing import ArrayLike, NDArray

from snoopie.errors import SnoopieError
from snoopie.trace.container import FOOTER, HEADER
from snoopie.trace.declaration import declaration
from snoopie.trace.schema import OPERATIONS, VERSION

# The names that the collector gives to code, copies, objects and directions; a trace may have more of its own.
CODES = ("full", "partial", "original")
COPY_KINDS = ("linear", "2d", "3d", "batch", "graph", "prefetch")
OBJECT_KINDS = ("device", "pool", "array", "mapping", "import", "managed", "host", "registered", "graph", "multicast",
                "physical", "symmetric")  # fmt: skip
DIRECTIONS = ("", "host to device", "device to host", "device to device", "peer", "host to host", "other")
# Codes of owners. No trace from here has multicast objects, so that all codes below HOST are free for GPUs.
HOST, UNKNOWN = 254, 255
MOST_GPUS = HOST

# Content of a block, in bytes; only a single longer string makes a larger one.
_BLOCK = 1 << 20
# Bytes of a string; names that are longer are cut.
_LONGEST = 1 << 16
_ENTRY = struct.Struct("<4sIIIQQQI")


def header(
    *,
    tool: Mapping[str, Any],
    process: Mapping[str, Any],
    gpus: Sequence[Mapping[str, Any]],
    object_kinds: Sequence[str] = OBJECT_KINDS,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The header of a trace of one process; what its members mean is in docs/trace-format.md.

    ``process`` has host, pid, program, command, start_ns (ns since the epoch); each of ``gpus`` has at least a uuid.
    """
    if len(gpus) > MOST_GPUS:
        raise ValueError(f"{len(gpus)} GPUs are more than a trace can name")
    return {
        "format": "snoopie",
        "version": VERSION,
        "tool": dict(tool),
        "settings": dict(settings or {}),
        "process": {"directory": "", "environment": {}, "ranks": {}, **process},
        "gpus": [dict(gpu) for gpu in gpus],
        "links": [],
        "owners": {"host": HOST, "unknown": UNKNOWN, "first_set": HOST},
        "operations": list(OPERATIONS),
        "codes": list(CODES),
        "copy_kinds": list(COPY_KINDS),
        "object_kinds": list(object_kinds),
        "directions": list(DIRECTIONS),
        "schema": list(declaration()),
    }


class TableWriter:
    """Writes tables as blocks into an open file, from the block ``sequence`` on.

    Rows that are referred to are written before those that refer to them; interned strings by themselves.
    """

    def __init__(self, file: IO[bytes], path: Path, sequence: int) -> None:
        self.path = path
        self._file = file
        self._sequence = sequence
        self._tables: dict[str, dict[str, Any]] = {table["name"]: table for table in declaration()}
        self._strings: dict[str, int] = {"": 0}
        self._unwritten: list[str] = []
        self._compressor = zstandard.ZstdCompressor(write_checksum=True, write_content_size=True)
        self._totals: dict[str, int] = {}

    def intern(self, text: str) -> int:
        """The id of a string in the table strings; 0 for the empty one."""
        if text not in self._strings:
            self._strings[text] = len(self._strings)
            self._unwritten.append(text)
        return self._strings[text]

    def intern_all(self, texts: Iterable[str]) -> NDArray[np.uint32]:
        """The id of each string."""
        return np.array([self.intern(text) for text in texts], np.uint32)

    def write(self, table: str, **columns: ArrayLike) -> None:
        """Writes rows: a value or an array of them for each column, 0 or "" in those that are not named.

        A column of 32 values a row takes an array of rows × 32. Columns of differences become small where neighbours
        are alike. ValueError for a column that the table lacks, arrays of different lengths, or a number that does not
        fit.
        """
        declared = self._tables[table]["columns"]
        if unknown := set(columns) - {column["name"] for column in declared}:
            raise ValueError(f"the table {table} has no column {sorted(unknown)[0]}")
        arrays = {name: np.asarray(values) for name, values in columns.items()}
        lengths = {len(values) for values in arrays.values() if values.ndim}
        if len(lengths) > 1:
            raise ValueError(f"the columns of {table} differ in length: {sorted(lengths)}")
        rows = lengths.pop() if lengths else 1
        encoded = [_encoded(table, column, arrays.get(column["name"]), rows) for column in declared]
        self._flush_strings()
        for start, end in _parts(encoded, rows):
            content = b"".join(part for values in encoded for part in values.content(start, end))
            self._block(self._tables[table]["id"], end - start, content)
        self._totals[table] = self._totals.get(table, 0) + rows

    def rows(self, table: str) -> int:
        """How many rows of a table were written."""
        return self._totals.get(table, 0)

    def _flush_strings(self) -> None:
        if not self._unwritten:
            return
        texts, self._unwritten = self._unwritten, []
        first = len(self._strings) - len(texts)
        self.write("strings", id=np.arange(first, first + len(texts)), text=np.array(texts, object))

    def _block(self, table: int, rows: int, content: bytes) -> None:
        data = self._compressor.compress(content)
        entry = _ENTRY.pack(b"SNPB", self._sequence, table, rows, len(content), len(data), 0, zlib.crc32(data))
        entry += struct.pack("<I", zlib.crc32(entry))
        try:
            self._file.write(struct.pack("<II", 0x184D2A53, len(entry)) + entry + data)
        except OSError as error:
            raise self._failed(error) from None
        self._sequence += 1

    def _failed(self, error: OSError) -> SnoopieError:
        return SnoopieError(f"{self.path} cannot be written ({error.strerror})", "free space, or name another place")


class TraceWriter(TableWriter):
    """Writes one trace file, which must not exist; used in a ``with``, it leaves none behind after an exception.

    Without `finish` the trace has no footer, so that every reader calls it incomplete. Raises SnoopieError where the
    file cannot be made or written.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
        except FileExistsError:
            raise SnoopieError(f"{path} already exists and is not overwritten", "name another with -o") from None
        except OSError as error:
            raise SnoopieError(f"{path} cannot be created ({error.strerror})", "name another place with -o") from None
        super().__init__(os.fdopen(descriptor, "wb"), path, 0)
        self._block(HEADER, 1, _json(header))

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
        except OSError as failed:
            kind = type(failed)
            raise self._failed(failed) from None
        finally:
            if kind is not None:
                self.path.unlink(missing_ok=True)

    def finish(self, end_ns: int, totals: Mapping[str, int]) -> None:
        """Writes the footer: the trace is complete. ``end_ns`` is the end of the process, in ns since the epoch."""
        self._flush_strings()
        self._block(FOOTER, 1, _json({"end_ns": end_ns, "totals": dict(totals)}))

    def append(self, body: Body) -> None:
        """Takes over the blocks of a body, which follow the header."""
        self._sequence = body.copy_to(self._file)


class Body(TableWriter):
    """The tables of a trace whose header and name are known only at the end: in a file without a name until then."""

    def __init__(self) -> None:
        folder = Path(tempfile.gettempdir())
        try:
            file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by copy_to
        except OSError as error:
            raise SnoopieError(f"{folder} cannot be written ({error.strerror})", "set TMPDIR to another") from None
        super().__init__(file, folder, 1)

    def copy_to(self, file: IO[bytes]) -> int:
        """Writes all blocks to a file, and returns the number of the next one."""
        self._flush_strings()
        self._file.seek(0)
        shutil.copyfileobj(self._file, file, 1 << 20)
        self._file.close()
        return self._sequence


class _Numbers:
    """A column of numbers as it will stand in blocks."""

    def __init__(self, values: NDArray[Any]) -> None:
        self._values = values

    def sizes(self) -> NDArray[np.int64]:
        return np.full(len(self._values), self._values.itemsize, np.int64)

    def content(self, start: int, end: int) -> Iterator[bytes]:
        yield self._values[start:end].tobytes()


class _Differences:
    """A column of differences: of each block the lowest value, then byte after byte of all differences."""

    def __init__(self, name: str, values: NDArray[Any], size: int) -> None:
        self._name, self._values, self._size = name, values, size

    def sizes(self) -> NDArray[np.int64]:
        return np.full(len(self._values), self._size * self._values[:1].size, np.int64)

    def content(self, start: int, end: int) -> Iterator[bytes]:
        values = self._values[start:end].ravel()
        lowest = values.min()
        if int(values.max()) - int(lowest) >= 1 << 8 * self._size:
            raise ValueError(f"values of {self._name} in one block are too far apart")
        differences = np.diff(values, prepend=lowest).astype(f"<u{self._size}")
        # Twice the difference, and its sign as the lowest bit: what is negative is turned over.
        sign = differences >> differences.dtype.type(8 * self._size - 1)
        folded = (differences << differences.dtype.type(1)) ^ (~sign + differences.dtype.type(1))
        yield lowest.tobytes()
        yield np.ascontiguousarray(folded.view(np.uint8).reshape(-1, self._size).T).tobytes()


class _Texts:
    """A column of strings: the lengths, then the bytes."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = [_utf8(text) for text in texts]

    def sizes(self) -> NDArray[np.int64]:
        return np.array([4 + len(text) for text in self._texts], np.int64)

    def content(self, start: int, end: int) -> Iterator[bytes]:
        yield np.array([len(text) for text in self._texts[start:end]], "<u4").tobytes()
        yield from self._texts[start:end]


_Encoded = _Numbers | _Differences | _Texts


def _encoded(table: str, column: Mapping[str, Any], values: NDArray[Any] | None, rows: int) -> _Encoded:
    if column["type"] == "utf8":
        texts = np.full(rows, "", object) if values is None else np.broadcast_to(values, rows)
        return _Texts(str(text) for text in texts)
    element, _, width = column["type"].rstrip("]").partition("[")
    shape = (rows, int(width)) if width else (rows,)
    name = f"{table}.{column['name']}"
    if not element.startswith("delta"):
        return _Numbers(_numbers(name, np.dtype("<" + element), values, shape))
    return _Differences(name, _numbers(name, np.dtype("<u8"), values, shape), int(element.removeprefix("delta")))


def _numbers(name: str, kind: np.dtype[Any], values: NDArray[Any] | None, shape: tuple[int, ...]) -> NDArray[Any]:
    if values is None:
        return np.zeros(shape, kind)
    if values.dtype != kind and values.size:
        limits = np.iinfo(kind)
        if values.dtype.kind not in "ui" or int(values.min()) < limits.min or int(values.max()) > limits.max:
            raise ValueError(f"{name} is not all of type {kind.str[1:]}")
    return np.ascontiguousarray(np.broadcast_to(values, shape), kind)


def _parts(encoded: Sequence[_Encoded], rows: int) -> Iterator[tuple[int, int]]:
    """The first row and that after the last of each block."""
    ends = np.cumsum(sum((column.sizes() for column in encoded), np.zeros(rows, np.int64)))
    start = 0
    while start < rows:
        before = int(ends[start - 1]) if start else 0
        end = max(int(np.searchsorted(ends, before + _BLOCK, "right")), start + 1)
        yield start, end
        start = end


def _utf8(text: str) -> bytes:
    # What UTF-8 cannot spell (half surrogate pairs) becomes "?"; a cut may not leave half a letter.
    data = text.encode("utf-8", "replace")
    return data if len(data) <= _LONGEST else data[: _LONGEST - 3].decode("utf-8", "ignore").encode() + "…".encode()


def _json(members: Mapping[str, Any]) -> bytes:
    return json.dumps(members, ensure_ascii=True).encode("ascii")
