"""What is exported: every table of a trace, and its traffic by every key. All kinds of files take them from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pandas as pd

from snoopie.api.trace import Trace
from snoopie.errors import UsageError

# A table in pieces, of which there is at least one: records can be more than fit in memory.
Pieces = Iterable[pd.DataFrame]
Maker = Callable[[Trace], Pieces]

TABLES: dict[str, Maker] = {
    "runs": lambda trace: [trace.runs],
    "processes": lambda trace: [trace.processes],
    "gpus": lambda trace: [trace.gpus],
    "sets": lambda trace: [trace.sets],
    "links": lambda trace: [trace.links],
    "functions": lambda trace: [trace.functions],
    "lines": lambda trace: [trace.lines],
    "sites": lambda trace: [trace.sites],
    "source_files": lambda trace: [trace.source_files],
    "modules": lambda trace: [trace.modules],
    "frames": lambda trace: [trace.frames],
    "symbols": lambda trace: [trace.symbols],
    "stacks": lambda trace: [trace.stacks],
    "launches": lambda trace: [trace.launches],
    "sampling": lambda trace: [trace.sampling],
    "counts": lambda trace: [trace.counts],
    "spans": lambda trace: [trace.spans],
    "unmeasured_launches": lambda trace: [trace.unmeasured_launches],
    "barriers": lambda trace: [trace.barriers],
    "marks": lambda trace: [trace.marks],
    "ranges": lambda trace: [trace.ranges],
    "waits": lambda trace: [trace.waits],
    "moves": lambda trace: [trace.moves],
    "records": lambda trace: _pieces(trace.select(launches=[]).records, trace.record_blocks()),
    "copies": lambda trace: [trace.copies],
    "collectives": lambda trace: [trace.collectives],
    "call_totals": lambda trace: [trace.call_totals],
    "call_times": lambda trace: [trace.call_times],
    "call_errors": lambda trace: [trace.call_errors],
    "calls": lambda trace: [trace.calls],
    "objects": lambda trace: [trace.objects],
    "memory_use": lambda trace: [trace.memory_use],
    "notices": lambda trace: [trace.notices],
    "not_measured": lambda trace: [trace.not_measured()],
    "traffic_by_pair": lambda trace: [trace.by_pair()],
    "flow_by_pair": lambda trace: [trace.by_pair(reading="flow")],
    "traffic_by_kernel": lambda trace: [trace.by_kernel()],
    "traffic_by_line": lambda trace: [trace.by_line()],
    "traffic_by_site": lambda trace: [trace.by_site()],
    "traffic_by_operation": lambda trace: [trace.by_operation()],
    "traffic_by_launch": lambda trace: [trace.by_launch()],
    "traffic_by_collective": lambda trace: [trace.by_collective()],
    "traffic_by_range": lambda trace: [trace.by_range()],
    "traffic_by_object": lambda trace: [trace.by_object()],
    "waits_by_site": lambda trace: [trace.by_wait("site")],
    "awaited_stores": lambda trace: [trace.awaited_stores()],
    "copies_by_call": lambda trace: [trace.by_copy()],
    "calls_by_call": lambda trace: [trace.by_call()],
    "calls_by_thread": lambda trace: [trace.by_thread()],
    "launches_by_kernel": lambda trace: [trace.by_launched_kernel()],
    "copies_by_direction": lambda trace: [trace.by_direction()],
    "calls_by_error": lambda trace: [trace.by_error()],
}
# The only table with the addresses of scattered accesses; up to 32 rows a record, so on request.
LANES: dict[str, Maker] = {
    "lane_accesses": lambda trace: _pieces(trace.lane_accesses(limit=0), trace.lane_access_blocks())
}


def chosen(table: str | None = None, *, lanes: bool = False) -> dict[str, Maker]:
    """The tables to export: one by its name, or all, with ``lanes`` those of `LANES` too. UsageError for no name."""
    if table is None:
        return TABLES | LANES if lanes else TABLES
    every = TABLES | LANES
    if table not in every:
        raise UsageError(f"there is no table {table}", f"choose one of {', '.join(every)}")
    return {table: every[table]}


def frames(trace: Trace, table: str | None = None, *, lanes: bool = False) -> dict[str, pd.DataFrame]:
    """The same tables for pandas: name → table, with the columns that the files have."""
    return {
        name: pd.concat([flat(piece) for piece in pieces(trace)], ignore_index=True)
        for name, pieces in chosen(table, lanes=lanes).items()
    }


def flat(table: pd.DataFrame) -> pd.DataFrame:
    """An index with a name is an id, and becomes the first column."""
    return table.reset_index() if table.index.name is not None else table


def _pieces(empty: pd.DataFrame, blocks: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    yield empty
    yield from blocks
