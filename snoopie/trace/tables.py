"""The blocks of one process → checked columns.

Every id and every reference is checked here, block by block: a row that is referred to stands in an earlier block or
the same one. Ids stay those of the process; `merge` makes them unique over processes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.errors import CorruptError, SnoopieError
from snoopie.trace.container import FOOTER, Block, Container
from snoopie.trace.schema import Columns, Header, Table, parse_header, parse_json

Ints = NDArray[np.int64]

# Tables that are decoded block by block when asked for, because they can be larger than memory.
RECORD_TABLES = ("records", "scattered", "bulk")
_LATER = frozenset({"patterns", *RECORD_TABLES})
# Decoded blocks of patterns that are kept: records refer mostly to patterns not far before them.
_PATTERN_BLOCKS = 32

# The references that are checked, by table. functions.first_site is not: it points forward, and nothing here needs it.
_REFERENCES: dict[str, dict[str, str]] = {
    "lines": {"file": "strings", "function": "strings", "inlined_at": "lines"},
    "functions": {"name": "strings", "mangled": "strings"},
    "sites": {"function": "functions", "sass": "strings", "opcode": "strings", "line": "lines"},
    "modules": {"path": "strings", "build_id": "strings"},
    "frames": {"module": "modules"},
    "stacks": {"frame": "frames", "caller": "stacks"},
    "symbols": {"frame": "frames", "function": "strings", "file": "strings", "code": "strings"},
    "objects": {"call": "strings", "stack": "stacks", "inside": "objects", "name": "strings"},
    "launches": {"function": "functions", "stack": "stacks"},
    "counts": {"launch": "launches", "site": "sites", "object": "objects"},
    "sampling": {"function": "functions"},
    "patterns": {"launch": "launches", "site": "sites"},
    "copies": {"call": "strings", "stack": "stacks"},
    "collectives": {"operation": "strings", "reduction": "strings", "type": "strings"},
    "frees": {"object": "objects"},
    "spans": {"launch": "launches"},
    "call_totals": {"call": "strings", "kernel": "strings"},
    "call_times": {"call": "strings"},
    "call_errors": {"call": "strings", "name": "strings"},
    "calls": {"call": "strings", "kernel": "strings"},
}
# Before version 3, records have the columns of their patterns.
_REFERENCES_BEFORE_3 = dict.fromkeys(RECORD_TABLES, _REFERENCES["patterns"])
# References that must not be 0: without them the row says nothing.
_ACCESS = ("launch", "site")
_PLACES = (*_ACCESS, "owner")
_MUST = {"counts": _ACCESS, "patterns": _ACCESS, "records": _ACCESS, "scattered": _ACCESS, "bulk": _ACCESS,
         "frees": ("object",), "sites": ("function",), "launches": ("function",), "sampling": ("function",),
         "stacks": ("frame",), "symbols": ("frame",), "spans": ("launch",)}  # fmt: skip
# Values that are places in a list of the header, codes, or numbers in a range, by table.
_CODES: dict[str, dict[str, str]] = {
    "sites": {"operation": "operation", "width": "u4"},
    "launches": {"gpu": "gpu", "group": "u4"},
    "counts": {"owner": "owner"},
    "sampling": {"gpu": "gpu", "launches": "amount", "measured": "amount"},
    "patterns": {"issuer": "gpu", "owner": "owner", "mask": "u4"},
    "bulk": {"bytes": "amount"},
    "copies": {
        "kind": "copy kind",
        "source": "owner",
        "destination": "owner",
        "gpu": "gpu or unknown",
        "bytes": "amount",
        "start": "amount",
        "end": "amount",
    },
    "collectives": {"group": "u4", "gpu": "gpu or unknown", "bytes": "amount"},
    "sets": {"owner": "set", "gpu": "gpu or unknown"},
    "objects": {"owner": "owner", "kind": "object kind", "thread": "u4"},
    "frees": {"thread": "u4", "by": "freed by"},
    "symbols": {"line": "u4"},
    "spans": {"start": "amount", "end": "amount"},
    "call_totals": {
        "gpu": "gpu or unknown",
        "direction": "direction",
        **dict.fromkeys(("time", "calls", "errors", "total", "least", "most", "bytes"), "amount"),
    },
    "call_times": {"gpu": "gpu or unknown", "log2": "log2", "calls": "amount"},
    "call_errors": {"gpu": "gpu or unknown", "calls": "amount"},
    "calls": {
        "gpu": "gpu or unknown",
        "direction": "direction",
        **dict.fromkeys(("start", "end", "bytes"), "amount"),
    },
    "memory_use": {"time": "amount", "gpu": "gpu"},
}
_CODES_BEFORE_3 = {table: _CODES["patterns"] | _CODES.get(table, {}) for table in RECORD_TABLES}
# Columns of records that need no more bits than they were written with.
_AS_WRITTEN = frozenset({"pattern", "warp"})
# Addresses and handles use all 64 bits; everything else must fit a signed 64-bit number.
_UNSIGNED = frozenset(
    {"address", "stream", "base", "addresses", "source_address", "destination_address", "communicator"}
)


class _Ids:
    """The ids of a table seen so far. Ids 1 … n in order, the usual case, need no memory."""

    def __init__(self) -> None:
        self._dense = 0
        self._others: Ints = np.empty(0, np.int64)

    def add(self, ids: Ints) -> bool:
        """Adds ids; False if one is out of range or was there before."""
        if len(ids) == 0:
            return True
        if int(ids.min()) < 1 or int(ids.max()) >= 1 << 32:
            return False
        if len(self._others) == 0 and np.array_equal(ids, np.arange(self._dense + 1, self._dense + 1 + len(ids))):
            self._dense += len(ids)
            return True
        merged = np.union1d(self._others, ids)
        fresh = len(merged) == len(self._others) + len(ids) and int(ids.min()) > self._dense
        self._others = merged
        return fresh

    def contain(self, values: Ints, *, zero: bool) -> bool:
        """True if every value is a known id, or 0 where ``zero`` allows it."""
        if len(values) == 0:
            return True
        low = 0 if zero else 1
        if int(values.min()) < low:
            return False
        if int(values.max()) <= self._dense:
            return True
        return bool(np.isin(values[values > self._dense], self._others).all())


@dataclass(frozen=True, slots=True)
class Footer:
    """What the collector wrote when the process ended.

    ``exit_ns`` is when the program began to exit: what was freed later, its exit freed.
    """

    exit_ns: int
    end_ns: int
    totals: dict[str, int]


class Process:
    """One trace file, checked. Small tables are decoded at once, records when asked for.

    ``identity`` is the header as written: equal only for copies of one trace. ``count_owners`` (codes, each once) and
    ``count_accesses`` (their sum) are of the table counts.

    It can go to another process that finds the file under the same path. The counts, which can be many, are decoded
    again where they are asked for.
    """

    def __init__(self, container: Container, *, allow_truncated: bool) -> None:
        self.path = Path(container.name)
        self.container = container
        self.problem: SnoopieError | None = container.problem
        if self.problem is not None and not container.blocks:
            raise self.problem
        # The header first: that a file is of another version says more than what looks wrong in it because of that.
        self.identity = container.decode(container.blocks[0])
        self.header: Header = parse_header(container.name, self.identity)
        if self.problem is not None and not allow_truncated:
            raise self.problem
        self.footer: Footer | None = None
        self.blocks: list[Block] = []
        self._ids: dict[str, _Ids] = {}
        old = self.header.version < 3
        self._references = _REFERENCES | _REFERENCES_BEFORE_3 if old else _REFERENCES
        self._codes = _CODES | _CODES_BEFORE_3 if old else _CODES
        # The blocks of patterns, and the id before the first of each, and the last of all.
        self._pattern_blocks: list[Block] = []
        self._pattern_ids = [0]
        self._patterns = lru_cache(_PATTERN_BLOCKS)(self._read_patterns)
        parts: dict[str, list[Columns]] = {}
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
        self._tables = {
            table: {name: np.concatenate([part[name] for part in blocks]) for name in self.header.read[table]}
            for table, blocks in parts.items()
        }
        self.count_owners: Ints = np.unique(self.column("counts", "owner"))
        self.count_accesses = int(self.column("counts", "accesses").sum())

    def __getstate__(self) -> dict[str, Any]:
        small = {name: columns for name, columns in self._tables.items() if name != "counts"}
        return {name: value for name, value in self.__dict__.items() if name != "_patterns"} | {"_tables": small}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._patterns = lru_cache(_PATTERN_BLOCKS)(self._read_patterns)

    @classmethod
    def open(cls, path: Path, *, allow_truncated: bool = False) -> Process:
        """Reads and checks a file. Raises an error of the family; with ``allow_truncated`` reads what is whole."""
        return cls(Container.open(path), allow_truncated=allow_truncated)

    def rename(self, path: Path) -> None:
        """Has the file go by another spelling of its path."""
        self.path, self.container.name = path, str(path)

    @property
    def complete(self) -> bool:
        """True if the whole file, from header to footer, was read."""
        return self.problem is None

    @property
    def checksums(self) -> list[int]:
        """The checksum of each block that was read, the header's first."""
        return [block.crc for block in self.container.blocks[: len(self.blocks) + 1]]

    @property
    def dropped(self) -> int:
        """Records dropped by the collector, as far as the file tells."""
        return max([block.dropped for block in self.container.blocks[: len(self.blocks) + 1]], default=0)

    @property
    def record_rows(self) -> int:
        """Number of recorded accesses, known without decoding."""
        return sum(block.rows for block, _ in self._record_blocks())

    def column(self, table: str, name: str) -> NDArray[Any]:
        """A column of a small table: int64 (uint64 for addresses and handles), or strings (dtype object)."""
        if table not in self._tables and table == "counts":
            self._tables[table] = self._read_counts()
        if table in self._tables:
            return self._tables[table][name]
        return np.empty(0, _kept_type(name))

    def _read_counts(self) -> Columns:
        tables = ((block, self.header.tables.get(block.table)) for block in self.blocks)
        parts = [self._checked(block, table) for block, table in tables if table is not None and table.name == "counts"]
        return {
            name: np.concatenate([np.empty(0, np.int64), *(part[name] for part in parts)])
            for name in self.header.read["counts"]
        }

    def record_blocks(self) -> list[Block]:
        """The record blocks in the order of the file, not decoded."""
        return [block for block, _ in self._record_blocks()]

    def record_block(self, block: Block) -> tuple[str, Columns]:
        """One of `record_blocks` as (table name, columns), by any thread. CorruptError on a bad one.

        The columns are the same in all versions of the format: a record has those of its pattern.
        """
        table = self.header.tables[block.table]
        return table.name, self._joined(block, table.name, self._checked(block, table))

    def record_places(self, block: Block) -> tuple[Columns, Ints]:
        """launch, site and owner of the records of a block, each some times, and how many records each of these is.

        Faster than `record_block`: nothing else is decoded.
        """
        table = self.header.tables[block.table]
        columns = self._checked(block, table, ("pattern", *_PLACES))
        times = np.ones(block.rows, np.int64)
        if "pattern" in columns:
            ids, times = np.unique(columns["pattern"], return_counts=True)
            columns = self._joined(block, table.name, {"pattern": ids})
        return {name: columns[name] for name in _PLACES}, times

    def _record_blocks(self) -> Iterator[tuple[Block, Table]]:
        for block in self.blocks:
            table = self.header.tables.get(block.table)
            if table is not None and table.name in RECORD_TABLES:
                yield block, table

    def _take(self, block: Block, parts: dict[str, list[Columns]], *, try_records: bool) -> None:
        if block.table == FOOTER:
            self.footer = _parse_footer(self.container.name, self.container.decode(block))
            return
        table = self.header.tables.get(block.table)
        if table is None:
            raise self.container.corrupt(block, "belongs to no table that the header declares")
        if table.name not in self.header.read:
            return
        if table.name not in _LATER:
            columns = self._checked(block, table)
            parts.setdefault(table.name, []).append(columns)
            return
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

    def _checked(self, block: Block, table: Table, only: Collection[str] | None = None) -> Columns:
        """The columns of a block as `column` has them, with every id and reference checked but those to patterns."""
        try:
            columns = table.decode(self.container.decode(block), block.rows, only)
            columns = {
                name: _widened(table.name, name, columns[name])
                if name in columns
                else np.zeros(block.rows, _kept_type(name))
                for name in self.header.read[table.name]
                if only is None or name in only
            }
        except ValueError as error:
            raise self.container.corrupt(block, str(error)) from None
        self._check_ids(block, table.name, columns)
        self._check_codes(block, table.name, columns)
        return columns

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
        if "pattern" not in columns:
            return columns
        ids = columns.pop("pattern").astype(np.int64)
        lowest, highest = int(ids.min(initial=1)), int(ids.max(initial=0))
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

    def _check_ids(self, block: Block, table: str, columns: Columns) -> None:
        if "id" in columns and table not in _LATER and not self._ids.setdefault(table, _Ids()).add(columns["id"]):
            raise self.container.corrupt(block, f"holds an id of {table} that is 0, too large or not the only one")
        for name, target in self._references.get(table, {}).items():
            if name not in columns:
                continue
            known = self._ids.setdefault(target, _Ids())
            if not known.contain(columns[name], zero=name not in _MUST.get(table, ())):
                raise self.container.corrupt(block, f"refers in {table}.{name} to {target} that no earlier row has")
        if table == "lines" and not _acyclic(columns["id"], columns["inlined_at"]):
            raise self.container.corrupt(block, "holds lines that are inlined at each other in a circle")
        if table == "stacks" and not _acyclic(columns["id"], columns["caller"]):
            raise self.container.corrupt(block, "holds stacks that call each other in a circle")

    def _check_codes(self, block: Block, table: str, columns: Columns) -> None:
        for name, what in self._codes.get(table, {}).items():
            if name in columns and not self._known(columns[name], what).all():
                raise self.container.corrupt(block, f"has a value in {table}.{name} that means nothing")
        if table == "sampling" and not (columns["measured"] <= columns["launches"]).all():
            raise self.container.corrupt(block, "has a value in sampling.measured above that of sampling.launches")

    def _known(self, values: Ints, what: str) -> NDArray[np.bool_]:
        header = self.header
        gpus = _within(values, len(header.gpus))
        unknown: NDArray[np.bool_] = values == header.unknown_owner
        host: NDArray[np.bool_] = values == header.host_owner
        sets = _within(values, header.host_owner) & ~_within(values, header.first_set)
        match what:
            case "gpu":
                return gpus
            case "gpu or unknown":
                return gpus | unknown
            case "set":
                return sets & ~unknown
            case "owner":
                return gpus | sets | unknown | host
        limits = {
            "operation": len(header.operations),
            "copy kind": len(header.copy_kinds),
            "object kind": len(header.object_kinds),
            "direction": max(len(header.directions), 1),
            "log2": 64,
            "freed by": 2,
            "u4": 1 << 32,
            "amount": (1 << 63) - 1,
        }
        return _within(values, limits[what])


def _within(values: Ints, limit: int) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (values >= 0) & (values < limit)
    return inside


def _kept_type(name: str) -> type[Any]:
    if name == "text":
        return object
    return np.uint64 if name in _UNSIGNED else np.int64


def _widened(table: str, name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Integers as int64, addresses and handles as uint64. Raises ValueError where a number does not fit.

    A warp, of which there can be many in memory, stays as it was written.
    """
    kind = _kept_type(name)
    if kind is object or name in _AS_WRITTEN:
        return values
    if kind is np.int64 and values.dtype == np.uint64 and len(values) and int(values.max()) >= 1 << 63:
        raise ValueError(f"has a value in {table}.{name} of 2^63 or more")
    if kind is np.uint64 and values.dtype.kind == "i" and len(values) and int(values.min()) < 0:
        raise ValueError(f"has a value in {table}.{name} below 0")
    # Of the same size, they are the same bits.
    return values.view(kind) if values.dtype.itemsize == 8 else values.astype(kind)


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
