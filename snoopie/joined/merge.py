"""Several processes → one set of tables: GPUs by UUID, ids made unique, a `process` column.

Within the merged tables an owner is a place in ``gpus``, or HOST, or UNKNOWN, or, from FIRST_SET down, a multicast
object: two processes may mean the same one, but nothing in their traces says so. Ids of the first process stay as they
are; those of later ones are moved up. 0 stays "none".
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.errors import CorruptError
from snoopie.joined.ranks import ranks_of
from snoopie.trace.container import Block
from snoopie.trace.lines import own_lines
from snoopie.trace.parallel import ordered
from snoopie.trace.schema import GEOMETRY, Columns, Gpu
from snoopie.trace.tables import RECORD_TABLES, Ints, Process

HOST = -1
UNKNOWN = -2
FIRST_SET = -3
# A multicast object names its GPUs in its label, or, with more than these, says how many there are.
_NAMED = 8

SHAPES = ("strided", "scattered", "bulk")
_SHAPE_OF = dict(zip(RECORD_TABLES, SHAPES, strict=True))
# Sums stay below this, so that twice as much still fits 63 bits (a flow counts an atomic twice) and so does adding two.
LIMIT = 1 << 61
COUNT_VALUES = ("accesses", "lanes", "sectors", "bytes", "wire_bytes")
SECTOR = 32

_Result = TypeVar("_Result")

_WITH_IDS = (
    "strings",
    "lines",
    "functions",
    "sites",
    "modules",
    "frames",
    "stacks",
    "objects",
    "launches",
    "copies",
    "collectives",
    "calls",
)


class Places:
    """Finds ids in a column of unique ids: id → row."""

    def __init__(self, ids: Ints) -> None:
        self._dense = bool(np.array_equal(ids, np.arange(1, len(ids) + 1)))
        self._order = np.empty(0, np.int64) if self._dense else np.argsort(ids)
        self._sorted = np.empty(0, np.int64) if self._dense else ids[self._order]

    def of(self, ids: Ints) -> Ints:
        """The row of each id; ids must be known and not 0 (the reader has checked that)."""
        if self._dense:
            return ids - 1
        found: Ints = self._order[np.searchsorted(self._sorted, ids)]
        return found


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """Some recorded accesses, all of one of SHAPES. ``addresses`` (rows × 32, uint64) of scattered ones, else None."""

    shape: str
    table: pd.DataFrame
    addresses: NDArray[np.uint64] | None

    def part(self, rows: slice | NDArray[np.bool_]) -> RecordBlock:
        """Some of its rows."""
        table = self.table[rows].reset_index(drop=True)
        return RecordBlock(self.shape, table, None if self.addresses is None else self.addresses[rows])


class Tables:
    """The merged tables, each a DataFrame built on first use. Nothing here is changed after it was built."""

    def __init__(self, sources: Sequence[Process]) -> None:
        self.sources = list(sources)
        self._gpu_of, self._gpu_rows = _merge_gpus(self.sources)
        # For each table: what is added to the ids of each process, and the last id of all.
        self._offsets: dict[str, list[int]] = {}
        self._last: dict[str, int] = {}
        for table in _WITH_IDS:
            highest = [int(source.column(table, "id").max(initial=0)) for source in self.sources]
            *self._offsets[table], self._last[table] = accumulate(highest, initial=0)
        # Groups of collectives are numbers that two tables share.
        groups = [("collectives", "group"), ("launches", "group")]
        highest = [max(int(source.column(*column).max(initial=0)) for column in groups) for source in self.sources]
        *self._offsets["groups"], self._last["groups"] = accumulate(highest, initial=0)
        # The values by which each process knows its multicast objects, and how many those before it have.
        self._set_codes = [np.unique(source.column("sets", "owner")) for source in self.sources]
        *self._set_offsets, self._set_count = accumulate(map(len, self._set_codes), initial=0)
        # The number of the first process.
        self._first = 0

    def part(self, process: int) -> Tables:
        """The tables of one process alone, with the ids, places and number that it has among all."""
        part = Tables.__new__(Tables)
        one = slice(process, process + 1)
        part.sources, part._first = self.sources[one], process
        part._gpu_of, part._gpu_rows = self._gpu_of[one], self._gpu_rows
        part._offsets = {table: offsets[one] for table, offsets in self._offsets.items()}
        part._last = self._last
        # Of all: blocks of one process must have the columns of those of another.
        part.sampled = self.sampled
        part._set_codes, part._set_offsets, part._set_count = (
            self._set_codes[one],
            self._set_offsets[one],
            self._set_count,
        )
        return part

    def number(self, process: int) -> int:
        """The number among all processes of the one at a place in ``sources``."""
        return self._first + process

    def _raw(self, table: str, column: str) -> NDArray[Any]:
        """A column of all processes, as it was written."""
        return np.concatenate([source.column(table, column) for source in self.sources])

    def _ids(self, table: str, column: str, target: str) -> Ints:
        """A column of references, made unique over processes."""
        moved = [
            np.where(ids > 0, ids + offset, 0)
            for source, offset in zip(self.sources, self._offsets[target], strict=True)
            for ids in [source.column(table, column)]
        ]
        return np.concatenate(moved)

    def _process(self, table: str, column: str = "id") -> Ints:
        lengths = [len(source.column(table, column)) for source in self.sources]
        return np.repeat(np.arange(self._first, self._first + len(lengths)), lengths)

    def _owners(self, table: str, column: str = "owner") -> Ints:
        parts = [self.owner(number, source.column(table, column)) for number, source in enumerate(self.sources)]
        return np.concatenate(parts)

    def owner(self, process: int, codes: Ints) -> Ints:
        """Owner codes of a process as places in ``gpus``, HOST, UNKNOWN, or places of multicast objects.

        ``process`` is its place in ``sources``. A multicast object of which the trace does not say anything more (its
        end was lost) is UNKNOWN.
        """
        places = self._gpu_of[process]
        header = self.sources[process].header
        result = np.where(codes == header.host_owner, HOST, UNKNOWN)
        is_gpu = codes < len(places)
        result[is_gpu] = places[codes[is_gpu]]
        known = self._set_codes[process]
        is_set = np.isin(codes, known)
        result[is_set] = FIRST_SET - self._set_offsets[process] - np.searchsorted(known, codes[is_set])
        return result

    def label(self, place: int) -> str:
        """The name for reading of an issuer or owner: "GPU 0", "host", "unknown", "multicast 0 (GPU 0, GPU 1)"."""
        return str(self.sets["label"].get(place)) if place in self.sets.index else label(place)

    @cached_property
    def _texts(self) -> tuple[Places, NDArray[Any]]:
        return Places(self._ids("strings", "id", "strings")), self._raw("strings", "text")

    def _text(self, table: str, column: str) -> NDArray[Any]:
        """A column of interned strings as strings, "" for none."""
        places, texts = self._texts
        ids = self._ids(table, column, "strings")
        result = np.full(len(ids), "", dtype=object)
        result[ids > 0] = texts[places.of(ids[ids > 0])]
        return result

    @cached_property
    def processes(self) -> pd.DataFrame:
        headers = [source.header for source in self.sources]
        ranks = [ranks_of(header.ranks) for header in headers]
        return _frame(
            "process",
            np.arange(len(headers)),
            host=[header.host for header in headers],
            pid=np.array([header.pid for header in headers], np.int64),
            program=[header.program for header in headers],
            command=[shlex.join(header.command) for header in headers],
            start_ns=np.array([header.start_ns for header in headers], np.int64),
            rank=np.array([own.rank for own in ranks], np.int64),
            local_rank=np.array([own.local_rank for own in ranks], np.int64),
            ranks=np.array([own.ranks for own in ranks], np.int64),
            path=[str(source.path) for source in self.sources],
            complete=np.array([source.complete for source in self.sources], np.bool_),
            version=[str(header.tool.get("version", "")) for header in headers],
            exit_ns=np.array([source.footer.exit_ns if source.footer else 0 for source in self.sources], np.int64),
            end_ns=np.array([source.footer.end_ns if source.footer else 0 for source in self.sources], np.int64),
            imported_from=[str(header.tool.get("imported_from", "")) for header in headers],
        )

    @cached_property
    def gpus(self) -> pd.DataFrame:
        rows = self._gpu_rows
        return _frame(
            "gpu",
            np.arange(len(rows)),
            uuid=[row["uuid"] for row in rows],
            name=[row["name"] for row in rows],
            pci=[row["pci"] for row in rows],
            memory=np.array([row["memory"] for row in rows], np.int64),
            sm=np.array([row["sm"] for row in rows], np.int64),
            nvlinks=np.array([row["nvlinks"] for row in rows], np.int64),
            host=[row["host"] for row in rows],
            label=[label(place) for place in range(len(rows))],
            visible=np.array([row["visible"] for row in rows], np.bool_),
        )

    @cached_property
    def sets(self) -> pd.DataFrame:
        places = np.arange(FIRST_SET, FIRST_SET - self._set_count, -1)
        members: dict[int, set[int]] = {int(place): set() for place in places}
        for place, gpu in zip(self._owners("sets"), self._owners("sets", "gpu"), strict=True):
            members[int(place)].add(int(gpu))
        return _frame(
            "owner",
            places,
            process=np.repeat(np.arange(len(self._set_codes)), [len(codes) for codes in self._set_codes]),
            gpus=[", ".join(label(gpu) for gpu in sorted(gpus) if gpu >= 0) for gpus in members.values()],
            others=np.array([UNKNOWN in gpus for gpus in members.values()], np.bool_),
            label=[_set_label(place, gpus) for place, gpus in members.items()],
        )

    @cached_property
    def links(self) -> pd.DataFrame:
        merged: dict[tuple[int, int], tuple[bool, bool, int]] = {}
        for places, source in zip(self._gpu_of, self.sources, strict=True):
            for link in source.header.links:
                pair = int(places[link.issuer]), int(places[link.owner])
                merged.setdefault(pair, (link.access, link.native_atomics, link.rank))
        rows = list(merged.values())
        return pd.DataFrame(
            {
                "issuer": np.array([issuer for issuer, _ in merged], np.int64),
                "owner": np.array([owner for _, owner in merged], np.int64),
                "access": np.array([access for access, _, _ in rows], np.bool_),
                "native_atomics": np.array([atomics for _, atomics, _ in rows], np.bool_),
                "rank": np.array([rank for _, _, rank in rows], np.int64),
            }
        )

    @cached_property
    def functions(self) -> pd.DataFrame:
        return _frame(
            "function",
            self._ids("functions", "id", "functions"),
            process=self._process("functions"),
            name=self._text("functions", "name"),
            mangled=self._text("functions", "mangled"),
            kernel=self._raw("functions", "kernel") != 0,
            has_lines=self._raw("functions", "has_lines") != 0,
        )

    @cached_property
    def lines(self) -> pd.DataFrame:
        return _frame(
            "line_id",
            self._ids("lines", "id", "lines"),
            file=self._text("lines", "file"),
            line=self._raw("lines", "line"),
            function=self._text("lines", "function"),
            inlined_at=self._ids("lines", "inlined_at", "lines"),
        )

    @cached_property
    def line_places(self) -> Places:
        return Places(self.lines.index.to_numpy())

    @cached_property
    def sites(self) -> pd.DataFrame:
        functions = self._ids("sites", "function", "functions")
        line_ids = self._ids("sites", "line", "lines")
        has_line = line_ids > 0
        rows = own_lines(self.lines)[self.line_places.of(line_ids[has_line])]
        line = np.zeros(len(line_ids), np.int64)
        line[has_line] = self.lines["line"].to_numpy()[rows]
        file = np.full(len(line_ids), "", dtype=object)
        file[has_line] = self.lines["file"].to_numpy(dtype=object)[rows]
        return _frame(
            "site",
            self._ids("sites", "id", "sites"),
            process=self._process("sites"),
            function=functions,
            offset=self._raw("sites", "offset"),
            sass=self._text("sites", "sass"),
            opcode=self._text("sites", "opcode"),
            operation=self._named("sites", "operation"),
            width=self._raw("sites", "width"),
            measured=self._raw("sites", "measured") != 0,
            line_id=line_ids,
            file=file,
            line=line,
            kernel=self._function_names(functions),
        )

    @cached_property
    def site_places(self) -> Places:
        return Places(self.sites.index.to_numpy())

    def widths(self, sites: Ints) -> Ints:
        """The width of each site, in bytes; ids must be known."""
        widths: Ints = self.sites["width"].to_numpy()[self.site_places.of(sites)]
        return widths

    @cached_property
    def launches(self) -> pd.DataFrame:
        functions = self._ids("launches", "function", "functions")
        return _frame(
            "launch",
            self._ids("launches", "id", "launches"),
            process=self._process("launches"),
            function=functions,
            kernel=self._function_names(functions),
            gpu=self._owners("launches", "gpu"),
            stream=self._raw("launches", "stream"),
            thread=self._raw("launches", "thread"),
            time=self._raw("launches", "time"),
            **{name: self._raw("launches", name) for name in GEOMETRY},
            group=self._ids("launches", "group", "groups"),
            stack=self._ids("launches", "stack", "stacks"),
        )

    @cached_property
    def sampling(self) -> pd.DataFrame:
        functions = self._ids("sampling", "function", "functions")
        launches, measured = self._raw("sampling", "launches"), self._raw("sampling", "measured")
        self._check_sums("sampling", [launches, measured])
        return pd.DataFrame(
            {
                "process": self._process("sampling", "function"),
                "function": functions,
                "kernel": _strings(self._function_names(functions)),
                "gpu": self._owners("sampling", "gpu"),
                "launches": launches,
                "measured": measured,
            }
        )

    @cached_property
    def sampled(self) -> bool:
        """Whether some launches stand for several, of which they were the measured ones."""
        return bool(((self.sampling["measured"] > 0) & (self.sampling["measured"] < self.sampling["launches"])).any())

    @cached_property
    def launch_weights(self) -> NDArray[np.float64] | None:
        """For each row of ``launches``, how many launches it stands for; None unless ``sampled``."""
        if not self.sampled:
            return None
        keys = ["function", "gpu"]
        sums = self.sampling[self.sampling["measured"] > 0].groupby(keys)[["launches", "measured"]].sum()
        rows = sums.index.get_indexer(pd.MultiIndex.from_frame(self.launches[keys]))
        # The last is for kernels of which all launches were measured, whose row is -1.
        weights = np.append((sums["launches"] / sums["measured"]).to_numpy(np.float64), 1.0)
        found: NDArray[np.float64] = weights[rows]
        return found

    @cached_property
    def launch_places(self) -> Places:
        return Places(self.launches.index.to_numpy())

    @cached_property
    def counts(self) -> pd.DataFrame:
        """Of sites that were measured: the rows that say who moved what."""
        counts = self._all_counts
        measured = self.sites["measured"].to_numpy()[self.site_places.of(counts["site"].to_numpy())]
        return counts if measured.all() else counts[measured].reset_index(drop=True)

    @cached_property
    def unmeasured_counts(self) -> pd.DataFrame:
        """Of sites that were not: how often they ran, and no more."""
        counts = self._all_counts
        measured = self.sites["measured"].to_numpy()[self.site_places.of(counts["site"].to_numpy())]
        return counts.loc[~measured, ["launch", "site", "process", "accesses", "lanes"]].reset_index(drop=True)

    @cached_property
    def _all_counts(self) -> pd.DataFrame:
        launches = self._ids("counts", "launch", "launches")
        sites = self._ids("counts", "site", "sites")
        width = self.widths(sites)
        values = {name: self._raw("counts", name) for name in ("accesses", "lanes", "sectors")}
        wide = values["lanes"].astype(np.float64) * width
        self._check_sums("counts", [*values.values(), wide, values["sectors"].astype(np.float64) * SECTOR])
        return pd.DataFrame(
            {
                "launch": launches,
                "site": sites,
                "issuer": self.launches["gpu"].to_numpy()[self.launch_places.of(launches)],
                "owner": self._owners("counts"),
                "process": self._process("counts", "launch"),
                **values,
                "bytes": values["lanes"] * width,
                "wire_bytes": values["sectors"] * SECTOR,
                "object": self._ids("counts", "object", "objects"),
            }
        )

    def _check_sums(self, what: str, columns: Sequence[NDArray[Any]]) -> None:
        """Refuses columns with negative numbers, or whose sums reach LIMIT."""
        if any(float(column.sum(dtype=np.float64)) >= LIMIT or column.min(initial=0) < 0 for column in columns):
            names = ", ".join(str(source.path) for source in self.sources)
            raise CorruptError(f"the {what} of {names} add up to more than any machine can move", "record it again")

    def check_counts(self, sums: pd.DataFrame) -> None:
        """Refuses sums of counts, in columns of COUNT_VALUES and perhaps weight, that reach LIMIT together."""
        weight = sums["weight"].to_numpy() if "weight" in sums else 1.0
        self._check_sums("counts", [sums[name].to_numpy().astype(np.float64) * weight for name in COUNT_VALUES])

    @cached_property
    def copies(self) -> pd.DataFrame:
        start, end = self._raw("copies", "start"), self._raw("copies", "end")
        size = self._raw("copies", "bytes")
        self._check_sums("copies", [size, np.maximum(end - start, 0)])
        return _frame(
            "copy",
            self._ids("copies", "id", "copies"),
            process=self._process("copies"),
            kind=self._named("copies", "kind"),
            call=self._text("copies", "call"),
            source=self._owners("copies", "source"),
            destination=self._owners("copies", "destination"),
            source_address=self._raw("copies", "source_address"),
            destination_address=self._raw("copies", "destination_address"),
            bytes=size,
            issuer=self._owners("copies", "gpu"),
            stream=self._raw("copies", "stream"),
            thread=self._raw("copies", "thread"),
            start=start,
            end=end,
            stack=self._ids("copies", "stack", "stacks"),
        )

    @cached_property
    def collectives(self) -> pd.DataFrame:
        size = self._raw("collectives", "bytes")
        self._check_sums("collectives", [size])
        return _frame(
            "collective",
            self._ids("collectives", "id", "collectives"),
            process=self._process("collectives"),
            operation=self._text("collectives", "operation"),
            reduction=self._text("collectives", "reduction"),
            type=self._text("collectives", "type"),
            count=self._raw("collectives", "count"),
            bytes=size,
            peer=self._raw("collectives", "peer"),
            communicator=[f"{number:#018x}" for number in self._raw("collectives", "communicator").tolist()],
            rank=self._raw("collectives", "rank"),
            ranks=self._raw("collectives", "ranks"),
            issuer=self._owners("collectives", "gpu"),
            stream=self._raw("collectives", "stream"),
            thread=self._raw("collectives", "thread"),
            start=self._raw("collectives", "start"),
            end=self._raw("collectives", "end"),
            group=self._ids("collectives", "group", "groups"),
        )

    @cached_property
    def objects(self) -> pd.DataFrame:
        ids = self._ids("objects", "id", "objects")
        freed, freed_by, ended_by = np.zeros((3, len(ids)), np.int64)
        rows = Places(ids).of(self._ids("frees", "object", "objects"))
        freed[rows], freed_by[rows] = self._raw("frees", "time"), self._raw("frees", "thread")
        ended_by[rows] = self._raw("frees", "by")
        size = self._raw("objects", "bytes")
        self._check_sums("objects", [size])
        return _frame(
            "object",
            ids,
            process=self._process("objects"),
            address=self._raw("objects", "address"),
            bytes=size,
            owner=self._owners("objects"),
            kind=self._named("objects", "kind"),
            allocated=self._raw("objects", "time"),
            freed=freed,
            thread=self._raw("objects", "thread"),
            freed_by=freed_by,
            with_context=ended_by == 1,
            call=self._text("objects", "call"),
            stack=self._ids("objects", "stack", "stacks"),
            inside=self._ids("objects", "inside", "objects"),
            name=self._text("objects", "name"),
        )

    @cached_property
    def modules(self) -> pd.DataFrame:
        return _frame(
            "module",
            self._ids("modules", "id", "modules"),
            process=self._process("modules"),
            path=self._text("modules", "path"),
            build_id=self._text("modules", "build_id"),
        )

    @cached_property
    def frames(self) -> pd.DataFrame:
        return _frame(
            "frame",
            self._ids("frames", "id", "frames"),
            module=self._ids("frames", "module", "modules"),
            address=self._raw("frames", "address"),
        )

    @cached_property
    def stacks(self) -> pd.DataFrame:
        return _frame(
            "stack",
            self._ids("stacks", "id", "stacks"),
            frame=self._ids("stacks", "frame", "frames"),
            caller=self._ids("stacks", "caller", "stacks"),
        )

    @cached_property
    def symbols(self) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "frame": self._ids("symbols", "frame", "frames"),
                "level": self._raw("symbols", "level"),
                "function": _strings(self._text("symbols", "function")),
                "file": _strings(self._text("symbols", "file")),
                "line": self._raw("symbols", "line"),
                "code": _strings(self._text("symbols", "code")),
            }
        )

    @cached_property
    def spans(self) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "launch": self._ids("spans", "launch", "launches"),
                "start": self._raw("spans", "start"),
                "end": self._raw("spans", "end"),
            }
        )

    @cached_property
    def call_totals(self) -> pd.DataFrame:
        values = {name: self._raw("call_totals", name) for name in ("calls", "errors", "total", "bytes")}
        self._check_sums("call_totals", list(values.values()))
        return pd.DataFrame(
            {
                "process": self._process("call_totals", "call"),
                "time": self._raw("call_totals", "time"),
                "call": _strings(self._text("call_totals", "call")),
                "kernel": _strings(self._text("call_totals", "kernel")),
                "thread": self._raw("call_totals", "thread"),
                "gpu": self._owners("call_totals", "gpu"),
                "direction": _strings(self._named("call_totals", "direction")),
                **values,
                "least": self._raw("call_totals", "least"),
                "most": self._raw("call_totals", "most"),
            }
        )

    @cached_property
    def call_times(self) -> pd.DataFrame:
        calls = self._raw("call_times", "calls")
        self._check_sums("call_times", [calls])
        return pd.DataFrame(
            {
                "process": self._process("call_times", "call"),
                "call": _strings(self._text("call_times", "call")),
                "thread": self._raw("call_times", "thread"),
                "gpu": self._owners("call_times", "gpu"),
                "log2": self._raw("call_times", "log2"),
                "calls": calls,
            }
        )

    @cached_property
    def call_errors(self) -> pd.DataFrame:
        calls = self._raw("call_errors", "calls")
        self._check_sums("call_errors", [calls])
        return pd.DataFrame(
            {
                "process": self._process("call_errors", "call"),
                "call": _strings(self._text("call_errors", "call")),
                "thread": self._raw("call_errors", "thread"),
                "gpu": self._owners("call_errors", "gpu"),
                "code": self._raw("call_errors", "code"),
                "name": _strings(self._text("call_errors", "name")),
                "calls": calls,
            }
        )

    @cached_property
    def calls(self) -> pd.DataFrame:
        size = self._raw("calls", "bytes")
        self._check_sums("calls", [size])
        return _frame(
            "event",
            self._ids("calls", "id", "calls"),
            process=self._process("calls"),
            call=self._text("calls", "call"),
            kernel=self._text("calls", "kernel"),
            thread=self._raw("calls", "thread"),
            gpu=self._owners("calls", "gpu"),
            direction=self._named("calls", "direction"),
            start=self._raw("calls", "start"),
            end=self._raw("calls", "end"),
            code=self._raw("calls", "code"),
            bytes=size,
        )

    @cached_property
    def memory_use(self) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "process": self._process("memory_use", "time"),
                "time": self._raw("memory_use", "time"),
                "gpu": self._owners("memory_use", "gpu"),
                **{name: self._raw("memory_use", name) for name in ("used", "own", "pool_reserved", "pool_used")},
            }
        )

    @cached_property
    def notices(self) -> pd.DataFrame:
        rows: list[tuple[int, int, str]] = []
        for number, source in enumerate(self.sources):
            own = zip(source.column("notices", "time").tolist(), source.column("notices", "text"), strict=True)
            rows += [(number, time, text) for time, text in own]
        return pd.DataFrame(
            {
                "process": np.array([process for process, _, _ in rows], np.int64),
                "time": np.array([time for _, time, _ in rows], np.int64),
                "text": _strings([text for _, _, text in rows]),
            }
        )

    def over_records(self, work: Callable[[int, Block], _Result]) -> Iterator[_Result]:
        """What ``work`` makes of each block of records, named by its process's place in ``sources``, in order.

        Several blocks are worked on at once, each by one thread.
        """
        # What all threads read is built before the first of them: a cached property is computed once a thread.
        _ = self._record_ids, self._record_places, self.launch_places, self.site_places, self.sites
        blocks = ((number, block) for number, source in enumerate(self.sources) for block in source.record_blocks())
        return ordered(lambda place: work(*place), blocks)

    def record_block(self, process: int, block: Block) -> RecordBlock:
        """The accesses in one of `Process.record_blocks`. CorruptError on a bad one."""
        table, columns = self.sources[process].record_block(block)
        return self._record_block(process, _SHAPE_OF[table], columns)

    def record_places(self, process: int, block: Block) -> pd.DataFrame:
        """launch site owner of the accesses in a block, each some times, with how many ``records`` each row is."""
        columns, times = self.sources[process].record_places(block)
        return pd.DataFrame(
            {
                "launch": columns["launch"] + self._offsets["launches"][process],
                "site": columns["site"] + self._offsets["sites"][process],
                "owner": self.owner(process, columns["owner"]),
                "records": times,
            },
            copy=False,
        )

    def no_records(self) -> RecordBlock:
        """A block of no rows, with the columns and types of all others."""
        names = ("launch", "site", "issuer", "owner", "time", "block", "warp", "mask", "stride")
        empty: Columns = {name: np.empty(0, np.int64) for name in names}
        return self._record_block(0, "strided", empty | {"base": np.empty(0, np.uint64)})

    @cached_property
    def _record_ids(self) -> type[np.signedinteger[Any]]:
        # Records can be many: ids in 32 bits where they fit.
        last = max((self._last[table] for table in ("launches", "sites")), default=0)
        return np.int32 if last < 1 << 31 else np.int64

    @cached_property
    def _record_places(self) -> type[np.signedinteger[Any]]:
        return np.int16 if len(self._gpu_rows) + self._set_count < 1 << 14 else np.int32

    def _record_block(self, process: int, shape: str, columns: Columns) -> RecordBlock:
        ids, places = self._record_ids, self._record_places
        mask = columns["mask"].astype(np.uint32)
        rows = len(mask)
        addresses = columns.get("addresses")
        base = columns["base"] if addresses is None else addresses[np.arange(rows), lowest_lane(mask)]
        sites = columns["site"] + self._offsets["sites"][process]
        lanes = lanes_of(mask)
        table = {
            "launch": (columns["launch"] + self._offsets["launches"][process]).astype(ids),
            "site": sites.astype(ids),
            "issuer": self.owner(process, columns["issuer"]).astype(places),
            "owner": self.owner(process, columns["owner"]).astype(places),
            "process": np.full(rows, self.number(process), np.int32),
            "time": columns["time"],
            "block": columns["block"],
            "warp": columns["warp"].astype(np.int32),
            "mask": mask,
            "lanes": lanes,
            "shape": pd.Categorical.from_codes(np.full(rows, SHAPES.index(shape), np.int8), pd.Index(SHAPES)),
            "base": base,
            "stride": columns.get("stride", np.zeros(rows, np.int64)),
            "bytes": columns["bytes"] if shape == "bulk" else lanes * self.widths(sites),
        }
        return RecordBlock(shape, pd.DataFrame(table, copy=False), addresses)

    @cached_property
    def record_rows(self) -> int:
        return sum(source.record_rows for source in self.sources)

    def _named(self, table: str, column: str) -> NDArray[Any]:
        """A column of places in a list of the header, as the names there."""
        parts = []
        for source in self.sources:
            header = source.header
            names = {
                "operation": header.operations,
                "direction": header.directions or ("",),
                "kind": header.copy_kinds if table == "copies" else header.object_kinds,
            }[column]
            parts.append(np.array([*names, ""], dtype=object)[source.column(table, column)])
        return np.concatenate(parts)

    def _function_names(self, ids: Ints) -> NDArray[Any]:
        names = self.functions["name"].to_numpy(dtype=object)
        taken: NDArray[Any] = names[Places(self.functions.index.to_numpy()).of(ids)]
        return taken


def label(place: int) -> str:
    """The name for reading of an issuer or owner: "GPU 0", "host", "unknown"."""
    return {HOST: "host", UNKNOWN: "unknown"}.get(place, f"GPU {place}")


def _set_label(place: int, members: set[int]) -> str:
    gpus = sorted(gpu for gpu in members if gpu >= 0)
    parts = [label(gpu) for gpu in gpus] if len(gpus) <= _NAMED else [f"{len(gpus)} GPUs"]
    if UNKNOWN in members:
        parts.append("those of other processes")
    return f"multicast {FIRST_SET - place} ({', '.join(parts)})"


def lanes_of(mask: NDArray[np.uint32]) -> NDArray[np.int32]:
    """The number of lanes in each mask."""
    bits = np.unpackbits(np.ascontiguousarray(mask).view(np.uint8).reshape(len(mask), 4), axis=1)
    lanes: NDArray[np.int32] = bits.sum(axis=1, dtype=np.int32)
    return lanes


def lowest_lane(mask: NDArray[np.uint32]) -> NDArray[np.int64]:
    """The lowest lane in each mask, 0 for an empty one."""
    wide = mask.astype(np.int64)
    lowest = wide & -wide
    return np.where(wide > 0, np.log2(np.maximum(lowest, 1)), 0).astype(np.int64)


def _merge_gpus(sources: Sequence[Process]) -> tuple[list[Ints], list[dict[str, Any]]]:
    """For each process the merged places of its GPUs, and the merged GPUs in order of first appearance.

    A GPU that no process sees is one only if it owns something: what a machine has besides is none of the trace's
    business. The place of others is UNKNOWN.
    """
    seen = {_key(process, place, gpu) for process, place, gpu in _gpus(sources) if gpu.visible}
    owning = {
        _key(process, int(place), sources[process].header.gpus[int(place)])
        for process, source in enumerate(sources)
        for place in _owner_codes(source)
        if place < len(source.header.gpus)
    }
    places: dict[object, int] = {}
    rows: list[dict[str, Any]] = []
    for process, place, gpu in _gpus(sources):
        key = _key(process, place, gpu)
        if key not in seen and key not in owning:
            continue
        if key not in places:
            places[key] = len(rows)
            rows.append(
                {
                    "uuid": gpu.uuid,
                    "name": gpu.name,
                    "pci": gpu.pci,
                    "memory": gpu.memory,
                    "sm": gpu.sm,
                    "nvlinks": gpu.nvlinks,
                    "host": sources[process].header.host,
                    "visible": gpu.visible,
                }
            )
        row = rows[places[key]]
        row["visible"] |= gpu.visible
        # One process may know what another could not read.
        for fact in ("name", "pci", "memory", "sm"):
            row[fact] = row[fact] or getattr(gpu, fact)
        if row["nvlinks"] < 0:
            row["nvlinks"] = gpu.nvlinks
    merged = [
        [places.get(_key(process, place, gpu), UNKNOWN) for place, gpu in enumerate(source.header.gpus)]
        for process, source in enumerate(sources)
    ]
    return [np.array(own, np.int64) for own in merged], rows


def _gpus(sources: Sequence[Process]) -> list[tuple[int, int, Gpu]]:
    """Process, place in its header, GPU; those that their process sees come first."""
    found = [
        (process, place, gpu) for process, source in enumerate(sources) for place, gpu in enumerate(source.header.gpus)
    ]
    return sorted(found, key=lambda row: not row[2].visible)


def _key(process: int, place: int, gpu: Gpu) -> object:
    # Without a UUID nothing says that two processes mean the same GPU.
    return gpu.uuid or (process, place)


def _owner_codes(source: Process) -> Ints:
    """The owner codes that a process names, each once."""
    columns = [("objects", "owner"), ("copies", "source"), ("copies", "destination"), ("memory_use", "gpu")]
    return np.unique(np.concatenate([source.count_owners, *(source.column(*column) for column in columns)]))


def _strings(values: Sequence[str] | NDArray[Any]) -> pd.Series[str]:
    # With the dtype named, an empty column is one of strings as well.
    return pd.Series(values, dtype="str")


def _frame(index: str, ids: Ints, **columns: Any) -> pd.DataFrame:
    data = {
        name: _strings(values) if isinstance(values, list) or values.dtype == object else values
        for name, values in columns.items()
    }
    frame = pd.DataFrame(data)
    frame.index = pd.Index(ids, name=index)
    return frame
