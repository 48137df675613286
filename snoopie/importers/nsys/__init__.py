"""SQLite exports of Nsight Systems, 2022 to 2025 → one trace a process.

Tables and columns come and go between versions. What an export lacks is not invented: the trace has a sentence about it
that names the option of nsys which records it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import snoopie
from snoopie.errors import SnoopieError
from snoopie.importers import Imported, Progress
from snoopie.importers.amounts import check_sums
from snoopie.importers.nsys import calls, gpu_work, memory, stacks
from snoopie.importers.nsys.database import ID_MASK, Database, Ints
from snoopie.importers.nsys.report import Devices, Report, program, read_devices, read_report
from snoopie.importers.output import run_of, trace_paths, write_all
from snoopie.trace.writer import TraceWriter, header

__all__ = ["import_nsys"]

# The tables of which rows belong to a process, with the column that says to which.
_OF_PROCESS = (
    (calls.TABLE, "globalTid"),
    *((table, "globalPid") for table in (gpu_work.KERNELS, gpu_work.COPIES, gpu_work.SETS, memory.TABLE)),
)
# A report of more processes than any machine runs under a profiler.
_MOST_PROCESSES = 4096


def import_nsys(source: Path, output: Path, *, force: bool = False, progress: Progress = lambda *_: None) -> Imported:
    """Writes the trace of each process with CUDA activity in an SQLite export.

    ``output`` is the name of the trace, or, with several processes, of output.PID.zst; in a folder it is the name of
    the export. Nothing takes its name before all are complete. Raises SnoopieError if one exists (unless ``force``) or
    cannot be written, and where the export cannot be read.
    """
    database = Database(source, progress)
    try:
        processes = _processes(database)
        paths = trace_paths(source, output, [str(process & ID_MASK) for process in processes])
        report, chains = read_report(database), stacks.Chains(database)
        notices: list[str] = []

        def write(number: int, path: Path) -> None:
            own = _write(path, database, report, chains, processes[number], len(processes) == 1)
            notices.extend(text for text in own if text not in notices)

        write_all(paths, write, force=force, sources=[source])
        return Imported(paths, notices)
    finally:
        database.close()


def _processes(database: Database) -> list[int]:
    if not any(database.has(table) for table, _ in _OF_PROCESS):
        if database.has("StringIds"):
            raise SnoopieError(f"{database.path} has no CUDA activity", "record it with: nsys profile --trace=cuda …")
        raise SnoopieError(
            f"{database.path} is a database, but not of Nsight Systems",
            "make one with: nsys export --type sqlite REPORT.nsys-rep",
        )
    # Where nothing says whose the rows are, they are one process's, whose number is not known.
    processes = database.processes(_OF_PROCESS) or [0]
    if len(processes) > _MOST_PROCESSES:
        raise SnoopieError(f"{database.path} claims to have {len(processes)} processes", "export the report again")
    return processes


def _write(
    path: Path, database: Database, report: Report, chains: stacks.Chains, process: int, only: bool
) -> list[str]:
    """Writes the trace of one process; returns the sentences on what it lacks."""
    host = report.host_times
    made, wrong = calls.read_calls(database, process, only)
    kernels = gpu_work.read_kernels(database, made, process, only)
    copies = gpu_work.read_copies(database, made, process, only)
    sets = gpu_work.read_sets(database, made, process, only)
    events, wrong_events = memory.read_memory(database, made, process, only)
    wrong += kernels.wrong + copies.wrong + sets.wrong + wrong_events
    check_sums(database.path, [made.end - made.start, copies.column("bytes"), sets.column("bytes"), events.bytes])

    devices = read_devices(database, report, process, [kernels.device, copies.device, sets.device, events.device])
    ends = gpu_work.ends_of(copies, devices)
    owner = memory.owners(events, devices)
    allocations = ~events.frees
    gpu = devices.places(kernels.device)
    copier = devices.places(copies.device)
    made.did(kernels.call, gpu)
    made.did(sets.call, devices.places(sets.device), sets.column("bytes"))
    made.did(copies.call, copier, copies.column("bytes"), ends[2])
    made.did(events.call[allocations], devices.places(events.device)[allocations], events.bytes[allocations])

    times = [made.start, made.end, kernels.column("start"), kernels.column("end"), events.time]
    times += [copies.column("start"), copies.column("end")]
    start, end = _range(times, host)
    name = program(database, process)
    about = {
        "host": report.host,
        "pid": process & ID_MASK,
        "program": name,
        "command": [name] if name else [],
        "start_ns": start,
        "run": run_of(database.path),
    }
    tool = {"version": snoopie.__version__, "imported_from": report.tool}
    head = header(tool=tool, process=about, gpus=devices.gpus, object_kinds=memory.KINDS,
                  settings={"imported from": database.path.name, "copy_times": "device"})  # fmt: skip
    with TraceWriter(path, head) as writer:
        strings = database.strings(np.unique(made.name).tolist())
        names = _interned(writer, made.name, lambda number: calls.call_name(strings[number]))
        stack = stacks.stacks_of(made.chain, *stacks.write_stacks(writer, database, chains, made.chain))
        homeless = gpu_work.write_kernels(writer, database, kernels, gpu, made, stack, host)
        copy_bytes = gpu_work.write_copies(writer, copies, ends, copier, made, names, stack, host)
        lost = memory.write_memory(writer, events, owner, made, names, stack, host)
        calls.write_calls(writer, made, names, host)
        notices = [
            *_lacks(database, report, devices, bool((stack > 0).any())),
            *_oddities(wrong + homeless, lost, len(copies.table)),
        ]
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


def _interned(
    writer: TraceWriter, ids: Ints, text: Callable[[int], str]
) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """The strings of the trace for ids of the report."""
    distinct, places = np.unique(ids, return_inverse=True)
    return writer.intern_all(text(int(number)) for number in distinct)[places]


def _range(times: Sequence[Ints], host: Callable[[Ints], Ints]) -> tuple[int, int]:
    """The first and the last of all times, in host time."""
    known = [values for values in times if len(values)]
    edges = np.array([*(values.min() for values in known), *(values.max() for values in known)], np.int64)
    return (int(host(edges).min()), int(host(edges).max())) if len(edges) else (0, 0)


def _lacks(database: Database, report: Report, devices: Devices, stacks_known: bool) -> list[str]:
    """What nsys cannot record, what it was not told to record, and what its version does not say."""
    sentences = [
        "Nsight Systems does not record which memory kernels access: the traffic of their loads and stores is not in "
        "this trace."
    ]
    if not database.has(calls.TABLE):
        sentences.append(
            "The report has no CUDA calls, so nothing says who allocated, launched or copied: record it with nsys "
            "profile --trace=cuda."
        )
    elif not stacks_known:
        sentences.append(
            "The report has no call stacks: record it with nsys profile --cudabacktrace=all (it needs CPU sampling, "
            "--sample=process-tree)."
        )
    if not database.has(memory.TABLE):
        sentences.append(
            "The report has no allocations: record it with nsys profile --trace=cuda --cuda-memory-usage=true."
        )
    if database.has(gpu_work.GRAPHS):
        sentences.append(
            "The report has CUDA graphs only as a whole, not their kernels and copies: record it with nsys profile "
            "--cuda-graph-trace=node."
        )
    if not report.epoch:
        sentences.append(
            "The report does not say when it began (newer versions of nsys do): times count from the start of its "
            "session."
        )
    if devices.invented:
        sentences.append(
            "The report lacks the UUID of a GPU (newer versions of nsys record it): it is named by host and number, "
            "and is not recognised in other traces."
        )
    return sentences


def _oddities(wrong: int, lost: int, copies: int) -> list[str]:
    sentences = []
    if lost:
        what = "1 free is of an allocation" if lost == 1 else f"{lost} frees are of allocations"
        sentences.append(f"{what} made before the report began.")
    if wrong:
        what = "1 invalid row of the report was" if wrong == 1 else f"{wrong} invalid rows of the report were"
        sentences.append(f"{what} skipped.")
    if copies:
        sentences.append("Copies have their times on the GPU, as Nsight Systems measured them, not those of the calls.")
    return sentences
