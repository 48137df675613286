"""Events → columns of numbers, which take a few dozen bytes of the hundreds that an event has in the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.importers.activity.columns import Activity
from snoopie.importers.activity.values import MISSING, handles, nanoseconds, shapes, whole, wholes
from snoopie.importers.amounts import LIMIT

KERNELS, COPIES, SETS, CALLS, MEMORY, MTIA = range(6)
# The categories of events, as versions of the profiler and its back ends call them.
CATEGORIES = {
    "kernel": KERNELS, "Kernel": KERNELS, "gpu_memcpy": COPIES, "Memcpy": COPIES, "gpu_memset": SETS, "Memset": SETS,
    "cuda_runtime": CALLS, "cuda_driver": CALLS, "Runtime": CALLS, "Driver": CALLS, "xpu_runtime": CALLS,
    "xpu_driver": CALLS, "mtia_runtime": CALLS, "privateuse1_runtime": CALLS, "privateuse1_driver": CALLS,
    "cpu_instant_event": MEMORY, "mtia_ccp_events": MTIA,
}  # fmt: skip
_EVENT = itemgetter("ts", "dur", "name", "pid", "tid")
_KERNEL = ("device", "stream", "correlation", "grid", "block", "shared memory")
_KERNEL_OF = itemgetter(*_KERNEL)
_COPY = ("device", "stream", "correlation", "bytes")
_COPY_OF = itemgetter(*_COPY)
_COLLECTIVE = (
    "Collective name", "In msg nelems", "Out msg nelems", "dtype", "Group size", "Process Group Name",
    "Process Group Ranks", "Src Rank", "Dst Rank",
)  # fmt: skip
# MTIA: the directions of its DMA, as copies are named elsewhere; and what is neither kernel nor copy.
_DMA = {"HOST_TO_DEVICE": "HtoD", "DEVICE_TO_HOST": "DtoH", "DEVICE_TO_DEVICE": "DtoD"}
_NO_KERNELS = ("event_record", "event_wait")
_DEVICES = 1 << 31
# A call of CUDA has these arguments: External id, cbid, correlation.
_PLAIN = 3


class Recording(Activity):
    """What a file of PyTorch's profiler holds."""

    def __init__(self) -> None:
        super().__init__()
        # What kernels of NCCL say of their collectives, their name and the arguments of _COLLECTIVE: its number, from 1
        # on, and how many say it.
        self.collectives: dict[tuple[Any, ...], int] = {}
        self.saying: Counter[int] = Counter()
        self.processes: Counter[int] = Counter()
        self.programs: dict[int, str] = {}
        self._readers: dict[int, Callable[[list[Mapping[str, Any]]], None]] = {
            KERNELS: self._read_kernels,
            COPIES: self._read_copies,
            SETS: self._read_sets,
            CALLS: self._read_calls,
            MEMORY: self._read_memory,
        }

    def read(self, events: Iterable[Any]) -> None:
        """Takes in a chunk of the file."""
        sorted_: dict[int, list[Mapping[str, Any]]] = {kind: [] for kind in range(6)}
        for event in events:
            try:
                kind = CATEGORIES.get(event.get("cat"))
            except (AttributeError, TypeError):
                self.wrong += 1
                continue
            if kind is not None:
                sorted_[kind].append(event)
            elif event.get("ph") == "M":
                self._read_about(event)
        self._sort_mtia(sorted_)
        for kind, reader in self._readers.items():
            if sorted_[kind]:
                reader(sorted_[kind])

    def _read_about(self, event: Mapping[str, Any]) -> None:
        """The name of a process."""
        pid, about = whole(event.get("pid")), event.get("args")
        name = about.get("name") if isinstance(about, dict) else None
        if event.get("name") == "process_name" and pid is not None and isinstance(name, str):
            self.programs[pid] = name

    def _sort_mtia(self, sorted_: dict[int, list[Mapping[str, Any]]]) -> None:
        """What MTIA calls all the same, as kernels and copies."""
        for event in sorted_[MTIA]:
            about = event.get("args")
            direction = _DMA.get(str(about.get("direction"))) if isinstance(about, dict) else None
            if direction is not None:
                named = {**event, "name": f"Memcpy {direction}"}
                sorted_[COPIES].append({**named, "args": {**_arguments(event), "bytes": _arguments(event).get("size")}})
            elif event.get("name") not in _NO_KERNELS:
                sorted_[KERNELS].append(event)

    def _read_kernels(self, events: list[Mapping[str, Any]]) -> None:
        start, spent, name, pid, tid = _common(events)
        abouts = [_arguments(event) for event in events]
        device, stream, correlation, grid, block, shared = _arguments_of(abouts, _KERNEL, _KERNEL_OF)
        where = _devices(device, pid)
        begin, length = nanoseconds(start), nanoseconds(spent)
        length = np.where(length < 0, MISSING, length)
        keep = (begin != MISSING) & (where != MISSING)
        self.wrong += int((~keep).sum())
        said = np.zeros(len(events), np.uint32)
        for row, about in enumerate(abouts):
            if "Collective name" in about and keep[row]:
                said[row] = self._said(name[row], about)
        extents = {
            f"{what}_{axis}": shape[:, number]
            for what, shape in (("grid", shapes(grid)), ("block", shapes(block)))
            for number, axis in enumerate("xyz")
        }
        self.kernels.append(
            keep, start=begin, spent=length, name=self.names.numbers(name), device=where,
            stream=handles([known if known is not None else other for known, other in zip(stream, tid, strict=True)]),
            correlation=wholes(correlation, 1 << 63, 1), shared_memory=np.maximum(wholes(shared, 1 << 32), 0),
            collective=said, **extents,
        )  # fmt: skip

    def _said(self, kernel: Any, about: Mapping[str, Any]) -> int:
        arguments = [about.get(name) for name in _COLLECTIVE]
        # Lists have no hash.
        key = (str(kernel), *(str(value) if isinstance(value, (list, dict)) else value for value in arguments))
        number = self.collectives.setdefault(key, len(self.collectives) + 1)
        self.saying[number] += 1
        return number

    def _read_copies(self, events: list[Mapping[str, Any]]) -> None:
        start, spent, name, pid, tid = _common(events)
        abouts = [_arguments(event) for event in events]
        device, stream, correlation, size = _arguments_of(abouts, _COPY, _COPY_OF)
        inside = [about.get("inDevice") if own is None else own for own, about in zip(device, abouts, strict=True)]
        where = _devices(inside, pid)
        begin, length = nanoseconds(start), nanoseconds(spent)
        keep = (begin != MISSING) & (length >= 0)
        self.wrong += int((~keep).sum())
        self.copies.append(
            keep, start=begin, spent=length, name=self.names.numbers(name), device=np.maximum(where, -1),
            stream=handles([known if known is not None else other for known, other in zip(stream, tid, strict=True)]),
            correlation=wholes(correlation, 1 << 63, 1), bytes=wholes(size, LIMIT),
            source=np.maximum(wholes([about.get("fromDevice") for about in abouts], _DEVICES), -1),
            destination=np.maximum(wholes([about.get("toDevice") for about in abouts], _DEVICES), -1),
        )  # fmt: skip

    def _read_sets(self, events: list[Mapping[str, Any]]) -> None:
        pid = [event.get("pid") for event in events]
        abouts = [_arguments(event) for event in events]
        device, _, correlation, size = _arguments_of(abouts, _COPY, _COPY_OF)
        self.sets.append(
            np.ones(len(events), np.bool_),
            device=np.maximum(_devices(device, pid), -1),
            correlation=wholes(correlation, 1 << 63, 1),
            bytes=wholes(size, LIMIT),
        )

    def _read_calls(self, events: list[Mapping[str, Any]]) -> None:
        start, spent, name, pid, tid = _common(events)
        abouts = [_arguments(event) for event in events]
        correlation = wholes([about.get("correlation") for about in abouts], 1 << 63, 1)
        # ROCm's calls have the size that its copies lack.
        size = [about.get("bytes", about.get("size")) if len(about) > _PLAIN else None for about in abouts]
        begin, length = nanoseconds(start), nanoseconds(spent)
        keep = (begin != MISSING) & (length >= 0)
        self.wrong += int((~keep).sum())
        self.processes.update(number for number in pid if type(number) is int)
        self.calls.append(
            keep, start=begin, spent=length, name=self.names.numbers(name),
            thread=np.maximum(wholes(tid, 1 << 32), 0), correlation=correlation, bytes=wholes(size, LIMIT),
        )  # fmt: skip

    def _read_memory(self, events: list[Mapping[str, Any]]) -> None:
        """What PyTorch's allocator holds of each GPU, after each allocation and free."""
        events = [event for event in events if event.get("name") == "[memory]"]
        abouts = [_arguments(event) for event in events]
        device = wholes([about.get("Device Id") for about in abouts], _DEVICES)
        on_gpu = wholes([about.get("Device Type") for about in abouts], 1 << 31, 1) != MISSING
        time = nanoseconds([event.get("ts") for event in events])
        reserved = wholes([about.get("Total Reserved") for about in abouts], LIMIT)
        allocated = wholes([about.get("Total Allocated") for about in abouts], LIMIT)
        keep = on_gpu & (time != MISSING) & (device != MISSING) & (reserved != MISSING)
        self.memory.append(keep, time=time, device=device, reserved=reserved, allocated=np.maximum(allocated, -1))


def _common(events: Iterable[Mapping[str, Any]]) -> Iterable[tuple[Any, ...]]:
    """ts, dur, name, pid and tid."""
    rows = []
    for event in events:
        try:
            rows.append(_EVENT(event))
        except KeyError:
            rows.append(tuple(map(event.get, ("ts", "dur", "name", "pid", "tid"))))
    return zip(*rows, strict=True)


def _arguments(event: Mapping[str, Any]) -> Mapping[str, Any]:
    about = event.get("args")
    return about if isinstance(about, dict) else {}


def _arguments_of(
    abouts: Iterable[Mapping[str, Any]], names: Sequence[str], get: Callable[[Mapping[str, Any]], tuple[Any, ...]]
) -> Iterable[tuple[Any, ...]]:
    rows = []
    for about in abouts:
        try:
            rows.append(get(about))
        except KeyError:
            rows.append(tuple(map(about.get, names)))
    return zip(*rows, strict=True)


def _devices(named: Sequence[Any], processes: Sequence[Any]) -> NDArray[np.int64]:
    """The number of each GPU: as an argument, else where the event stands."""
    return wholes(
        [other if own is None else own for own, other in zip(named, processes, strict=True)], _DEVICES
    )  # fmt: skip
