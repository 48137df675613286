"""Databases of ROCm's profilers, rocmProfileData's .rpd and rocprofv3's rocpd → one trace a process."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from snoopie.errors import NotATraceError, SnoopieError
from snoopie.importers import Imported, Progress
from snoopie.importers.activity.columns import ON_HOST
from snoopie.importers.activity.devices import Devices, numbers
from snoopie.importers.activity.tables import Written, write_activity
from snoopie.importers.amounts import check_sums
from snoopie.importers.output import run_of, trace_paths, write_all
from snoopie.importers.rocpd import rpd, sdk
from snoopie.importers.rocpd.database import Database
from snoopie.importers.rocpd.session import Session
from snoopie.importers.tool import imported_from, undated
from snoopie.importers.words import counted, timed_on_gpus, without_accesses
from snoopie.trace.lacks import Lack
from snoopie.trace.writer import HOST, OBJECT_KINDS, UNKNOWN, Body, TableWriter, TraceWriter, header

__all__ = ["import_rocpd"]

_MOST_PROCESSES = 4096


def import_rocpd(source: Path, output: Path, *, force: bool = False, progress: Progress = lambda *_: None) -> Imported:
    """Writes the trace of each process in a database, plain or compressed with gzip.

    ``output`` is the name of the trace, or, with several processes, of output.PID.zst. Nothing takes its name before
    all are complete. Raises SnoopieError if one exists (unless ``force``) or cannot be written, and where the database
    cannot be read.
    """
    database = Database(source)
    try:
        if sdk.suffixes(database):
            tool, found = "rocprofv3", sdk.sessions(database, progress)
        elif database.has("rocpd_op") or database.has("rocpd_api"):
            tool, found = "rocmProfileData", rpd.sessions(database, progress)
        else:
            raise NotATraceError(
                f"{source} is a database, but not of rocpd", "give a .rpd of rocmProfileData or a .db of rocprofv3"
            )
        sessions = []
        for session in found:
            sessions.append(session)
            if len(sessions) > _MOST_PROCESSES:
                raise SnoopieError(f"{source} claims to have more than {_MOST_PROCESSES} processes", "record it again")
    finally:
        database.close()
    if not any(
        each.activity.calls.rows or each.activity.kernels.rows or each.activity.copies.rows for each in sessions
    ):
        raise SnoopieError(
            f"{source} has no call, kernel or copy", "record it with runTracer.sh or rocprofv3 --sys-trace"
        )
    paths = trace_paths(source, output, [str(session.pid) for session in sessions])
    notices: list[str] = []

    def write(number: int, path: Path) -> None:
        own = _write(path, source, tool, sessions[number])
        notices.extend(sentence for sentence in own if sentence not in notices)

    write_all(paths, write, force=force, sources=[source])
    return Imported(paths, notices)


def _write(path: Path, source: Path, tool: str, session: Session) -> list[str]:
    check_sums(source, [[one.bytes for one in session.allocations]])
    owners = np.array([one.device for one in session.allocations], np.int64)
    ids = numbers(source.name, [session.activity.used(), owners])
    run = run_of(source)
    named = f"rocpd-{session.host or run['id']}"
    gpus = Devices(
        [
            {"uuid": f"{named}-{device}", "name": session.names.get(device, ""), "nvlinks": -1}
            for device in ids.tolist()
        ],
        ids,
    )
    body = Body()
    written = write_activity(body, session.activity, gpus, source)
    session.activity.close()
    start = written.start
    end = max([written.end, *(one.time for one in session.allocations)])
    program = session.command.split(" ")[0]
    unknown_date = undated(start)
    lacks = [Lack.ERRORS, Lack.ACCESSES, *unknown_date]
    if not session.sizes_known:
        lacks += [Lack.ALLOCATIONS, Lack.FREES]
    head = header(
        tool=imported_from(tool, lacks),
        process={
            "host": session.host,
            "pid": session.pid,
            "program": program,
            "command": [session.command] if session.command else [],
            "start_ns": 0 if unknown_date else start,
            "run": run,
        },
        gpus=gpus.gpus,
        object_kinds=(*OBJECT_KINDS, "unknown"),
        settings={"imported from": source.name, "copy_times": "device"},
    )  # fmt: skip
    with TraceWriter(path, head) as writer:
        lost = _write_allocations(body, session, gpus)
        notices = _notices(tool, session, written, lost, dated=not unknown_date)
        body.write("notices", time=start, text=np.array(notices, object))
        writer.append(body)
        writer.finish(end, written.totals())
    return notices


def _write_allocations(writer: TableWriter, session: Session, gpus: Devices) -> int:
    """Writes objects and frees; returns the number of frees whose allocation the file does not have."""
    events = sorted(session.allocations, key=lambda one: one.time)
    made = [one for one in events if not one.frees]
    devices = np.array([one.device for one in made], np.int64)
    owner = np.where(devices == ON_HOST, HOST, np.where(devices >= 0, gpus.places(devices), UNKNOWN))
    writer.write(
        "objects", id=np.arange(1, len(made) + 1), address=np.array([one.address for one in made], np.uint64),
        bytes=np.array([one.bytes for one in made], np.int64), owner=owner, kind=len(OBJECT_KINDS),
        time=np.array([one.time for one in made], np.int64), thread=np.array([one.thread for one in made], np.int64),
    )  # fmt: skip
    live: dict[int, int] = {}
    frees: list[tuple[int, int, int]] = []
    number = lost = 0
    for one in events:
        if not one.frees:
            number += 1
            live[one.address] = number
        elif (freed := live.pop(one.address, 0)) > 0:
            frees.append((freed, one.time, one.thread))
        else:
            lost += 1
    columns = np.array(frees, np.int64).reshape(-1, 3)
    writer.write("frees", object=columns[:, 0], time=columns[:, 1], thread=columns[:, 2])
    return lost


def _notices(tool: str, session: Session, written: Written, lost: int, *, dated: bool) -> list[str]:
    sentences = [
        without_accesses(tool),
        f"{tool} does not record what calls returned.",
        f"{tool} identifies GPUs only by number: they are not recognised in traces of other files.",
    ]
    if not session.sizes_known:
        sentences.append(
            f"{tool} writes the sizes of allocations cut to 32 bits, and not on which GPU: they are left out."
        )
    if not dated:
        sentences.append(f"{tool} does not record the date: times count from an arbitrary moment.")
    if written.copies:
        sentences.append(timed_on_gpus(tool))
    out = session.left_out
    sentences += counted(
        (
            ("Copies within the memory of one GPU", written.within),
            ("Copies without a size, left out", written.unsized),
            ("Copies whose call is not in the file", written.homeless),
            ("Fills of memory by the GPU, of unknown size, left out", out["fills"]),
            ("Barriers on GPUs, skipped because they move nothing", out["barriers"]),
            ("Allocations of address space and scratch memory, left out", out["other allocations"]),
            ("Frees of allocations that the file does not have", lost),
            ("Marks and ranges of roctx, listed among the calls as roctx", out["marks"]),
            ("Rows that make no sense, skipped", written.wrong),
        )
    )
    return sentences
