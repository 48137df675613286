"""A trace file taken apart, to be changed and put together again, with its sums right.

Written from docs/trace-format.md, not from the reader. What cannot be taken apart stays as it is.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import zstandard

from tests.support.encoder import FOOTER, HEADER, encode_block

_ENTRY = struct.Struct("<4sIIIQQQII")
_START = struct.pack("<II", 0x184D2A53, _ENTRY.size)

# The values of a column: numbers (one or several a row, flat), or texts.
Values = np.ndarray[Any, np.dtype[Any]] | list[bytes]


@dataclass
class Part:
    """A block: what its entry says, and its content. ``wrong`` is given to `encode_block` as it is."""

    table: int
    rows: int
    content: bytes
    dropped: int = 0
    wrong: dict[str, Any] = field(default_factory=dict)


def take_apart(data: bytes) -> list[Part] | None:
    """The blocks of a whole file; None if it is none."""
    parts = []
    position = 0
    while position < len(data):
        entry = data[position + len(_START) : position + len(_START) + _ENTRY.size]
        if not data.startswith(_START, position) or len(entry) < _ENTRY.size:
            return None
        _, _, table, rows, raw_size, size, dropped, _, _ = _ENTRY.unpack(entry)
        begin = position + len(_START) + _ENTRY.size
        try:
            content = zstandard.ZstdDecompressor().decompress(data[begin : begin + size], max_output_size=raw_size)
        except (zstandard.ZstdError, MemoryError, OverflowError, ValueError):
            return None
        parts.append(Part(table, rows, content, dropped))
        position = begin + size
    return parts


def put_together(parts: list[Part]) -> bytes:
    """The file, each block with its number and its sums unless its part says otherwise."""
    blocks = []
    for number, part in enumerate(parts):
        wrong = dict(part.wrong)
        sequence = wrong.pop("sequence", number)
        dropped = wrong.pop("dropped", part.dropped)
        blocks.append(encode_block(sequence, part.table, part.rows % (1 << 32), part.content, dropped=dropped, **wrong))
    return b"".join(blocks)


def json_of(part: Part) -> Any:
    """What a header or a footer says; None if it is not JSON."""
    try:
        return json.loads(part.content)
    except (ValueError, RecursionError):
        return None


def columns_of(header: Any, table: int) -> list[tuple[str, str]] | None:
    """Name and type of the columns that a header declares for a table; None if it declares nothing that makes sense."""
    try:
        found = next(declared for declared in header["schema"] if declared["id"] == table)
        return [(column["name"], column["type"]) for column in found["columns"]]
    except (StopIteration, KeyError, TypeError):
        return None


def decode(part: Part, columns: list[tuple[str, str]]) -> list[Values] | None:
    """The values of each column; None if the content is not as declared."""
    values: list[Values] = []
    rest = part.content
    try:
        for _, kind in columns:
            element, width = _element(kind)
            if kind == "utf8":
                sizes = np.frombuffer(rest, "<u4", part.rows)
                rest = rest[4 * part.rows :]
                texts = []
                for size in sizes.tolist():
                    texts.append(rest[:size])
                    rest = rest[size:]
                values.append(texts)
            elif element.startswith("delta"):
                size, number = int(element[5:]), part.rows * width
                lowest = int.from_bytes(rest[:8], "little")
                stored = np.frombuffer(rest, np.uint8, size * number, offset=8).reshape(size, number)
                differences = np.zeros((number, 8), np.uint8)
                differences[:, :size] = stored.T
                folded = differences.view("<u8")[:, 0]
                steps = (folded >> np.uint64(1)) ^ (np.uint64(0) - (folded & np.uint64(1)))
                values.append(np.uint64(lowest) + np.cumsum(steps, dtype=np.uint64))
                rest = rest[8 + size * number :]
            else:
                size = np.dtype(element).itemsize * part.rows * width
                values.append(np.frombuffer(rest, f"<{element}", part.rows * width).copy())
                rest = rest[size:]
    except (ValueError, TypeError, OverflowError):
        return None
    return values if not rest else None


def encoded(part: Part, columns: list[tuple[str, str]], values: list[Values], rows: int) -> Part:
    """The block with other values; numbers that do not fit are cut."""
    content = b""
    for (_, kind), column in zip(columns, values, strict=True):
        element, _ = _element(kind)
        if isinstance(column, list):
            content += np.array([len(text) for text in column], "<u4").tobytes() + b"".join(column)
        elif element.startswith("delta"):
            size = int(element[5:])
            lowest = column.min() if len(column) else np.uint64(0)
            steps = np.diff(column, prepend=np.uint64(lowest)).astype("<u8").view("<i8")
            folded = ((steps << 1) ^ (steps >> 63)).astype("<i8")
            content += int(lowest).to_bytes(8, "little")
            content += np.ascontiguousarray(folded.view(np.uint8).reshape(-1, 8)[:, :size].T).tobytes()
        else:
            content += column.astype(f"<{element}", casting="unsafe").tobytes()
    return replace(part, rows=rows, content=content)


def is_json(part: Part) -> bool:
    return part.table in (HEADER, FOOTER)


def _element(kind: str) -> tuple[str, int]:
    element, _, width = kind.rstrip("]").partition("[")
    return element, int(width or 1)
