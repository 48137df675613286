"""What was recorded: the attributes of a trace, most of them tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from snoopie.analysis import losses
from snoopie.analysis.host.copies import copied
from snoopie.analysis.time import timeline
from snoopie.analysis.traffic import counts as _counts
from snoopie.analysis.traffic import places
from snoopie.api.core import TraceCore
from snoopie.api.table import table
from snoopie.joined.amounts import Copied
from snoopie.trace import lacks as _lacks
from snoopie.trace.lacks import Lack
from snoopie.trace.tables import Ints, Process


class TraceAttributes(TraceCore):
    """What was recorded."""

    @property
    def paths(self) -> list[Path]:
        """The files read, one a process."""
        return [process.path for process in self._tables.sources]

    @property
    def complete(self) -> bool:
        """True if every file was whole, from header to footer."""
        return all(process.complete for process in self._tables.sources)

    @property
    def estimated(self) -> bool:
        """True if amounts are estimates, because of some kernel not every launch was measured.

        What the measured launches of a kernel on a GPU moved is scaled by the number of its launches there, everywhere
        but in ``counts``, ``records``, `by_launch`, and views of launches that were named one by one.
        """
        if not self._tables.sampled:
            return False
        launches = self._weighted_launches
        return "weight" in launches and bool((launches["weight"] != 1).any())

    def lacks(self, what: Lack) -> str:
        """A sentence, where the tools whose recordings these are did not record it, so that it is unknown: "" where
        any of the processes has it.
        """
        tools = [str(source.header.tool.get("imported_from", "")) for source in self._tables.sources]
        return _lacks.sentence(set(tools), what) if len(self._lacking(what)) == len(tools) else ""

    def _lacking(self, what: Lack) -> list[int]:
        """The processes whose tool does not record it."""
        return [place for place, source in enumerate(self._tables.sources) if what in self._lacks_of(source)]

    def unknown(self) -> list[str]:
        """Sentences on what none of the tools recorded whose recordings these are; [] for traces of the collector."""
        return [sentence for what in Lack if (sentence := self.lacks(what))]

    @staticmethod
    def _lacks_of(source: Process) -> frozenset[str]:
        tool = source.header.tool
        if not tool.get("imported_from"):
            return frozenset()
        rows = source.rows
        return _lacks.of_tool(tool) | {what for what, table in _lacks.TABLES.items() if not rows.get(table)}

    @property
    def totals(self) -> dict[str, int]:
        """The totals of the footers, summed: name → number. Processes without a footer add nothing."""
        return losses.sum_totals(self._tables)

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The collector's settings, a dict for each process."""
        return [dict(process.header.settings) for process in self._tables.sources]

    @property
    def schema(self) -> dict[str, dict[str, Any]]:
        """The declaration of each table, as the (first) header has it: name → id, doc, columns."""
        return self._tables.sources[0].header.schema

    @table
    def processes(self) -> pd.DataFrame:
        """process | host pid program command start_ns rank local_rank ranks (how many; -1 unknown) path complete
        version exit_ns (when the program began to exit) end_ns (0 without a footer) imported_from (the other tool whose
        recording it is, or "") run"""
        return self._tables.processes

    @table
    def runs(self) -> pd.DataFrame:
        """run | run_id program processes (how many) hosts start_ns end_ns label: more than one only where `load` was
        told to add them up"""
        return self._tables.runs

    @table
    def gpus(self) -> pd.DataFrame:
        """gpu | uuid name pci memory (bytes) sm nvlinks (-1 unknown) host label visible (to any of the processes).

        Merged by UUID, in the order of first appearance.
        """
        return self._tables.gpus

    @table
    def sets(self) -> pd.DataFrame:
        """owner (-3, -4, …) | process gpus (labels) others (GPUs that other processes added: bool) label.

        Multicast objects: a write to one reaches the memory of all its GPUs. One a process, even if others share it.
        """
        return self._tables.sets

    @table
    def places(self) -> pd.DataFrame:
        """place | kind (gpu, host, unknown, multicast) label uuid processes ranks: all that can be issuer or owner.

        ``processes`` and ``ranks`` (those known) are tuples: who worked on the GPU, or made the multicast object.
        """
        return places.places(self._tables)

    @cached_property
    def period(self) -> tuple[int, int]:
        """From the first moment that the trace tells of to after its last, host ns, also for a view: of launches,
        copies, collectives, single driver calls, allocations and the driver's reports of memory. (0, 0) without any.
        """
        if self._whole is not self:
            return self._whole.period
        return timeline.period(self._times())

    def _times(self) -> Iterator[pd.Series[Any] | Ints]:
        yield from (self._when[name] for name in ("called", "start", "end"))
        yield self.memory_use["time"]
        yield from (self.objects[name] for name in ("allocated", "freed"))
        # Of millions of calls no table is made for two numbers.
        for name in ("copies", "collectives", "calls"):
            for part in self._tables.columns.parts(name, ("start", "end")):
                yield from (part.raw(name, column) for column in ("start", "end"))

    @table
    def links(self) -> pd.DataFrame:
        """issuer owner access (bool: the driver lets the issuer reach the owner's memory) native_atomics (bool: as over
        NVLink) rank (of the link, as the driver has it)"""
        return self._tables.links

    @table
    def functions(self) -> pd.DataFrame:
        """function | process name mangled kernel (bool: a kernel itself) has_lines (bool: its source lines are
        known)"""
        return self._tables.functions

    @table
    def lines(self) -> pd.DataFrame:
        """line_id | file line function (that is inlined there, or "") inlined_at (a line_id, 0 = not inlined)"""
        return self._tables.lines

    @table
    def source_files(self) -> pd.DataFrame:
        """source | process file bytes kept text: source files with lines that reached other memory, as they were when
        their code was first launched. Not ``kept``: the file was larger (``bytes``) than what a trace keeps, or, with 0
        bytes, could not be read. Nothing without the setting SOURCE, and in older traces.
        """
        return self._tables.source_files

    @table
    def sites(self) -> pd.DataFrame:
        """site | process function offset sass opcode operation width wire_unit measured line_id file line kernel

        ``width`` is bytes a lane; ``wire_unit`` the bytes that NVLink moves at a time: 32 of what is read, 16 of what
        is written. Traces of format 3 counted 32 for both.

        ``line_id`` is the innermost line; ``file`` and ``line`` are the innermost outside the toolkit's headers, or the
        innermost where all are in them; "" and 0 without a line.
        """
        return self._tables.sites

    @table
    def objects(self) -> pd.DataFrame:
        """object | process address bytes owner kind allocated freed (host ns, 0 = never) thread freed_by (threads)
        with_context (its context ended, no call freed it) call stack inside (the object it is a part of) name (of the
        variable that it is or that holds it).

        ``kind``: device, pool, array, mapping (of physical memory), import (memory of another process), managed, host,
        registered, graph, multicast, physical (memory without an address of its own), symmetric (of NVSHMEM's heap).
        """
        return self._tables.objects

    @table
    def stacks(self) -> pd.DataFrame:
        """stack | frame (the innermost) caller (the stack without it, 0 = none)"""
        return self._tables.stacks

    @table
    def frames(self) -> pd.DataFrame:
        """frame | module (0 = Python) address (in the module's file): where calls were made"""
        return self._tables.frames

    @table
    def modules(self) -> pd.DataFrame:
        """module | process path build_id: files that code was loaded from"""
        return self._tables.modules

    @table
    def symbols(self) -> pd.DataFrame:
        """frame level (0 = innermost, further ones have it inlined) function file line code ("" and 0 = unknown)"""
        return self._tables.symbols

    @table
    def spans(self) -> pd.DataFrame:
        """launch start end (host ns): when measured launches ran on their GPUs, instrumented unless imported"""
        return self._tables.spans

    @table
    def unmeasured_launches(self) -> pd.DataFrame:
        """process kernel gpu stream thread time (of the call) grid_x … block_z start end (host ns, on the GPU): with
        TIMES=all, launches that are not among ``launches``. Of a view, as ``calls``."""
        return self._called(self._tables.unmeasured_launches)

    @table
    def barriers(self) -> pd.DataFrame:
        """process gpu stream start end (host ns) name: barriers at which queues of GPUs waited, as other tools record
        them"""
        return self._called(self._tables.barriers)

    @table
    def marks(self) -> pd.DataFrame:
        """process time (host ns) text thread domain: moments that the program marked, with NVTX or as other tools
        record them"""
        return self._tables.marks

    @table
    def ranges(self) -> pd.DataFrame:
        """range_id | process thread start end (host ns, 0: it had not ended) name domain pushed: times that the program
        named, as NVTX ranges and regions. A ``pushed`` one is of its thread, another of the whole process.
        """
        ranges = self._tables.ranges
        return ranges if self._selected is None else self._selected.of_ranges(ranges)

    @table
    def waits(self) -> pd.DataFrame:
        """process launch site issuer block blocks (how many) owner object address waits given_up polls first last
        (device ns) waited longest held (ns): what kernels polled, with WAITS=on.

        ``site`` is the instruction that polls, ``owner`` whose memory, ``address`` the last one. ``waited`` adds up the
        warps of a row; a launch with too many blocks has several in one. Of ``waits``, ``given_up`` ended by a timeout,
        or not before the kernel or the trace. ``held`` of a block's rows adds up to the time in which any of its warps
        waited.
        """
        return self._kept(self._tables.waits)

    @table
    def moves(self) -> pd.DataFrame:
        """process launch site issuer block blocks (how many) accesses first last (device ns): when thread blocks
        accessed memory of other GPUs or the host, with WAITS=on. A launch with too many blocks has several in a row.

        Whose memory it was is in ``counts``: a view of some owners has all rows.
        """
        return self._kept(self._tables.moves)

    @table
    def call_totals(self) -> pd.DataFrame:
        """process time call kernel thread gpu direction calls errors total least most (ns) bytes: driver calls.

        Rows of one call are to be added up: each is of the time since the one before it, until ``time``.
        """
        return self._called(self._tables.call_totals)

    @table
    def call_times(self) -> pd.DataFrame:
        """process call thread gpu log2 calls: how many took at least 2^log2 ns and less than twice that; add up."""
        return self._called(self._tables.call_times)

    @table
    def call_errors(self) -> pd.DataFrame:
        """process call thread gpu code name calls: what driver calls returned that failed; to be summed"""
        return self._called(self._tables.call_errors)

    @table
    def calls(self) -> pd.DataFrame:
        """event | process call kernel thread gpu direction start end (host ns) code bytes: with CALLS=all, each call"""
        return self._called(self._tables.calls)

    @table
    def memory_use(self) -> pd.DataFrame:
        """process time gpu used own pool_reserved pool_used (bytes, -1 unknown): as the driver reports it.

        ``used`` is by everybody, ``own`` by this process.
        """
        use = self._tables.memory_use
        return use if self._selected is None else self._selected.at_times(self._selected.of_memory(use, "gpu"), "time")

    @table
    def notices(self) -> pd.DataFrame:
        """process time (ns) text: what the collector wanted a reader to know"""
        return self._tables.notices

    @table
    def launches(self) -> pd.DataFrame:
        """launch | process function kernel gpu stream thread time (ns) grid_x … block_z shared_memory (bytes) group
        stack code ("full": with all probes; "partial": with those whose accesses may leave the GPU; "original": with
        none, because no access can).

        ``group`` is that of the ``collectives`` which the launch carries out, 0 = none.
        """
        launches = self._tables.launches
        return launches if self._selected is None else launches[self._selected.launches]

    @table
    def sampling(self) -> pd.DataFrame:
        """process function kernel gpu launches measured (of these): kernels of which only some launches were measured.

        ``counts`` are of the measured launches alone, see ``estimated``. Without rows, all were measured.
        """
        return self._tables.sampling

    @table
    def counts(self) -> pd.DataFrame:
        """launch site issuer owner process accesses lanes wire_units bytes wire_bytes object: exact totals, of measured
        sites; ``object`` is 0 where it could not be distinguished from others of the owner.
        """
        return self._tables.counts if self._selected is None else self._kept(self._tables.counts)

    @table
    def copies(self) -> pd.DataFrame:
        """copy | process kind call source destination source_address destination_address bytes issuer stream thread
        start end (host ns) stack.

        Copies that the host started, between different GPUs or host and GPU. ``issuer`` carries it out; an
        asynchronous one may go on after ``end``, when the call returned.
        """
        copies = self._tables.copies
        return copies if self._selected is None else copies[self._selected.copies]

    @table
    def collectives(self) -> pd.DataFrame:
        """collective | process operation reduction type count (elements) bytes (of the larger buffer; both -1 =
        unknown) peer (-1 none) communicator (hexadecimal) rank ranks (0 = unknown) issuer stream thread start end
        (host ns) group.

        Calls of NCCL, one a rank. Those between ncclGroupStart and ncclGroupEnd share a ``group``.
        """
        collectives = self._tables.collectives
        return collectives if self._selected is None else collectives[self._selected.collectives]

    @cached_property
    def _weighted_launches(self) -> pd.DataFrame:
        """``launches``, with the column weight where they were sampled."""
        if not self._tables.sampled:
            return self.launches
        launches = _counts.weighted(self._tables, self._tables.launches.reset_index())
        if self._selected is not None:
            launches = self._selected.of_launches(self._tables, launches)
        return launches.set_index("launch")

    @property
    def _launched(self) -> dict[str, int]:
        if self._selected is None and not self._tables.sampled:
            number = self._tables.columns.length("launches")
            return {"launches": number, "measured": number, "kernels": self._tables.launched_kernels}
        launches = self._weighted_launches
        number = round(launches["weight"].sum()) if "weight" in launches else len(launches)
        return {"launches": number, "measured": len(launches), "kernels": int(launches["kernel"].nunique())}

    @property
    def _copied(self) -> Copied:
        return self._tables.copied if self._selected is None else copied(self.copies)

    @cached_property
    def _when(self) -> pd.DataFrame:
        return timeline.timeline(self.launches, self.spans)
