"""The GPUs of several processes by their UUIDs, and who owns what.

An owner is a place in the table of GPUs, or HOST, or UNKNOWN, or, from FIRST_SET down, a multicast object: two
processes may mean the same one, but nothing in their traces says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
import pandas as pd

from snoopie.joined.frames import frame
from snoopie.trace.roles import Codes
from snoopie.trace.schema import Gpu
from snoopie.trace.tables import Ints, Process

HOST = -1
UNKNOWN = -2
FIRST_SET = -3
# A multicast object names its GPUs in its label, or, with more than these, says how many there are.
_NAMED = 8


@dataclass(frozen=True, slots=True)
class MergedGpu:
    """What some process knows of a GPU; ``host`` is that of the first that has it."""

    gpu: Gpu
    host: str


@dataclass(frozen=True, slots=True)
class _Owners:
    """What one process means by its codes: the places of its GPUs, its multicast objects, and how many come before."""

    codes: Codes
    places: Ints
    sets: Ints
    sets_before: int


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of all, ``sets`` multicast objects of all, and the codes of each process of ``owners``."""

    merged: Sequence[MergedGpu]
    sets: int
    owners: Sequence[_Owners]

    @classmethod
    def of(cls, sources: Sequence[Process]) -> Gpus:
        places, merged = _merge(sources)
        sets = [np.unique(source.column("sets", "owner")) for source in sources]
        *before, count = accumulate(map(len, sets), initial=0)
        codes = [source.header.codes for source in sources]
        return cls(merged, count, [_Owners(*own) for own in zip(codes, places, sets, before, strict=True)])

    def part(self, process: int) -> Gpus:
        """Those of all, with the codes of one process."""
        return replace(self, owners=self.owners[process : process + 1])

    def owner(self, process: int, codes: Ints) -> Ints:
        """Owner codes of a process as places.

        A multicast object of which the trace does not say anything more (its end was lost) is UNKNOWN.
        """
        own = self.owners[process]
        result = np.where(codes == own.codes.host, HOST, UNKNOWN)
        is_gpu = codes < len(own.places)
        result[is_gpu] = own.places[codes[is_gpu]]
        if len(own.sets):
            is_set = np.isin(codes, own.sets)
            result[is_set] = FIRST_SET - own.sets_before - np.searchsorted(own.sets, codes[is_set])
        return result

    def table(self) -> pd.DataFrame:
        """The table of GPUs."""
        gpus = [merged.gpu for merged in self.merged]
        return frame(
            {
                "uuid": [gpu.uuid for gpu in gpus],
                "name": [gpu.name for gpu in gpus],
                "pci": [gpu.pci for gpu in gpus],
                "memory": np.array([gpu.memory for gpu in gpus], np.int64),
                "sm": np.array([gpu.sm for gpu in gpus], np.int64),
                "nvlinks": np.array([gpu.nvlinks for gpu in gpus], np.int64),
                "host": [merged.host for merged in self.merged],
                "label": [label(place) for place in range(len(gpus))],
                "visible": np.array([gpu.visible for gpu in gpus], np.bool_),
            },
            "gpu",
            np.arange(len(gpus)),
        )

    def table_of_sets(self, sources: Sequence[Process]) -> pd.DataFrame:
        """The table of multicast objects of the processes of ``owners``."""
        members: dict[int, set[int]] = {}
        processes: list[int] = []
        for process, source in enumerate(sources):
            own = self.owners[process]
            members |= {FIRST_SET - own.sets_before - number: set() for number in range(len(own.sets))}
            processes += [process] * len(own.sets)
            owners, gpus = (self.owner(process, source.column("sets", name)).tolist() for name in ("owner", "gpu"))
            for owner, gpu in zip(owners, gpus, strict=True):
                members[owner].add(gpu)
        return frame(
            {
                "process": np.array(processes, np.int64),
                "gpus": [", ".join(label(gpu) for gpu in sorted(gpus) if gpu >= 0) for gpus in members.values()],
                "others": np.array([UNKNOWN in gpus for gpus in members.values()], np.bool_),
                "label": [_set_label(place, gpus) for place, gpus in members.items()],
            },
            "owner",
            np.array(list(members), np.int64),
        )

    def table_of_links(self, sources: Sequence[Process]) -> pd.DataFrame:
        """What the drivers said about one GPU reaching another's memory; of several processes the first counts."""
        merged: dict[tuple[int, int], tuple[bool, bool, int]] = {}
        for own, source in zip(self.owners, sources, strict=True):
            for link in source.header.links:
                pair = int(own.places[link.issuer]), int(own.places[link.owner])
                merged.setdefault(pair, (link.access, link.native_atomics, link.rank))
        rows = list(merged.values())
        return frame(
            {
                "issuer": np.array([issuer for issuer, _ in merged], np.int64),
                "owner": np.array([owner for _, owner in merged], np.int64),
                "access": np.array([access for access, _, _ in rows], np.bool_),
                "native_atomics": np.array([atomics for _, atomics, _ in rows], np.bool_),
                "rank": np.array([rank for _, _, rank in rows], np.int64),
            }
        )


def label(place: int) -> str:
    """The name for reading of an issuer or owner: "GPU 0", "host", "unknown"."""
    return {HOST: "host", UNKNOWN: "unknown"}.get(place, f"GPU {place}")


def _set_label(place: int, members: set[int]) -> str:
    gpus = sorted(gpu for gpu in members if gpu >= 0)
    parts = [label(gpu) for gpu in gpus] if len(gpus) <= _NAMED else [f"{len(gpus)} GPUs"]
    if UNKNOWN in members:
        parts.append("those of other processes")
    return f"multicast {FIRST_SET - place} ({', '.join(parts)})"


def _merge(sources: Sequence[Process]) -> tuple[list[Ints], list[MergedGpu]]:
    """For each process the merged places of its GPUs, and the merged GPUs in order of first appearance.

    A GPU that no process sees is one only if it owns something: what a machine has besides is none of the trace's
    business. The place of others is UNKNOWN.
    """
    first = _first_with_same(sources)
    rows = _gpus(sources, sorted(set(first)))
    seen = {_key(process, place, gpu) for process, place, gpu in rows if gpu.visible}
    unseen = {process for process, place, gpu in rows if _key(process, place, gpu) not in seen}
    owning = {
        _key(process, int(place), source.header.gpus[int(place)])
        for process, source in enumerate(sources)
        if first[process] in unseen
        for place in _owner_codes(source)
        if place < len(source.header.gpus)
    }
    merged: dict[object, MergedGpu] = {}
    for process, place, gpu in rows:
        key = _key(process, place, gpu)
        if key not in seen and key not in owning:
            continue
        known = merged.setdefault(key, MergedGpu(gpu, sources[process].header.host))
        if gpu != known.gpu:
            merged[key] = replace(known, gpu=_both(known.gpu, gpu))
    places = {key: place for place, key in enumerate(merged)}
    of_first = {
        process: np.array(
            [places.get(_key(process, place, gpu), UNKNOWN) for place, gpu in enumerate(sources[process].header.gpus)],
            np.int64,
        )
        for process in set(first)
    }
    return [of_first[process] for process in first], list(merged.values())


def _first_with_same(sources: Sequence[Process]) -> list[int]:
    """For each process the first one that says the same of its GPUs: of those of a host there is one object."""
    firsts: dict[object, int] = {}
    return [
        firsts.setdefault(
            id(source.header.gpus) if all(gpu.uuid for gpu in source.header.gpus) else (process, "alone"), process
        )
        for process, source in enumerate(sources)
    ]


def _both(first: Gpu, other: Gpu) -> Gpu:
    """A GPU as two processes know it: one may know what another could not read."""
    return replace(
        first,
        name=first.name or other.name,
        pci=first.pci or other.pci,
        memory=first.memory or other.memory,
        sm=first.sm or other.sm,
        nvlinks=other.nvlinks if first.nvlinks < 0 else first.nvlinks,
        visible=first.visible or other.visible,
    )


def _gpus(sources: Sequence[Process], processes: Iterable[int]) -> list[tuple[int, int, Gpu]]:
    """Process, place in its header, GPU; those that their process sees come first."""
    found = [(process, place, gpu) for process in processes for place, gpu in enumerate(sources[process].header.gpus)]
    return sorted(found, key=lambda row: not row[2].visible)


def _key(process: int, place: int, gpu: Gpu) -> object:
    # Without a UUID nothing says that two processes mean the same GPU.
    return gpu.uuid or (process, place)


def _owner_codes(source: Process) -> Ints:
    """The owner codes that a process names, each once."""
    tables = {"objects": ("owner",), "copies": ("source", "destination"), "memory_use": ("gpu",)}
    parts = (part[name] for table, names in tables.items() for part in source.parts(table, names) for name in names)
    return np.unique(np.concatenate([source.count_owners, *map(np.unique, parts)]))
