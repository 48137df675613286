"""Traffic by arithmetic, and the same as a trace tells it.

The tables at the tops of programs say how many sectors of 32 bytes an access touches. What is compared are wire units:
sectors of what is read, and of what is written the halves of sectors that are touched.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

    from snoopie import Trace

APPS = Path(__file__).resolve().parent / "apps"

HOST = -1
WARP = 32


class Far(NamedTuple):
    """UUIDs of the GPUs that a program sees, and the owner of what it then takes for far_place of common.cuh."""

    visible: tuple[str, ...]
    owner: int


class Where(NamedTuple):
    """Whose traffic: issuer and owner are GPU numbers, the kernel has no argument list, the line is a marker's text."""

    issuer: int
    owner: int
    kernel: str
    line: str


class Traffic(NamedTuple):
    """What is compared; the width is bytes a lane."""

    operation: str
    width: int
    accesses: int
    lanes: int
    units: int

    def times(self, factor: int) -> Traffic:
        """The traffic of so many equal launches."""
        return self._replace(accesses=self.accesses * factor, lanes=self.lanes * factor, units=self.units * factor)


Table = Mapping[Where, Traffic]


def divide_up(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def unit_of(operation: str, width: int) -> int:
    """The bytes of a wire unit: 32 of what is read, 16 of what is written, but no less than a lane accesses."""
    return 32 if operation == "load" else max(16, width)


def dense(operation: str, width: int, n: int) -> Traffic:
    """Threads 0 … n − 1 each access the element of their number, in an array that starts at a sector."""
    return Traffic(operation, width, divide_up(n, WARP), n, divide_up(n * width, unit_of(operation, width)))


def of_threads(operation: str, width: int, offsets: Iterable[tuple[int, int]]) -> Traffic:
    """(thread, byte offset) of lanes that their warp executes together, once: counted warp by warp."""
    unit = unit_of(operation, width)
    warps: dict[int, list[int]] = {}
    for thread, offset in offsets:
        warps.setdefault(thread // WARP, []).append(offset)
    return Traffic(
        operation,
        width,
        len(warps),
        sum(len(lanes) for lanes in warps.values()),
        sum(len({offset // unit for offset in lanes}) for lanes in warps.values()),
    )


def stretch(operation: str, width: int, offset: int, size: int) -> Traffic:
    """One thread moves `size` bytes from an offset on, in units of the width."""
    assert size % width == 0
    unit = unit_of(operation, width)
    units = (offset + size - 1) // unit - offset // unit + 1
    return Traffic(operation, width, 1, size // width, units)


def add(parts: Iterable[Traffic]) -> Traffic:
    """The sum of traffic of one operation and width."""
    parts = list(parts)
    (kind,) = {(part.operation, part.width) for part in parts}
    return Traffic(*kind, *(sum(column) for column in zip(*(part[2:] for part in parts), strict=True)))


@functools.cache
def markers(program: str) -> dict[int, str]:
    """Line number → text of its "// remote: text" comment, of a program's source."""
    lines = (APPS / f"{program}.cu").read_text().splitlines()
    found = {number: re.search(r"// remote: (\w+)$", line) for number, line in enumerate(lines, 1)}
    return {number: match[1] for number, match in found.items() if match}


def kernel_name(demangled: str) -> str:
    """ "void copy<int>(int*, int const*)" → "copy<int>"."""
    return re.sub(r"\(.*", "", demangled, flags=re.DOTALL).removeprefix("void ")


def site_lines(trace: Trace, program: str) -> dict[int, str]:
    """Site → the marker of its line or of the nearest line it was inlined at; else "file:line", or "" for no line."""
    known = markers(program)
    found: dict[int, str] = {}
    for site, line_id in trace.sites["line_id"].items():
        chain = [] if line_id == 0 else [(Path(file).name, line) for file, line, _ in trace.line_chain(line_id)]
        names = [known[line] for file, line in chain if file == f"{program}.cu" and line in known]
        names += [f"{file}:{line}" for file, line in chain]
        found[site] = (names or [""])[0]
    return found


def by_launch(trace: Trace, program: str) -> dict[int, Table]:
    """The counts of every launch that has some. Where a line has several operations, its text is "line operation"."""
    lines = site_lines(trace, program)
    operations, widths = trace.sites.operation.to_dict(), trace.sites.width.to_dict()
    kernels, issuers = trace.launches.kernel.map(kernel_name).to_dict(), trace.launches.gpu.to_dict()
    launches: dict[int, dict[Where, list[Traffic]]] = {}
    for row in trace.counts.itertuples():
        width = int(widths[row.site])
        assert row.bytes == row.lanes * width
        assert row.wire_bytes == row.wire_units * unit_of(operations[row.site], width)
        assert row.issuer == issuers[row.launch]
        where = Where(int(row.issuer), int(row.owner), kernels[row.launch], lines[row.site])
        traffic = Traffic(operations[row.site], width, int(row.accesses), int(row.lanes), int(row.wire_units))
        launches.setdefault(int(row.launch), {}).setdefault(where, []).append(traffic)
    return {launch: _by_operation(table) for launch, table in sorted(launches.items())}


def _by_operation(table: Mapping[Where, list[Traffic]]) -> Table:
    result: dict[Where, Traffic] = {}
    for where, parts in table.items():
        operations = {part.operation for part in parts}
        for operation in operations:
            name = where if len(operations) == 1 else where._replace(line=f"{where.line} {operation}")
            result[name] = add(part for part in parts if part.operation == operation)
    return result


def total(tables: Iterable[Table]) -> dict[Where, Traffic]:
    """The sum of the tables of several launches."""
    parts: dict[Where, list[Traffic]] = {}
    for table in tables:
        for where, traffic in table.items():
            parts.setdefault(where, []).append(traffic)
    return {where: add(traffic) for where, traffic in parts.items()}


def between_gpus(trace: Trace) -> pd.DataFrame:
    """The counts between two GPUs of the sites that are measured, with each site's operation and width.

    Fails where an address was nobody's. What libraries keep in the host's memory is left out.
    """
    counts = trace.counts[trace.counts.site.map(trace.sites.measured).astype(bool)]
    assert (counts.owner >= HOST).all(), "memory of nobody"
    counts = counts[counts.owner > HOST]
    assert (counts.issuer != counts.owner).all()
    return _with_instructions(trace, counts)


def across(trace: Trace, owner: int) -> pd.DataFrame:
    """The same of what reached this owner's memory, a GPU's or the host's; other GPUs' must not have been reached."""
    if owner != HOST:
        return between_gpus(trace)
    assert between_gpus(trace).empty
    return _with_instructions(trace, trace.counts[trace.counts.owner == HOST])


def _with_instructions(trace: Trace, counts: pd.DataFrame) -> pd.DataFrame:
    sites = trace.sites
    return counts.assign(operation=counts.site.map(sites.operation), width=counts.site.map(sites.width))


def nothing_lost(trace: Trace) -> None:
    """Fails where the trace says that something is missing from it."""
    nothing_dropped(trace)
    assert (losses := trace.losses()) == [], losses
    assert trace.totals["unmeasured_sites"] == 0


def nothing_dropped(trace: Trace) -> None:
    """Fails where something is missing that was to be measured. Libraries' kernels have sites that cannot be, too."""
    assert trace.complete
    for name in ("launches_lost", "records_dropped", "errors"):
        assert trace.totals[name] == 0, (name, trace.totals[name], trace.notices["text"].tolist())


class Lane(NamedTuple):
    """One recorded lane: the thread that accessed, and where in the owner's allocation."""

    owner: int
    line: str
    thread: int
    offset: int


Launch = tuple[dict[Where, Traffic], list[Lane]]


def launch(
    kernel: str,
    *parts: tuple[str, str, int, Iterable[int], Callable[[int], int]],
    issuer: int = 0,
    owner: int = 1,
) -> Launch:
    """A launch whose threads access one element each: (line, operation, bytes a lane, threads, their offsets)."""
    table: dict[Where, Traffic] = {}
    lanes: list[Lane] = []
    for line, operation, width, threads, offset in parts:
        pairs = [(i, offset(i)) for i in threads]
        table[Where(issuer, owner, kernel, line)] = of_threads(operation, width, pairs)
        lanes += [Lane(owner, line, i, at) for i, at in pairs]
    return table, sorted(lanes)


def every(width: int) -> Callable[[int], int]:
    """The offsets of elements of that width that lie side by side."""
    return lambda i: width * i


def with_objects(trace: Trace) -> pd.DataFrame:
    """The recorded lanes, with `object`: the one that held the address when the kernel was launched."""
    rows = trace.lane_accesses().sort_values("launch", kind="stable")
    # Of two that a graph has at one address, the later.
    objects = trace.objects.sort_values(["address", "allocated"])
    holders: list[int] = []
    for number, part in rows.groupby("launch"):
        launched = trace.launches.loc[number]
        alive = objects[
            (objects.process == launched.process)
            & (objects.allocated <= launched.time)
            & ((objects.freed == 0) | (objects.freed >= launched.time))
        ]
        addresses = part.address.to_numpy("int64")
        place = alive.address.to_numpy("int64").searchsorted(addresses, side="right") - 1
        assert (place >= 0).all(), "an address below all allocations"
        holder = alive.iloc[place]
        ends = holder.address.to_numpy("int64") + holder.bytes.to_numpy("int64")
        assert (addresses + part.width.to_numpy("int64") <= ends).all(), "an address outside all allocations"
        # Managed memory moves.
        same = holder.owner.to_numpy() == part.owner.to_numpy()
        assert (same | (holder.kind.to_numpy() == "managed")).all(), "an address in another GPU's allocation"
        holders += holder.index.tolist()
    return rows.assign(object=holders)


def recorded_lanes(trace: Trace, program: str, threads_a_block: Callable[[str], int]) -> dict[int, list[Lane]]:
    """The recorded lanes of every launch, sorted. Offsets are in the object that holds the address."""
    lines = site_lines(trace, program)
    blocks = trace.launches.kernel.map(kernel_name).map(threads_a_block).to_dict()
    starts = trace.objects.address.to_dict()
    launches: dict[int, list[Lane]] = {}
    for row in with_objects(trace).itertuples():
        thread = int(row.block) * blocks[row.launch] + int(row.warp) * WARP + int(row.lane)
        lane = Lane(int(row.owner), lines[row.site], thread, int(row.address) - int(starts[row.object]))
        launches.setdefault(int(row.launch), []).append(lane)
    return {launch: sorted(lanes) for launch, lanes in sorted(launches.items())}
