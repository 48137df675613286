"""What plain loops make of a random run: sums of its traffic by anything, by pairs of places, routes and libraries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Any

from tests.plain.plain_run import CALLED, INLINED, KERNELS, Copied, Launch, Moved, Run, chain

VALUES = ("accesses", "lanes", "wire_units", "bytes", "wire_bytes")
LIBRARIES = ("NCCL", "NVSHMEM", "program")

Row = dict[str, Any]
# Something with traffic, where it came from and where it went, or its issuer and its owner.
Directed = tuple[int, int]


def scaled(amounts: Iterable[tuple[int, Fraction]]) -> int:
    """The sum of amounts, each so many times. Estimates alone are rounded, halves to even."""
    every = list(amounts)
    return sum(amount for amount, times in every if times == 1) + round(
        sum((amount * times for amount, times in every if times != 1), Fraction(0))
    )


def sums_by(rows: Iterable[Moved], key: Callable[[Moved], Hashable]) -> dict[Any, Row]:
    """The values of the rows of each key; scaled by what launches stand for."""
    found: dict[Any, list[Moved]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return {name: sums(own) for name, own in found.items()}


def sums(rows: Iterable[Moved]) -> Row:
    """The values of all of some rows."""
    every = list(rows)
    values = {
        value: scaled((row.amounts[place], row.launch.stands_for) for row in every)
        for place, value in enumerate(VALUES)
    }
    return with_efficiency(values)


def with_efficiency(values: Row) -> Row:
    """Values with bytes / wire bytes, None where nothing went over a wire."""
    wire = values["wire_bytes"]
    return values | {"wire_efficiency": values["bytes"] / wire if wire else None}


def launches_by(rows: Iterable[Moved], key: Callable[[Moved], Hashable]) -> dict[Any, Row]:
    """How many launches the rows of each key are of, and how many of these were measured."""
    found: dict[Any, dict[int, Launch]] = defaultdict(dict)
    for row in rows:
        found[key(row)][row.launch.id] = row.launch
    return {
        name: {"launches": scaled((1, launch.stands_for) for launch in own.values()), "measured": len(own)}
        for name, own in found.items()
    }


def kernels_by(rows: Iterable[Moved], key: Callable[[Moved], Hashable]) -> dict[Any, str]:
    """The kernels of the rows of each key, joined."""
    found: dict[Any, set[str]] = defaultdict(set)
    for row in rows:
        found[key(row)].add(row.launch.kernel)
    return {name: ", ".join(sorted(kernels)) for name, kernels in found.items()}


def summary(run: Run) -> Row:
    """Sums of all."""
    launches = run.launches.values()
    return sums(run.traffic) | {
        "launches": round(sum(launch.stands_for for launch in launches)),
        "measured": len(launches),
        "kernels": len({launch.kernel for launch in launches}),
        "gpus": len(run.gpus),
        "records": 0,
        "copies": len(run.copies),
        "copy_bytes": sum(copy.bytes for copy in run.copies),
    }


def device_pairs(run: Run, reading: str, rows: Iterable[Moved] | None = None) -> dict[Directed, Row]:
    """Values of instructions by pair of places. Data flows from who stores, and to who loads; of an atomic both."""
    rows = run.traffic if rows is None else list(rows)
    if reading == "issued":
        return sums_by(rows, lambda row: (row.launch.gpu, row.owner))
    ways: dict[Directed, list[Moved]] = defaultdict(list)
    for row in rows:
        if row.site.operation != "load":
            ways[row.launch.gpu, row.owner].append(row)
        if row.site.operation in ("load", "atomic"):
            ways[row.owner, row.launch.gpu].append(row)
    return {pair: sums(own) for pair, own in ways.items()}


def host_pairs(copies: Iterable[Copied], reading: str) -> dict[Directed, Row]:
    """copies, bytes and host_ns by pair of places. As issued, a copy is with each end that is not its issuer."""
    found: dict[Directed, Row] = {}
    for copy in copies:
        pairs = [(copy.source, copy.destination)]
        if reading == "issued":
            pairs = [(copy.issuer, end) for end in (copy.source, copy.destination) if end != copy.issuer]
        for pair in pairs:
            own = found.setdefault(pair, {"copies": 0, "bytes": 0, "host_ns": 0})
            own["copies"] += 1
            own["bytes"] += copy.bytes
            own["host_ns"] += copy.took
    return found


def both_pairs(device: dict[Directed, Row], host: dict[Directed, Row]) -> dict[Directed, Row]:
    """bytes of both sides."""
    found = {}
    for pair in {*device, *host}:
        sides = [side[pair]["bytes"] if pair in side else 0 for side in (device, host)]
        found[pair] = {"bytes": sum(sides), "device_bytes": sides[0], "host_bytes": sides[1]}
    return found


def pairs(run: Run, reading: str, initiated: str, library: str | None = None) -> dict[Directed, Row]:
    """What there is of each pair of places, of all or of what one library moved."""
    rows = [row for row in run.traffic if library in (None, library_of(run, row))]
    # The stacks of runs are the program's own.
    copies = run.copies if library in (None, "program") else []
    device, host = device_pairs(run, reading, rows), host_pairs(copies, reading)
    return {"device": device, "host": host, "both": both_pairs(device, host)}[initiated]


def places(run: Run, initiated: str) -> list[int]:
    """The places of a square: all GPUs, and of the others those with traffic."""
    present: set[int] = set()
    if initiated != "host":
        present |= {row.owner for row in run.traffic}
    if initiated != "device":
        present |= {place for copy in run.copies for place in (copy.source, copy.destination, copy.issuer)}
    return [*range(len(run.gpus)), *sorted((place for place in present if place < 0), key=abs)]


def routes(run: Run) -> dict[tuple[str, str], Row]:
    """Bytes by kinds of places."""
    found: dict[tuple[str, str], Row] = {}
    for (source, destination), values in pairs(run, "flow", "both").items():
        own = found.setdefault((kind(source), kind(destination)), dict.fromkeys(values, 0))
        for name, value in values.items():
            own[name] += value
    return found


def kind(place: int) -> str:
    """What a place is."""
    return "GPU" if place >= 0 else {-1: "host", -2: "unknown"}.get(place, "multicast")


def library_of(run: Run, row: Moved) -> str:
    """Whose traffic it is: of several libraries the first of LIBRARIES."""
    found = {
        KERNELS[row.launch.kernel],
        (KERNELS | CALLED)[row.site.function] if row.site.function != "void barrier_on_stream_kernel(int)" else "",
        *(INLINED[line.function] for line in chain(run.lines, row.site.line_id)),
    }
    if row.launch.group:
        found.add("NCCL")
    if run.objects.get(row.object, (0, ""))[1] == "symmetric":
        found.add("NVSHMEM")
    return next(library for library in LIBRARIES if library in found)


def links(run: Run) -> list[list[str]]:
    """How each GPU reaches each other."""
    words = {(True, True): "NVLink", (True, False): "PCIe", (False, True): "no access", (False, False): "no access"}
    known = {pair: words[link] for pair, link in run.links.items()}
    every = range(len(run.gpus))
    return [["" if one == other else known.get((one, other), "unknown") for other in every] for one in every]


def by_copy(run: Run) -> dict[tuple[int, int, str, str], Row]:
    """copies, bytes and host_ns by ends, kind and call."""
    found: dict[tuple[int, int, str, str], Row] = {}
    for copy in run.copies:
        key = copy.source, copy.destination, copy.kind, copy.call
        own = found.setdefault(key, {"copies": 0, "bytes": 0, "host_ns": 0})
        own["copies"] += 1
        own["bytes"] += copy.bytes
        own["host_ns"] += copy.took
    return found
