"""The public object: `load` and `Trace`."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import pandas as pd

from snoopie.analysis import findings, losses, selection
from snoopie.analysis.findings.facts import Facts, Recorded
from snoopie.analysis.findings.finding import Basis
from snoopie.analysis.host import calls, copies, launches
from snoopie.analysis.host.copies import Order
from snoopie.analysis.host.launches import Order as LaunchOrder
from snoopie.analysis.memory import curve
from snoopie.analysis.memory import usage as _usage
from snoopie.analysis.objects import by_object as _by_object
from snoopie.analysis.objects import heat, reuse, tensors
from snoopie.analysis.objects.reuse import Touched as Reused
from snoopie.analysis.selection import Names, Places
from snoopie.analysis.source import lines as _lines
from snoopie.analysis.source import stacks, tree, variables
from snoopie.analysis.time import activity, bandwidth, resources, timeline
from snoopie.analysis.time.bandwidth import Over
from snoopie.analysis.traffic import accesses, collectives, libraries, links, pairs, places
from snoopie.analysis.traffic import counts as _counts
from snoopie.analysis.traffic.counts import Value
from snoopie.analysis.traffic.libraries import Library
from snoopie.analysis.traffic.pairs import Cell
from snoopie.analysis.traffic.reading import Initiated, Reading, ends
from snoopie.api.notebook import Matrix, Rows, trace_html
from snoopie.cluster import Cluster, Scheduler, Work
from snoopie.errors import CorruptError, NotATraceError, UsageError
from snoopie.figures.widths import COLUMN, PAGE
from snoopie.importers import nvidia_smi, torch_memory
from snoopie.joined.tables import Tables
from snoopie.trace.parallel import ordered
from snoopie.trace.tables import Process
from snoopie.words import units

if TYPE_CHECKING:
    # It takes a second to import, and most traces are not drawn.
    from matplotlib.figure import Figure

_Result = TypeVar("_Result")

# Keys of sums.
_LINE = ("file", "line")
_PAIR = ("issuer", "owner", "operation")

Source = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class Trace:
    """One or several processes' traffic between GPUs, read-only.

    Tables are attributes (DataFrames, built when first asked for), analyses are methods that return small DataFrames.
    Ids are unique over processes and 0 means none. An issuer or owner is a place in ``gpus``, -1 (host), -2
    (unknown), or a place in ``sets`` (from -3 down). Sums are int64, and exact unless ``estimated``. `select` gives a
    view, which ``launches``, ``counts``, ``records``, ``copies``, ``collectives``, the tables of driver calls,
    ``memory_use`` and all analyses follow.
    """

    def __init__(
        self,
        tables: Tables,
        selected: selection.Selection | None = None,
        parent: Trace | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        self._tables = tables
        self._selected = selected
        self._whole = parent or self
        self._cluster = cluster

    # What was recorded

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
        return "weight" in self._weighted_launches and bool((self._weighted_launches["weight"] != 1).any())

    @property
    def totals(self) -> dict[str, int]:
        """The totals of the footers, summed. Processes without a footer add nothing."""
        return losses.sum_totals(self._tables)

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The collector's settings, one a process."""
        return [dict(process.header.settings) for process in self._tables.sources]

    @property
    def schema(self) -> dict[str, dict[str, Any]]:
        """The declaration of each table, as the (first) header has it: name → id, doc, columns."""
        return self._tables.sources[0].header.schema

    @property
    def processes(self) -> pd.DataFrame:
        """process | host pid program command start_ns rank local_rank ranks (how many; -1 unknown) path complete
        version exit_ns (when the program began to exit) end_ns (0 without a footer) imported_from (the other tool whose
        recording it is, or "")"""
        return self._tables.processes

    @property
    def gpus(self) -> pd.DataFrame:
        """gpu | uuid name pci memory (bytes) sm nvlinks (-1 unknown) host label visible (to any of the processes).

        Merged by UUID, in the order of first appearance.
        """
        return self._tables.gpus

    @property
    def sets(self) -> pd.DataFrame:
        """owner (-3, -4, …) | process gpus (labels) others (GPUs that other processes added: bool) label.

        Multicast objects: a write to one reaches the memory of all its GPUs. One a process, even if others share it.
        """
        return self._tables.sets

    @cached_property
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
        when, use = self._when, self.memory_use["time"]
        spans = [(when["called"], when["end"]), (when["start"], when["end"]), (use, use)]
        spans += [(table["start"], table["end"]) for table in (self.copies, self.collectives, self.calls)]
        spans.append((self.objects["allocated"], self.objects["freed"]))
        return timeline.period(spans)

    @property
    def links(self) -> pd.DataFrame:
        """issuer owner access native_atomics rank"""
        return self._tables.links

    @property
    def functions(self) -> pd.DataFrame:
        """function | process name mangled kernel has_lines"""
        return self._tables.functions

    @property
    def lines(self) -> pd.DataFrame:
        """line_id | file line function inlined_at"""
        return self._tables.lines

    @property
    def sites(self) -> pd.DataFrame:
        """site | process function offset sass opcode operation width (bytes) measured line_id file line kernel

        ``line_id`` is the innermost line; ``file`` and ``line`` are the innermost outside the toolkit's headers, or 0.
        """
        return self._tables.sites

    @property
    def objects(self) -> pd.DataFrame:
        """object | process address bytes owner kind allocated freed (host ns, 0 = never) thread freed_by (threads)
        with_context (its context ended, no call freed it) call stack inside (the object it is a part of) name (of the
        variable that it is or that holds it).

        ``kind``: device, pool, array, mapping (of physical memory), import (memory of another process), managed, host,
        registered, graph, multicast, physical (memory without an address of its own), symmetric (of NVSHMEM's heap).
        """
        return self._tables.objects

    @property
    def stacks(self) -> pd.DataFrame:
        """stack | frame (the innermost) caller (the stack without it, 0 = none)"""
        return self._tables.stacks

    @property
    def frames(self) -> pd.DataFrame:
        """frame | module (0 = Python) address (in the module's file): where calls were made"""
        return self._tables.frames

    @property
    def modules(self) -> pd.DataFrame:
        """module | process path build_id: files that code was loaded from"""
        return self._tables.modules

    @property
    def symbols(self) -> pd.DataFrame:
        """frame level (0 = innermost, further ones have it inlined) function file line code ("" and 0 = unknown)"""
        return self._tables.symbols

    @property
    def spans(self) -> pd.DataFrame:
        """launch start end (host ns): when measured launches ran on their GPUs, instrumented unless imported"""
        return self._tables.spans

    @property
    def call_totals(self) -> pd.DataFrame:
        """process time call kernel thread gpu direction calls errors total least most (ns) bytes: driver calls.

        Rows of one call are to be added up: each is of the time since the one before it, until ``time``.
        """
        return self._called(self._tables.call_totals)

    @property
    def call_times(self) -> pd.DataFrame:
        """process call thread gpu log2 calls: how many took at least 2^log2 ns and less than twice that; add up."""
        return self._called(self._tables.call_times)

    @property
    def call_errors(self) -> pd.DataFrame:
        """process call thread gpu code name calls: what driver calls returned that failed; to be summed"""
        return self._called(self._tables.call_errors)

    @property
    def calls(self) -> pd.DataFrame:
        """event | process call kernel thread gpu direction start end (host ns) code bytes: with CALLS=all, each call"""
        return self._called(self._tables.calls)

    @property
    def memory_use(self) -> pd.DataFrame:
        """process time gpu used own pool_reserved pool_used (bytes, -1 unknown): as the driver reports it.

        ``used`` is by everybody, ``own`` by this process.
        """
        use = self._tables.memory_use
        return use if self._selected is None else self._selected.at_times(self._selected.of_memory(use, "gpu"), "time")

    @property
    def notices(self) -> pd.DataFrame:
        """process time (ns) text: what the collector wanted a reader to know"""
        return self._tables.notices

    @cached_property
    def launches(self) -> pd.DataFrame:
        """launch | process function kernel gpu stream thread time (ns) grid_x … block_z shared_memory (bytes) group
        stack.

        ``group`` is that of the ``collectives`` which the launch carries out, 0 = none.
        """
        launches = self._tables.launches
        return launches if self._selected is None else launches[self._selected.launches]

    @property
    def sampling(self) -> pd.DataFrame:
        """process function kernel gpu launches measured (of these): kernels of which only some launches were measured.

        ``counts`` are of the measured launches alone, see ``estimated``. Without rows, all were measured.
        """
        return self._tables.sampling

    @cached_property
    def counts(self) -> pd.DataFrame:
        """launch site issuer owner process accesses lanes sectors bytes wire_bytes object: exact totals, of measured
        sites; ``object`` is 0 where it was not told from others of the owner.
        """
        return self._tables.counts if self._selected is None else self._kept(self._tables.counts)

    @cached_property
    def copies(self) -> pd.DataFrame:
        """copy | process kind call source destination source_address destination_address bytes issuer stream thread
        start end (host ns) stack.

        Copies that the host started, between different GPUs or host and GPU. ``issuer`` carries it out; an
        asynchronous one may go on after ``end``, when the call returned.
        """
        copies = self._tables.copies
        return copies if self._selected is None else copies[self._selected.copies]

    @cached_property
    def collectives(self) -> pd.DataFrame:
        """collective | process operation reduction type count (elements) bytes (of the larger buffer) peer (-1 none)
        communicator (hexadecimal) rank ranks issuer stream thread start end (host ns) group.

        Calls of NCCL, one a rank. Those between ncclGroupStart and ncclGroupEnd share a ``group``.
        """
        collectives = self._tables.collectives
        return collectives if self._selected is None else collectives[self._selected.collectives]

    @cached_property
    def records(self) -> pd.DataFrame:
        """One row a recorded access: launch site issuer owner process time block warp mask lanes shape base stride
        bytes.

        ``shape`` is strided, scattered (base: the address of the lowest lane, stride 0; `lane_accesses` has all
        addresses) or bulk (one thread moved ``bytes``, from base on).
        """
        return accesses.whole(self._tables.records.none().table, self.record_blocks(), self._tables.records.rows)

    # Analyses

    def select(
        self,
        kernels: Names = None,
        operations: Names = None,
        issuers: Places = None,
        owners: Places = None,
        launches: int | Iterable[int] | None = None,
        files: Names = None,
        processes: int | Iterable[int] | None = None,
        between: tuple[int, int] | None = None,
    ) -> Trace:
        """A view that keeps only what is named; None keeps all, and views of views narrow further.

        ``kernels`` (of the launch), ``operations`` and ``files`` are names or, where nothing has that very name,
        patterns with * and ?. ``issuers`` and ``owners`` are places or labels ("GPU 0"), ``launches`` and ``processes``
        ids; ``range(first, last + 1)`` is a range of launches. What is not there selects nothing. UsageError for a
        time that ends before it begins.

        ``between``: what was under way at some moment from the first to before the second, host ns, as a whole. A
        launch by its time on its GPU, or, where that is not known, by its call (`timeline`); one without any time is in
        none. Copies and driver calls by their calls.

        A copy is kept for its issuer, and for the owner of either of its ends. It is no part of a kernel: to name
        kernels, operations, launches or files excludes all copies. A collective is kept for its issuer, process and
        time, and, where kernels or launches are named or were under way, with those that carry it out. Driver calls are
        kept for their process and GPU (``issuers``), single ones (``calls``) also for their time; memory for its
        process, owner and time. All else says nothing of these.
        """
        base = self._selected or selection.everything(self._tables)
        chosen = selection.narrow(
            self._tables,
            base,
            kernels=kernels,
            operations=operations,
            issuers=issuers,
            owners=owners,
            launches=launches,
            files=files,
            processes=processes,
            between=between,
            when=None if between is None else self._whole._when,
        )
        return Trace(self._tables, chosen, self._whole, self._cluster)

    def summary(self) -> dict[str, int | float]:
        """accesses lanes bytes sectors wire_bytes wire_efficiency launches measured (of these) kernels gpus records
        copies copy_bytes.

        ``bytes`` are those of accesses alone.
        """
        launches = self._weighted_launches
        sums = _counts.totals(self._sums("operation"))
        wire = sums["wire_bytes"]
        return {
            **sums,
            "wire_efficiency": sums["bytes"] / wire if wire else float("nan"),
            "launches": round(launches["weight"].sum()) if "weight" in launches else len(launches),
            "measured": len(launches),
            "kernels": int(self.launches["kernel"].nunique()),
            "gpus": len(self.gpus),
            "records": self._record_count,
            **copies.totals(self.copies),
        }

    def matrix(
        self,
        value: Cell = "bytes",
        reading: Reading = "issued",
        initiated: Initiated = "device",
        library: Library | None = None,
    ) -> pd.DataFrame:
        """A square over all GPUs (host, unknown, multicast too where the trace has them), zeros included; int64.

        The value ``wire_efficiency`` is float64, and NaN where nothing went over a wire. ``library`` (NCCL, NVSHMEM,
        program) leaves what `by_library` says of it alone.

        ``issued``: rows issuer, columns owner. ``flow``: rows from, columns to; an atomic counts once each way.

        ``device``: instructions of kernels. ``host``: copies that the host started, bytes only; as issued, the column
        is the end that is not the issuer, and a copy between two other ends counts once for each of them. ``both``:
        the sum. UsageError for other values than bytes.
        """
        table = pairs.matrix(self._pairs(reading, initiated, library), self._nodes(initiated), value, self.label)
        return Matrix.of(table, value)

    def by_pair(
        self, reading: Reading = "issued", initiated: Initiated = "device", library: Library | None = None
    ) -> pd.DataFrame:
        """issuer owner (``flow``: from to) as labels, values; the pairs of `matrix` with traffic, most bytes first.

        ``host`` has the values copies, bytes and host_ns (time in the calls), ``both`` has bytes, device_bytes and
        host_bytes.
        """
        return Rows(pairs.by_pair(self._pairs(reading, initiated, library), self.label))

    def by_library(self, reading: Reading = "issued", initiated: Initiated = "device") -> pd.DataFrame:
        """issuer owner (``flow``: from to) as labels, library (NCCL, NVSHMEM, program), and the values of `by_pair`.

        NCCL: launches that carry out its calls, and its kernels and functions. NVSHMEM: its kernels and functions, also
        inlined ones, and what else touches its symmetric heap. Copies are the library's whose frames are in their call
        stacks; without stacks, the program's.
        """
        moved, copied = self._of_libraries
        table = pairs.directed(
            self._library_sums.assign(library=moved), self.copies.assign(library=copied), reading, initiated, "library"
        )
        return pairs.by_library(table, self.label)

    def bandwidth(self, over: Over = "pair", initiated: Initiated = "device") -> pd.DataFrame:
        """from to (labels; over ``gpu``: gpu, direction out or in) wire_bytes busy (ns) rate capacity (bytes a second)
        capacity_share, most bytes first: how fast data flowed while what moved it ran.

        Of launches and copies whose times on the GPU are known, see `without_device_times`; never scaled. Copies have
        all their bytes as wire bytes. ``capacity`` is that of the GPUs' NVLinks in one direction, for a pair that of
        the GPU with less, as if all its links led to the other or to a switch; NaN where it is not known. Over ``gpu``
        only what moved between GPUs counts.
        """
        if over not in ("pair", "gpu"):
            raise UsageError(f"there is no bandwidth over {over!r}", "use 'pair' or 'gpu'")
        if over == "pair":
            return self._labelled(bandwidth.by_pair(self._moved(initiated), self.gpus, self.links), "flow")
        table = bandwidth.by_gpu(self._moved(initiated), self.gpus)
        return table.assign(gpu=pd.Series([self.label(gpu) for gpu in table["gpu"]], dtype="str"))

    def by_route(self) -> pd.DataFrame:
        """from to (GPU, host, multicast, unknown) bytes device_bytes host_bytes: what flowed between these kinds of
        places, most bytes first"""
        return pairs.by_route(self._pairs("flow", "both"))

    def link_matrix(self) -> pd.DataFrame:
        """A square over all GPUs: by what the issuer (row) reaches the owner's memory, as far as the driver says.

        "NVLink" (access with native atomics), "PCIe" (without), "no access", "unknown", and "" for a GPU itself.
        """
        return links.matrix(self.gpus, self.links)

    def by_copy(self) -> pd.DataFrame:
        """from to (labels) kind call copies bytes host_ns (time in the calls), most bytes first"""
        return Rows(copies.by_copy(self.copies, self.label))

    def single_copies(self, order: Order = "bytes", limit: int = 1000) -> pd.DataFrame:
        """copy process from to issuer (labels) kind call bytes stream thread began (ns after the earliest of
        all) host_ns (time in the call): the ``limit`` first ones with the most bytes, the longest calls or the
        earliest ``start``. UsageError for another order.
        """
        return copies.single(self.copies, self.label, order, limit)

    def by_kernel(self) -> pd.DataFrame:
        """kernel launches (with traffic) measured (of these), values"""
        return Rows(_counts.by_kernel(self._sums("kernel", "launch")))

    def by_line(self) -> pd.DataFrame:
        """file line kernel (names joined by ", "), values; file "" and line 0 for what has no line"""
        return Rows(_counts.by_line(self._sums("file", "line", "kernel")))

    def by_site(self) -> pd.DataFrame:
        """site kernel function file line offset opcode operation width sass, values"""
        return Rows(_counts.by_site(self._sums("site", "kernel"), self.sites))

    def by_operation(self) -> pd.DataFrame:
        """operation, values"""
        return Rows(_counts.by_operation(self._sums("operation")))

    def by_collective(self) -> pd.DataFrame:
        """operation reduction type communicator calls launches call_bytes, values of the launches' traffic.

        What a kernel carries out at once is one row, "2 × AllReduce" or "Recv + Send": its traffic is never divided.
        Launches whose calls the trace does not have are in a row with the operation "".
        """
        return Rows(collectives.by_collective(self._sums("launch"), self._weighted_launches, self.collectives))

    def calls_behind(
        self, operation: str, reduction: str, type: str, communicator: str, limit: int = 1000
    ) -> pd.DataFrame:
        """collective process issuer (label) operation reduction type count bytes peer communicator rank ranks stream
        thread began (ns after the earliest call of all) host_ns (time in the call) group: the ``limit`` earliest calls
        in the row of `by_collective` that begins with these four.
        """
        return collectives.behind(self.collectives, (operation, reduction, type, communicator), self.label, limit)

    def by_call(self, *keys: str) -> pd.DataFrame:
        """``keys`` (some of process, thread, gpu) call calls errors host_ns (in the calls) mean_ns min_ns max_ns p50_ns
        p90_ns p99_ns bytes (copied, set or allocated), longest in the calls first.

        Driver calls; of a view those of its processes and GPUs (``issuers``), at any time. A percentile is a bound:
        that share of the calls took less, and it is less than twice too high. Errors: cuEventQuery and the like answer
        "not ready", which is none.
        """
        keys = (*calls.checked_keys(keys), "call")
        return calls.by_call(self.call_totals, self.call_times, self.label, keys)

    def by_thread(self) -> pd.DataFrame:
        """process thread, and the values of `by_call`, of all its driver calls"""
        return calls.by_call(self.call_totals, self.call_times, self.label, ("process", "thread"))

    def by_launched_kernel(self, *keys: str) -> pd.DataFrame:
        """kernel, ``keys`` (some of process, thread, gpu), launches (calls that succeeded) errors host_ns (in the
        calls) mean_ns min_ns max_ns, longest in the calls first.

        Every kernel that the host launched by itself, measured or not; a view divides them as `by_call`. A launch
        while a graph is captured is such a call; the launch of a graph is none of its kernels.
        """
        return calls.by_kernel(self.call_totals, self.label, calls.checked_keys(keys))

    def by_direction(self, *keys: str) -> pd.DataFrame:
        """direction, ``keys`` (some of process, thread, gpu), call asynchronous (bool) calls errors bytes host_ns (in
        the calls) bandwidth (bytes a second), most bytes first.

        All copy calls, also within one memory; a view divides them as `by_call`. ``bandwidth`` is NaN where the call
        does not wait for the transfer: asynchronous ones, and all between GPUs or within one.
        """
        return calls.by_direction(self.call_totals, self.label, calls.checked_keys(keys))

    def single_calls(self, call: str, order: Order = "host_ns", limit: int = 1000) -> pd.DataFrame:
        """event process thread gpu (label) kernel direction began (ns after the earliest of all) host_ns (in the call)
        bytes returned (a code, 0 = success): of the single ``calls`` of that name, which CALLS=all records, the
        ``limit`` longest, earliest ("start") or those with the most "bytes". UsageError for another order.
        """
        return calls.single(self.calls, call, self.label, order, limit)

    def by_error(self, *keys: str) -> pd.DataFrame:
        """call, ``keys`` (some of process, thread, gpu), returned (a code) name (of it) calls: failed driver calls,
        which a view divides as `by_call`
        """
        return calls.by_error(self.call_errors, self.label, calls.checked_keys(keys))

    def by_launch(self) -> pd.DataFrame:
        """launch kernel issuer (label) process time (ns), values; measured launches with traffic only, never scaled"""
        return _counts.by_launch(self._sums("launch"), self._tables.launches)

    def single_launches(self, order: LaunchOrder = "bytes", limit: int = 1000) -> pd.DataFrame:
        """launch kernel issuer (label) process rank stream thread grid block ("4 × 2") shared_memory (bytes) began (ns
        after the earliest of all) ran (ns on its GPU, -1 unknown) bytes accesses wire_efficiency group stack: the
        ``limit`` first measured launches with the most bytes, that ran longest or have the earliest ``start``. Never
        scaled, and also those without traffic. UsageError for another order.
        """
        ranks = self.processes["rank"]
        return launches.single(self.launches, self.timeline(), self._sums("launch"), ranks, self.label, order, limit)

    def by_launch_stack(self) -> pd.DataFrame:
        """stack source launches bytes accesses: of the measured launches by the call stack that made them, most bytes
        first; never scaled. ``source`` is the `stack_label`.
        """
        table = launches.by_stack(self.launches, self._sums("launch"))
        table.insert(1, "source", self.stack_label(table["stack"]))
        return table

    def resources(self) -> pd.DataFrame:
        """resource records start end (ns) busy (ns) busy_share gaps gap (ns): each GPU with its kernels, and all copies
        ("DATA"), by their times on the GPUs. What runs at once counts once; shares are of the time from the first start
        of all to the last end.
        """
        return resources.resources(self._timed)

    def by_resource(self) -> pd.DataFrame:
        """resource kind (kernel, copy, gap) name share calls total average least most (ns): what each of `resources`
        did, most time first, and its idle gaps by their length.
        """
        return resources.by_resource(self._timed)

    def without_device_times(self) -> list[str]:
        """What `resources` cannot have, in plain sentences."""
        instrumented = bool((self.processes["imported_from"] == "").any())
        untimed = len(self.copies) - int(self._copies_on_gpu.sum())
        return resources.left_out(self.launches, self.spans, untimed, instrumented)

    def by_object(self) -> pd.DataFrame:
        """object owner (label) kind name source size (bytes) call stack allocated freed (host ns), values, exact,
        copied_in copied_out (bytes by copies of the host); most bytes first. Object 0 is memory of no known object.

        ``name`` is the variable that receives the allocation, as far as the source's line shows one; ``source`` the
        `stack_label` of who allocated it.

        ``exact`` is False where objects share pages and not every access was recorded: what they have in common is
        then divided in proportion to the records, as wire_bytes always are among such objects.
        """
        table = self._divided
        copied = _by_object.copied(self._tables, self.copies)
        return Rows(self._named(_by_object.by_object(table, copied, self.objects, self.label)))

    def object_offsets(self, object: int, bins: int = 256, start: int = 0, stop: int | None = None) -> pd.DataFrame:
        """offset (bytes from the object's beginning) issuer (label) operation accesses lanes bytes: what of one object,
        or of its bytes from ``start`` to ``stop``, the recorded accesses touched, in at most ``bins`` parts of equal
        length, those without left out.

        An access counts in each part that it touches. UsageError for an object or bytes that the trace does not have.
        """
        limits = heat.checked_range(self._object_size(object), start, stop)
        work = partial(_by_object.offsets, object=object, bins=bins, limits=limits)
        return _by_object.merged_offsets(self._of_records(work), self.sites, self.label)

    def object_heat(
        self,
        object: int,
        bins: int = 512,
        start: int = 0,
        stop: int | None = None,
        *,
        width: int = 1,
        operations: Collection[str] = (),
    ) -> pd.DataFrame:
        """issuer (label) × offset (of each part's first byte): bytes that recorded accesses moved in each part of an
        object, or of its bytes from ``start`` to ``stop``: in at most ``bins`` parts, of whole elements of ``width``
        bytes. int64; issuers that did not touch the object have no row.

        What a lane moved is spread over the bytes that it touched, so parts add up, and an element's bytes / ``width``
        is how often it was touched. The first call goes through all records, further ones, of whatever object, through
        their sums. UsageError as `object_offsets`.
        """
        limits = heat.checked_range(self._object_size(object), start, stop)
        part = heat.cells((0, 1), limits, (1, bins), width)
        table = heat.along(self._touches(object, None, operations), part)
        return table.set_axis(pd.Index([self.label(place) for place in table.index], name="issuer", dtype="str"))

    def object_rows(
        self,
        object: int,
        length: int,
        start: int = 0,
        stop: int | None = None,
        *,
        rows: tuple[int, int] | None = None,
        columns: tuple[int, int] | None = None,
        width: int = 1,
        issuer: int | str | None = None,
        operations: Collection[str] = (),
        cells: tuple[int, int] = (256, 512),
    ) -> pd.DataFrame:
        """row × offset in it: bytes moved, as in `object_heat`, in a matrix of rows of ``length`` bytes that begins at
        the object's byte ``start``, in at most ``cells`` cells down and across.

        ``rows`` and ``columns`` (bytes of a row) choose a part of it, from … to. ``issuer`` is a place or a label.
        """
        first, last = heat.checked_range(self._object_size(object), start, stop)
        if length < 1:
            raise UsageError(f"rows of {length} bytes are none", "give how many bytes a row has")
        down, across = rows or (0, -(-(last - first) // length)), columns or (0, min(length, last - first))
        if not (0 <= down[0] < down[1] and 0 <= across[0] < across[1] <= length):
            raise UsageError(
                f"there are no rows {down}, bytes {across}", "take both from 0 on, and the lower end first"
            )
        part = heat.cells(down, across, cells, width)
        return heat.in_rows(self._touches(object, issuer, operations), first, last, length, part)

    def object_reuse(
        self, object: int, issuer: int | str | None = None, operations: Collection[str] = ()
    ) -> pd.DataFrame:
        """at_least at_most (times) bytes: how often recorded accesses touched how many bytes of an object, by
        powers of two; those of each issuer for itself.
        """
        self._object_size(object)
        return heat.how_often(self._touches(object, issuer, operations))

    def reuse(self, by: Literal["object", "site"] = "object") -> pd.DataFrame:
        """object [site] accesses bytes distinct (bytes) reuse: how often the same bytes were moved to the same issuer,
        as far as accesses were recorded; what could have been saved most first.
        """
        keys = ["object"] if by == "object" else ["object", "site"]
        return reuse.by(self._reused, keys)

    def tensors(self, snapshot: str | os.PathLike[str] | None = None) -> pd.DataFrame:
        """tensor | process address bytes gpu allocated freed (host ns) file line function: of PyTorch's allocator.

        ``snapshot``: what torch.cuda.memory._dump_snapshot wrote, or the folder of what `snoopie run --tensors` wrote
        (default: beside the trace). NotATraceError where there is none. ``file`` … are of the innermost frame that is
        not PyTorch's own.
        """
        return torch_memory.tensors(self._tables, None if snapshot is None else Path(snapshot))

    def by_tensor(self, snapshot: str | os.PathLike[str] | None = None) -> pd.DataFrame:
        """tensor gpu size (bytes) file line function allocated freed, values, exact, copied_in copied_out: as
        `by_object`, by tensor; tensor 0 is memory that is no tensor's.

        Tensors of another process are not found: it has them at other addresses.
        """
        known = self.tensors(snapshot)
        lookups = tensors.lookups(known)
        recorded = _by_object.merged(self._of_records(partial(_by_object.touched, lookups=lookups)))
        sums = self._sums("launch", "site", "owner", "object").assign(object=0)
        copied = _by_object.copied(self._tables, self.copies, lookups)
        return tensors.by_tensor(_by_object.divided(sums, recorded), copied, known)

    def timeline(self) -> pd.DataFrame:
        """launch | process kernel gpu stream thread called start end (host ns) spanned.

        ``start`` and ``end`` are when it ran on its GPU, where that is known (``spanned``): instrumented, unless the
        trace was imported. Else both are ``called``, the time of the call.
        """
        return self._when.copy() if self._selected is None else self._whole._when[self._selected.launches]

    def pairs_by_launch(self, reading: Reading = "issued") -> pd.DataFrame:
        """launch, issuer owner (``flow``: from to) as labels, values; of measured launches, never scaled"""
        return self._labelled(timeline.by_launch(self._sums("launch", *_PAIR), reading), reading)

    def traffic_over_time(
        self,
        bins: int = 1000,
        reading: Reading = "issued",
        initiated: Initiated = "device",
        first: int | None = None,
        last: int | None = None,
    ) -> pd.DataFrame:
        """issuer owner (``flow``: from to) as labels, start end (of a bin, host ns) bytes; bins with traffic only.

        The bins are equally wide, at most so many, over the time from ``first`` until before ``last`` (default: all).
        Bytes of measured launches are spread evenly over the time they ran, and of copies over their calls; they are
        exact, and never scaled.
        """
        if (reading, initiated) not in self._moves:
            moved = self._sums("launch", *_PAIR)
            self._moves[reading, initiated] = timeline.moves(moved, self.copies, self.timeline(), reading, initiated)
        return self._labelled(timeline.over_time(self._moves[reading, initiated], bins, first, last), reading)

    def activity_lanes(self, streams: bool = True) -> pd.DataFrame:
        """lane | what place (label) process line events start end (host ns): what there is to see over time.

        ``what``: kernel and copy, by their times on the GPU; launch, copy call, collective and call, by the times of
        the host's calls. Driver calls are there with CALLS=all. ``line`` is a stream, or the thread of driver calls.
        Without ``streams`` one lane has all streams of a GPU (or threads of a process); process and line are then -1
        where there can be several.
        """
        ran = self._activity(streams)
        times = ran.events.groupby("lane").agg(start=("start", "min"), end=("end", "max"))
        places = {place: self.label(place) for place in ran.lanes["place"].unique().tolist()}
        return ran.lanes.assign(place=ran.lanes["place"].map(places).astype("str"), **times)

    def activity_blocks(
        self, first: int, last: int, most: int = 500, streams: bool = True, lanes: Iterable[int] | None = None
    ) -> pd.DataFrame:
        """lane start end (host ns) count busy (ns) id name (of a single one): what to draw of ``lanes`` (default: all)
        from ``first`` until before ``last``, at most about 2 × ``most`` blocks a lane.

        Neighbours that are shorter than 1/``most`` of that time are one block; it has an ``id``, that of the launch,
        copy, collective or call, only if it is of one. UsageError for a number of blocks that cannot be.
        """
        ran = self._activity(streams)
        events = ran.events if lanes is None else ran.events[ran.events["lane"].isin(list(lanes))]
        table = activity.blocks(events, first, last, most)
        one = table[table["id"] > 0]
        return table.assign(name=self._described(one, ran)["name"].reindex(table.index, fill_value=""))

    def activity_within(
        self, first: int, last: int, limit: int = 200, streams: bool = True, lanes: Iterable[int] | None = None
    ) -> pd.DataFrame:
        """what id name place (label) process stream thread start end (host ns) duration bytes (-1 unknown): of
        ``lanes`` (default: all) the ``limit`` ones that fill most of the time from ``first`` until before ``last``.
        """
        ran = self._activity(streams)
        events = ran.events if lanes is None else ran.events[ran.events["lane"].isin(list(lanes))]
        return self._described(activity.longest(events, first, last, limit), ran)

    def activity_of(self, what: str, id: int) -> pd.DataFrame:
        """The row of `activity_within` of one launch (as "kernel" or "launch"), copy, collective or call; none for what
        is not there."""
        ran = self._activity(True)
        lanes = ran.lanes.index[ran.lanes["what"] == what]
        return self._described(ran.events[(ran.events["id"] == id) & ran.events["lane"].isin(lanes)], ran)

    def memory_usage(self, device: int | str | None = None, process: int | None = None) -> pd.DataFrame:
        """process device (label) kind counted time (host ns) bytes objects: how much memory there was from each moment
        on, until the next of the same process, device and kind.

        Kinds that are not ``counted`` show memory that another object is, or another process's. ``device`` is a place
        in ``gpus``, a UUID, a label or "host"; UsageError for what the trace does not have.
        """
        _, changes, _ = self._memory(device, process)
        return _usage.usage(changes, self.label)

    def memory_curve(
        self, device: int | str | None = None, process: int | None = None, points: int = 2000
    ) -> pd.DataFrame:
        """time (host ns), and the bytes of each kind that counts from then on, of all devices and processes asked for
        together: at most about so many rows, with the peak."""
        _, changes, use = self._memory(device, process)
        usage = _usage.running(changes[changes["counted"]], ["kind"])
        ends = self.processes["end_ns"] if process is None else self.processes["end_ns"][[process]]
        end = max(
            int(times.max(initial=0)) for times in (ends.to_numpy(), usage["time"].to_numpy(), use["time"].to_numpy())
        )
        return curve.curve(usage, end, points)

    def memory_by_kind(self, device: int | str | None = None, process: int | None = None) -> pd.DataFrame:
        """process device (label) kind counted peak (bytes) peak_time (host ns) left (bytes at the end) objects (then):
        `memory_usage` in few rows."""
        return _usage.by_kind(self.memory_usage(device, process))

    def memory_watermark(
        self, device: int | str | None = None, process: int | None = None, *, total: bool = False
    ) -> pd.DataFrame:
        """process device (label) time (host ns) peak (bytes) stack source call kind objects bytes: what there was when
        a process had most on a device, by who had made it; most bytes first.

        ``total``: when all processes and devices together had most; process is then `memory.usage.ALL`.
        """
        objects, changes, _ = self._memory(device, process)
        return _usage.watermark(objects, changes, self.label, self.stack_label, total=total)

    def leaks(self, device: int | str | None = None, process: int | None = None) -> pd.DataFrame:
        """process device (label) state stack source call kind objects bytes: memory that no call had freed when the
        program began to exit, by who had made it; by state, then most bytes first.

        ``state`` is "never freed", or says why nothing is known, or why it lives so long by design: freed at exit,
        ended with its context, module static, held by a graph, held by a pool (bytes alone).
        """
        there, _, use = self._memory(device, process)
        # Their ends as they are, also after the time of a view.
        objects = self._memory_objects.loc[there.index]
        if self._selected is not None:
            objects = self._selected.at_times(objects, "allocated")
        return _usage.leaks(objects, self.processes, use, self.label, self.stack_label)

    def memory_agreement(
        self, device: int | str | None = None, process: int | None = None, points: int | None = None
    ) -> pd.DataFrame:
        """process device (label) time (host ns) used used_change own pool_reserved pool_used allocated_by_process
        allocated_by_all.

        What the driver reported (``used`` by everybody, ``used_change`` since the first sample, ``own``; -1 unknown)
        beside what the process, and all processes of the trace, had allocated then, in bytes. Contexts, loaded code
        and the collector's own memory are in what the driver reports alone. With ``points`` at most about so many
        samples of each process and device, those with the most in use.
        """
        _, _, use = self._memory(device, process)
        table = _usage.agreement(self._whole._memory_changes, use, self.label)
        return table if points is None else _usage.thinned(table, points)

    def nvidia_smi(self, path: str | os.PathLike[str], device: int | str | None = None) -> pd.DataFrame:
        """time (host ns) device (label) used (bytes): what a log of nvidia-smi says of the trace's GPUs.

        The log is one of --query-gpu=timestamp,memory.used --format=csv, with index or uuid where there are several
        GPUs, recorded on the same machine and in the same time zone. UsageError or `SnoopieError` otherwise.
        """
        place = None if device is None else _usage.place_of(self.gpus, device)
        header = self._tables.sources[0].header
        machine = [gpu.uuid.casefold() for gpu in sorted(header.gpus, key=lambda gpu: gpu.pci.casefold())]
        table = _usage.logged(nvidia_smi.read(Path(path)), self.gpus, machine, place)
        labels = pd.Series([self.label(owner) for owner in table["owner"]], dtype="str")
        return table.assign(device=labels)[["time", "device", "used"]]

    def by_file(self) -> pd.DataFrame:
        """file lines (with traffic), values; file "" for what has no line"""
        return _counts.by_file(self._sums(*_LINE))

    def file_tree(self) -> pd.DataFrame:
        """path name depth folder (bool) bytes share: the files of `by_file` in their folders, most bytes first.

        A folder (its path ends in "/") is followed by what it holds, one deeper; folders on the way to a single one are
        part of its name.
        """
        return tree.tree(self.by_file())

    def file_lines(self, file: str) -> pd.DataFrame:
        """line kernel, values, for the lines of one file in its order"""
        return Rows(_lines.file_lines(self._sums("file", "line", "kernel"), file))

    def line_sites(self, file: str, line: int) -> pd.DataFrame:
        """The rows of `by_site` of one line"""
        return _counts.by_site(_lines.of_line(self._sums(*_LINE, "site", "kernel"), file, line), self.sites)

    def line_matrix(self, file: str, line: int, value: Value = "bytes", reading: Reading = "issued") -> pd.DataFrame:
        """The `matrix` of one line"""
        of_line = _lines.of_line(self._sums(*_LINE, *_PAIR), file, line)
        table = pairs.matrix(_counts.directed(of_line, reading), self._nodes("device"), value, self.label)
        return Matrix.of(table, value)

    def line_kernels(self, file: str, line: int) -> pd.DataFrame:
        """The rows of `by_kernel` of one line"""
        return _counts.by_kernel(_lines.of_line(self._sums(*_LINE, "kernel", "launch"), file, line))

    def line_objects(self, file: str, line: int) -> pd.DataFrame:
        """The rows of `by_object` of one line, without copies: the allocations that it touched. Object 0 is memory of
        no known object, or of objects that neither counts nor records tell apart.

        Goes through the records, once a trace, where counts alone do not tell all.
        """
        counts = _lines.of_line(self._sums(*_LINE, "launch", "site", "owner", "object"), file, line)
        recorded = self._touched if (counts["object"] == 0).any() else _by_object.merged([])
        return self._named(_by_object.by_object_alone(_by_object.divided(counts, recorded), self.objects, self.label))

    def line_stacks(self, file: str, line: int) -> pd.DataFrame:
        """stack source kernel launches (with traffic) measured (of these), values: the calls that launched the kernels
        which executed a line. ``source`` is the `stack_label` of the stack, 0 and "" where it is not known.
        """
        own = _lines.of_line(self._sums(*_LINE, "kernel", "launch"), file, line)
        stack = self._tables.launches["stack"].reindex(own["launch"].to_numpy()).to_numpy()
        table = _counts.by_stack(own.assign(stack=stack))
        table.insert(1, "source", self.stack_label(table["stack"]))
        return table

    def line_chain(self, line_id: int) -> list[tuple[str, int, str]]:
        """(file, line, function) of a line and of the lines it was inlined at, innermost first"""
        return _lines.line_chain(self.lines, line_id)

    def stack(self, stack: int) -> pd.DataFrame:
        """frame level function file line code module (path) python: a call stack, innermost first; none for 0.

        ``level`` 0 is the function at that place, each further one has that before it inlined. A function without a
        name is its place in its file, "libx.so+0x1234". UsageError for a stack that is not there.
        """
        return stacks.stack(self._frame_places, stacks.frames_of(self.stacks, stack))

    def stack_label(self, stacks_: Iterable[int]) -> pd.Series:
        """For each of some stacks, as in a column of them, the innermost place in the user's own code: "a.py:12 step".

        Where a stack has none, the innermost that is neither the driver's nor the runtime's; "" for 0.
        """
        return stacks.label_of(self._stack_labels, stacks_)

    def lane_accesses(self, limit: int | None = None) -> pd.DataFrame:
        """One row per lane access: launch site issuer owner process time block warp lane address width (bytes).

        A bulk access is one row, as wide as all that it moved. Without a limit this can be 32 rows a record:
        `lane_access_blocks` goes through them piece by piece.
        """
        most = accesses.LANES * self._tables.records.rows
        parts = accesses.limited(self.lane_access_blocks(), limit)
        return accesses.whole(accesses.none(self._tables), parts, most if limit is None else min(limit, most))

    def lane_access_blocks(self) -> Iterator[pd.DataFrame]:
        """The rows of `lane_accesses` in tables of at most about a quarter of a million rows"""
        if self._cluster is not None:
            return chain.from_iterable(self._cluster.records(accesses.lanes, self._selected, blocks=1))
        return accesses.lane_accesses(self._tables, self._of_records(accesses.selected_block))

    def record_blocks(self) -> Iterator[pd.DataFrame]:
        """The rows of ``records`` in the pieces in which they were written"""
        return self._of_records(accesses.records)

    def count_records(self) -> None:
        """Goes through all records of the whole trace, once: the first `summary` of a view does it where nobody did."""
        _ = self._whole._record_counts

    def not_measured(self) -> pd.DataFrame:
        """Sites that were not measured, most often run first: site kernel (that holds it) file line offset opcode
        operation width sass accesses lanes.

        ``accesses`` says how often warps ran it. What it moved is nowhere.
        """
        sites = self.sites if self._selected is None else self.sites[self._selected.sites]
        return losses.not_measured(sites, self._unmeasured)

    def losses(self) -> list[str]:
        """What the trace does not show, in plain sentences; [] if nothing was lost. Views say the same as the whole."""
        return losses.losses(self._tables, self._whole._sums("site", "owner"), self._whole._unmeasured)

    def findings(self, basis: Basis | None = None) -> pd.DataFrame:
        """rule severity (high, medium, low) title file line kernel site issuer owner object process bytes share numbers
        threshold remedy estimated basis view query: what to look at, the largest share first. docs/findings.md.

        ``numbers`` is a dict, name → value. ``bytes`` are involved, which are ``share`` of what the rule looks at;
        severity follows from that. ``file`` … ``process`` are those that the finding is about, else "", 0 or -1.
        ``view`` and ``query`` say where the app shows it. ``basis``: only rules that look at counts and copies alone,
        or those that go through the records. UsageError for another. Rules that compare GPUs or ranks are for whole
        traces, not for views.
        """
        if basis is not None and basis not in findings.BASES:
            raise UsageError(f"findings have no basis {basis!r}", f"use one of {', '.join(findings.BASES)}")
        facts = Facts(
            self._tables,
            self._sums,
            self.copies,
            lambda: Recorded.of(self._reused),
            lambda: self._divided,
            self.stack_label,
            lambda: self._object_names,
        )
        bases = findings.BASES if basis is None else [basis]
        return findings.findings(facts, bases, estimated=self.estimated, whole=self._selected is None)

    def label(self, place: int) -> str:
        """The name for reading of an issuer or owner: "GPU 0", "host", "unknown", "multicast 0 (GPU 0, GPU 1)"."""
        return self._tables.label(place)

    # Figures: matplotlib's, `savefig` writes them as PNG, SVG or PDF. ``width`` is in inches.

    def plot_matrix(
        self,
        value: Value = "bytes",
        reading: Reading = "issued",
        initiated: Initiated = "device",
        *,
        width: float = COLUMN,
        title: str = "",
    ) -> Figure:
        """The `matrix` as a heatmap with its numbers; places other than GPUs stand apart, where they have traffic."""
        from snoopie.figures import matrix

        table = self.matrix(value, reading, initiated)
        return matrix.draw(table, value, gpus=len(self.gpus), width=width, title=title)

    def plot_lines(self, value: Value = "bytes", *, top: int = 15, width: float = COLUMN, title: str = "") -> Figure:
        """The ``top`` lines of `by_line` as bars, with their efficiency. UsageError for less than one."""
        from snoopie.figures import lines

        return lines.draw(self.by_line(), value, top=top, width=width, title=title)

    def plot_timeline(
        self,
        reading: Reading = "issued",
        initiated: Initiated = "both",
        *,
        bins: int = 400,
        width: float = PAGE,
        title: str = "",
    ) -> Figure:
        """`traffic_over_time` by pair, under the times of launches and copies by GPU, as far as they are known."""
        from snoopie.figures import timeline as drawn

        moved = self.traffic_over_time(bins, reading, initiated)
        begun = timeline.moments(self.copies["start"])
        copies_ = self.copies.assign(start=begun, end=np.maximum(begun, timeline.moments(self.copies["end"])))
        labels = {int(place): self.label(place) for place in self.places.index}
        return drawn.draw(moved, self.timeline(), copies_, labels, gpus=len(self.gpus), width=width, title=title)

    def plot_memory(
        self, device: int | str | None = None, process: int | None = None, *, width: float = PAGE, title: str = ""
    ) -> Figure:
        """`memory_usage` by kind, beside it what the driver reports: a chart for each device of each process.

        UsageError for more charts than fit into a figure.
        """
        from snoopie.figures import memory as drawn

        usage, agreement = self.memory_usage(device, process), self.memory_agreement(device, process)
        charts = drawn.panels(usage, agreement, self.processes)
        return drawn.draw(charts, int(self.processes["start_ns"].min()), width=width, title=title)

    # How it shows itself

    def __repr__(self) -> str:
        sums = _counts.totals(self._sums("operation"))
        about = "≈ " if self.estimated else ""
        parts = [
            units.plural(len(self.gpus), "GPU", "GPUs"),
            units.plural(len(self.launches), "launch", "launches") + (" measured" if self.estimated else ""),
            f"{about}{units.bytes(sums['bytes'])} in {about}{units.count(sums['accesses'])} accesses",
            *([] if self.complete else ["incomplete"]),
        ]
        view = "" if self._selected is None else "view of a "
        return f"<{view}Trace of {units.plural(len(self.paths), 'process', 'processes')}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        return trace_html(repr(self), self.matrix(), self.by_line(), self.losses())

    # Inside

    @cached_property
    def _frame_places(self) -> pd.DataFrame:
        return stacks.places(self.frames, self.modules, self.symbols)

    @cached_property
    def _stack_labels(self) -> pd.Series:
        kernels = self.functions.loc[self.functions["kernel"], "name"]
        return stacks.labels(self.stacks, self._frame_places, kernels)

    def _named(self, by_object: pd.DataFrame) -> pd.DataFrame:
        """A table of objects with the names of their variables and where they were made."""
        names = self._object_names.reindex(by_object["object"].to_numpy(), fill_value="").to_numpy()
        by_object.insert(3, "name", names)
        by_object.insert(4, "source", self.stack_label(by_object["stack"]))
        return by_object

    def _sums(self, *keys: str) -> pd.DataFrame:
        """The traffic with at least these keys: the counts as they are, or summed by the workers of a cluster."""
        if self._cluster is None:
            return self._traffic
        if keys not in self._known:
            self._known[keys] = self._cluster.sums(keys, self._selected)
        return self._known[keys]

    @cached_property
    def _known(self) -> dict[tuple[str, ...], pd.DataFrame]:
        return {}

    @cached_property
    def _traffic(self) -> pd.DataFrame:
        if self._selected is None:
            return _counts.joined(self._tables)
        return self._selected.traffic(self._tables, self._whole._traffic)

    @cached_property
    def _unmeasured(self) -> pd.DataFrame:
        if self._cluster is not None:
            return self._cluster.unmeasured(self._selected)
        counts = _counts.weighted(self._tables, self._tables.unmeasured_counts)
        return counts if self._selected is None else self._selected.of_launches(self._tables, counts)

    @cached_property
    def _weighted_launches(self) -> pd.DataFrame:
        """``launches``, with the column weight where they were sampled."""
        if not self._tables.sampled:
            return self.launches
        launches = _counts.weighted(self._tables, self._tables.launches.reset_index())
        if self._selected is not None:
            launches = self._selected.of_launches(self._tables, launches)
        return launches.set_index("launch")

    @cached_property
    def _when(self) -> pd.DataFrame:
        return timeline.timeline(self.launches, self.spans)

    @cached_property
    def _moves(self) -> dict[tuple[Reading, Initiated], pd.DataFrame]:
        return {}

    @cached_property
    def _activities(self) -> dict[bool, activity.Activity]:
        return {}

    def _activity(self, streams: bool) -> activity.Activity:
        if streams not in self._activities:
            on_gpu = self._copies_on_gpu.to_numpy()
            self._activities[streams] = (
                activity.activity(self.timeline(), self.copies, on_gpu, self.collectives, self.calls)
                if streams
                else self._activity(True).together()
            )
        return self._activities[streams]

    def _described(self, events: pd.DataFrame, ran: activity.Activity) -> pd.DataFrame:
        tables = {name: getattr(self, name) for name in activity.TABLES}
        return activity.described(events, ran.lanes, tables, self._launch_bytes, self.label)

    @cached_property
    def _launch_bytes(self) -> pd.Series[int]:
        """launch → the bytes it moved, -1 where another tool recorded it and did not know."""
        tools = self.processes["imported_from"]
        unknown = self.launches["process"].map(tools != "")
        moved = self._sums("launch").groupby("launch")["bytes"].sum().reindex(self.launches.index)
        return moved.fillna(-unknown.astype(np.int64)).astype(np.int64)

    def _labelled(self, table: pd.DataFrame, reading: Reading) -> pd.DataFrame:
        for end in ends(reading):
            labels = {place: self.label(place) for place in table[end].unique()}
            table[end] = pd.Series([labels[place] for place in table[end]], table.index, dtype="str")
        return table

    @cached_property
    def _memory_objects(self) -> pd.DataFrame:
        if self._selected is not None:
            return self._selected.of_memory(self._whole._memory_objects)
        physical = [
            number
            for number, source in enumerate(self._tables.sources)
            if "physical" in source.header.codes.lists["object_kinds"]
        ]
        return _usage.live_times(self.objects, physical)

    @cached_property
    def _memory_there(self) -> pd.DataFrame:
        """``_memory_objects`` in the time of a view."""
        between = None if self._selected is None else self._selected.between
        return self._memory_objects if between is None else _usage.within(self._memory_objects, between)

    @cached_property
    def _memory_changes(self) -> pd.DataFrame:
        return _usage.summarise(self._memory_there)

    def _memory(self, device: int | str | None, process: int | None) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """The objects, their changes and the rows of ``memory_use`` of a device and a process."""
        if process is not None and process not in self.processes.index:
            raise UsageError(f"there is no process {process}", f"the trace has {units.numbers(self.processes.index)}")
        place = None if device is None else _usage.place_of(self.gpus, device)
        use = _usage.chosen(self.memory_use.rename(columns={"gpu": "owner"}), place, process)
        return (
            _usage.chosen(self._memory_there, place, process),
            _usage.chosen(self._memory_changes, place, process),
            use.rename(columns={"owner": "gpu"}),
        )

    @cached_property
    def _timed(self) -> pd.DataFrame:
        return resources.records(self.spans, self.launches, self.copies[self._copies_on_gpu], self.label)

    @property
    def _copies_on_gpu(self) -> pd.Series[bool]:
        """Of which copies the times are those on the GPU, as other tools record them."""
        on_gpu = [process.header.settings.get("copy_times") == "device" for process in self._tables.sources]
        return self.copies["process"].isin([number for number, known in enumerate(on_gpu) if known])

    def _pairs(self, reading: Reading, initiated: Initiated, library: Library | None = None) -> pd.DataFrame:
        if library is None:
            return pairs.directed(self._sums(*_PAIR), self.copies, reading, initiated)
        moved, copied = self._of_libraries
        sums = libraries.only(self._library_sums, moved, library)
        return pairs.directed(sums, libraries.only(self.copies, copied, library), reading, initiated)

    @property
    def _library_sums(self) -> pd.DataFrame:
        return self._sums("launch", "site", "object", *_PAIR)

    @cached_property
    def _of_libraries(self) -> tuple[pd.Series[str], pd.Series[str]]:
        """The library of each row of `_library_sums`, and of each copy."""
        return (
            libraries.of_traffic(self._tables, self._library_sums),
            libraries.of_copies(self._tables, self.copies),
        )

    def _moved(self, initiated: Initiated) -> pd.DataFrame:
        """from to wire_bytes start end: what each launch and copy moved whose time on the GPU is known."""
        when = self.timeline()
        when = when[when["spanned"]]
        sums = self._sums("launch", *_PAIR)
        timed = sums[sums["launch"].isin(when.index)]
        return bandwidth.moved(timed, self.copies[self._copies_on_gpu], when, initiated)

    def _nodes(self, initiated: Initiated) -> list[int]:
        # Of the whole trace also for a view: pictures of views can be compared.
        return pairs.nodes(self._tables, self._whole._sums(*_PAIR), initiated)

    @cached_property
    def _record_count(self) -> int:
        if self._selected is None:
            return self._tables.records.rows
        counts = self._whole._record_counts
        return int(counts.loc[self._selected.rows(self._tables, counts), "records"].sum())

    @cached_property
    def _record_counts(self) -> pd.DataFrame:
        return accesses.merged(self._of_records(accesses.counted))

    @cached_property
    def _object_names(self) -> pd.Series[str]:
        """object → its own name in the program, else the variable in the innermost line of its stack that has one."""
        own = self.objects
        made = own["stack"].to_numpy()
        codes = {stack: self.stack(stack)["code"] for stack in np.unique(made[made > 0]).tolist()}
        received = {stack: variables.named(code for code in lines if code) for stack, lines in codes.items()}
        named = [name or received.get(stack, "") for name, stack in zip(own["name"], made.tolist(), strict=True)]
        return pd.Series(named, index=own.index, dtype="str")

    @cached_property
    def _touched(self) -> pd.DataFrame:
        if self._selected is not None:
            # All records are read once, not once a view.
            every = self._whole._touched
            return every[self._selected.rows(self._tables, every)]
        return _by_object.merged(self._of_records(_by_object.touched))

    @cached_property
    def _divided(self) -> pd.DataFrame:
        return _by_object.divided(self._sums("launch", "site", "owner", "object"), self._touched)

    @cached_property
    def _reused(self) -> Reused:
        return reuse.merged(self._of_records(reuse.touched))

    def _called(self, table: pd.DataFrame) -> pd.DataFrame:
        return table if self._selected is None else self._selected.of_calls(table)

    def _object_size(self, object: int) -> int:
        if object not in self.objects.index:
            raise UsageError(f"there is no object {object}", "take one of trace.objects")
        return int(self.objects["bytes"].loc[object])

    def _touches(self, object: int, issuer: int | str | None, operations: Collection[str]) -> Reused:
        """How often each byte of an object was touched, by its offset."""
        place = selection.place_of(self._tables, issuer) if isinstance(issuer, str) else issuer
        whole = heat.of_object(self._reused, object, int(self.objects["address"].loc[object]))
        return heat.chosen(whole, self.sites["operation"], place, operations)

    def _kept(self, table: pd.DataFrame) -> pd.DataFrame:
        if self._selected is None:
            return table
        return table[self._selected.rows(self._tables, table)].reset_index(drop=True)

    def _of_records(self, work: Work[_Result]) -> Iterator[_Result]:
        """What ``work``, a function of a module, makes of the selected records, block by block."""
        if self._cluster is not None:
            return self._cluster.records(work, self._selected)
        made = self._tables.records.each(lambda *block: work(self._tables, self._selected, *block))
        return (result for result in made if result is not None)


def load(source: Source, *, allow_truncated: bool = False, scheduler: Scheduler | None = None) -> Trace:
    """Reads one trace file, all ``*.zst`` of a folder, a list of these, or what a glob pattern names, as one trace.

    Raises an error of the family of `SnoopieError`. A trace whose end is missing raises `TruncatedError`, or, with
    ``allow_truncated``, is read up to its last whole block; `Trace.complete` is then False.

    With a ``scheduler`` the workers of a Dask cluster read the files, under the same (absolute) paths, and do the work
    of the analyses, whose results are the same: the address of the scheduler ("tcp://host:8786"), a `pathlib.Path` of
    its file, or a `distributed.Client`. Tables that are asked for as a whole still have to fit here.
    """
    paths = _distinct(_paths(source))
    if scheduler is None:
        opened = ordered(lambda path: Process.open(path, allow_truncated=allow_truncated), paths)
        trace = Trace(Tables(_once(list(opened))))
    else:
        cluster = Cluster(scheduler)
        tables = Tables(_once(cluster.open(paths, allow_truncated=allow_truncated)))
        cluster.hold(tables)
        trace = Trace(tables, cluster=cluster)
    # Joining finds what single files cannot show, such as sums beyond 64 bits; better here than in the middle of work.
    trace._tables.check_counts(trace._sums(*_PAIR))
    _ = trace.copies, trace.collectives
    return trace


def _paths(source: Source) -> list[Path]:
    if not isinstance(source, (str, os.PathLike)):
        paths = [path for part in source for path in _paths(part)]
        if not paths:
            raise NotATraceError("no trace file was named", "give the path of one")
        return paths
    try:
        path = Path(source)
        if path.is_dir():
            found = sorted(file for file in path.glob("*.zst") if not file.is_dir())
            if not found:
                raise NotATraceError(
                    f"the folder {path} holds no trace (*.zst)", "give the folder that `snoopie run -o` named"
                )
            return found
        if path.exists() or not glob.has_magic(str(path)):
            return [path]
        matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]
    except (OSError, ValueError) as error:
        raise NotATraceError(f"{source} cannot be opened ({error})", "give the path of a trace file") from None
    if not matches:
        raise NotATraceError(f"no file matches {source}", "give the path of a trace file")
    return [found for match in matches for found in _paths(match)]


def _distinct(paths: Iterable[Path]) -> list[Path]:
    """Each file once, whichever way it was named, in the order of first naming."""
    files: dict[str, Path] = {}
    for path in paths:
        try:
            files.setdefault(os.path.realpath(path), path)
        except (OSError, ValueError) as error:
            raise NotATraceError(f"{path} cannot be opened ({error})", "give the path of a trace file") from None
    return list(files.values())


def _once(processes: list[Process]) -> list[Process]:
    """Each process once: a copy of a trace must not count twice."""
    kept: list[Process] = []
    for process in processes:
        twin = next((place for place, other in enumerate(kept) if other.identity == process.identity), None)
        if twin is None:
            kept.append(process)
            continue
        own, other = process.checksums, kept[twin].checksums
        length = min(len(own), len(other))
        if own[:length] != other[:length]:
            raise CorruptError(
                f"{kept[twin].path} and {process.path} claim to be the same process, with different contents",
                "remove the wrong one",
            )
        # One is a copy of the other, or of its beginning.
        if len(own) > len(other):
            kept[twin] = process
    return kept
