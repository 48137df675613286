"""The public object: `load` and `Trace`."""

from __future__ import annotations

import glob
import html
import os
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd

from snoopie.analysis import (
    accesses,
    calls,
    collectives,
    copies,
    losses,
    memory,
    objects,
    pairs,
    places,
    resources,
    reuse,
    selection,
    source,
    stacks,
    tensors,
    timeline,
    traffic,
    units,
    variables,
)
from snoopie.analysis.copies import Order
from snoopie.analysis.reading import Initiated, Reading, ends
from snoopie.analysis.reuse import Touched as Reused
from snoopie.analysis.selection import Names, Places
from snoopie.analysis.traffic import Value
from snoopie.cluster import Cluster, Scheduler, Work
from snoopie.errors import CorruptError, NotATraceError, UsageError
from snoopie.importers import nvidia_smi, torch_memory
from snoopie.trace.merge import Tables
from snoopie.trace.parallel import ordered
from snoopie.trace.tables import Process

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
    view, which ``launches``, ``counts``, ``records``, ``copies``, ``collectives`` and all analyses follow.
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
        return self._tables.call_totals

    @property
    def call_times(self) -> pd.DataFrame:
        """process call thread gpu log2 calls: how many took at least 2^log2 ns and less than twice that; add up."""
        return self._tables.call_times

    @property
    def call_errors(self) -> pd.DataFrame:
        """process call thread gpu code name calls: what driver calls returned that failed; to be summed"""
        return self._tables.call_errors

    @property
    def calls(self) -> pd.DataFrame:
        """event | process call kernel thread gpu direction start end (host ns) code bytes: with CALLS=all, each call"""
        return self._tables.calls

    @property
    def memory_use(self) -> pd.DataFrame:
        """process time gpu used own pool_reserved pool_used (bytes, -1 unknown): as the driver reports it.

        ``used`` is by everybody, ``own`` by this process.
        """
        return self._tables.memory_use

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
        return accesses.whole(self._tables.no_records().table, self.record_blocks(), self._tables.record_rows)

    # Analyses

    def select(
        self,
        kernels: Names = None,
        operations: Names = None,
        issuers: Places = None,
        owners: Places = None,
        launches: int | Iterable[int] | None = None,
        files: Names = None,
    ) -> Trace:
        """A view that keeps only what is named; None keeps all, and views of views narrow further.

        ``kernels`` (of the launch), ``operations`` and ``files`` are names or, where nothing has that very name,
        patterns with * and ?. ``issuers`` and ``owners`` are places or labels ("GPU 0"). What is not there selects
        nothing.

        A copy is kept for its issuer, and for the owner of either of its ends. It is no part of a kernel: to name
        kernels, operations, launches or files excludes all copies. A collective is kept for its issuer, and,
        where kernels or launches are named, with those that carry it out.
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
        )
        return Trace(self._tables, chosen, self._whole, self._cluster)

    def summary(self) -> dict[str, int | float]:
        """accesses lanes bytes sectors wire_bytes wire_efficiency launches measured (of these) kernels gpus records
        copies copy_bytes.

        ``bytes`` are those of accesses alone.
        """
        launches = self._weighted_launches
        sums = traffic.totals(self._sums("operation"))
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
        self, value: Value = "bytes", reading: Reading = "issued", initiated: Initiated = "device"
    ) -> pd.DataFrame:
        """A square over all GPUs (host, unknown, multicast too where the trace has them), zeros included; int64.

        ``issued``: rows issuer, columns owner. ``flow``: rows from, columns to; an atomic counts once each way.

        ``device``: instructions of kernels. ``host``: copies that the host started, bytes only; as issued, the column
        is the end that is not the issuer, and a copy between two other ends counts once for each of them. ``both``:
        the sum. UsageError for other values than bytes.
        """
        return pairs.matrix(self._pairs(reading, initiated), self._nodes(initiated), value, self.label)

    def by_pair(self, reading: Reading = "issued", initiated: Initiated = "device") -> pd.DataFrame:
        """issuer owner (``flow``: from to) as labels, values; the pairs of `matrix` with traffic, most bytes first.

        ``host`` has the values copies, bytes and host_ns (time in the calls), ``both`` has bytes, device_bytes and
        host_bytes.
        """
        return pairs.by_pair(self._pairs(reading, initiated), self.label)

    def by_copy(self) -> pd.DataFrame:
        """source destination (labels) kind call copies bytes host_ns (time in the calls), most bytes first"""
        return copies.by_copy(self.copies, self.label)

    def single_copies(self, order: Order = "bytes", limit: int = 1000) -> pd.DataFrame:
        """copy process source destination issuer (labels) kind call bytes stream thread start (ns after the earliest of
        all) host_ns (time in the call): the ``limit`` first ones with the most bytes, the longest calls or the
        earliest ``start``. UsageError for another order.
        """
        return copies.single(self.copies, self.label, order, limit)

    def by_kernel(self) -> pd.DataFrame:
        """kernel launches (with traffic) measured (of these), values"""
        return traffic.by_kernel(self._sums("kernel", "launch"))

    def by_line(self) -> pd.DataFrame:
        """file line kernel (names joined by ", "), values; file "" and line 0 for what has no line"""
        return traffic.by_line(self._sums("file", "line", "kernel"))

    def by_site(self) -> pd.DataFrame:
        """site kernel function file line offset opcode operation width sass, values"""
        return traffic.by_site(self._sums("site", "kernel"), self.sites)

    def by_operation(self) -> pd.DataFrame:
        """operation, values"""
        return traffic.by_operation(self._sums("operation"))

    def by_collective(self) -> pd.DataFrame:
        """operation reduction type communicator calls launches call_bytes, values of the launches' traffic.

        What a kernel carries out at once is one row, "2 × AllReduce" or "Recv + Send": its traffic is never divided.
        Launches whose calls the trace does not have are in a row with the operation "".
        """
        return collectives.by_collective(self._sums("launch"), self._weighted_launches, self.collectives)

    def calls_behind(
        self, operation: str, reduction: str, type: str, communicator: str, limit: int = 1000
    ) -> pd.DataFrame:
        """collective process issuer (label) operation reduction type count bytes peer communicator rank ranks stream
        thread start (ns after the earliest call of all) host_ns (time in the call) group: the ``limit`` earliest calls
        in the row of `by_collective` that begins with these four.
        """
        return collectives.behind(self.collectives, (operation, reduction, type, communicator), self.label, limit)

    def by_call(self, *keys: str) -> pd.DataFrame:
        """``keys`` (some of process, thread, gpu) call calls errors host_ns (in the calls) mean_ns min_ns max_ns p50_ns
        p90_ns p99_ns bytes (copied, set or allocated), longest in the calls first.

        Driver calls, of the whole trace also for a view. A percentile is a bound: that share of the calls took less,
        and it is less than twice too high. Errors: cuEventQuery and the like answer "not ready", which is none.
        """
        keys = (*calls.checked_keys(keys), "call")
        return calls.by_call(self.call_totals, self.call_times, self.label, keys)

    def by_thread(self) -> pd.DataFrame:
        """process thread, and the values of `by_call`, of all its driver calls"""
        return calls.by_call(self.call_totals, self.call_times, self.label, ("process", "thread"))

    def by_launched_kernel(self, *keys: str) -> pd.DataFrame:
        """kernel, ``keys`` (some of process, thread, gpu), launches (calls that succeeded) errors host_ns (in the
        calls) mean_ns min_ns max_ns, longest in the calls first.

        Every kernel that the host launched by itself, measured or not; of the whole trace also for a view. A launch
        while a graph is captured is such a call; the launch of a graph is none of its kernels.
        """
        return calls.by_kernel(self.call_totals, self.label, calls.checked_keys(keys))

    def by_direction(self, *keys: str) -> pd.DataFrame:
        """direction, ``keys`` (some of process, thread, gpu), call asynchronous (bool) calls errors bytes host_ns (in
        the calls) bandwidth (bytes a second), most bytes first.

        All copy calls, also within one memory; of the whole trace also for a view. ``bandwidth`` is NaN where the call
        does not wait for the transfer: asynchronous ones, and all between GPUs or within one.
        """
        return calls.by_direction(self.call_totals, self.label, calls.checked_keys(keys))

    def by_error(self, *keys: str) -> pd.DataFrame:
        """call, ``keys`` (some of process, thread, gpu), code name (of the code) calls: driver calls that failed, of
        the whole trace also for a view
        """
        return calls.by_error(self.call_errors, self.label, calls.checked_keys(keys))

    def by_launch(self) -> pd.DataFrame:
        """launch kernel issuer (label) process time (ns), values; measured launches with traffic only, never scaled"""
        return traffic.by_launch(self._sums("launch"), self._tables.launches)

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
        table = objects.divided(self._sums("launch", "site", "owner", "object"), self._touched)
        copied = objects.copied(self._tables, self.copies)
        result = objects.by_object(table, copied, self.objects, self.label)
        result.insert(3, "name", self._object_names.reindex(result["object"].to_numpy(), fill_value="").to_numpy())
        result.insert(4, "source", self.stack_label(result["stack"]))
        return result

    def object_offsets(self, object: int, bins: int = 256) -> pd.DataFrame:
        """offset (bytes from the object's beginning) issuer (label) operation accesses lanes bytes: what of one object
        the recorded accesses touched, in at most ``bins`` parts of equal length, those without left out.

        An access counts in each part that it touches. UsageError for an object that the trace does not have.
        """
        if object not in self.objects.index:
            raise UsageError(f"there is no object {object}", "take one of trace.objects")
        work = partial(objects.offsets, object=object, bins=bins)
        return objects.merged_offsets(self._of_records(work), self.sites, self.label)

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
        recorded = objects.merged(self._of_records(partial(objects.touched, lookups=lookups)))
        sums = self._sums("launch", "site", "owner", "object").assign(object=0)
        copied = objects.copied(self._tables, self.copies, lookups)
        return tensors.by_tensor(objects.divided(sums, recorded), copied, known)

    def timeline(self) -> pd.DataFrame:
        """launch | process kernel gpu stream thread called start end (host ns) spanned.

        ``start`` and ``end`` are when it ran on its GPU, where that is known (``spanned``): instrumented, unless the
        trace was imported. Else both are ``called``, the time of the call.
        """
        return timeline.timeline(self.launches, self.spans)

    def pairs_by_launch(self, reading: Reading = "issued") -> pd.DataFrame:
        """launch, issuer owner (``flow``: from to) as labels, values; of measured launches, never scaled"""
        return self._labelled(timeline.by_launch(self._sums("launch", *_PAIR), reading), reading)

    def traffic_over_time(
        self, bins: int = 1000, reading: Reading = "issued", initiated: Initiated = "device"
    ) -> pd.DataFrame:
        """issuer owner (``flow``: from to) as labels, start end (of a bin, host ns) bytes; bins with traffic only.

        The bins are equally wide, at most so many. Bytes of measured launches are spread evenly over the time they
        ran, and of copies over their calls; they are exact, and never scaled.
        """
        moved = self._sums("launch", *_PAIR)
        table = timeline.traffic_over_time(moved, self.copies, self.timeline(), bins, reading, initiated)
        return self._labelled(table, reading)

    def memory_usage(self, device: int | str | None = None, process: int | None = None) -> pd.DataFrame:
        """process device (label) kind counted time (host ns) bytes objects: how much memory there was from each moment
        on, until the next of the same process, device and kind.

        Kinds that are not ``counted`` show memory that another object is, or another process's. ``device`` is a place
        in ``gpus``, a UUID, a label or "host"; UsageError for what the trace does not have.
        """
        _, changes, _ = self._memory(device, process)
        return memory.usage(changes, self.label)

    def memory_watermark(
        self, device: int | str | None = None, process: int | None = None, *, total: bool = False
    ) -> pd.DataFrame:
        """process device (label) time (host ns) peak (bytes) stack source call kind objects bytes: what there was when
        a process had most on a device, by who had made it; most bytes first.

        ``total``: when all processes and devices together had most; process is then `snoopie.analysis.memory.ALL`.
        """
        objects, changes, _ = self._memory(device, process)
        return memory.watermark(objects, changes, self.label, self.stack_label, total=total)

    def leaks(self, device: int | str | None = None, process: int | None = None) -> pd.DataFrame:
        """process device (label) state stack source call kind objects bytes: memory that no call had freed when the
        program began to exit, by who had made it; by state, then most bytes first.

        ``state`` is "never freed", or says why nothing is known, or why it lives so long by design: freed at exit,
        ended with its context, module static, held by a graph, held by a pool (bytes alone).
        """
        objects, _, use = self._memory(device, process)
        return memory.leaks(objects, self.processes, use, self.label, self.stack_label)

    def memory_agreement(self, device: int | str | None = None, process: int | None = None) -> pd.DataFrame:
        """process device (label) time (host ns) used change own pool_reserved pool_used allocated allocated_by_all.

        What the driver reported (``used`` by everybody, its ``change`` against the first sample, ``own``; -1 unknown)
        beside what the process, and all processes of the trace, had allocated then, in bytes. Contexts, loaded code
        and the collector's own memory are in what the driver reports alone.
        """
        _, _, use = self._memory(device, process)
        return memory.agreement(self._memory_changes, use, self.label)

    def nvidia_smi(self, path: str | os.PathLike[str], device: int | str | None = None) -> pd.DataFrame:
        """time (host ns) device (label) used (bytes): what a log of nvidia-smi says of the trace's GPUs.

        The log is one of --query-gpu=timestamp,memory.used --format=csv, with index or uuid where there are several
        GPUs, recorded on the same machine and in the same time zone. UsageError or `SnoopieError` otherwise.
        """
        place = None if device is None else memory.place_of(self.gpus, device)
        header = self._tables.sources[0].header
        machine = [gpu.uuid.casefold() for gpu in sorted(header.gpus, key=lambda gpu: gpu.pci.casefold())]
        table = memory.logged(nvidia_smi.read(Path(path)), self.gpus, machine, place)
        labels = pd.Series([self.label(owner) for owner in table["owner"]], dtype="str")
        return table.assign(device=labels)[["time", "device", "used"]]

    def file_lines(self, file: str) -> pd.DataFrame:
        """line kernel, values, for the lines of one file in its order"""
        return source.file_lines(self._sums("file", "line", "kernel"), file)

    def line_sites(self, file: str, line: int) -> pd.DataFrame:
        """The rows of `by_site` of one line"""
        return traffic.by_site(source.of_line(self._sums(*_LINE, "site", "kernel"), file, line), self.sites)

    def line_matrix(self, file: str, line: int, value: Value = "bytes", reading: Reading = "issued") -> pd.DataFrame:
        """The `matrix` of one line"""
        of_line = source.of_line(self._sums(*_LINE, *_PAIR), file, line)
        return pairs.matrix(traffic.directed(of_line, reading), self._nodes("device"), value, self.label)

    def line_chain(self, line_id: int) -> list[tuple[str, int, str]]:
        """(file, line, function) of a line and of the lines it was inlined at, innermost first"""
        return source.line_chain(self.lines, line_id)

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
        most = accesses.LANES * self._tables.record_rows
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

        ``accesses`` says how often warps ran it, 0 = never, -1 = not known (format 1). What it moved is nowhere.
        """
        sites = self.sites if self._selected is None else self.sites[self._selected.sites]
        return losses.not_measured(self._tables, sites, self._unmeasured)

    def losses(self) -> list[str]:
        """What the trace does not show, in plain sentences; [] if nothing was lost. Views say the same as the whole."""
        return losses.losses(self._tables, self._whole._sums("site", "owner"), self._whole._unmeasured)

    def label(self, place: int) -> str:
        """The name for reading of an issuer or owner: "GPU 0", "host", "unknown", "multicast 0 (GPU 0, GPU 1)"."""
        return self._tables.label(place)

    # How it shows itself

    def __repr__(self) -> str:
        sums = traffic.totals(self._sums("operation"))
        about = "≈ " if self.estimated else ""
        parts = [
            _plural(len(self.gpus), "GPU", "GPUs"),
            _plural(len(self.launches), "launch", "launches") + (" measured" if self.estimated else ""),
            f"{about}{units.bytes(sums['bytes'])} in {about}{units.count(sums['accesses'])} accesses",
            *([] if self.complete else ["incomplete"]),
        ]
        view = "" if self._selected is None else "view of a "
        return f"<{view}Trace of {_plural(len(self.paths), 'process', 'processes')}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        table = self.matrix().map(units.bytes).to_html(escape=True)
        lost = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.losses())
        title = html.escape(repr(self))
        return f"<div><p>{title}</p><p>Bytes: issuer in rows, owner in columns</p>{table}<ul>{lost}</ul></div>"

    # Inside

    @cached_property
    def _frame_places(self) -> pd.DataFrame:
        return stacks.places(self.frames, self.modules, self.symbols)

    @cached_property
    def _stack_labels(self) -> pd.Series:
        kernels = self.functions.loc[self.functions["kernel"], "name"]
        return stacks.labels(self.stacks, self._frame_places, kernels)

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
            return traffic.joined(self._tables)
        return self._selected.traffic(self._tables, self._whole._traffic)

    @cached_property
    def _unmeasured(self) -> pd.DataFrame:
        if self._cluster is not None:
            return self._cluster.unmeasured(self._selected)
        counts = traffic.weighted(self._tables, self._tables.unmeasured_counts)
        return counts if self._selected is None else self._selected.of_launches(self._tables, counts)

    @cached_property
    def _weighted_launches(self) -> pd.DataFrame:
        """``launches``, with the column weight where they were sampled."""
        if not self._tables.sampled:
            return self.launches
        launches = traffic.weighted(self._tables, self._tables.launches.reset_index())
        if self._selected is not None:
            launches = self._selected.of_launches(self._tables, launches)
        return launches.set_index("launch")

    def _labelled(self, table: pd.DataFrame, reading: Reading) -> pd.DataFrame:
        for end in ends(reading):
            labels = {place: self.label(place) for place in table[end].unique()}
            table[end] = pd.Series([labels[place] for place in table[end]], table.index, dtype="str")
        return table

    @cached_property
    def _memory_objects(self) -> pd.DataFrame:
        physical = [
            number for number, source in enumerate(self._tables.sources) if "physical" in source.header.object_kinds
        ]
        return memory.live_times(self.objects, physical)

    @cached_property
    def _memory_changes(self) -> pd.DataFrame:
        return memory.summarise(self._memory_objects)

    def _memory(self, device: int | str | None, process: int | None) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """The objects, their changes and the rows of ``memory_use`` of a device and a process."""
        if process is not None and process not in self.processes.index:
            raise UsageError(f"there is no process {process}", f"the trace has {units.numbers(self.processes.index)}")
        place = None if device is None else memory.place_of(self.gpus, device)
        use = memory.chosen(self.memory_use.rename(columns={"gpu": "owner"}), place, process)
        return (
            memory.chosen(self._memory_objects, place, process),
            memory.chosen(self._memory_changes, place, process),
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

    def _pairs(self, reading: Reading, initiated: Initiated) -> pd.DataFrame:
        return pairs.directed(self._sums(*_PAIR), self.copies, reading, initiated)

    def _nodes(self, initiated: Initiated) -> list[int]:
        # Of the whole trace also for a view: pictures of views can be compared.
        return pairs.nodes(self._tables, self._whole._sums(*_PAIR), initiated)

    @cached_property
    def _record_count(self) -> int:
        if self._selected is None:
            return self._tables.record_rows
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
        return objects.merged(self._of_records(objects.touched))

    @cached_property
    def _reused(self) -> Reused:
        return reuse.merged(self._of_records(reuse.touched))

    def _kept(self, table: pd.DataFrame) -> pd.DataFrame:
        if self._selected is None:
            return table
        return table[self._selected.rows(self._tables, table)].reset_index(drop=True)

    def _of_records(self, work: Work[_Result]) -> Iterator[_Result]:
        """What ``work``, a function of a module, makes of the selected records, block by block."""
        if self._cluster is not None:
            return self._cluster.records(work, self._selected)
        made = self._tables.over_records(lambda *block: work(self._tables, self._selected, *block))
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


def _plural(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


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
