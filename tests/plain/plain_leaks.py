"""What memory was there at the peak, what was left at the end, and what the driver says, as plain loops tell it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from random import Random
from typing import Any

from snoopie.analysis.memory.usage import ALL
from tests.plain import plain_memory
from tests.plain.plain_memory import Memory, Piece, Report
from tests.plain.plain_runs import label
from tests.support.encoder import START_NS, gpu

# In the order in which they are told.
STATES = (
    "never freed", "not known: the trace is incomplete", "not known: no frees were recorded", "freed at exit",
    "ended with its context", "module static", "held by a graph", "held by a pool",
)  # fmt: skip


def _by_site(pieces: Iterable[Piece]) -> dict[tuple[int, str, str, str], tuple[int, int]]:
    """stack, its label, call, kind → objects, bytes."""
    found: dict[tuple[int, str, str, str], tuple[int, int]] = {}
    for piece in pieces:
        key = piece.caller.stack, piece.caller.label, piece.call, piece.kind
        objects, size = found.get(key, (0, 0))
        found[key] = objects + 1, size + piece.size
    return found


def watermark(memory: Memory, pieces: Iterable[Piece], *, total: bool) -> list[tuple[Any, ...]]:
    """The rows of `Trace.memory_watermark`, in no order."""
    groups: dict[tuple[int, str], list[Piece]] = {}
    for piece in pieces:
        if piece.counted:
            key = (ALL, "all") if total else (piece.process, label(piece.place))
            groups.setdefault(key, []).append(piece)
    found: list[tuple[Any, ...]] = []
    for key, own in groups.items():
        most, when = max((plain_memory.sums(own, time)[0], -time) for time in plain_memory.moments(own))
        for site, (objects, size) in _by_site(piece for piece in own if piece.lives(-when)).items():
            found.append((*key, -when, most, *site, size, objects))
    return found


def _state(memory: Memory, piece: Piece) -> str:
    """Why it was not freed; "" if it was."""
    whole, leaves = memory.whole[piece.process], memory.exits[piece.process]
    at_exit = whole and piece.freed >= leaves
    if piece.freed and not at_exit:
        return "ended with its context" if piece.late else ""
    if piece.freed and not piece.late:
        return "freed at exit"
    if piece.kind == "graph":
        return "held by a graph"
    if piece.kind in ("device static", "managed static"):
        return "module static"
    if not whole:
        return "not known: the trace is incomplete"
    return "not known: no frees were recorded" if memory.freeless[piece.process] else "never freed"


def leaks(memory: Memory, pieces: Iterable[Piece], reports: Iterable[Report]) -> list[tuple[Any, ...]]:
    """The rows of `Trace.leaks`, in no order."""
    groups: dict[tuple[int, int, str], list[Piece]] = {}
    for piece in pieces:
        if piece.counted and (state := _state(memory, piece)):
            groups.setdefault((piece.process, piece.place, state), []).append(piece)
    found: list[tuple[Any, ...]] = []
    for (process, place, state), own in groups.items():
        for site, (objects, size) in _by_site(own).items():
            found.append((process, label(place), state, *site, size, objects))
    last: dict[tuple[int, int], Report] = {}
    for report in reports:
        key = report.process, report.place
        if key not in last or report.time >= last[key].time:
            last[key] = report
    for report in last.values():
        if 0 <= report.handed < report.reserved:
            spare = report.reserved - report.handed
            found.append(
                (report.process, label(report.place), "held by a pool", 0, "", "", "pool", spare, 0)
            )  # fmt: skip
    return found


def agreement(memory: Memory, reports: Iterable[Report]) -> list[tuple[Any, ...]]:
    """The rows of `Trace.memory_agreement`, in the order of processes, GPUs and time."""
    found: list[tuple[Any, ...]] = []
    first: dict[tuple[int, int], int] = {}
    for report in sorted(reports, key=lambda report: (report.process, report.place, report.time)):
        here = [piece for piece in memory.pieces if piece.counted and piece.place == report.place]
        change = 0
        if report.used >= 0:
            change = report.used - first.setdefault((report.process, report.place), report.used)
        own = [piece for piece in here if piece.process == report.process]
        found.append(
            (
                report.process, label(report.place), report.time, report.used, change, report.own,
                report.reserved, report.handed, plain_memory.sums(own, report.time)[0],
                plain_memory.sums(here, report.time)[0],
            )
        )  # fmt: skip
    return found


def logged(memory: Memory, random: Random) -> tuple[list[str], list[tuple[int, str, int]]]:
    """Lines of a log of nvidia-smi, and what they say: time, device, bytes.

    It names GPUs in one of the ways in which it does, some of them none of the trace's.
    """
    way = random.choice(("uuid", "pci.bus_id", "index"))
    # As nvidia-smi numbers those that the first process names: by their places on the bus.
    first = memory.builders[0].header["gpus"]
    names = {
        "uuid": {place: gpu(number)["uuid"] for place, number in enumerate(memory.gpus)},
        "pci.bus_id": {place: f"0000{own['pci']}".upper() for place, own in enumerate(first)},
        "index": {place: str(sorted(own["pci"] for own in first).index(at["pci"])) for place, at in enumerate(first)},
    }[way]
    lines, told = [f"timestamp, {way}, memory.used [MiB]"], []
    for _ in range(random.randint(1, 10)):
        second, thousandth = random.randrange(5), random.randrange(1000)
        moment = datetime.fromtimestamp(START_NS // 10**9 + second)
        place, used = random.choice(list(names)), random.randint(0, 1 << 20)
        text = f"{moment:%Y/%m/%d %H:%M:%S}.{thousandth:03}"
        lines.append(f"{text}, {names[place]}, {used} MiB")
        told.append((START_NS + second * 10**9 + thousandth * 10**6, label(place), used << 20))
        if random.random() < 0.3:
            other = {"uuid": gpu(9)["uuid"], "pci.bus_id": "00000000:EE:00.0", "index": "7"}[way]
            lines.append(f"{text}, {other}, 1 MiB")
    return lines, told
