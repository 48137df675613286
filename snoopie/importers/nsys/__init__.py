"""Reports of Nsight Systems, 2021 to 2026 → one trace a process.

Tables and columns come and go between versions. What a report lacks is not invented: the trace has a sentence about it
that names the option of nsys which records it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.errors import SnoopieError
from snoopie.importers import Imported, Progress
from snoopie.importers.amounts import LIMIT, check_sums
from snoopie.importers.nsys import calls, gpu_work, memory, nccl, ranges, stacks
from snoopie.importers.nsys.devices import Devices, read_devices
from snoopie.importers.nsys.export import HOW, ID_MASK, Export, Ints
from snoopie.importers.nsys.lacks import Counted, lacks
from snoopie.importers.nsys.names import CallNames
from snoopie.importers.nsys.parts import Parts
from snoopie.importers.nsys.report import program, read_report
from snoopie.importers.nsys.sources import opened, reports
from snoopie.importers.output import run_of, trace_paths, write_all
from snoopie.importers.tool import imported_from
from snoopie.trace.lacks import Lack
from snoopie.trace.writer import UNKNOWN, Body, TableWriter, TraceWriter, header

__all__ = ["import_nsys"]

# The tables of which rows belong to a process, with the column that says to which.
_OF_PROCESS = (
    (calls.TABLE, "globalTid"),
    *(
        (table, "globalPid")
        for table in (
            gpu_work.KERNELS,
            gpu_work.COPIES,
            gpu_work.SETS,
            gpu_work.GRAPHS,
            memory.TABLE,
            memory.POOL_TABLE,
        )
    ),
)
_WITH_TIMES = (*(table for table, _ in _OF_PROCESS), nccl.RANGES)
# Reports of more processes than any machine runs under a profiler.
_MOST_PROCESSES = 4096


def import_nsys(
    source: Path | Sequence[Path], output: Path, *, force: bool = False, progress: Progress = lambda *_: None
) -> Imported:
    """Writes the trace of each process with CUDA activity in a report, in several, or in all of a folder.

    A report is an SQLite or parquet export, or what nsys profile wrote, which the nsys of this machine then exports.
    ``output`` is the name of the trace, or, with several processes, of output.PID.zst; in a folder it is the name of
    the source. Nothing takes its name before all are complete. Raises SnoopieError if one exists (unless ``force``) or
    cannot be written, and where a report cannot be read.
    """
    with ExitStack() as stack:
        sources = [source] if isinstance(source, Path) else list(source)
        paths = list(dict.fromkeys(path for one in sources for path in reports(one)))
        source = sources[0]
        found = [_Read(stack.enter_context(opened(path, progress)), len(paths) == 1) for path in paths]
        for read in found:
            stack.callback(read.chains.close)
        places = [(read, process) for read in found for process in read.processes]
        if not places:
            raise SnoopieError(
                f"no report in {source} has CUDA activity", "record it with: nsys profile --trace=cuda …"
            )
        if len(places) > _MOST_PROCESSES:
            raise SnoopieError(f"{source} claims to have {len(places)} processes", "export the report again")
        traces = trace_paths(source, output, [str(process & ID_MASK) for _, process in places])
        gpus = _member_gpus(found)
        notices: list[str] = []

        def write(number: int, path: Path) -> None:
            read, process = places[number]
            own = _write(path, read, process, gpus)
            notices.extend(text for text in own if text not in notices)

        write_all(traces, write, force=force, sources=paths)
        return Imported(traces, notices)


class _Read:
    """A report that is open, with what all its processes share. ``alone``: it is the only one."""

    def __init__(self, export: Export, alone: bool) -> None:
        self.export = export
        self.alone = alone
        self.processes = _processes(export, alone)
        self.report = read_report(export, lambda: _first(export))
        self.names = CallNames(export)
        self.chains = stacks.Chains(export, self.names)
        only = self.processes[0] if self.only and self.processes else None
        self.ranges = nccl.read_ranges(export, only)

    @property
    def only(self) -> bool:
        """Whether rows that name no process can be just one's."""
        return len(self.processes) == 1

    @property
    def machine(self) -> str:
        """What GPUs without a UUID are named after: two machines that are not named are not one."""
        return self.report.host or run_of(self.export.path)["id"]


def _first(export: Export) -> int:
    """The first of all times, from 1 on where there are none."""
    found = (export.least(table, "start") for table in _WITH_TIMES)
    return min((time for time in found if time is not None), default=1)


def _processes(export: Export, alone: bool) -> list[int]:
    if not any(export.has(table) for table, _ in _OF_PROCESS):
        if not alone:
            return []
        if export.has("StringIds"):
            raise SnoopieError(f"{export.path} has no CUDA activity", "record it with: nsys profile --trace=cuda …")
        raise SnoopieError(f"{export.path} is a database, but not of Nsight Systems", f"make one with: {HOW}")
    # Where nothing says whose the rows are, they are one process's, whose number is not known.
    return export.processes(_OF_PROCESS) or [0]


def _member_gpus(found: Sequence[_Read]) -> dict[nccl.Member, dict[str, Any]]:
    """The GPU of each rank of NCCL's communicators, as far as the reports say it."""
    gpus: dict[nccl.Member, dict[str, Any]] = {}
    for read in found:
        by_process: dict[int, list[nccl.Joined]] = {}
        for one in read.ranges.joined():
            by_process.setdefault(one.process, []).append(one)
        for process, joined in by_process.items():
            used = [np.array([one.device for one in joined], np.int64)]
            devices = read_devices(read.export, read.machine, process, used)
            for one in joined:
                if gpu := devices.gpu_of(one.device):
                    gpus[one.communicator, one.rank] = gpu
    return gpus


def _write(path: Path, read: _Read, process: int, gpus: dict[nccl.Member, dict[str, Any]]) -> list[str]:
    """Writes the trace of one process; returns the sentences on what it lacks."""
    export, report = read.export, read.report
    host = report.host_times
    with Parts(export, process, read.only) as parts:
        events, wrong_events = memory.read_memory(export, process, read.only)
        pools, wrong_pools = memory.read_pools(export, events, process, read.only)
        collectives = nccl.Collectives(read.ranges, process)
        devices = read_devices(export, read.machine, process, [parts.devices, events.device, pools.device])
        body = Body()
        work = _Work(body, read, process, devices, events, collectives, parts.chains)
        for part in parts.each():
            work.add(part)
        wrong = parts.wrong + wrong_events + wrong_pools
    work.amounts += [float(events.bytes[~events.frees].sum(dtype=np.float64))]
    check_sums(export.path, [[amount] for amount in (*work.amounts, collectives.size.sum(dtype=np.float64))])

    def place_of(member: nccl.Member) -> int:
        return devices.place_of(gpus[member]) if member in gpus else UNKNOWN

    # Before the header is written, which names the GPUs of peers too.
    caller = collectives.places(devices, work.launched_on)
    sent = nccl.sends(collectives, caller, place_of)
    copy_bytes = work.copy_bytes + gpu_work.write_copies(body, nccl.copies_of(body, collectives, sent), host)
    nccl.write_collectives(body, collectives, caller, host)
    ranges.write_named(body, export, process, read.only, host)
    lost = memory.write_memory(body, events, pools, devices, host)

    times = [work.times, events.time, pools.time, collectives.calls.start, collectives.calls.end]
    start, end = _range(times, host)
    name = program(export, process)
    about = {
        "host": report.host,
        "pid": process & ID_MASK,
        "program": name,
        "command": [name] if name else [],
        "start_ns": start,
        "ranks": report.ranks,
    }
    # Reports of a folder may be of several runs: the processes' own times and ranks say which belong together.
    if read.alone:
        about["run"] = run_of(export.path)
    unknown = [Lack.ACCESSES]
    if not report.dated:
        unknown.append(Lack.DATE)
    # What a call returned is said of all of them, or of none.
    if work.counted.unsaid == work.counted.calls:
        unknown.append(Lack.ERRORS)
    head = header(tool=imported_from(report.tool, unknown), process=about, gpus=devices.gpus, object_kinds=memory.KINDS,
                  settings={"imported from": export.path.name, "copy_times": "device"})  # fmt: skip
    counted = replace(
        work.counted,
        allocations=len(events.time),
        invalid=wrong,
        lost_frees=lost,
        collectives=len(collectives),
        unsized=int((collectives.size < 0).sum()),
        nameless=int((collectives.member < 0).sum()),
        sends=len(sent.rows),
        doubtful=read.chains.doubtful,
        invented=devices.invented,
        ambiguous=devices.ambiguous,
        incomplete=[text for of, text in report.incomplete if of in (None, process)],
    )
    with TraceWriter(path, head) as writer:
        notices = lacks(report, counted, None if read.only and read.alone else process & ID_MASK)
        body.write("notices", time=start, text=np.array(notices, object))
        writer.append(body)
        launches = body.rows("launches")
        writer.finish(
            end,
            {
                "launches_seen": launches,
                "launches_native": launches,
                "copies": body.rows("copies"),
                "copy_bytes": copy_bytes,
            },
        )
    return notices


class _Work:
    """Writes the calls of a process and what they had the GPUs do, part by part, and adds up what is said of them all.

    ``launched_on``: the GPU on which the kernels of each group of NCCL's calls ran, where that is one. ``times``: the
    first and the last of each part.
    """

    def __init__(
        self, body: Body, read: _Read, process: int, devices: Devices, events: memory.Memory,
        collectives: nccl.Collectives, chains: Ints,
    ) -> None:  # fmt: skip
        self.counted = Counted()
        self.copy_bytes = 0
        # Each as one number: a sum that is too large for 64 bits is not one of floating point.
        self.amounts = [0.0] * 6
        self.times: Ints = np.empty(0, np.int64)
        self._body, self._read, self._process, self._devices = body, read, process, devices
        self._events, self._collectives = events, collectives
        self._functions = gpu_work.Functions(body, read.export)
        self._stacks = stacks.write_stacks(body, read.export, read.chains, chains)
        self._ran_on: dict[int, set[int]] = {}

    @property
    def launched_on(self) -> dict[int, int]:
        return {number: next(iter(on)) for number, on in self._ran_on.items() if number and len(on) == 1}

    def add(self, part: Export) -> None:
        read, body, host = self._read, self._body, self._read.report.host_times
        made = calls.read_calls(part, read.names, self._process, read.only)
        kernels, copies, sets, graphs = (
            of(part, made, self._process, read.only)
            for of in (gpu_work.read_kernels, gpu_work.read_copies, gpu_work.read_sets, gpu_work.read_graphs)
        )
        self._sum(made, kernels, copies, sets, graphs)
        names = _interned(body, made.name, read.names)
        stack = stacks.stacks_of(made.chain, *self._stacks)
        gpu, copier = self._did(made, names, stack, kernels, copies, sets, graphs)
        self._ran(made, kernels, gpu)
        ends = gpu_work.ends_of(copies, self._devices)
        inside = gpu_work.inside(ends)
        homeless = gpu_work.write_kernels(
            body, self._functions, kernels, gpu, self._collectives.group_of, made, stack, host
        )
        self.copy_bytes += gpu_work.write_copies(
            body, gpu_work.across(body, copies, ends, copier, made, names, stack), host
        )
        calls.write_calls(body, made, names, host)
        self.counted.add(
            Counted(
                calls=len(made),
                homeless=homeless,
                unsaid=made.unsaid,
                copies=len(copies),
                inside=(int(inside.sum()), int(copies["bytes"][inside].sum())),
                sets=(len(sets), int(sets["bytes"].sum())),
                graphs=(len(graphs), int(graphs.spent.sum())),
                stacks=bool((stack > 0).any()),
            )
        )

    def _sum(self, made: calls.Calls, *work: gpu_work.GpuWork) -> None:
        kernels, copies, sets, graphs = work
        amounts = [*(some.spent for some in (kernels, copies, graphs)), made.end - made.start]
        amounts += [copies["bytes"], sets["bytes"]]
        self.amounts = [
            before + float(values.sum(dtype=np.float64)) for before, values in zip(self.amounts, amounts, strict=True)
        ]
        if max(self.amounts) >= LIMIT:
            check_sums(self._read.export.path, [[amount] for amount in self.amounts])
        times = [made.start, made.end, kernels["start"], kernels["end"], copies["start"], copies["end"]]
        edges = [[values.min(), values.max()] for values in times if len(values)]
        if edges:
            self.times = np.append(self.times, [np.min(edges), np.max(edges)])

    def _did(
        self, made: calls.Calls, names: NDArray[np.uint32], stack: NDArray[np.uint32], *work: gpu_work.GpuWork
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Says of the calls what they did; returns the GPUs of kernels and of copies."""
        kernels, copies, sets, graphs = work
        devices, events = self._devices, self._events
        gpu, copier = devices.places(kernels["deviceId"]), devices.places(copies["deviceId"])
        made.did(kernels.call, gpu)
        made.did(graphs.call, devices.places(graphs["deviceId"]))
        made.did(sets.call, devices.places(sets["deviceId"]), sets["bytes"])
        made.did(copies.call, copier, copies["bytes"], gpu_work.ends_of(copies, devices)[2])
        called, allocations = events.called(made, names, stack), ~events.frees
        made.did(called[allocations], devices.places(events.device)[allocations], events.bytes[allocations])
        return gpu, copier

    def _ran(self, made: calls.Calls, kernels: gpu_work.GpuWork, gpu: NDArray[np.uint8]) -> None:
        if len(self._collectives):
            group = self._collectives.group_of(made.of(made.thread, kernels.call, 0), kernels["launched"])
            for number, place in set(zip(group.tolist(), gpu.tolist(), strict=True)):
                self._ran_on.setdefault(number, set()).add(place)


def _interned(
    writer: TableWriter, ids: NDArray[np.int32], names: CallNames
) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """The strings of the trace for ids of calls' names."""
    distinct, places = np.unique(ids, return_inverse=True)
    return writer.intern_all(names.of(distinct.tolist()))[places]


def _range(times: Sequence[Ints], host: Callable[[Ints], Ints]) -> tuple[int, int]:
    """The first and the last of all times, in host time."""
    known = [values for values in times if len(values)]
    edges = np.array([*(values.min() for values in known), *(values.max() for values in known)], np.int64)
    return (int(host(edges).min()), int(host(edges).max())) if len(edges) else (0, 0)
