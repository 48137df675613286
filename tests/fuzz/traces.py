"""Mutations of traces: of the file, its entries and frames, header and footer, declaration, rows and values.

Most leave the sums right, so that what is wrong is seen only by who looks at it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import zstandard

from tests.fuzz import blocks, raw, trees
from tests.fuzz.blocks import Part, Values
from tests.fuzz.numbers import NUMBERS, TEXTS, near
from tests.support import everything, mixed
from tests.support.encoder import SCHEMA, compress

# A file grows no further than this, nor does what is in it.
_MOST = 1 << 20
_TYPES = ("u1", "u2", "u4", "u8", "i1", "i4", "i8", "f4", "f8", "utf8", "delta4", "delta8", "u4[32]", "delta8[32]", "x")


@cache
def seeds() -> tuple[bytes, ...]:
    """Small traces with rows in every table, in one block each and in many; one of them without its end."""
    every = everything.everything_builder()
    sampled = every.encode()
    # What is sampled is estimated, and sums of estimates are rounded.
    every.rows["sampling"].clear()
    return (
        every.encode(),
        every.encode(block_rows=30),
        sampled,
        mixed.mixed_builder(0).encode(),
        mixed.mixed_builder(1).encode(block_rows=3),
        everything.everything_builder(pid=1).encode(footer=False, block_rows=5),
    )


def mutate(data: bytes, random: Random) -> bytes:
    """One change of a trace; of its bytes alone, with sums that are then wrong, now and then."""
    parts = blocks.take_apart(data)
    if not parts or random.random() < 0.04:
        return raw.mutate(data, random)
    random.choice(_WAYS)(parts, random)
    return blocks.put_together(parts)


def _entry(parts: list[Part], random: Random) -> None:
    """A member of an entry that is not what it should be."""
    part = random.choice(parts)
    name, size = random.choice(
        (("rows", 4), ("rows", 4), ("raw_size", 8), ("data_size", 8), ("dropped", 8), ("sequence", 4), ("table", 4))
    )
    number = random.choice(NUMBERS) % (1 << 8 * size)
    if name == "table":
        part.table = random.choice([random.choice(SCHEMA)["id"], 0, 1, number])
    elif name == "rows":
        part.rows = random.choice([part.rows + 1, part.rows - 1, 2 * part.rows, number])
    else:
        part.wrong[name] = number


def _sequence(parts: list[Part], random: Random) -> None:
    """Blocks missing, twice, or in another order; their numbers are right."""
    one, other = random.randrange(len(parts)), random.randrange(len(parts))
    way = random.randrange(5)
    if way == 0:
        del parts[one]
    elif way == 1:
        parts[other:other] = [replace(parts[one])] * random.choice((1, 1, 2, 40))
    elif way == 2:
        parts[one], parts[other] = parts[other], parts[one]
    elif way == 3:
        parts.insert(other, replace(parts[one], rows=0, content=b""))
    else:
        del parts[one:]


def _content(parts: list[Part], random: Random) -> None:
    """The bytes of a block, with sums that are right."""
    part = random.choice(parts)
    part.content = raw.mutate(part.content, random)


def _frame(parts: list[Part], random: Random) -> None:
    """Another frame, of the same content or of nearly the same."""
    part = random.choice(parts)
    content = part.content
    middle = len(content) // 2
    part.wrong["data"] = random.choice(
        (
            lambda: zstandard.ZstdCompressor(write_checksum=False).compress(content),
            lambda: zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress(content),
            lambda: zstandard.ZstdCompressor(level=19, write_checksum=True).compress(content),
            lambda: compress(content[:middle]) + compress(content[middle:]),
            lambda: raw.mutate(compress(content), random),
            lambda: compress(content) * 2,
            lambda: compress(raw.mutate(content, random)),
            lambda: b"",
        )
    )()


def _said(parts: list[Part], random: Random) -> None:
    """What the header or the footer says."""
    part = random.choice([part for part in (parts[0], parts[-1]) if blocks.is_json(part)] or [parts[0]])
    part.content = trees.mutate_json(part.content, random)


def _declared(parts: list[Part], random: Random) -> None:
    """The declaration of a column, often with its table's blocks made to fit."""
    header = blocks.json_of(parts[0])
    if not isinstance(header, dict) or not isinstance(header.get("schema"), list) or not header["schema"]:
        return _said(parts, random)
    present = [part.table for part in parts]
    tables = [table for table in header["schema"] if isinstance(table, dict) and table.get("id") in present]
    table = random.choice(tables or [header["schema"][0]])
    declared = table.get("columns") if isinstance(table, dict) else None
    before = blocks.columns_of(header, table["id"]) if declared else None
    if not declared or before is None:
        return _said(parts, random)
    held = [(part, blocks.decode(part, before)) for part in parts if part.table == table["id"]]
    order = list(range(len(before)))
    place = random.randrange(len(order))
    way = random.randrange(4)
    if way == 0:
        del order[place]
    elif way == 1:
        random.shuffle(order)
    elif way == 2:
        declared[place] = declared[place] | {"type": random.choice(_TYPES)}
    else:
        declared[place] = declared[place] | {random.choice(("name", "role", "unit")): random.choice(TEXTS)}
    table["columns"] = [declared[number] for number in order]
    after = blocks.columns_of(header, table["id"])
    parts[0].content = json.dumps(header).encode()
    if after is None or random.random() < 0.2:
        return None
    for part, values in held:
        if values is None:
            continue
        changed = [values[number] for number in order]
        # There are types that nothing can be made to fit.
        with suppress(TypeError, ValueError, OverflowError):
            if way == 2:
                changed[place] = _as_type(changed[place], after[place][1], part.rows)
            part.content = blocks.encoded(part, after, changed, part.rows).content
    return None


def _as_type(values: Values, kind: str, rows: int) -> Values:
    if kind == "utf8":
        return [str(number).encode() for number in range(rows)]
    numbers = np.arange(rows, dtype=np.uint64) if isinstance(values, list) else values
    wide = np.repeat(numbers, 32) if kind.endswith("]") and len(numbers) == rows else numbers
    return wide.astype(np.uint64, casting="unsafe") if kind.startswith("delta") else wide


def _values(parts: list[Part], random: Random) -> None:
    """A value, a column or a row of a table."""
    header = blocks.json_of(parts[0])
    part = random.choice([part for part in parts if not blocks.is_json(part)] or parts)
    columns = blocks.columns_of(header, part.table)
    values = blocks.decode(part, columns) if columns is not None and part.rows else None
    if not columns or values is None:
        return _content(parts, random)
    rows = part.rows
    if random.random() < 0.25:
        values, rows = _other_rows(values, rows, random)
    else:
        for _ in range(random.choice((1, 1, 1, 3))):
            place = random.randrange(len(columns))
            values[place] = _other_values(values[place], random)
    new = blocks.encoded(part, columns, values, rows)
    if len(new.content) <= _MOST:
        part.rows, part.content = new.rows, new.content
    return None


def _other_rows(values: list[Values], rows: int, random: Random) -> tuple[list[Values], int]:
    """Without a row, or with some rows more than once."""
    kept = list(range(rows))
    one = random.randrange(rows)
    if random.random() < 0.5:
        del kept[one]
    else:
        kept[one:one] = [one] * random.choice((1, 2, 300))
    changed: list[Values] = []
    for column in values:
        if isinstance(column, list):
            changed.append([column[row] for row in kept])
        else:
            changed.append(column.reshape(rows, -1)[kept].ravel())
    return changed, len(kept)


def _other_values(column: Values, random: Random) -> Values:
    if not len(column):
        return column
    place = random.randrange(len(column))
    if isinstance(column, list):
        text = random.choice(TEXTS).encode("utf-8", "surrogatepass")
        column[place] = random.choice((text, raw.mutate(column[place], random), random.choice(column), b"\xff" * 3000))
        return column
    if column.dtype.kind == "f":
        column[place] = random.choice((np.nan, np.inf, -1.0, 1e30))
        return column
    limit = 1 << 8 * column.itemsize
    way = random.randrange(6)
    if way >= 3:
        column[place] = column[random.randrange(len(column))]
        return column
    number = near(int(column[place]), random) % limit
    number = np.array(number, f"u{column.itemsize}").view(column.dtype)
    if way == 1:
        column[:] = number
    else:
        column[place] = number
    return column


_Way = Callable[[list[Part], Random], None]
# Values most of all: of them there are the most ways to be wrong.
_WAYS: tuple[_Way, ...] = (
    *(_entry, _sequence, _content, _frame, _said, _said, _declared),
    *(_values, _values, _values, _values, _values, _values),
)
