"""Databases of rocprofv3 (rocprofiler-sdk): tables with the id of their process behind their names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from snoopie.importers import Progress
from snoopie.importers.activity.columns import NOT_KNOWN, ON_HOST
from snoopie.importers.activity.values import shapes, whole
from snoopie.importers.amounts import LIMIT
from snoopie.importers.rocpd.database import Database, Query, quoted
from snoopie.importers.rocpd.rows import add_calls, add_copies, add_kernels
from snoopie.importers.rocpd.session import Allocation, Session

_PROCESSES = re.compile(r"rocpd_info_process(|_[0-9a-fA-F_]+)")


def suffixes(database: Database) -> list[str]:
    """What stands behind the names of tables: a file can have those of several processes."""
    return sorted(match[1] for name in database.tables if (match := _PROCESSES.fullmatch(name)))


def sessions(database: Database, progress: Progress) -> Iterator[Session]:
    """What the file holds, one process after another."""
    for suffix in suffixes(database):
        tables = _Tables(database, suffix)
        hosts = dict(tables.small("info_node", "id", "hostname"))
        agents = tables.small("info_agent", "id", "type", "product_name", "name")
        gpus = {
            number: next((text for text in (product, name) if isinstance(text, str) and text), "")
            for number, kind, product, name in agents
            if kind == "GPU" and isinstance(number, int)
        }
        cpus = {number for number, kind, *_ in agents if kind == "CPU"}
        processes = [
            row for row in tables.small("info_process", "id", "pid", "nid", "command") if isinstance(row[0], int)
        ]
        for place, (key, pid, node, command) in enumerate(processes):
            # Rows of nobody are the first one's.
            tables.others = [other for other, *_ in processes[1:]] if place == 0 else None
            host = hosts.get(node)
            session = Session(
                pid if isinstance(pid, int) and 0 <= pid < 1 << 31 else 0,
                host if isinstance(host, str) else "",
                command if isinstance(command, str) else "",
                gpus,
                sizes_known=True,
            )
            _read_calls(tables, session, key, progress)
            _read_kernels(tables, session, key, progress)
            _read_copies(tables, session, key, cpus)
            _read_allocations(tables, session, key, cpus)
            yield session


class _Tables:
    """The tables of one suffix."""

    def __init__(self, database: Database, suffix: str) -> None:
        self.database, self._suffix = database, suffix
        self.others: list[int] | None = None

    def named(self, name: str) -> str:
        return f"rocpd_{name}{self._suffix}"

    def small(self, name: str, *columns: str) -> list[tuple[Any, ...]]:
        if not self.database.has(self.named(name)):
            return []
        query = Query(self.database, self.named(name))
        cells = ", ".join(query.cell("e", column) for column in columns)
        return self.database.all(f"SELECT {cells} FROM {quoted(self.named(name))} e")

    def events(self, name: str, columns: tuple[str, ...], joined: tuple[tuple[str, str, str, str], ...], process: int
               ) -> Iterator[list[tuple[Any, ...]]]:  # fmt: skip
        """start, end, thread, stack_id and other columns of the events of a process.

        ``joined`` are (table, its column, the event's column that has its id, alias). Versions differ in where times,
        threads and GPUs stand: with the event, or in tables of tracks and timestamps.
        """
        table = self.named(name)
        if not self.database.has(table):
            return
        query = Query(self.database, table)
        query.join(self.named("track"), "t", "id", query.cell("e", "track_id"))
        query.join(self.named("event"), "v", "id", query.cell("e", "event_id"))
        query.join(self.named("timestamp"), "b", "id", query.cell("e", "start_id"))
        query.join(self.named("timestamp"), "f", "id", query.cell("e", "end_id"))

        def cell(column: str) -> str:
            return next((own for alias in "etv" if (own := query.cell(alias, column)) != "NULL"), "NULL")

        query.join(self.named("info_thread"), "h", "id", cell("tid"))
        for other, _, column, alias in joined:
            query.join(self.named(other), alias, "id", cell(column))
        begin, end = (
            own if (own := query.cell("e", column)) != "NULL" else query.cell(alias, "value")
            for column, alias in (("start", "b"), ("end", "f"))
        )
        cells = [begin, end, query.cell("h", "tid"), query.cell("v", "stack_id")]
        cells += [cell(column) for column in columns]
        cells += [query.cell(alias, column) for _, column, _, alias in joined]
        whose = cell("pid")
        if self.others is None:
            condition = f"{whose} = ?1"
        else:
            condition = f"IFNULL({whose} NOT IN ({', '.join(map(str, self.others))}), 1)"
        yield from query.rows(cells, condition, process)


def _read_calls(tables: _Tables, session: Session, process: int, progress: Progress) -> None:
    joined = (("string", "string", "name_id", "n"), ("string", "string", "category_id", "c"))
    for rows in tables.events("region", (), joined, process):
        start, end, thread, number, name, category = zip(*rows, strict=True)
        marks = [isinstance(kind, str) and "MARKER" in kind for kind in category]
        session.left_out["marks"] += sum(marks)
        spelled = [f"roctx: {one}" if mark else one for one, mark in zip(name, marks, strict=True)]
        add_calls(session.activity, start=start, end=end, name=spelled, thread=thread, correlation=number)
        progress("rocpd_region", session.activity.calls.rows)


def _read_kernels(tables: _Tables, session: Session, process: int, progress: Progress) -> None:
    columns = (
        "agent_id", "stream_id", "group_segment_size", "grid_size_x", "grid_size_y", "grid_size_z", "workgroup_size_x",
        "workgroup_size_y", "workgroup_size_z",
    )  # fmt: skip
    symbol = "info_kernel_symbol"
    joined = ((symbol, "display_name", "kernel_id", "s"), (symbol, "kernel_name", "kernel_id", "m"))
    for rows in tables.events("kernel_dispatch", columns, joined, process):
        start, end, _, number, device, stream, shared, *more = zip(*rows, strict=True)
        block = shapes([list(extents) for extents in zip(*more[3:6], strict=True)])
        # The grid is told in threads.
        threads = shapes([list(extents) for extents in zip(*more[0:3], strict=True)]).astype(np.int64)
        grid = np.where(block > 0, -(-threads // np.maximum(block, 1)), 0).astype(np.uint32)
        add_kernels(
            session.activity, start=start, end=end,
            name=[shown or mangled for shown, mangled in zip(more[6], more[7], strict=True)], device=device,
            stream=stream, correlation=number, grid=grid, block=block, shared_memory=shared,
        )  # fmt: skip
        progress("rocpd_kernel_dispatch", session.activity.kernels.rows)


def _read_copies(tables: _Tables, session: Session, process: int, cpus: set[Any]) -> None:
    columns = ("src_agent_id", "dst_agent_id", "size", "stream_id")
    for rows in tables.events("memory_copy", columns, (("string", "string", "name_id", "n"),), process):
        start, end, _, number, source, destination, size, stream, name = zip(*rows, strict=True)
        ends = [[_owner(agent, session, cpus) for agent in agents] for agents in (source, destination)]
        add_copies(
            session.activity, start=start, end=end, name=name,
            device=[into if into >= 0 else from_ for from_, into in zip(*ends, strict=True)], stream=stream,
            correlation=number, size=size, source=ends[0], destination=ends[1],
        )  # fmt: skip


def _read_allocations(tables: _Tables, session: Session, process: int, cpus: set[Any]) -> None:
    for rows in tables.events("memory_allocate", ("agent_id", "type", "level", "address", "size"), (), process):
        for _, end, thread, _, agent, kind, level, address, size in rows:
            time, place, amount = whole(end), whole(address), whole(size)
            frees = kind == "FREE"
            if level != "REAL" or kind not in ("ALLOC", "FREE"):
                session.left_out["other allocations"] += 1
            elif time is None or not 0 <= time < LIMIT or not place or not 0 < place < 1 << 63 or (
                not frees and (amount is None or not 0 <= amount < LIMIT)
            ):  # fmt: skip
                session.activity.wrong += 1
            else:
                by = thread if isinstance(thread, int) and 0 <= thread < 1 << 32 else 0
                owner = _owner(agent, session, cpus)
                session.allocations.append(Allocation(time, by, place, amount or 0, owner, "", frees))


def _owner(agent: Any, session: Session, cpus: set[Any]) -> int:
    if isinstance(agent, int) and agent in session.names and 0 <= agent < 1 << 31:
        return agent
    return ON_HOST if agent in cpus else NOT_KNOWN
