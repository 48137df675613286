"""One trace while it is written → what its process has done so far."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.live.about import About, about
from snoopie.live.metrics import MEMORY, Bounded, Durations, Family, Running
from snoopie.trace.growing import Growing

# What is read of a trace: no single accesses.
TABLES = (
    "launches", "sites", "counts", "copies", "objects", "frees", "call_totals", "call_times", "call_errors",
)  # fmt: skip
# Totals of the footer that say what is missing, by what they count.
_LOST = {"launches_lost": "launches", "waits_dropped": "waits"}

Families = dict[str, Family]
Ints = NDArray[np.int64]


class Known:
    """Small numbers by id, of ids that come in any order, mostly rising."""

    def __init__(self, columns: int) -> None:
        self._ids = np.empty(0, np.uint32)
        self._values = np.empty((0, columns), np.uint8)
        self._size = 0

    def add(self, ids: Ints, *columns: Ints) -> None:
        """Takes rows with new ids."""
        end = self._size + len(ids)
        if end > len(self._ids):
            for name in ("_ids", "_values"):
                before = getattr(self, name)
                grown = np.empty((2 * end, *before.shape[1:]), before.dtype)
                grown[: self._size] = before[: self._size]
                setattr(self, name, grown)
        self._ids[self._size : end] = ids
        self._values[self._size : end] = np.column_stack(columns)
        if len(ids) and (np.diff(self._ids[max(self._size - 1, 0) : end].astype(np.int64)) <= 0).any():
            order = np.argsort(self._ids[:end], kind="stable")
            self._ids[:end], self._values[:end] = self._ids[:end][order], self._values[:end][order]
        self._size = end

    def of(self, ids: Ints) -> Ints:
        """The rows of ids, which must be known: the reader has checked that."""
        found: Ints = self._values[np.searchsorted(self._ids[: self._size], ids.astype(np.uint32))].astype(np.int64)
        return found


class Recorded:
    """Adds what a trace got since the last look to the sums of all. ``gpu`` names the GPUs of its header by place."""

    def __init__(self, process: Growing, gpu: Callable[[int], str], bounded: Bounded) -> None:
        self.process = process
        self.about = _about(process)
        self._gpu, self._bounded = gpu, bounded
        self._whose = bounded.whose(self.about)
        self._texts: dict[int, str] = {0: ""}
        self._gpu_of_launch = Known(1)
        self._of_site = Known(3)
        # Memory that there is: kind and GPU, bytes.
        self._memory: dict[int, tuple[str, str, int]] = {}
        self._late: list[tuple[int, tuple[str, str, int]]] = []
        self._done = dict.fromkeys(("launches", "copied", "accessed", "errors", "waited"), 0.0)
        self.lost: dict[str, int] = {}

    def advance(self, families: Families, durations: Durations) -> None:
        """Reads what is new. CorruptError and others where that is no trace."""
        self.process.advance()
        self._read_strings()
        self._calls(families)
        self._times(durations)
        self._errors(families)
        self._copies(families)
        self._objects(families)
        self._counts(families)
        self.lost = {"records": self.process.dropped}
        if (footer := self.process.footer) is not None:
            self.lost |= {what: footer.totals[total] for total, what in _LOST.items() if footer.totals.get(total)}

    def add_memory(self, families: Families) -> None:
        """The memory that there is now."""
        for kind, gpu, size in self._memory.values():
            families["allocated_bytes"].values[(*self._whose, gpu, kind)] += size

    def add_leaks(self, families: Families) -> None:
        """The memory that there was when the process ended: what no call had freed, nor the end of a context."""
        footer = self.process.footer
        late = [one for time, one in self._late if footer is not None and time >= footer.exit_ns]
        for kind, gpu, size in (*self._memory.values(), *late):
            families["leaked_bytes"].values[(*self._whose, gpu, kind)] += size

    def running(self) -> Running:
        """What the terminal shows of it."""
        done = self._done
        return Running(
            self.about, launches=done["launches"], copied=done["copied"], accessed=done["accessed"],
            memory=float(sum(size for *_, size in self._memory.values())), errors=int(done["errors"]),
            waited=done["waited"],
        )  # fmt: skip

    # --- Names ---

    def _read_strings(self) -> None:
        ids, texts = (self.process.column("strings", name) for name in ("id", "text"))
        new = slice(len(self._texts) - 1, None)
        self._texts.update(zip(ids[new].tolist(), texts[new].tolist(), strict=True))

    def _named(self, code: int) -> str:
        """An owner by its code."""
        codes = self.process.header.codes
        if code < codes.gpus:
            return self._gpu(code)
        return "host" if code == codes.host else "unknown" if code == codes.unknown else "multicast"

    def _list(self, name: str, place: int) -> str:
        """What a code means that is a place in a list of the header."""
        return self._bounded.value("kind", self.process.header.codes.lists[name][place])

    def _rows(self, table: str, keys: tuple[str, ...], sums: tuple[str, ...]) -> list[tuple[Any, ...]]:
        """New rows of a table, added up by keys."""
        frame = pd.DataFrame({name: self.process.column(table, name) for name in (*keys, *sums)})
        return list(frame.groupby(list(keys), sort=False)[list(sums)].sum().reset_index().itertuples(False, None))

    # --- Tables ---

    def _calls(self, to: Families) -> None:
        keys, sums = ("call", "kernel", "gpu", "direction"), ("calls", "errors", "total", "bytes")
        for call, kernel, device, direction, calls, errors, total, moved in self._rows("call_totals", keys, sums):
            gpu, name = self._named(device), self._bounded.value("call", self._texts[call])
            to["calls"].values[(*self._whose, gpu, name)] += calls
            self._done["errors"] += errors
            if kernel:
                to["launches"].values[(*self._whose, gpu, self._bounded.value("kernel", self._texts[kernel]))] += calls
                self._done["launches"] += calls
            if self._list("directions", direction) == "device to device":
                self._copied(to, "device to device", gpu, gpu, calls - errors, moved)
            if "Synchronize" in name:
                to["synchronization_seconds"].values[(*self._whose, gpu)] += total / 1e9
                self._done["waited"] += total / 1e9

    def _times(self, to: Durations) -> None:
        for call, log2, calls in self._rows("call_times", ("call", "log2"), ("calls",)):
            to.add(self._bounded.value("call", self._texts[call]), np.bincount([log2], [calls], 64).astype(np.int64))
        for call, total in self._rows("call_totals", ("call",), ("total",)):
            to.seconds[self._bounded.value("call", self._texts[call])] += total / 1e9

    def _errors(self, to: Families) -> None:
        for call, device, name, calls in self._rows("call_errors", ("call", "gpu", "name"), ("calls",)):
            labels = self._bounded.value("call", self._texts[call]), self._bounded.value("error", self._texts[name])
            to["call_errors"].values[(*self._whose, self._named(device), *labels)] += calls

    def _copies(self, to: Families) -> None:
        """Those between memories: of those within one, only the sums of calls are in a trace."""
        frame = pd.DataFrame({name: self.process.column("copies", name) for name in ("source", "destination", "bytes")})
        across = frame[frame["source"] != frame["destination"]].assign(copies=1)
        sums = across.groupby(["source", "destination"])[["copies", "bytes"]].sum().reset_index()
        for source, destination, copies, moved in sums.itertuples(False, None):
            ends = self._named(source), self._named(destination)
            self._copied(to, _direction(*ends), *ends, copies, moved)

    def _copied(self, to: Families, direction: str, source: str, destination: str, copies: int, moved: int) -> None:
        labels = (*self._whose, direction, source, destination)
        to["copies"].values[labels] += copies
        to["copied_bytes"].values[labels] += moved
        self._done["copied"] += moved

    def _objects(self, to: Families) -> None:
        columns = (self.process.column("objects", name).tolist() for name in ("id", "owner", "kind", "bytes"))
        for number, owner, code, size in zip(*columns, strict=True):
            kind, gpu = self._list("object_kinds", code), self._named(owner)
            to["allocations"].values[(*self._whose, gpu, kind)] += 1
            if kind in MEMORY:
                self._memory[number] = kind, gpu, size
        columns = (self.process.column("frees", name).tolist() for name in ("object", "time", "by"))
        for number, time, by in zip(*columns, strict=True):
            freed = self._memory.pop(number, None)
            # It may be the end of the process that ends the context.
            if by and freed is not None:
                self._late.append((time, freed))

    def _counts(self, to: Families) -> None:
        column = self.process.column
        self._of_site.add(*(column("sites", name) for name in ("id", "operation", "width", "measured")))
        self._gpu_of_launch.add(column("launches", "id"), column("launches", "gpu"))
        launches, sites, owners = (column("counts", name) for name in ("launch", "site", "owner"))
        if not len(launches):
            return
        operation, width, measured = self._of_site.of(sites).T
        frame = pd.DataFrame(
            {
                "issuer": self._gpu_of_launch.of(launches)[:, 0], "owner": owners, "operation": operation,
                "accesses": column("counts", "accesses"), "bytes": column("counts", "lanes").astype(float) * width,
            }
        )[measured > 0]  # fmt: skip
        sums = frame.groupby(["issuer", "owner", "operation"])[["accesses", "bytes"]].sum().reset_index()
        for issuer, owner, code, accesses, moved in sums.itertuples(False, None):
            labels = self._list("operations", code), self._named(issuer), self._named(owner)
            to["accesses"].values[(*self._whose, *labels)] += accesses
            to["accessed_bytes"].values[(*self._whose, *labels)] += moved
            self._done["accessed"] += moved


def _direction(source: str, destination: str) -> str:
    if "unknown" in (source, destination) or "multicast" in (source, destination):
        return "other"
    match source == "host", destination == "host":
        case True, True:
            return "host to host"
        case True, False:
            return "host to device"
        case False, True:
            return "device to host"
    return "peer"


def _about(process: Growing) -> About:
    """Whose it is: as far as it runs here, under the number that it knows of itself."""
    header = process.header
    known = About(header.pid, program=header.program, command=list(header.command))
    if header.host != socket.gethostname():
        return known
    found = about(header.pid)
    # In a container numbers may be others.
    return replace(found, program=header.program) if found.command == known.command else known
