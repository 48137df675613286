"""Files of rocmProfileData (.rpd): tables rocpd_api, rocpd_op and what joins them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from snoopie.importers import Progress
from snoopie.importers.activity.columns import AS_NAMED, NOT_KNOWN
from snoopie.importers.activity.values import shapes, whole
from snoopie.importers.rocpd.database import Database, Query
from snoopie.importers.rocpd.rows import add_calls, add_copies, add_kernels
from snoopie.importers.rocpd.session import Session

# A process that the file does not number.
_NOBODY = -1
_MARKERS = ("UserMarker", "roctxMark", "roctxRangePush")
_KERNEL = ("gridX", "gridY", "gridZ", "workgroupX", "workgroupY", "workgroupZ", "groupSegmentSize")
# Launches whose grid is told in threads; of others it is in blocks.
_IN_THREADS = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")


def sessions(database: Database, progress: Progress) -> Iterator[Session]:
    """What the file holds, one process after another."""
    found = database.all("SELECT DISTINCT pid FROM rocpd_api") if database.has("rocpd_api", "pid") else []
    pids = sorted({pid for (pid,) in found if isinstance(pid, int)}) or [_NOBODY]
    gpus = 0
    if database.has("rocpd_op", "gpuId"):
        gpus = len(database.all("SELECT DISTINCT gpuId FROM rocpd_op"))
    for place, pid in enumerate(pids):
        session = Session(pid if 0 <= pid < 1 << 31 else 0)
        _read_calls(database, session, pid, place == 0, progress)
        _read_ops(database, session, pid, place == 0, gpus, progress)
        yield session


def _whose(cell: str, first: bool) -> str:
    """A condition on the number of the process; rows of nobody are the first one's."""
    if cell == "NULL":
        return "" if first else "0"
    return f"{cell} = ?1" + (f" OR {cell} IS NULL" if first else "")


def _read_calls(database: Database, session: Session, pid: int, first: bool, progress: Progress) -> None:
    if not database.has("rocpd_api"):
        return
    query = Query(database, "rocpd_api")
    query.join("rocpd_string", "n", "id", query.cell("e", "apiName_id"))
    # Newer versions keep arguments apart.
    arguments = "rocpd_ustring" if database.has("rocpd_ustring", "string") else "rocpd_string"
    query.join(arguments, "g", "id", query.cell("e", "args_id"))
    cells = [query.cell("e", column) for column in ("id", "tid", "start", "end")]
    cells += [query.cell("n", "string"), query.cell("g", "string")]
    for rows in query.rows(cells, _whose(query.cell("e", "pid"), first), pid):
        number, thread, start, end, name, told = zip(*rows, strict=True)
        session.left_out["marks"] += sum(one in _MARKERS for one in name)
        spelled = [
            f"roctx: {words}" if one in _MARKERS and words else one for one, words in zip(name, told, strict=True)
        ]
        add_calls(session.activity, start=start, end=end, name=spelled, thread=thread, correlation=number)
        progress("rocpd_api", session.activity.calls.rows)


def _read_ops(database: Database, session: Session, pid: int, first: bool, gpus: int, progress: Progress) -> None:
    if not database.has("rocpd_op"):
        return

    query = Query(database, "rocpd_op")
    query.join("rocpd_string", "d", "id", query.cell("e", "description_id"))
    query.join("rocpd_string", "t", "id", query.cell("e", "opType_id"))
    query.join("rocpd_api_ops", "j", "op_id", query.cell("e", "id"))
    api = query.cell("j", "api_id")
    query.join("rocpd_api", "a", "id", api)
    query.join("rocpd_string", "n", "id", query.cell("a", "apiName_id"))
    query.join("rocpd_kernelapi", "k", "api_ptr_id", api)
    query.join("rocpd_copyapi", "p", "api_ptr_id", api)
    cells = [query.cell("e", column) for column in ("start", "end", "gpuId", "queueId")]
    cells += [query.cell("d", "string"), query.cell("t", "string"), api, query.cell("n", "string")]
    cells += [query.cell("k", column) for column in _KERNEL]
    cells += [query.cell("p", column) for column in ("size", "srcDevice", "dstDevice")]
    for rows in query.rows(cells, _whose(query.cell("a", "pid"), first), pid):
        by_kind: dict[str, list[tuple[Any, ...]]] = {"kernel": [], "copy": []}
        for row in rows:
            kind = _kind(row[5])
            if kind in by_kind:
                by_kind[kind].append(row)
            else:
                session.left_out[kind] += 1
        if by_kind["kernel"]:
            _add_kernels(session, by_kind["kernel"])
        if by_kind["copy"]:
            _add_copies(session, by_kind["copy"], gpus)
        progress("rocpd_op", session.activity.kernels.rows + session.activity.copies.rows)


def _kind(name: Any) -> str:
    text = name.lower() if isinstance(name, str) else ""
    if "copy" in text or "memcpy" in text:
        return "copy"
    if "fill" in text or "memset" in text:
        return "fills"
    return "barriers" if "barrier" in text else "kernel"


def _add_kernels(session: Session, rows: list[tuple[Any, ...]]) -> None:
    start, end, device, queue, what, kind, api, call, *more = zip(*rows, strict=True)
    grid = shapes([list(extents) for extents in zip(*more[0:3], strict=True)])
    block = shapes([list(extents) for extents in zip(*more[3:6], strict=True)])
    threads = np.array([name in _IN_THREADS for name in call], np.bool_)[:, None] & (block > 0)
    grid = np.where(threads, -(-grid.astype(np.int64) // np.maximum(block, 1)), grid).astype(np.uint32)
    add_kernels(
        session.activity, start=start, end=end, name=[own or other for own, other in zip(what, kind, strict=True)],
        device=device, stream=queue, correlation=api, grid=grid, block=block, shared_memory=more[6],
    )  # fmt: skip


def _add_copies(session: Session, rows: list[tuple[Any, ...]], gpus: int) -> None:
    start, end, device, queue, what, kind, api, call, *more = zip(*rows, strict=True)
    ends: tuple[list[int], list[int]] = ([], [])
    for name, told, from_, to in zip(kind, call, more[8], more[9], strict=True):
        peer = isinstance(told, str) and "Peer" in told
        for known, end_ in zip((whole(from_), whole(to)), ends, strict=True):
            if peer:
                end_.append(known if known is not None and 0 <= known < 1 << 31 else NOT_KNOWN)
            else:
                # Of a copy between GPUs the file names one: it is within that where there is no other.
                end_.append(NOT_KNOWN if gpus > 1 and "DeviceToDevice" in str(name) else AS_NAMED)
    add_copies(
        session.activity, start=start, end=end, name=[own or other for own, other in zip(what, kind, strict=True)],
        device=device, stream=queue, correlation=api, size=more[7], source=ends[0], destination=ends[1],
    )  # fmt: skip
