"""What is told of one process → its trace."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import snoopie
from snoopie.importers.words import without_accesses
from snoopie.live.about import About
from snoopie.trace.lacks import Lack
from snoopie.trace.writer import DIRECTIONS, HOST, UNKNOWN, Body, TraceWriter, header
from snoopie.watch import gpus
from snoopie.watch.elf import demangled
from snoopie.watch.kernel_names import Layouts
from snoopie.watch.memory import Memory
from snoopie.watch.places import Files
from snoopie.watch.stacks import Stacks
from snoopie.watch.stream import COPIED, ERRORS, LAUNCHED, LOST, MADE, NOT_KNOWN, ON_HOST, SUMS, TIMES, Kind
from snoopie.watch.sums import refined, table_of, write_errors, write_sums, write_times

TOOL = "snoopie watch"
Rows = NDArray[Any]

_WHOSE = ("user", "container", "pod", "cgroup")
_KIND = {Kind.COPY: 0, Kind.COPY_PEER: 0, Kind.COPY_2D: 1, Kind.COPY_3D: 2}
_WITHIN, _PEER, _OTHER = (DIRECTIONS.index(name) for name in ("device to device", "peer", "other"))
_TOWARDS = {
    (True, False): DIRECTIONS.index("host to device"),
    (False, True): DIRECTIONS.index("device to host"),
    (True, True): DIRECTIONS.index("host to host"),
}


@dataclass(slots=True)
class Sums:
    """The latest sums of a process; they count from the beginning."""

    calls: Rows = field(default_factory=lambda: np.zeros(0, SUMS))
    times: Rows = field(default_factory=lambda: np.zeros(0, TIMES))
    errors: Rows = field(default_factory=lambda: np.zeros(0, ERRORS))


class Recorder:
    """Writes tables as single calls come, and sums, header and notices at the end."""

    def __init__(
        self,
        about: About,
        begun: int,
        offset: int,
        functions: Sequence[str],
        stacks: Mapping[int, Rows],
        files: Files,
        layouts: Layouts,
    ) -> None:
        self.about, self.begun, self.ended = about, begun, 0
        # Names by handle: as calls said them, and as they were found in memory.
        self.names: dict[int, str] = {}
        self._found: dict[int, str] = {}
        self._handles: set[int] = set()
        self._looked = (0, 0, 0)
        self._layouts = layouts
        self.sums = Sums()
        self.memory = Memory()
        self._offset, self._functions = offset, functions
        self._body = Body()
        self.stacks = Stacks(self._body, about.pid, stacks, files)
        self._seen = gpus.visible(gpus.of_machine(), about.environment)
        self._devices = 0
        self._kernels: dict[str, int] = {}
        self._without_gpu: list[Rows] = []
        self._copies: list[tuple[int, ...]] = []
        self._moved = 0

    # --- Single calls ---

    def add(self, events: Rows) -> None:
        """Calls in the order of their ends."""
        kinds = events["kind"]
        named = [int(events[name].max()) for name in ("gpu", "destination", "source")]
        self._devices = max([self._devices, *(1 + device for device in named)])
        launches = events[np.isin(kinds, LAUNCHED) & (events["code"] == 0)]
        known = self._gpu(launches["gpu"].astype(np.int64)) != UNKNOWN
        self._write_launches(launches[known], self._gpu(launches["gpu"][known].astype(np.int64)))
        if not known.all():
            self._without_gpu.append(launches[~known])
        copies: list[tuple[Any, int, int, int]] = []
        for event in events[~np.isin(kinds, LAUNCHED)]:
            kind = int(event["kind"])
            if kind in MADE:
                self.memory.make(event, self.stacks.row(int(event["stack"]), int(event["caller"])))
            elif kind == Kind.FREE:
                self.memory.free(event)
            elif kind == Kind.CONTEXT_ENDED:
                self.memory.end_context(int(event["context"]), int(event["end"]), int(event["tid"]))
            elif kind in COPIED:
                copies.append((event, *self._ends(event)))
        self._write_memory()
        self._write_copies(copies)

    def _gpu(self, devices: Rows) -> Rows:
        """Devices as codes. A process that sees one GPU uses that, whether or not its contexts are known."""
        unknown = 0 if len(self._seen) == 1 else UNKNOWN
        return np.where(devices >= 0, devices, np.where(devices == ON_HOST, HOST, unknown))

    def _function(self, handle: int) -> int:
        name = self.kernel(handle)
        if name not in self._kernels:
            self._kernels[name] = row = len(self._kernels) + 1
            mangled = self._body.intern(self._mangled(handle))
            self._body.write("functions", id=row, name=self._body.intern(name), mangled=mangled, kernel=1)
        return self._kernels[name]

    def look_for_names(self, handles: Iterable[int]) -> None:
        """Looks in the memory of the process for names that no call has said; again when there is more to go by."""
        self._handles.update(handles)
        unknown = self._handles - self.names.keys() - self._found.keys()
        state = (len(unknown), len(self.names), len(self._layouts.proved))
        if unknown and state != self._looked:
            self._looked = state
            self._found |= self._layouts.names(self.about.pid, unknown, self.names)

    def _mangled(self, handle: int) -> str:
        return self.names.get(handle) or self._found.get(handle, "")

    def kernel_or(self, handle: int, otherwise: str) -> str:
        """The name of a kernel, by the handle that it is launched with, where it is known."""
        mangled = self._mangled(handle)
        return demangled(mangled) if mangled else otherwise

    def kernel(self, handle: int) -> str:
        """Its name, or what stands for one."""
        return self.kernel_or(handle, f"(a kernel named before the watch, {handle:#x})")

    def _write_launches(self, launches: Rows, gpu: Rows) -> None:
        if not len(launches):
            return
        handles, places = np.unique(launches["address"], return_inverse=True)
        self.look_for_names(handles.tolist())
        rows = np.array([self._function(int(handle)) for handle in handles], np.int64)
        first = self._body.rows("launches") + 1
        stacks = [
            self.stacks.row(stack, caller) if caller else 0
            for stack, caller in zip(launches["stack"].tolist(), launches["caller"].tolist(), strict=True)
        ]
        shape = {
            f"{what}_{axis}": launches[what][:, place] for what in ("grid", "block") for place, axis in enumerate("xyz")
        }
        self._body.write(
            "launches", id=np.arange(first, first + len(launches)), function=rows[places], gpu=gpu,
            stream=launches["stream"], thread=launches["tid"], time=self._time(launches["start"]),
            shared_memory=launches["shared_memory"], stack=np.array(stacks, np.int64), code=2, **shape,
        )  # fmt: skip

    def _write_memory(self) -> None:
        made, ended = self.memory.taken()
        if made:
            columns = {
                name: np.array([getattr(one, name) for one in made], np.uint64 if name == "address" else np.int64)
                for name in ("address", "bytes", "kind", "thread", "stack")
            }
            self._body.write(
                "objects", id=np.array([one.row for one in made]),
                owner=self._gpu(np.array([one.gpu for one in made], np.int64)),
                time=self._time(np.array([one.time for one in made], np.uint64)),
                call=self._body.intern_all(self._functions[one.function] for one in made), **columns,
            )  # fmt: skip
        if ended:
            self._body.write(
                "frees", object=np.array([one.row for one in ended]),
                time=self._time(np.array([one.time for one in ended], np.uint64)),
                thread=np.array([one.thread for one in ended]), by=np.array([one.by for one in ended]),
            )  # fmt: skip

    def _ends(self, event: Any) -> tuple[int, int, int]:
        """source, destination (devices) and direction of a copy."""
        direction, own = int(event["direction"]), int(event["gpu"])
        from_host, to_host = direction in (1, 5), direction in (2, 5)

        def end(said: int, address: int, on_host: bool) -> int:
            if on_host or said != NOT_KNOWN:
                return ON_HOST if on_host else said
            found = self.memory.gpu_at(address)
            # A copy to or from a GPU that is not said is one of the current GPU; others may go anywhere.
            return own if found == NOT_KNOWN and direction != _OTHER else found

        source = end(int(event["source"]), int(event["other"]), from_host)
        destination = end(int(event["destination"]), int(event["address"]), to_host)
        if NOT_KNOWN in (source, destination):
            return source, destination, direction
        towards = _TOWARDS.get((source == ON_HOST, destination == ON_HOST))
        return source, destination, towards or (_WITHIN if source == destination else _PEER)

    def _write_copies(self, copies: list[tuple[Any, int, int, int]]) -> None:
        for event, _, _, towards in copies:
            if towards != event["direction"]:
                spent, failed = int(event["end"] - event["start"]), int(event["code"] != 0)
                numbers = (int(event[name]) for name in ("tid", "function", "gpu", "direction"))
                self._copies.append((*numbers, towards, spent, failed, 0 if failed else int(event["bytes"])))
        # Those within one memory are no traffic; the sums have them.
        across = [one for one in copies if one[0]["code"] == 0 and (one[1] != one[2] or NOT_KNOWN in one[1:3])]
        if not across:
            return
        rows = np.array([event for event, *_ in across], dtype=across[0][0].dtype)
        ends = np.array([one[1:3] for one in across], np.int64)
        first = self._body.rows("copies") + 1
        stacks = [self.stacks.row(int(row["stack"]), int(row["caller"])) if row["caller"] else 0 for row in rows]
        self._body.write(
            "copies", id=np.arange(first, first + len(rows)),
            kind=np.array([_KIND[Kind(kind)] for kind in rows["kind"]]),
            call=self._body.intern_all(self._functions[number] for number in rows["function"].tolist()),
            source=self._gpu(ends[:, 0]), destination=self._gpu(ends[:, 1]), source_address=rows["other"],
            destination_address=rows["address"], bytes=rows["bytes"], gpu=self._gpu(rows["gpu"].astype(np.int64)),
            stream=rows["stream"], thread=rows["tid"], start=self._time(rows["start"]), end=self._time(rows["end"]),
            stack=np.array(stacks, np.int64),
        )  # fmt: skip
        self._moved += int(rows["bytes"].sum())

    def _time(self, times: Rows) -> Rows:
        return times.astype(np.int64) + self._offset

    # --- The end ---

    def finish(
        self, path: Path, run: Mapping[str, str], live: Rows | None, end: int, lost: Mapping[str, int], told: bool
    ) -> list[str]:
        """Writes the trace; returns what its readers should know.

        ``live`` is the memory that there is at the end, None where that is not known; ``end`` is the stream's time;
        ``told`` says whether single calls were to be told at all.
        """
        end = self.ended or end
        missing, frees = self.memory.settle(live, end) if live is not None else ([], 0)
        for row in missing:
            event = {name: row[name] for name in ("address", "bytes", "gpu", "object", "tid", "function", "context")}
            self.memory.make(event | {"end": row["time"]}, self.stacks.row(int(row["stack"]), int(row["caller"])))
        self._write_memory()
        unknown = sum(map(len, self._without_gpu))
        for launches in self._without_gpu:
            self._write_launches(launches, np.full(len(launches), max(self._devices, len(self._seen)), np.int64))
        self._write_sums(end)
        notices = self._notices(lost, len(missing), frees, unknown, told)
        self.stacks.finish()
        last = end + self._offset
        self._body.write("notices", time=last, text=np.array(notices, object))
        launched = self._body.rows("launches")
        with TraceWriter(path, self._header(run, bool(unknown))) as writer:
            writer.append(self._body)
            writer.finish(
                last,
                {"launches_seen": launched, "launches_native": launched, "copies": self._body.rows("copies"),
                 "copy_bytes": self._moved},
            )  # fmt: skip
        return notices

    def _header(self, run: Mapping[str, str], unknown: bool) -> dict[str, Any]:
        about = self.about
        return header(
            tool={"version": snoopie.__version__, "imported_from": TOOL, "lacks": [str(Lack.ACCESSES)]},
            process={
                "host": socket.gethostname(), "pid": about.pid, "program": about.program, "command": about.command,
                "directory": about.directory, "start_ns": self.begun + self._offset, "run": dict(run),
                "environment": about.environment, "ranks": about.ranks,
            },
            gpus=gpus.rows(self._seen, self._devices, and_unknown=unknown),
            settings={name: value for name in _WHOSE if (value := getattr(about, name))},
        )  # fmt: skip

    def _write_sums(self, end: int) -> None:
        sums = self.sums
        devices = [rows["gpu"] for rows in (sums.calls, sums.times, sums.errors) if len(rows)]
        self._devices = max([self._devices, *(1 + int(column.max()) for column in devices)])
        names = ["tid", "function", "gpu", "direction", "towards", "spent", "failed", "bytes"]
        if len(sums.calls):
            table = refined(table_of(sums.calls), pd.DataFrame(self._copies, columns=names, dtype=np.int64))
            write_sums(self._body, table, end + self._offset, self._functions, self._gpu, self.kernel)
        write_times(self._body, sums.times, self._functions, self._gpu)
        write_errors(self._body, sums.errors, self._functions, self._gpu)

    def _notices(self, lost: Mapping[str, int], objects: int, frees: int, unknown: int, told: bool) -> list[str]:
        sentences = [
            without_accesses(TOOL),
            "What the program did before the watch began is not in this trace."
            + (
                ""
                if self.ended
                else " The program went on when the watch ended: memory that was not freed then may be later."
            ),
        ]
        if not told:
            sentences.append(
                "Single launches and copies were not recorded (--totals), and of allocations only those that were "
                "not freed."
            )
        if self.memory.older:
            sentences.append(f"Frees of memory that was allocated before the watch began: {self.memory.older:,}.")
        if unknown:
            sentences.append(
                f"Launches on a GPU that is not known, because contexts were made before the watch began: {unknown:,}."
            )
        if self._found:
            sentences.append(
                "Kernels with a name from the program's memory, because it asked for it before the watch began: "
                f"{len(self._found):,}."
            )
        nameless = sum(1 for name in self._kernels if name.startswith("(a kernel named"))
        if nameless:
            sentences.append(
                f"Kernels without a known name, because the program asked for it before the watch began: {nameless:,}."
            )
        if lost["events"]:
            sentences.append(
                f"{lost['events']:,} single calls of all watched programs were lost, because the buffer was full: sums "
                "are exact, and lists of launches, copies and allocations lack some. A larger --buffer holds more."
            )
        if told and (objects or frees):
            sentences.append(
                f"Of the lost calls, {objects:,} allocations that are still there were added, and {frees:,} frees, "
                "whose time is not known, count at the end."
            )
        sentences += [f"{lost[what]:,} {meaning}" for what, meaning in _FULL.items() if lost[what]]
        return sentences


# Tables of the kernel part that were full, and what that means.
_FULL = {
    "calls": "calls were not counted: too many were under way at once.",
    "sums": "times, a sum could not be kept: there are too many threads and kernels. Sums are too low.",
    "objects": "allocations are not followed: there is too much at once.",
    "stacks": "call stacks could not be kept.",
    "names": "names of kernels could not be kept.",
    "news": "times, it was not heard that a process began or ended.",
}
assert set(_FULL) | {"events"} == set(LOST)
