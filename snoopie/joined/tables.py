"""Several processes → one set of tables: GPUs by UUID, ids made unique, a `process` column.

Most columns are those of the trace, joined as their roles say; which a table has is declared in `Tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.joined import gpus as _gpus
from snoopie.joined import runs as _runs
from snoopie.joined.amounts import Copied, launched_functions
from snoopie.joined.columns import JoinedColumns
from snoopie.joined.counts import COUNT_VALUES, all_counts, launch_weights
from snoopie.joined.frames import frame
from snoopie.joined.ids import Places
from snoopie.joined.limits import check_sums
from snoopie.joined.processes import processes
from snoopie.joined.records import Records
from snoopie.trace import wire
from snoopie.trace.limits import Limits, check_number
from snoopie.trace.lines import own_lines
from snoopie.trace.tables import Ints, Process


class _Declared(cached_property[pd.DataFrame]):
    """A table, built on first use, of the columns that are named here, in this order.

    ``new=old`` is a column that has another name in the trace, ``process`` the number of the process. What no trace has
    comes from ``made``: a function of the tables for each. ``index`` names the ids as the index. The columns of
    ``sums``, and the differences of two, must not add up to more than any machine can move; in one that ends in "?",
    -1 is not known.
    """

    def __init__(
        self, columns: str, *, index: str = "", sums: str = "", **made: Callable[[Tables], NDArray[Any]]
    ) -> None:
        super().__init__(self._build)
        self._columns = columns.split()
        self._index = index
        self._sums = sums.split()
        self._made = made

    def check(self, tables: Tables) -> None:
        """Raises what building the table raises where it cannot be, without building it."""
        assert self.attrname is not None
        table = self.attrname
        parts = tables.columns.parts(table, self._summed)
        check_sums(table, tables.sources, ([_amount(part, table, name) for name in self._sums] for part in parts))

    @property
    def _summed(self) -> set[str]:
        return {column for name in self._sums for column in name.removesuffix("?").split("-")}

    def _build(self, tables: Tables) -> pd.DataFrame:
        assert self.attrname is not None
        table = self.attrname
        named = [word.partition("=")[2] or word for word in self._columns if word.partition("=")[0] not in self._made]
        needed = {*named, *self._summed, *(["id"] if self._index else [])} - {"process"}
        columns = tables.columns.read(table, needed)
        check_sums(table, tables.sources, [[_amount(columns, table, name) for name in self._sums]])
        joined = {}
        for word in self._columns:
            new, _, old = word.partition("=")
            if new in self._made:
                joined[new] = self._made[new](tables)
            elif new == "process":
                joined[new] = columns.process(table)
            else:
                joined[new] = columns.joined(table, old or new)
        return frame(joined, self._index, columns.joined(table, "id") if self._index else None)


def _amount(columns: JoinedColumns, table: str, name: str) -> NDArray[Any]:
    end, _, start = name.partition("-")
    amount = columns.raw(table, end.removesuffix("?"))
    if end.endswith("?"):
        return np.where(amount == -1, 0, amount)
    return np.maximum(amount - columns.raw(table, start), 0) if start else amount


class Tables:
    """The merged tables, each a DataFrame built on first use. Nothing here is changed after it was built."""

    def __init__(self, sources: Sequence[Process]) -> None:
        self.columns = JoinedColumns.of(sources)

    def part(self, process: int) -> Tables:
        """The tables of one process alone, with the ids, places and number that it has among all."""
        part = Tables.__new__(Tables)
        part.columns = self.columns.part(process)
        # Of all: blocks of one process must have the columns of those of another.
        part.sampled = self.sampled
        part.size = self.size
        return part

    @property
    def sources(self) -> list[Process]:
        return self.columns.sources

    def check(self) -> None:
        """Refuses what single files cannot show, such as sums beyond 64 bits; raises CorruptError."""
        Tables.copies.check(self)
        Tables.collectives.check(self)

    @cached_property
    def size(self) -> int:
        """Bytes of all files, by which analyses are limited."""
        return sum(source.container.size for source in self.sources)

    @property
    def limits(self) -> Limits:
        """Those of each of the files."""
        return self.sources[0].limits

    def check_number(self, holds: str, number: int, limit: int) -> None:
        """Refuses more than a limit; ``holds`` says of what, with {} for the number. Raises LimitError."""
        several = len(self.sources) > 1
        name = f"{len(self.sources):,} traces" if several else self.sources[0].container.name
        check_number(name, f"{'have' if several else 'has'} {holds}", number, limit)

    def number(self, process: int) -> int:
        """The number among all processes of the one at a place in ``sources``."""
        return self.columns.first + process

    def owner(self, process: int, codes: Ints) -> Ints:
        """`Gpus.owner` of the process at a place in ``sources``."""
        return self.columns.gpus.owner(process, codes)

    def label(self, place: int) -> str:
        """The name for reading of an issuer or owner: "GPU 0", "host", "unknown", "multicast 0 (GPU 0, GPU 1)"."""
        return str(self.sets["label"].get(place)) if place in self.sets.index else _gpus.label(place)

    # What the headers say

    @cached_property
    def processes(self) -> pd.DataFrame:
        return processes(self.sources, self._runs)

    @cached_property
    def runs(self) -> pd.DataFrame:
        return _runs.table(self._runs, self.sources)

    @cached_property
    def _runs(self) -> list[_runs.Run]:
        return _runs.runs_of(self.sources)

    @cached_property
    def gpus(self) -> pd.DataFrame:
        return self.columns.gpus.table()

    @cached_property
    def sets(self) -> pd.DataFrame:
        return self.columns.gpus.table_of_sets(self.sources)

    @cached_property
    def links(self) -> pd.DataFrame:
        return self.columns.gpus.table_of_links(self.sources)

    # Code

    functions = _Declared("process name mangled kernel has_lines", index="function")
    lines = _Declared("file line function inlined_at", index="line_id")
    sites = _Declared(
        "process function offset sass opcode operation width wire_unit measured line_id=line file line kernel",
        index="site",
        wire_unit=lambda tables: tables._wire_units(),
        file=lambda tables: tables._site_lines[0],
        line=lambda tables: tables._site_lines[1],
        kernel=lambda tables: tables._kernels("sites"),
    )

    source_files = _Declared("process file bytes kept text", index="source", text=lambda tables: tables._source_texts())

    def _source_texts(self) -> NDArray[Any]:
        """The text of each source file, which stands with another one where both have the same."""
        texts = self.columns.raw("source_files", "text").copy()
        places = Places(self.columns.joined("source_files", "id"))
        same_as = self.columns.joined("source_files", "same_as")
        # What is referred to does not lead in a circle, and is at most so many steps away.
        while (others := np.flatnonzero(same_as)).size:
            rows = places.of(same_as[others])
            texts[others], same_as[others] = texts[rows], same_as[rows]
        return texts

    @cached_property
    def _site_lines(self) -> tuple[NDArray[Any], Ints]:
        """The file and the number of the line that stands for each site."""
        line_ids = self.columns.joined("sites", "line")
        has_line = line_ids > 0
        rows = own_lines(self.lines)[self.line_places.of(line_ids[has_line])]
        line = np.zeros(len(line_ids), np.int64)
        line[has_line] = self.lines["line"].to_numpy()[rows]
        file = np.full(len(line_ids), "", dtype=object)
        file[has_line] = self.lines["file"].to_numpy(dtype=object)[rows]
        return file, line

    def _kernels(self, table: str) -> NDArray[Any]:
        """The names of the functions that a table refers to."""
        names = self.functions["name"].to_numpy(dtype=object)
        rows = Places(self.functions.index.to_numpy()).of(self.columns.joined(table, "function"))
        taken: NDArray[Any] = names[rows]
        return taken

    @cached_property
    def line_places(self) -> Places:
        return Places(self.lines.index.to_numpy())

    @cached_property
    def site_places(self) -> Places:
        return Places(self.sites.index.to_numpy())

    def widths(self, sites: Ints) -> Ints:
        """The width of each site, in bytes; ids must be known."""
        widths: Ints = self.sites["width"].to_numpy()[self.site_places.of(sites)]
        return widths

    def wire_unit_of(self, sites: Ints) -> Ints:
        """The bytes of a wire unit of each site; ids must be known."""
        units: Ints = self.sites["wire_unit"].to_numpy()[self.site_places.of(sites)]
        return units

    def _wire_units(self) -> Ints:
        # Traces of the third version have no unit: all was counted in those of reads.
        units = self.columns.raw("sites", "wire_unit")
        return np.where(units > 0, units, wire.READ)

    # Launches, and what they moved

    launches = _Declared(
        "process function kernel gpu stream thread time grid_x grid_y grid_z block_x block_y block_z shared_memory"
        " group stack code",
        index="launch",
        kernel=lambda tables: tables._kernels("launches"),
    )
    spans = _Declared("launch start end")
    unmeasured_launches = _Declared(
        "process kernel gpu stream thread time grid_x grid_y grid_z block_x block_y block_z start end"
    )
    barriers = _Declared("process gpu stream start end name")
    marks = _Declared("process time text thread domain")
    ranges = _Declared("process thread start end name domain pushed", index="range_id")
    waits = _Declared(
        "process launch site issuer block blocks owner object address waits given_up polls first last waited longest"
        " held",
        sums="waits polls waited held",
        issuer=lambda tables: tables._issuers(tables.columns.joined("waits", "launch")),
    )
    moves = _Declared(
        "process launch site issuer block blocks accesses first last",
        sums="accesses",
        issuer=lambda tables: tables._issuers(tables.columns.joined("moves", "launch")),
    )
    sampling = _Declared(
        "process function kernel gpu launches measured",
        sums="launches measured",
        kernel=lambda tables: tables._kernels("sampling"),
    )

    @cached_property
    def launched_kernels(self) -> int:
        """How many kernels were launched, by their names."""
        return int(self.functions.loc[launched_functions(self.columns), "name"].nunique())

    @cached_property
    def launch_places(self) -> Places:
        return Places(self.launches.index.to_numpy())

    def _issuers(self, launches: Ints) -> Ints:
        """The GPU of each launch; ids must be known."""
        if not len(launches):
            return np.empty(0, np.int64)
        gpus: Ints = self.launches["gpu"].to_numpy()[self.launch_places.of(launches)]
        return gpus

    @cached_property
    def sampled(self) -> bool:
        """Whether some launches stand for several, of which they were the measured ones."""
        return bool(((self.sampling["measured"] > 0) & (self.sampling["measured"] < self.sampling["launches"])).any())

    @cached_property
    def launch_weights(self) -> NDArray[np.float64] | None:
        """For each row of ``launches``, how many launches it stands for; None unless ``sampled``."""
        return launch_weights(self.launches, self.sampling) if self.sampled else None

    @cached_property
    def _all_counts(self) -> pd.DataFrame:
        return all_counts(self.columns, self.widths, self.wire_unit_of, self._issuers)

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

    def check_counts(self, sums: pd.DataFrame) -> None:
        """Refuses sums of counts, in columns of COUNT_VALUES and perhaps weight, that no machine can reach together."""
        weight = sums["weight"].to_numpy() if "weight" in sums else 1.0
        amounts = [sums[name].to_numpy().astype(np.float64) * weight for name in COUNT_VALUES]
        check_sums("counts", self.sources, [amounts])

    @cached_property
    def records(self) -> Records:
        return Records(self.columns, self.widths, self._prepare_for_threads)

    def _prepare_for_threads(self) -> None:
        _ = self.launch_places, self.site_places, self.sites

    # What the host did

    copies = _Declared(
        "process kind call source destination source_address destination_address bytes issuer=gpu stream thread"
        " start end stack",
        index="copy",
        sums="bytes end-start",
    )
    collectives = _Declared(
        "process operation reduction type count bytes peer communicator rank ranks issuer=gpu stream thread"
        " start end group",
        index="collective",
        sums="bytes? count?",
        communicator=lambda tables: np.array(
            [f"{number:#018x}" for number in tables.columns.raw("collectives", "communicator").tolist()], object
        ),
    )

    @cached_property
    def copied(self) -> Copied:
        """What ``copies`` amount to."""
        return Copied.of(self.columns)

    modules = _Declared("process path build_id", index="module")
    frames = _Declared("module address", index="frame")
    stacks = _Declared("frame caller", index="stack")
    symbols = _Declared("frame level function file line code")
    call_totals = _Declared(
        "process time call kernel thread gpu direction calls errors total bytes least most",
        sums="calls errors total bytes",
    )
    call_times = _Declared("process call thread gpu log2 calls", sums="calls")
    call_errors = _Declared("process call thread gpu code name calls", sums="calls")
    calls = _Declared("process call kernel thread gpu direction start end code bytes", index="event", sums="bytes")
    notices = _Declared("process time text")

    # Memory

    objects = _Declared(
        "process address bytes owner kind allocated=time freed thread freed_by with_context call stack inside name",
        index="object",
        sums="bytes",
        freed=lambda tables: tables._frees("time"),
        freed_by=lambda tables: tables._frees("thread"),
        with_context=lambda tables: tables._frees("by") != 0,
    )
    memory_use = _Declared("process time gpu used own pool_reserved pool_used")

    def _frees(self, column: str) -> Ints:
        """For each object a number of its end, 0 where it has none."""
        ids = self.columns.joined("objects", "id")
        found = np.zeros(len(ids), np.int64)
        found[Places(ids).of(self.columns.joined("frees", "object"))] = self.columns.raw("frees", column)
        return found
