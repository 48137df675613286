"""The events of a Chrome timeline: what happened in a trace, where and when, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import snoopie
from snoopie.analysis.time import timeline
from snoopie.analysis.traffic.reading import Initiated
from snoopie.api.trace import Trace
from snoopie.exporters.chrome_tracks import Slices, Tracks, enclosing, json_text, lines, settle, short
from snoopie.joined.gpus import HOST
from snoopie.trace.tables import Ints
from snoopie.words.names import short_name

# Of traffic over time.
_BINS = 2000
_AT_ONCE = 20_000
_INSTRUMENTED = "seen under instrumentation, which makes it longer"
# The default streams, by their handles.
_STREAMS = {0: "default stream", 1: "default stream", 2: "default streams of threads"}
# What chrome://tracing paints a failed call with.
_FAILED = '"cname":"terrible",'


class Story:
    """What a trace has to tell. ``expected``: about how many events that takes.

    ``kernel_names``: the call of a launch is named as its kernel. ``by_process``: kernels stand with the process that
    launched them, not with their GPU.
    """

    def __init__(self, trace: Trace, *, kernel_names: bool = False, by_process: bool = False) -> None:
        self._trace = trace
        self._kernel_names, self._by_process = kernel_names, by_process
        self._tracks = Tracks()
        self._hosts = sorted({*trace.processes["host"], *trace.gpus["host"]})
        self._when = trace.timeline()
        self._spanned = self._when["spanned"].to_numpy()
        self._origin = self._first_moment()
        self._name_processes()
        self._settle_host()
        self._settle_gpus()
        self.expected = sum(
            len(slices.line)
            for slices in (self._ranges, self._calls, self._collectives, self._copies, self._alone, self._kernels)
        ) + 2 * len(self._when)

    def about(self) -> dict[str, object]:
        """What a reader of the timeline should know."""
        facts: dict[str, object] = {
            "producer": f"Snoopie {snoopie.__version__}",
            "origin_ns": str(self._origin),
            "times": "host time, counted from origin_ns (nanoseconds since 1970)",
            "kernels": "when launches ran on their GPUs; one of which that is not known is an instant at its call",
            "copies": "the host's calls; when a copy ran on the GPU is not known",
            "traffic": "in the direction in which data flowed, spread evenly over the time of the launch or the call",
            "lost": self._trace.losses(),
        }
        if len(self._hosts) > 1:
            facts["clocks"] = (
                "each host has its own: only times of one host can be compared (" + ", ".join(self._hosts) + ")"
            )
        return facts

    def events(self) -> Iterator[list[str]]:
        """The events as JSON, some at a time."""
        yield from self._range_events()
        yield from self._call_events()
        yield from self._collective_events()
        yield from self._copy_events()
        yield from self._launch_events()
        yield from self._flow_events()
        yield from self._traffic_events()
        yield from self._memory_events()
        # At the end: further processes can turn up on the way.
        yield self._tracks.events

    # Where and when

    def _first_moment(self) -> int:
        trace = self._trace
        columns = [
            trace.ranges["start"],
            trace.calls["start"],
            trace.copies["start"],
            trace.collectives["start"],
            self._when["called"],
        ]
        columns += [self._when["start"], trace.objects["allocated"], trace.memory_use["time"]]
        times = np.concatenate([timeline.moments(column) for column in columns])
        # 0 is a time that is not known.
        return int(times[times > 0].min()) if times.any() else 0

    def _since(self, times: pd.Series[Any]) -> Ints:
        since: Ints = np.maximum(timeline.moments(times) - self._origin, 0)
        return since

    def _name_processes(self) -> None:
        """Host by host: its processes, then its GPUs."""
        trace = self._trace
        self._names = [_process_name(row) for row in trace.processes.itertuples()]
        self._pids = np.zeros(len(trace.processes), np.int64)
        self._places: dict[int, int] = {}
        for host in self._hosts:
            processes = trace.processes[trace.processes["host"] == host]
            for number in processes.sort_values(["rank", "pid"], kind="stable").index:
                self._pids[number] = self._tracks.process(self._names[number], host)
            for row in trace.gpus[trace.gpus["host"] == host].itertuples():
                name = " ".join(filter(None, (row.label, row.name, row.uuid)))
                self._places[int(row.Index)] = self._tracks.process(name, host)

    def _place(self, place: int) -> int:
        """The process that stands for a GPU, or for what else can issue or own."""
        if place not in self._places:
            self._places[place] = self._tracks.process(self._trace.label(place), "")
        return self._places[place]

    def _settle_host(self) -> None:
        """Threads: calls, and what lies within them; launches whose calls were not recorded are short slices."""
        trace = self._trace
        called = self._since(self._when["called"])
        ranges = trace.ranges[trace.ranges["end"] > 0]
        tables = (trace.calls, trace.copies, trace.collectives, ranges, self._when)
        (of_calls, of_copies, of_collectives, of_ranges, of_launches), threads = lines(
            *(table[["process", "thread"]] for table in tables)
        )
        self._ranges, self._named = self._slices(of_ranges, ranges), ranges
        self._calls, self._copies, self._collectives = (
            self._slices(line, table)
            for line, table in zip((of_calls, of_copies, of_collectives), tables, strict=False)
        )
        # A copy is timed a little before or after the call that carries it out: it is drawn within it.
        copies = self._copies
        call = enclosing(self._calls, copies.line, copies.start + (copies.end - copies.start) // 2)
        within = call >= 0
        copies.start[within] = np.maximum(copies.start[within], self._calls.start[call[within]])
        copies.end[within] = np.minimum(copies.end[within], self._calls.end[call[within]])
        self._call_of = enclosing(self._calls, of_launches, called)
        self._lonely = self._call_of < 0
        others = (self._ranges, self._calls, self._copies, self._collectives)
        self._alone = short(of_launches[self._lonely], called[self._lonely], others)
        names = [f"thread {thread}" for thread in threads["thread"]]
        settle(
            self._tracks,
            self._pids[threads["process"].to_numpy(np.int64)].tolist(),
            names,
            (*others, self._alone),
            nested=True,
        )

    def _slices(self, line: Ints, table: pd.DataFrame) -> Slices:
        start = self._since(table["start"])
        return Slices(line, start, np.maximum(start, self._since(table["end"])))

    def _settle_gpus(self) -> None:
        """Streams of processes on GPUs: kernels, and instants for what ran there at a time that is not known."""
        copies = self._trace.copies
        self._queued = copies[copies["call"].str.contains("Async|Graph", regex=True)].rename(columns={"issuer": "gpu"})
        columns = ["gpu", "process", "stream"]
        (launched, self._copied), streams = lines(self._when[columns], self._queued[columns])
        self._kernels = self._slices(launched[self._spanned], self._when[self._spanned])
        self._unspanned = launched[~self._spanned]
        every = list(zip(*(streams[name].astype(object).tolist() for name in columns), strict=True))
        self._stream_pids = np.array(
            [self._pids[process] if self._by_process else self._place(int(gpu)) for gpu, process, _ in every], np.int64
        )
        names = [
            f"{self._trace.label(int(gpu))} {_stream(stream)}"
            if self._by_process
            else self._stream_name(stream, process)
            for gpu, process, stream in every
        ]
        self._stream_tids = settle(self._tracks, self._stream_pids.tolist(), names, (self._kernels,))

    def _stream_name(self, stream: int, process: int) -> str:
        name = _stream(stream)
        return f"{name} of {self._names[process]}" if len(self._names) > 1 else name

    # What

    def _range_events(self) -> Iterator[list[str]]:
        """Ranges that the program named and ended."""
        domains = _texts(self._named["domain"])
        return _slice_events(self._ranges, "range", _texts(self._named["name"]), lambda row: f'"domain":{domains[row]}')

    def _call_events(self) -> Iterator[list[str]]:
        table = self._trace.calls
        names, labels = _texts(table["call"]), self._labels(table["gpu"])
        kernels, directions = _texts(table["kernel"]), _texts(table["direction"])
        codes, sizes = table["code"].tolist(), table["bytes"].tolist()
        if self._kernel_names:
            launched = _texts([short_name(name) for name in table["kernel"]])
            names = [kernel if kernel != '""' else name for kernel, name in zip(launched, names, strict=True)]

        def details(row: int) -> str:
            facts = f'"gpu":{labels[row]},"code":{codes[row]}'
            if kernels[row] != '""':
                facts += f',"kernel":{kernels[row]}'
            return facts + (f',"bytes":{sizes[row]},"direction":{directions[row]}' if sizes[row] else "")

        return _slice_events(self._calls, "call", names, details, [_FAILED if code else "" for code in codes])

    def _collective_events(self) -> Iterator[list[str]]:
        table = self._trace.collectives
        labels, types, reductions, communicators = (
            self._labels(table["issuer"]),
            *(_texts(table[name]) for name in ("type", "reduction", "communicator")),
        )
        numbers = {name: table[name].tolist() for name in ("peer", "rank", "ranks", "group")}
        # JSON's word for what is not known.
        amounts = {name: [value if value >= 0 else "null" for value in table[name].tolist()]
                   for name in ("count", "bytes")}  # fmt: skip

        def details(row: int) -> str:
            facts = f'"gpu":{labels[row]},"type":{types[row]},"reduction":{reductions[row]}'
            return f'{facts},"communicator":{communicators[row]},' + ",".join(
                f'"{name}":{values[row]}' for name, values in (amounts | numbers).items()
            )

        return _slice_events(self._collectives, "nccl", _texts("nccl" + table["operation"]), details)

    def _copy_events(self) -> Iterator[list[str]]:
        table = self._trace.copies
        details = self._details_of_copies(table, "issuer")
        yield from _slice_events(self._copies, "copy", self._copy_names(table), details)
        queued = self._queued
        details = self._details_of_copies(queued, "gpu")
        times = self._since(queued["start"])
        yield from self._instants(self._copied, times, "copy", self._copy_names(queued), details)

    def _copy_names(self, copies: pd.DataFrame) -> list[str]:
        sources, destinations = (
            [self._trace.label(place) for place in copies[end]] for end in ("source", "destination")
        )
        return _texts(
            [f"copy {source} → {destination}" for source, destination in zip(sources, destinations, strict=True)]
        )

    def _details_of_copies(self, copies: pd.DataFrame, issuer: str) -> Callable[[int], str]:
        calls, kinds, labels = _texts(copies["call"]), _texts(copies["kind"]), self._labels(copies[issuer])
        numbers, sizes = copies.index.tolist(), copies["bytes"].tolist()
        return lambda row: (
            f'"copy":{numbers[row]},"bytes":{sizes[row]},"kind":{kinds[row]},"call":{calls[row]},"gpu":{labels[row]},'
            '"time on the GPU":"unknown"'
        )

    def _launch_events(self) -> Iterator[list[str]]:
        launches = self._trace.launches
        names = _texts([short_name(name) for name in launches["kernel"].unique()])
        of_kernel = dict(zip(launches["kernel"].unique(), names, strict=True))
        kernels = [of_kernel[name] for name in launches["kernel"]]
        whole = _texts(launches["kernel"])
        moved = self._moved()
        sizes = [launches[f"{what}_{axis}"].tolist() for what in ("grid", "block") for axis in "xyz"]
        shared, numbers = launches["shared_memory"].tolist(), launches.index.tolist()

        def details(row: int) -> str:
            x, y, z, bx, by, bz = (values[row] for values in sizes)
            return (
                f'"launch":{numbers[row]},"kernel":{whole[row]},"grid":"{x} x {y} x {z}","block":"{bx} x {by} x {bz}",'
                f'"shared memory":{shared[row]},"bytes":{{{moved(row)}}}'
            )

        processes = launches["process"].tolist()
        tools = self._trace.processes["imported_from"]
        seen = [json_text(f"as {tool} saw it" if tool else _INSTRUMENTED) for tool in tools]
        lonely = np.flatnonzero(self._lonely).tolist()
        calls = [f'"launch {kernels[row][1:]}' for row in lonely]
        yield from _slice_events(
            self._alone, "launch", calls, lambda row: f'"launch":{numbers[lonely[row]]},"time of the call":"unknown"'
        )
        ran = np.flatnonzero(self._spanned).tolist()
        yield from _slice_events(
            self._kernels,
            "kernel",
            [kernels[row] for row in ran],
            lambda row: f'{details(ran[row])},"time":{seen[processes[ran[row]]]}',
        )
        unknown = np.flatnonzero(~self._spanned).tolist()
        yield from self._instants(
            self._unspanned,
            self._since(self._when["called"])[~self._spanned],
            "kernel",
            [kernels[row] for row in unknown],
            lambda row: f'{details(unknown[row])},"time":"unknown, this is that of the call"',
        )

    def _moved(self) -> Callable[[int], str]:
        """What the launch in a row has moved, by pair of places."""
        table = self._trace.pairs_by_launch("flow")
        pairs = _texts(table["from"] + " → " + table["to"])
        rows = self._when.index.get_indexer(pd.Index(table["launch"]))
        order = np.argsort(rows, kind="stable")
        bounds = np.searchsorted(rows[order], np.arange(len(self._when) + 1)).tolist()
        texts = [f"{pairs[row]}:{size}" for row, size in zip(order, table["bytes"].to_numpy()[order], strict=True)]
        return lambda row: ",".join(texts[bounds[row] : bounds[row + 1]])

    def _flow_events(self) -> Iterator[list[str]]:
        """From the call of a launch to its kernel."""
        pid, tid, start = np.zeros((3, len(self._when)), np.int64)
        call = self._call_of[~self._lonely]
        for mask, (pids, tids, starts) in (
            (self._lonely, (self._alone.pid, self._alone.tid, self._alone.start)),
            (~self._lonely, (self._calls.pid[call], self._calls.tid[call], self._calls.start[call])),
        ):
            pid[mask], tid[mask], start[mask] = pids, tids, starts
        # The launch is described within its call.
        start = np.maximum(start, self._since(self._when["called"]))[self._spanned]
        pid, tid, ids = pid[self._spanned], tid[self._spanned], self._when.index.to_numpy()[self._spanned]
        kernels = self._kernels
        drawn = np.flatnonzero(start <= kernels.start)
        yield from _flows("s", "", ids, pid, tid, start, drawn)
        yield from _flows("f", ',"bp":"e"', ids, kernels.pid, kernels.tid, kernels.start, drawn)

    def _traffic_events(self) -> Iterator[list[str]]:
        """Bytes a second from place to place, where the data came from."""
        places = dict(zip(self._trace.places["label"], self._trace.places.index.tolist(), strict=True))
        sides: tuple[tuple[Initiated, str], ...] = (("device", "kernels"), ("host", "copies"))
        for initiated, what in sides:
            table = self._trace.traffic_over_time(_BINS, "flow", initiated)
            # One name a pair: there can be tens of thousands of pairs, with a bin each.
            pairs, present = pd.factorize(table["from"] + " → " + table["to"])
            _, firsts = np.unique(pairs, return_index=True)
            counters = []
            for name, source, destination in zip(
                present.tolist(), table["from"].iloc[firsts], table["to"].iloc[firsts], strict=True
            ):
                ends = places[source], places[destination]
                pid = self._place(next((place for place in ends if place >= 0), ends[0]))
                counters.append(_Counter(pid, f"{name} by {what}", "bytes/s"))
            rate = table["bytes"].to_numpy() * 1e9 / (table["end"] - table["start"]).to_numpy()
            start, end = self._since(table["start"]), self._since(table["end"])
            # Back to nothing, unless the next bin goes on.
            stops = (np.diff(pairs, append=-1) != 0) | (np.append(start[1:], -1) != end)
            rows = np.repeat(np.arange(len(table)), 1 + stops)
            back = np.diff(rows, prepend=-1) == 0
            values = np.where(back, 0, rate.round().astype(np.int64)[rows])
            yield from _counters(counters, pairs[rows], np.where(back, end[rows], start[rows]), values)

    def _memory_events(self) -> Iterator[list[str]]:
        """Memory in use: by the allocations that were seen, and as the driver reported it."""
        trace = self._trace
        on_host = trace.objects["owner"] == HOST
        sides: tuple[tuple[pd.DataFrame, str, Callable[[int], int]], ...] = (
            (trace.objects[~on_host], "owner", self._place),
            (trace.objects[on_host], "process", lambda number: int(self._pids[number])),
        )
        for objects, key, pid in sides:
            usage = timeline.memory_over_time(objects, trace.processes, [key, "kind"])
            for (place, kind), rows in _groups(usage, [key, "kind"]):
                yield from _counter(
                    pid(place), f"memory: {kind}", "bytes", self._since(rows["time"]), rows["bytes"].to_numpy()
                )
        for (gpu,), rows in _groups(trace.memory_use, ["gpu"]):
            yield from self._reported(gpu, "used by all", rows, "used")
            for (process,), own in _groups(rows, ["process"]):
                for column, what in (
                    ("own", "used"),
                    ("pool_reserved", "held by pools"),
                    ("pool_used", "used of pools"),
                ):
                    yield from self._reported(gpu, f"{what} by {self._names[process]}", own, column)

    def _reported(self, gpu: int, name: str, rows: pd.DataFrame, column: str) -> Iterator[list[str]]:
        known = rows[rows[column] >= 0]
        name = f"memory, as the driver reports it: {name}"
        return _counter(self._place(gpu), name, "bytes", self._since(known["time"]), known[column].to_numpy())

    def _labels(self, places: pd.Series[Any]) -> list[str]:
        of_place = {place: json_text(self._trace.label(int(place))) for place in places.unique()}
        return [of_place[place] for place in places]

    def _instants(
        self, line: Ints, times: Ints, category: str, names: Sequence[str], details: Callable[[int], str]
    ) -> Iterator[list[str]]:
        """On the first track of a stream."""
        pids, tids = self._stream_pids[line].tolist(), self._stream_tids[line].tolist()
        for piece in _pieces(np.arange(len(line))):
            yield [
                f'{{"ph":"i","s":"t","cat":"{category}","name":{names[row]},"pid":{pids[row]},"tid":{tids[row]},'
                f'"ts":{_us(int(times[row]))},"args":{{{details(row)}}}}}'
                for row in piece.tolist()
            ]


def _slice_events(
    slices: Slices,
    category: str,
    names: Sequence[str],
    details: Callable[[int], str],
    more: Sequence[str] | None = None,
) -> Iterator[list[str]]:
    for piece in _pieces(np.arange(len(slices.line))):
        rows: Iterable[tuple[int, ...]] = zip(
            piece.tolist(),
            *(values[piece].tolist() for values in (slices.pid, slices.tid, slices.start, slices.end)),
            strict=True,
        )
        yield [
            f'{{"ph":"X","cat":"{category}","name":{names[row]},{more[row] if more else ""}"pid":{pid},"tid":{tid},'
            f'"ts":{_us(start)},"dur":{_us(end - start)},"args":{{{details(row)}}}}}'
            for row, pid, tid, start, end in rows
        ]


def _flows(phase: str, bound: str, ids: Ints, pid: Ints, tid: Ints, time: Ints, drawn: Ints) -> Iterator[list[str]]:
    for piece in _pieces(drawn):
        rows = zip(*(column[piece].tolist() for column in (ids, pid, tid, time)), strict=True)
        yield [
            f'{{"ph":"{phase}","cat":"launch","name":"launch","id":{number},"pid":{process},"tid":{thread},'
            f'"ts":{_us(moment)}{bound}}}'
            for number, process, thread, moment in rows
        ]


class _Counter(NamedTuple):
    """A value over time, as a process shows it."""

    pid: int
    name: str
    unit: str


def _counter(pid: int, name: str, unit: str, times: Ints, values: Ints) -> Iterator[list[str]]:
    """At each time the last of its values."""
    order = np.argsort(times, kind="stable")
    return _counters([_Counter(pid, name, unit)], np.zeros(len(times), np.intp), times[order], values[order])


def _counters(counters: Sequence[_Counter], which: NDArray[np.intp], times: Ints, values: Ints) -> Iterator[list[str]]:
    """``which`` of the counters had each of the values: together those of one, by time. Of one time the last counts."""
    parts = [
        (f'{{"ph":"C","name":{json_text(name)},"pid":{pid},"tid":0,"ts":', f',"args":{{"{unit}":')
        for pid, name, unit in counters
    ]
    last = (np.diff(which, append=-1) != 0) | (np.diff(times, append=-1) != 0)
    for piece in _pieces(np.flatnonzero(last)):
        rows = zip(which[piece].tolist(), times[piece].tolist(), values[piece].tolist(), strict=True)
        yield [f"{parts[counter][0]}{_us(time)}{parts[counter][1]}{value}}}}}" for counter, time, value in rows]


def _groups(table: pd.DataFrame, keys: list[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    """The rows of each combination of the keys, as a tuple of plain values."""
    for key, rows in table.groupby(keys, sort=True):
        yield tuple(value.item() if isinstance(value, np.generic) else value for value in key), rows


def _pieces(rows: NDArray[Any]) -> list[NDArray[Any]]:
    return [rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE)]


def _texts(values: pd.Series[Any] | Sequence[str]) -> list[str]:
    """Each as JSON; few are different."""
    codes, present = pd.factorize(np.asarray(values, dtype=object))
    texts = [json_text(str(text)) for text in present]
    return [texts[code] for code in codes]


def _us(nanoseconds: int) -> str:
    """Microseconds, exactly."""
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"


def _stream(handle: int) -> str:
    return _STREAMS.get(handle, f"stream {handle:#x}")


def _process_name(row: Any) -> str:
    rank = f" rank {row.rank}" if row.rank >= 0 else ""
    return f"{row.program or 'process'}{rank} ({row.pid}@{row.host})"
