"""The blocks of one process → checked columns.

Every id and every reference is checked here, block by block: a row that is referred to stands in an earlier block or
the same one. Ids stay those of the process; `snoopie.joined` makes them unique over processes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.errors import CorruptError, SnoopieError
from snoopie.trace import amounts
from snoopie.trace.columns import Column, Columns, LongStringError, TableSchema
from snoopie.trace.container import FOOTER, MAX_BLOCK, Block, Container
from snoopie.trace.declaration import known_columns, known_tables
from snoopie.trace.limits import LIMITS, Index, Limits, allowed, check_number
from snoopie.trace.plan import plan_of
from snoopie.trace.schema import Header, parse_header, parse_json

Ints = NDArray[np.int64]

# Tables that are decoded block by block when asked for, because they can be larger than memory.
RECORD_TABLES = ("records", "scattered", "bulk")
_LATER = frozenset({"patterns", *RECORD_TABLES})
# Decoded blocks of patterns that are kept: records refer mostly to patterns not far before them.
_PATTERN_BLOCKS = 32

_PLACES = ("launch", "site", "owner")
# Host times by which one knows how long a process without a footer ran at least.
_MOMENTS = (
    ("launches", "time"),
    ("spans", "end"),
    ("copies", "end"),
    ("collectives", "end"),
    ("call_totals", "time"),
    ("objects", "time"),
    ("frees", "time"),
    ("memory_use", "time"),
    ("notices", "time"),
)
# Rows of which it matters how much memory each takes.
_MANY = 10_000
# Bytes of a table that are kept. A larger one is checked as it is opened, and decoded again where it is asked for: most
# questions need few of its columns. Counts are what nearly all questions are about.
_KEPT = 4 << 20
_ALWAYS_KEPT = frozenset({"counts"})
_NONE: frozenset[str] = frozenset()


class _Ids:
    """The ids of a table seen so far. Ids 1 … n in order, the usual case, need no memory."""

    __slots__ = ("_dense", "_others")

    def __init__(self) -> None:
        self._dense = 0
        # Sorted, each at most half as long as the one before: each id is merged only a few times.
        self._others: tuple[Ints, ...] = ()

    def add(self, ids: Ints) -> bool:
        """Adds ids; False if one is out of range or was there before."""
        if len(ids) == 0:
            return True
        dense = self._dense + len(ids)
        if not self._others and dense < 1 << 32 and bool((ids == np.arange(self._dense + 1, dense + 1)).all()):
            self._dense = dense
            return True
        if int(ids.min()) < 1 or int(ids.max()) >= 1 << 32:
            return False
        own = np.unique(ids)
        fresh = len(own) == len(ids) and int(own[0]) > self._dense
        fresh = fresh and not any(_within(own, others).any() for others in self._others)
        others = list(self._others)
        while others and len(others[-1]) <= 2 * len(own):
            own = np.union1d(others.pop(), own)
        self._others = (*others, own)
        return fresh

    def contain(self, values: Ints, *, zero: bool) -> bool:
        """True if every value is a known id, or 0 where ``zero`` allows it."""
        if len(values) == 0:
            return True
        low = 0 if zero else 1
        # As unsigned numbers, those below are the highest.
        if int((values - low).view(np.uint64).max()) <= self._dense - low:
            return True
        if int(values.min()) < low:
            return False
        wanted = values[values > self._dense]
        for others in self._others:
            wanted = wanted[~_within(wanted, others)]
        return len(wanted) == 0


class Rows:
    """The columns of a ``table``, of so many rows, as blocks of it come: nothing stands in memory twice.

    Small numbers stay as small as they are in the file, where there are many of them. Few rows that one block holds
    are its columns themselves.
    """

    def __init__(self, table: TableSchema, rows: int, only: Collection[str] | None = None) -> None:
        self._table, self._rows, self._only = table, rows, only
        self._columns: Columns = {}
        self._filled = 0

    def add(self, columns: Columns, rows: int) -> None:
        """Takes over the columns of a block."""
        if not self._columns and rows == self._rows < _MANY:
            self._columns = dict(columns)
        else:
            self._columns = self._columns or self._empty()
            self._make_room(self._filled + rows)
            # Those of a single block can only be read, and what follows it then has no rows.
            for name, values in self._columns.items() if rows else ():
                values[self._filled : self._filled + rows] = columns[name]
        self._filled += rows

    def _empty(self) -> Columns:
        table, rows = self._table, self._rows
        return {
            name: np.empty(rows, _narrow(table, column) if rows >= _MANY else column.kept)
            for name, column in known_columns(table.name).items()
            if self._only is None or name in self._only
        }

    def _make_room(self, rows: int) -> None:
        # Of a file that grows nobody knows before how many there will be.
        for name, values in self._columns.items():
            if len(values) < rows:
                self._columns[name] = np.empty(max(rows, 2 * len(values)), values.dtype)
                self._columns[name][: self._filled] = values[: self._filled]

    def columns(self) -> Columns:
        return {name: values[: self._filled] for name, values in self._columns.items()}


def _narrow(table: TableSchema, column: Column) -> np.dtype[Any]:
    """What keeps all values that a file can have of a column, of which it may lack the declaration."""
    kept = np.dtype(column.kept)
    written = table.columns[column.name].stored.dtype if column.name in table.columns else np.dtype(np.uint8)
    return written if not kept.hasobject and written is not None and written.itemsize < kept.itemsize else kept


def _within(values: Ints, among: Ints) -> NDArray[np.bool_]:
    """Which of some values are among others, sorted."""
    places = np.minimum(np.searchsorted(among, values), len(among) - 1)
    found: NDArray[np.bool_] = among[places] == values
    return found


@dataclass(frozen=True, slots=True)
class Footer:
    """What the collector wrote when the process ended.

    ``exit_ns`` is when the program began to exit: what was freed later, its exit freed.
    """

    exit_ns: int
    end_ns: int
    totals: dict[str, int]


class Process:
    """One trace file, checked. Small tables are decoded at once, large ones and records when asked for.

    ``count_owners`` (codes, each once) and ``count_accesses`` (their sum) are of the table counts.

    It can go to another process that finds the file under the same path. The counts, which can be many, are decoded
    again where they are asked for.
    """

    def __init__(self, container: Container, *, allow_truncated: bool, limits: Limits = LIMITS) -> None:
        self.container = container
        self.problem: SnoopieError | None = container.problem
        if self.problem is not None and not container.blocks:
            raise self.problem
        # The header first: that a file is of another version says more than what looks wrong in it because of that.
        self.header: Header = parse_header(container.name, container.decode(container.blocks[0]))
        self.limits = limits
        check_number(container.name, "has {} GPUs", len(self.header.gpus), limits.gpus)
        check_number(container.name, "has {} settings", len(self.header.settings), limits.settings)
        if self.problem is not None and not allow_truncated:
            raise self.problem
        self.footer: Footer | None = None
        self.blocks: list[Block] = []
        self._ids: dict[str, _Ids] = {}
        # The blocks of patterns, and the id before the first of each, and the last of all.
        self._pattern_blocks: list[Block] = []
        self._pattern_ids = [0]
        # What the index claims, before any of it is decoded.
        self._index = Index(container.name, limits)
        for block in container.blocks[1:]:
            self._count(block)
        self._index.check(container.size)
        self._again = self._large()
        self._highest: dict[tuple[str, str], int] = {}
        parts: dict[str, Rows] = {}
        for block in container.blocks[1:]:
            try:
                # Damage that checksums do not show must also end the readable part, so then records are tried too.
                self._take(block, parts, try_records=allow_truncated)
            except CorruptError as error:
                if not allow_truncated:
                    raise
                self.problem = error
                self.footer = None
                break
            self.blocks.append(block)
        self._tables = {table: rows.columns() for table, rows in parts.items()}
        if not (self._pattern_blocks or self.record_rows):
            # Nothing is left of which references would have to be checked.
            self._ids.clear()
        amounts.check(container.name, container.size, sum(self._index.rows.values()), self, limits)
        self.count_owners: Ints = np.unique(self.column("counts", "owner"))
        self.count_accesses = int(self.column("counts", "accesses").sum())

    def __getstate__(self) -> dict[str, Any]:
        small = {name: columns for name, columns in self._tables.items() if name not in _ALWAYS_KEPT}
        again = self._again | (self._tables.keys() & _ALWAYS_KEPT)
        state = {name: value for name, value in self.__dict__.items() if name not in ("_patterns", "path")}
        return state | {"_tables": small, "_again": again}

    @classmethod
    def open(cls, path: Path, *, allow_truncated: bool = False, trust: bool = False) -> Process:
        """Reads and checks a file. Raises an error of the family; with ``allow_truncated`` reads what is whole, with
        ``trust`` also what is beyond the limits."""
        return cls(Container.open(path), allow_truncated=allow_truncated, limits=allowed(trust))

    def rename(self, path: Path) -> None:
        """Has the file go by another spelling of its path."""
        self.__dict__.pop("path", None)
        self.container.name = str(path)

    @cached_property
    def path(self) -> Path:
        """The file, as it was named."""
        return Path(self.container.name)

    @property
    def complete(self) -> bool:
        """True if the whole file, from header to footer, was read."""
        return self.problem is None

    @cached_property
    def rows(self) -> dict[str, int]:
        """How many rows of each table the blocks that were read hold."""
        found: dict[str, int] = {}
        for block in self.blocks:
            table = self.header.tables.get(block.table)
            if table is not None:
                found[table.name] = found.get(table.name, 0) + block.rows
        return found

    @property
    def checksums(self) -> list[int]:
        """The checksum of each block that was read, the header's first."""
        return [block.crc for block in self.container.blocks[: len(self.blocks) + 1]]

    @property
    def dropped(self) -> int:
        """Records dropped by the collector, as far as the file says."""
        return max([block.dropped for block in self.container.blocks[: len(self.blocks) + 1]], default=0)

    @property
    def record_rows(self) -> int:
        """Number of recorded accesses, known without decoding."""
        return sum(block.rows for block, _ in self._record_blocks())

    @property
    def last_ns(self) -> int:
        """When the process ended, or, without a footer, the last moment that the trace tells of. Host ns."""
        if self.footer is not None:
            return self.footer.end_ns
        moments = (int(part[name].max()) for table, name in _MOMENTS for part in self.parts(table, (name,)))
        return max([self.header.start_ns, *moments])

    def length(self, table: str) -> int:
        """How many rows of a table there are."""
        if table in self._tables:
            return len(next(iter(self._tables[table].values())))
        return self.rows.get(table, 0) if table in self._again else 0

    def lengths(self) -> Iterator[tuple[str, int]]:
        """The same of all tables that have rows."""
        for table in (*self._tables, *self._again):
            yield table, self.length(table)

    @property
    def highest(self) -> Mapping[tuple[str, str], int]:
        """The highest number in each column of ids or groups that has rows, by table and name; known without
        decoding."""
        return self._highest

    def column(self, table: str, name: str) -> NDArray[Any]:
        """A column of a table that is none of records: int64 (uint64 for addresses and handles), or strings (dtype
        object)."""
        return self.columns(table, (name,))[name]

    def columns(self, table: str, names: Collection[str]) -> Columns:
        """The same of several columns, for which a large table is decoded only once."""
        kept = {name: known_columns(table)[name].kept for name in names}
        if table in self._tables:
            found = self._tables[table]
        elif table in self._again:
            found = self._decoded_again(table, names)
        else:
            return {name: np.empty(0, kind) for name, kind in kept.items()}
        return {name: found[name].astype(kind, copy=False) for name, kind in kept.items()}

    def readers(self, table: str, names: Collection[str]) -> Iterator[Callable[[], Columns]]:
        """The same, part by part, each read when it is called for: of a large table no more than that is in memory."""
        if table in self._again:
            for block, schema in self._blocks_of(table):
                yield partial(self._decoded, block, schema, names)
        elif self.length(table):
            yield partial(self.columns, table, names)

    def parts(self, table: str, names: Collection[str]) -> Iterator[Columns]:
        """The same, part after part."""
        return (read() for read in self.readers(table, names))

    def _decoded_again(self, table: str, names: Collection[str]) -> Columns:
        rows = None
        for block, schema in self._blocks_of(table):
            rows = rows or Rows(schema, self.rows[table], names)
            rows.add(self._decoded(block, schema, names), block.rows)
        return rows.columns() if rows else {name: np.empty(0, known_columns(table)[name].kept) for name in names}

    def _blocks_of(self, table: str) -> Iterator[tuple[Block, TableSchema]]:
        for block in self.blocks:
            schema = self.header.tables.get(block.table)
            if schema is not None and schema.name == table:
                yield block, schema

    def _large(self) -> frozenset[str]:
        """The tables that are too large to be kept."""
        if self._index.tables <= _KEPT:
            return _NONE
        schemas = {schema.name: schema for schema in self.header.tables.values()}
        sizes = ((table, schemas[table].size(rows)) for table, rows in self._index.rows.items())
        large = {table for table, size in sizes if size is not None and size > _KEPT}
        return frozenset(large - _LATER - _ALWAYS_KEPT)

    def record_blocks(self) -> list[Block]:
        """The record blocks in the order of the file, not decoded."""
        return [block for block, _ in self._record_blocks()]

    def record_block(self, block: Block) -> tuple[str, Columns]:
        """One of `record_blocks` as (table name, columns, with those of the patterns), by any thread.

        CorruptError on a bad one.
        """
        table = self.header.tables[block.table]
        return table.name, self._joined(block, table.name, self._checked(block, table))

    def record_places(self, block: Block) -> tuple[Columns, Ints]:
        """launch, site and owner of the records of a block, each some times, and how many records each of these is.

        Faster than `record_block`: nothing else is decoded.
        """
        table = self.header.tables[block.table]
        ids, times = np.unique(self._checked(block, table, ("pattern",))["pattern"], return_counts=True)
        columns = self._joined(block, table.name, {"pattern": ids})
        return {name: columns[name] for name in _PLACES}, times

    def _record_blocks(self) -> Iterator[tuple[Block, TableSchema]]:
        for block in self.blocks:
            table = self.header.tables.get(block.table)
            if table is not None and table.name in RECORD_TABLES:
                yield block, table

    def _count(self, block: Block) -> None:
        """Adds a block to what the index claims, unless it is never decoded: `_take` refuses what claims too much."""
        table = self.header.tables.get(block.table)
        possible = block.rows <= block.raw_size <= MAX_BLOCK
        if table is not None and table.name in known_tables() and possible:
            self._index.add(table.name, block.rows, block.raw_size, record=table.name in RECORD_TABLES)

    def _take(self, block: Block, parts: dict[str, Rows], *, try_records: bool) -> None:
        if block.table == FOOTER:
            self.footer = _parse_footer(self.container.name, self.container.decode(block))
            return
        table = self.header.tables.get(block.table)
        if table is None:
            raise self.container.corrupt(block, "belongs to no table that the header declares")
        if table.name not in known_tables():
            return
        if table.name not in _LATER:
            columns = self._checked(block, table)
            self._note(table, columns)
            if table.name in self._again:
                return
            if table.name not in parts:
                parts[table.name] = Rows(table, self._index.rows[table.name])
            parts[table.name].add(columns, block.rows)
            return
        if table.least(block.rows) > block.raw_size:
            raise self.container.corrupt(block, f"is too short for {block.rows} rows of {table.name}")
        self.container.check(block)
        size = table.size(block.rows)
        if size is not None and size != block.raw_size:
            raise self.container.corrupt(block, f"is not the size of {block.rows} rows of {table.name}")
        if table.name == "patterns":
            self._pattern_blocks.append(block)
            self._pattern_ids.append(self._pattern_ids[-1] + block.rows)
            if try_records:
                self._patterns(len(self._pattern_blocks) - 1)
        elif try_records:
            self._joined(block, table.name, self._checked(block, table))

    def _note(self, table: TableSchema, columns: Columns) -> None:
        for name in plan_of(table).numbered:
            known = self._highest.get((table.name, name), 0)
            self._highest[table.name, name] = max(known, int(columns[name].max(initial=0)))

    def _checked(self, block: Block, table: TableSchema, only: Collection[str] | None = None) -> Columns:
        """The columns of a block as `column` has them, with every id and reference checked but those to patterns."""
        columns = self._decoded(block, table, only)
        self._check_ids(block, table, columns)
        self._check_codes(block, table, columns)
        return columns

    def _decoded(self, block: Block, table: TableSchema, only: Collection[str] | None = None) -> Columns:
        try:
            decoded = table.decode(self.container.decode(block), block.rows, only, self.limits.string)
            return plan_of(table).columns(decoded, block.rows, only)
        except LongStringError as error:
            check_number(self.container.name, "has a string of {} bytes", error.length, self.limits.string)
            raise
        except ValueError as error:
            raise self.container.corrupt(block, str(error)) from None

    @cached_property
    def _patterns(self) -> Callable[[int], Columns]:
        """`_read_patterns`, which remembers."""
        return lru_cache(_PATTERN_BLOCKS)(self._read_patterns)

    def _read_patterns(self, number: int) -> Columns:
        """The columns of a block of patterns but the ids, which its place says too. By any thread, and again."""
        block = self._pattern_blocks[number]
        columns = self._checked(block, self.header.tables[block.table])
        first = self._pattern_ids[number] + 1
        if not np.array_equal(columns.pop("id"), np.arange(first, first + block.rows)):
            raise self.container.corrupt(block, "holds patterns whose ids are not 1, 2, 3, …")
        return columns

    def _joined(self, block: Block, table: str, columns: Columns) -> Columns:
        """The columns of a block of records, with those of its patterns in the place of the ids of these."""
        ids = columns.pop("pattern").astype(np.int64)
        if not len(ids):
            # There may be no patterns at all.
            none = {name: np.empty(0, column.kept) for name, column in known_columns("patterns").items()}
            return columns | {name: values for name, values in none.items() if name != "id"}
        lowest, highest = int(ids.min()), int(ids.max())
        if lowest < 1 or highest > self._pattern_ids[-1]:
            raise self.container.corrupt(block, f"refers in {table}.pattern to patterns that no earlier row has")
        before = np.array(self._pattern_ids)
        first, last = np.searchsorted(before, (lowest, highest)) - 1
        if first == last:
            patterns = self._patterns(int(first))
            rows = ids - (before[first] + 1)
        else:
            # Of several blocks of patterns, those that are needed, one after another.
            places = np.searchsorted(before, ids) - 1
            used = np.unique(places)
            parts = [self._patterns(number) for number in used.tolist()]
            patterns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            lengths = np.diff(before)[used]
            starts = np.zeros(len(before), np.int64)
            starts[used] = np.cumsum(lengths) - lengths
            rows = ids + (starts - before - 1)[places]
        return columns | {name: values[rows] for name, values in patterns.items()}

    def _check_ids(self, block: Block, table: TableSchema, columns: Columns) -> None:
        # Those of patterns are checked where these are read, and where records are joined with them.
        if (
            "id" in columns
            and table.name not in _LATER
            and not self._ids.setdefault(table.name, _Ids()).add(columns["id"])
        ):
            raise self.container.corrupt(block, f"holds an id of {table.name} that is 0, too large or not the only one")
        for name, referred, zero in plan_of(table).references:
            if name not in columns or referred == "patterns":
                continue
            known = self._ids.setdefault(referred, _Ids())
            if not known.contain(columns[name], zero=zero):
                raise self.container.corrupt(
                    block, f"refers in {table.name}.{name} to {referred} that no earlier row has"
                )
            if referred == table.name and not _acyclic(columns["id"], columns[name]):
                raise self.container.corrupt(block, f"holds {table.name} whose {name} lead in a circle")

    def _check_codes(self, block: Block, table: TableSchema, columns: Columns) -> None:
        for name, role in plan_of(table).coded:
            if name in columns and not self.header.codes.mean_something(role, columns[name]):
                raise self.container.corrupt(block, f"has a value in {table.name}.{name} that means nothing")
        if table.name == "sampling" and not (columns["measured"] <= columns["launches"]).all():
            raise self.container.corrupt(block, "has a value in sampling.measured above that of sampling.launches")


def _acyclic(ids: Ints, parents: Ints) -> bool:
    """True if no id of a block is its own ancestor. Ancestors in earlier blocks cannot point back into this one."""
    if bool((parents < ids).all()):
        return True
    order = np.argsort(ids)
    places = np.searchsorted(ids[order], parents)
    places[places == len(ids)] = 0
    above = np.where(ids[order][places] == parents, order[places], -1)
    # Each step doubles the distance: after log2(n) steps every walk has ended, unless it goes round.
    for _ in range(len(ids).bit_length() + 1):
        above = np.where(above >= 0, above[above], -1)
    return bool((above < 0).all())


def _parse_footer(name: str, content: bytes) -> Footer:
    members = parse_json(name, "footer", content)
    totals, end = members.get("totals", {}), members.get("end_ns", 0)
    begun = members.get("exit_ns", end)
    if not (isinstance(totals, dict) and _is_number(end) and _is_number(begun)):
        raise CorruptError(f"{name}: the footer's members are of wrong types", "record it again")
    if not all(_is_number(total) and total >= 0 for total in totals.values()):
        raise CorruptError(f"{name}: a total in the footer is not a number", "record it again")
    return Footer(begun, end, totals)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63
