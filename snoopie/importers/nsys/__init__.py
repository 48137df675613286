"""Reports of Nsight Systems, 2021 to 2026 → one trace a process.

Tables and columns come and go between versions. What a report lacks is not invented: the trace has a sentence about it
that names the option of nsys which records it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.errors import SnoopieError
from snoopie.importers import Imported, Progress
from snoopie.importers.amounts import check_sums
from snoopie.importers.nsys import calls, gpu_work, memory, nccl, ranges, stacks
from snoopie.importers.nsys.devices import read_devices
from snoopie.importers.nsys.export import HOW, ID_MASK, Export, Ints
from snoopie.importers.nsys.lacks import Counted, lacks
from snoopie.importers.nsys.names import CallNames
from snoopie.importers.nsys.report import program, read_report
from snoopie.importers.nsys.sources import opened, reports
from snoopie.importers.output import run_of, trace_paths, write_all
from snoopie.importers.tool import imported_from
from snoopie.trace.lacks import Lack
from snoopie.trace.writer import UNKNOWN, TraceWriter, header

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
        self.named = ranges.read_named(export, only)

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
    export, report, only = read.export, read.report, read.only
    host = report.host_times
    made = calls.read_calls(export, read.names, process, only)
    kernels = gpu_work.read_kernels(export, made, process, only)
    copies = gpu_work.read_copies(export, made, process, only)
    sets = gpu_work.read_sets(export, made, process, only)
    graphs = gpu_work.read_graphs(export, made, process, only)
    events, wrong_events = memory.read_memory(export, made, process, only)
    pools, wrong_pools = memory.read_pools(export, events, process, only)
    collectives = nccl.Collectives(read.ranges, process)
    # Each as one number: a sum that is too large for 64 bits is not one of floating point.
    amounts = [*(work.spent for work in (kernels, copies, graphs)), made.end - made.start]
    amounts += [copies["bytes"], sets["bytes"], events.bytes[~events.frees], collectives.size]
    check_sums(export.path, ([values.sum(dtype=np.float64)] for values in amounts))

    used = [*(work["deviceId"] for work in (kernels, copies, sets, graphs)), events.device, pools.device]
    used += [copies["srcDeviceId"], copies["dstDeviceId"]]
    devices = read_devices(export, read.machine, process, used)
    ends = gpu_work.ends_of(copies, devices)
    allocations = ~events.frees
    gpu = devices.places(kernels["deviceId"])
    copier = devices.places(copies["deviceId"])
    made.did(kernels.call, gpu)
    made.did(graphs.call, devices.places(graphs["deviceId"]))
    made.did(sets.call, devices.places(sets["deviceId"]), sets["bytes"])
    made.did(copies.call, copier, copies["bytes"], ends[2])
    made.did(events.call[allocations], devices.places(events.device)[allocations], events.bytes[allocations])
    launched_on = _groups_gpus(collectives, kernels, made, gpu)

    def place_of(member: nccl.Member) -> int:
        return devices.place_of(gpus[member]) if member in gpus else UNKNOWN

    # Before the header is written, which names the GPUs of peers too.
    caller = collectives.places(devices, launched_on)
    sent = nccl.sends(collectives, caller, place_of)

    times = [made.start, made.end, kernels["start"], kernels["end"], events.time, pools.time]
    times += [copies["start"], copies["end"]]
    times += [collectives.calls.start, collectives.calls.end]
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
    if made.unsaid == len(made):
        unknown.append(Lack.ERRORS)
    head = header(tool=imported_from(report.tool, unknown), process=about, gpus=devices.gpus, object_kinds=memory.KINDS,
                  settings={"imported from": export.path.name, "copy_times": "device"})  # fmt: skip
    with TraceWriter(path, head) as writer:
        names = _interned(writer, made.name, read.names)
        stack = stacks.stacks_of(made.chain, *stacks.write_stacks(writer, export, read.chains, made.chain))
        homeless = gpu_work.write_kernels(writer, export, kernels, gpu, collectives.group_of, made, stack, host)
        moved = gpu_work.across(writer, copies, ends, copier, made, names, stack)
        copy_bytes = gpu_work.write_copies(writer, [moved, nccl.copies_of(writer, collectives, sent)], host)
        nccl.write_collectives(writer, collectives, caller, host)
        ranges.write_named(writer, read.named.get(process, ranges.Named()), host)
        lost = memory.write_memory(writer, events, pools, devices, made, names, stack, host)
        calls.write_calls(writer, made, names, host)
        inside = gpu_work.inside(ends)
        counted = Counted(
            calls=len(made),
            allocations=len(events.time),
            invalid=made.wrong + kernels.wrong + copies.wrong + sets.wrong + graphs.wrong + wrong_events + wrong_pools,
            homeless=homeless,
            lost_frees=lost,
            unsaid=made.unsaid,
            copies=len(copies),
            inside=(int(inside.sum()), int(copies["bytes"][inside].sum())),
            sets=(len(sets), int(sets["bytes"].sum())),
            graphs=(len(graphs), int(graphs.spent.sum())),
            collectives=len(collectives),
            unsized=int((collectives.size < 0).sum()),
            nameless=int((collectives.member < 0).sum()),
            sends=len(sent.rows),
            stacks=bool((stack > 0).any()),
            doubtful=read.chains.doubtful,
            invented=devices.invented,
            ambiguous=devices.ambiguous,
            incomplete=[text for of, text in report.incomplete if of in (None, process)],
        )
        notices = lacks(report, counted, None if only and read.alone else process & ID_MASK)
        writer.write("notices", time=start, text=np.array(notices, object))
        launches = writer.rows("launches")
        writer.finish(
            end,
            {
                "launches_seen": launches,
                "launches_native": launches,
                "copies": writer.rows("copies"),
                "copy_bytes": copy_bytes,
            },
        )
    return notices


def _groups_gpus(
    collectives: nccl.Collectives, kernels: gpu_work.GpuWork, made: calls.Calls, gpu: NDArray[np.uint8]
) -> dict[int, int]:
    """The GPU on which the kernels of each group of NCCL's calls ran, where that is one."""
    if not len(collectives):
        return {}
    group = collectives.group_of(made.of(made.thread, kernels.call, 0), kernels["launched"])
    found: dict[int, set[int]] = {}
    for number, place in set(zip(group.tolist(), gpu.tolist(), strict=True)):
        found.setdefault(number, set()).add(place)
    return {number: places.pop() for number, places in found.items() if number and len(places) == 1}


def _interned(
    writer: TraceWriter, ids: NDArray[np.int32], names: CallNames
) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """The strings of the trace for ids of calls' names."""
    distinct, places = np.unique(ids, return_inverse=True)
    return writer.intern_all(names.of(distinct.tolist()))[places]


def _range(times: Sequence[Ints], host: Callable[[Ints], Ints]) -> tuple[int, int]:
    """The first and the last of all times, in host time."""
    known = [values for values in times if len(values)]
    edges = np.array([*(values.min() for values in known), *(values.max() for values in known)], np.int64)
    return (int(host(edges).min()), int(host(edges).max())) if len(edges) else (0, 0)
