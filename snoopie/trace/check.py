"""All that can be checked of one trace file: every block, the sums of its footer, the order of its times.

The reader checks frames, checksums, ids, references and limits of what it decodes; here everything is decoded, and what
parts of a trace say of one another is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from snoopie.errors import SnoopieError, TruncatedError
from snoopie.trace.container import Container
from snoopie.trace.limits import Limits
from snoopie.trace.tables import Ints, Process

# Two columns of a table of which the first is not after the second.
_ORDERED = (
    ("spans", "start", "end"),
    ("copies", "start", "end"),
    ("collectives", "start", "end"),
    ("calls", "start", "end"),
    ("waits", "first", "last"),
    ("moves", "first", "last"),
)
# Host times that a process can only have while it runs.
_TIMES = (("launches", "time"), ("copies", "start"), ("calls", "start"), ("objects", "time"), ("frees", "time"))
# Clocks of hosts are set while programs run; no more than this is their doing.
_SLACK = 10**9


@dataclass
class Checked:
    """What was found in a file, as sentences. ``process`` is None where nothing could be read."""

    path: Path
    process: Process | None = None
    right: list[str] = field(default_factory=list)
    suspicious: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    truncated: bool = False


def check(path: Path, limits: Limits) -> Checked:
    """Reads all of a file. Raises nothing for what is wrong with it."""
    checked = Checked(path)
    try:
        # With what is whole of a damaged file, records are decoded too.
        process = Process(Container.open(path), allow_truncated=True, limits=limits)
        checked.process = process
        for block in process.record_blocks():
            process.record_block(block)
    except SnoopieError as error:
        checked.wrong.append(error.problem)
        return checked
    blocks, whole = len(process.container.blocks), len(process.blocks) + 1
    checked.right.append(f"{whole:,} of {blocks:,} blocks are whole: checksums, ids, references, values, limits")
    if process.problem is not None:
        checked.truncated = isinstance(process.problem, TruncatedError)
        if not checked.truncated:
            checked.wrong.append(process.problem.problem)
    sums = list(_sums(process))
    differing = [
        f"the footer says {said:,} {what}, and the tables hold {held:,}" for what, said, held in sums if said != held
    ]
    checked.wrong += differing
    if sums and not differing:
        checked.right.append(f"the footer's {', '.join(what for what, _, _ in sums)} are those of the tables")
    late = list(_out_of_order(process))
    checked.suspicious += late
    if not late:
        checked.right.append("all times are in order, and within the run")
    return checked


def _sums(process: Process) -> Iterator[tuple[str, int, int]]:
    """What the footer says of the tables, as far as it does: what, the footer's number, and the tables'."""
    if process.footer is None:
        return
    held = {
        "accesses": process.count_accesses,
        "copies": len(process.column("copies", "id")),
        "copy_bytes": int(process.column("copies", "bytes").sum()),
        "records_written": process.record_rows,
        "records_dropped": process.dropped,
        "unmeasured_sites": int((process.column("sites", "measured") == 0).sum()),
    }
    for name, number in held.items():
        if name in process.footer.totals:
            yield name.replace("_", " "), process.footer.totals[name], number


def _out_of_order(process: Process) -> Iterator[str]:
    """What cannot have happened at the time that it says. A time of 0 is not known."""
    for table, first, second in _ORDERED:
        starts, ends = process.column(table, first), process.column(table, second)
        if wrong := int(((starts > ends) & (ends > 0)).sum()):
            yield f"{wrong:,} of {len(starts):,} rows of {table} end before they begin"
    freed, objects = process.column("frees", "object"), process.column("objects", "id")
    if len(freed):
        order = np.argsort(objects, kind="stable")
        made: Ints = process.column("objects", "time")[order[np.searchsorted(objects[order], freed)]]
        if wrong := int((process.column("frees", "time") < made).sum()):
            yield f"{wrong:,} of {len(freed):,} objects are freed before they are allocated"
        if wrong := len(freed) - len(np.unique(freed)):
            yield f"{wrong:,} objects are freed twice"
    dropped = [block.dropped for block in process.container.blocks]
    if any(later < earlier for earlier, later in pairwise(dropped)):
        yield "the number of dropped records falls from one block to the next"
    begin, end = process.header.start_ns, process.footer.end_ns if process.footer is not None else 0
    if begin <= 0:
        return
    for table, column in _TIMES:
        times = process.column(table, column)
        known = times[times > 0]
        outside = (known < begin - _SLACK) | ((known > end + _SLACK) if end else False)
        if wrong := int(np.count_nonzero(outside)):
            yield f"{wrong:,} of {len(times):,} rows of {table} are from before the process or after its end"
