"""What ran on the GPUs of a trace and when, as records of resources: part by part, so that millions need little memory.

Of a launch eight bytes are in memory, and of all else a part at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.time.sweep import Part
from snoopie.joined.columns import JoinedColumns
from snoopie.joined.gpus import HOST, UNKNOWN
from snoopie.joined.ids import Places
from snoopie.joined.tables import Tables
from snoopie.trace.tables import Ints

COPIES = "DATA"
BARRIER = "barrier"
_DIRECTIONS = ("copy", "HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice", "PeerToPeer")

Mask = NDArray[np.bool_]
Codes = NDArray[np.signedinteger[Any]]
_SPAN = ("launch", "start", "end")
_LAUNCH = ("id", "gpu", "function")
_COPY = ("source", "destination", "bytes", "start", "end")
_WAIT = ("gpu", "name", "start", "end")


@dataclass(frozen=True)
class Ran:
    """``launches`` and ``copies`` say which rows of these tables are meant; None: all.

    ``on_gpu``: processes of which the times of copies are those on the GPU. ``sizeless``: processes whose tool does not
    record the sizes of copies, so that none is in their names.
    """

    tables: Tables
    on_gpu: Collection[int]
    sizeless: Collection[int] = ()
    launches: Mask | None = None
    copies: Mask | None = None

    def kernels(self) -> Iterator[Part]:
        """Each kernel with a span."""
        return self._parts("spans", _SPAN, self._kernels)

    def moved(self) -> Iterator[Part]:
        """The copies whose times are those on the GPU."""
        return self._parts("copies", _COPY, self._copies)

    def waits(self) -> Iterator[Part]:
        """All barriers at which queues of GPUs waited."""
        return self._parts("barriers", _WAIT, self._waits)

    def untimed(self) -> int:
        """How many launches have no span."""
        timed = np.zeros(self.tables.columns.length("launches"), np.bool_)
        for part in self.tables.columns.parts("spans", ("launch",)):
            timed[self._launched.places.of(part.joined("spans", "launch"))] = True
        return int((~timed if self.launches is None else ~timed & self.launches).sum())

    def _parts(
        self, table: str, names: Collection[str], records: Callable[[JoinedColumns, int], pd.DataFrame]
    ) -> Iterator[Part]:
        columns = self.tables.columns
        row = 0
        for starts, read in zip(columns.parts(table, ("start",)), columns.readers(table, names), strict=True):
            start = starts.raw(table, "start")
            yield Part(int(start.min()), partial(_of_part, read, records, row))
            row += len(start)

    def _kernels(self, part: JoinedColumns, _row: int) -> pd.DataFrame:
        rows = self._launched.places.of(part.joined("spans", "launch"))
        table = self._records(part, "spans", "kernel", self._launched.gpus[rows], self._launched.kernel(rows))
        return table if self.launches is None else table[self.launches[rows]]

    def _copies(self, part: JoinedColumns, row: int) -> pd.DataFrame:
        process = part.process("copies")
        table = _timed(part, "copies").assign(resource=COPIES, kind="copy", name=self._copy_names(part, process))
        own = np.isin(process, list(self.on_gpu))
        return table[own if self.copies is None else own & self.copies[row : row + len(own)]]

    def _waits(self, part: JoinedColumns, _row: int) -> pd.DataFrame:
        names = part.joined("barriers", "name")
        return self._records(
            part, "barriers", BARRIER, part.joined("barriers", "gpu"), np.where(names == "", BARRIER, names)
        )

    def _records(
        self,
        part: JoinedColumns,
        table: str,
        kind: str,
        gpus: NDArray[np.signedinteger[Any]],
        names: NDArray[np.object_],
    ) -> pd.DataFrame:
        codes, distinct = pd.factorize(gpus)
        labels = np.array([self.tables.label(gpu) for gpu in distinct.tolist()], object)
        return _timed(part, table).assign(resource=labels[codes], kind=kind, name=names)

    @cached_property
    def _launched(self) -> _Launched:
        return _Launched.of(self.tables)

    def _copy_names(self, part: JoinedColumns, process: Ints) -> NDArray[np.object_]:
        sizes = np.where(np.isin(process, list(self.sizeless)), -1, part.raw("copies", "bytes"))
        # Few of them are different: each name is made once.
        directions = _directions(part)
        codes, known = pd.factorize(sizes)
        pairs, distinct = pd.factorize(codes * len(_DIRECTIONS) + directions)
        names = [
            _DIRECTIONS[pair % len(_DIRECTIONS)] + ("" if size < 0 else f"_{size}_bytes")
            for pair, size in zip(distinct.tolist(), known[distinct // len(_DIRECTIONS)].tolist(), strict=True)
        ]
        found: NDArray[np.object_] = np.array(names, object)[pairs]
        return found


@dataclass(frozen=True, slots=True)
class _Launched:
    """Of each launch the GPU and the kernel, in the order of the table."""

    places: Places
    gpus: NDArray[np.int32]
    _functions: NDArray[np.int32]
    _names: NDArray[np.object_]

    @classmethod
    def of(cls, tables: Tables) -> _Launched:
        known = Places(tables.functions.index.to_numpy())
        ids, gpus, functions = [np.empty(0, np.int64)], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for part in tables.columns.parts("launches", _LAUNCH):
            ids.append(part.joined("launches", "id"))
            gpus.append(part.joined("launches", "gpu").astype(np.int32))
            functions.append(known.of(part.joined("launches", "function")).astype(np.int32))
        names = tables.functions["name"].to_numpy(object)
        return cls(Places(np.concatenate(ids)), np.concatenate(gpus), np.concatenate(functions), names)

    def kernel(self, rows: Ints) -> NDArray[np.object_]:
        names: NDArray[np.object_] = self._names[self._functions[rows]]
        return names


def unmeasured(launches: pd.DataFrame, label: Callable[[int], str]) -> pd.DataFrame:
    """The records of launches that were timed but not measured."""
    names = {gpu: label(gpu) for gpu in launches["gpu"].unique().tolist()}
    return pd.DataFrame(
        {
            "resource": launches["gpu"].map(names).astype("str"),
            "kind": pd.Series("kernel", launches.index, dtype="str"),
            "name": launches["kernel"],
            "start": launches["start"],
            "end": launches[["start", "end"]].max(axis=1),
        }
    )


def waits(barriers: pd.DataFrame, label: Callable[[int], str]) -> pd.DataFrame:
    """The records of some barriers."""
    names = {gpu: label(gpu) for gpu in barriers["gpu"].unique().tolist()}
    return pd.DataFrame(
        {
            "resource": barriers["gpu"].map(names).astype("str"),
            "kind": pd.Series(BARRIER, barriers.index, dtype="str"),
            "name": barriers["name"].astype("str").where(barriers["name"] != "", BARRIER),
            "start": barriers["start"],
            "end": barriers[["start", "end"]].max(axis=1),
        }
    )


def _of_part(
    read: Callable[[], JoinedColumns], records: Callable[[JoinedColumns, int], pd.DataFrame], row: int
) -> pd.DataFrame:
    return records(read(), row)


def _timed(part: JoinedColumns, table: str) -> pd.DataFrame:
    start, end = part.raw(table, "start"), part.raw(table, "end")
    return pd.DataFrame({"start": start, "end": np.maximum(start, end)})


def _directions(part: JoinedColumns) -> Ints:
    """Of each copy the place in _DIRECTIONS."""
    source, destination = part.joined("copies", "source"), part.joined("copies", "destination")
    unknown = (source == UNKNOWN) | (destination == UNKNOWN)
    between = np.where(source == destination, _DIRECTIONS.index("DeviceToDevice"), _DIRECTIONS.index("PeerToPeer"))
    place = np.where(source == HOST, _DIRECTIONS.index("HostToDevice"), between)
    place = np.where(destination == HOST, _DIRECTIONS.index("DeviceToHost"), place)
    return np.where(unknown, 0, np.where((source == HOST) & (destination == HOST), 1, place))
