"""Which object an address belonged to when a launch was made."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.joined.tables import Tables
from snoopie.trace.tables import Ints

Addresses = NDArray[np.uint64]
# From so many moments on, and so many objects looked at for each access and object, `Lookup` goes through both in time.
_EPOCHS, _STEP = 64, 500


class Lookup:
    """Finds objects of one process by address and time.

    ``objects`` has the columns address bytes allocated freed (0 = never) inside, and ids as its index. Of objects that
    are parts of others, the innermost is found. What has no address is not.
    """

    def __init__(self, objects: pd.DataFrame) -> None:
        depth = _depths(objects)
        kept = (objects["address"].to_numpy() > 0) & (objects["bytes"].to_numpy() > 0)
        order = np.argsort(objects["address"].to_numpy()[kept], kind="stable")
        self._ids: Ints = objects.index.to_numpy()[kept][order]
        self._starts: Addresses = objects["address"].to_numpy()[kept][order]
        self._bytes: Addresses = objects["bytes"].to_numpy()[kept][order].astype(np.uint64)
        self._allocated: Ints = objects["allocated"].to_numpy()[kept][order]
        freed = objects["freed"].to_numpy()[kept][order]
        self._freed: Ints = np.where(freed == 0, np.iinfo(np.int64).max, freed)
        self._depths: Ints = depth[kept][order]
        # Between two of these moments the same objects are alive.
        self._moments = np.unique(np.concatenate([self._allocated, self._freed]))

    def find(self, addresses: Addresses, times: Ints) -> Ints:
        """The id of the object that held each address at each time (host ns); 0 where none did."""
        found = np.zeros(len(addresses), np.int64)
        if not len(addresses):
            return found
        # The accesses of one launch are many: most often nothing is allocated or freed between those of a block.
        early, late = np.searchsorted(self._moments, [times.min(), times.max()], "right")
        if early == late:
            if early:
                self._find(addresses, slice(None), self._moments[early - 1], found)
            return found
        epochs = np.searchsorted(self._moments, times, "right")
        distinct = len(np.unique(epochs))
        if distinct > _EPOCHS and distinct * len(self._ids) > _STEP * (len(self._ids) + len(addresses)):
            self._sweep(addresses, times, found)
            return found
        for rows, epoch in _groups(epochs):
            if epoch:
                self._find(addresses, rows, self._moments[epoch - 1], found)
        return found

    def of_spans(self, first: Addresses, last: Addresses, times: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """The id of the object that held the first address of each span at each time, and whether it held all of it.

        That both ends are of one object, or of none, is not enough: another, or a part of it, can lie between them.
        """
        found = self.find(first, times)
        begun, later = (np.searchsorted(self._starts, ends, "right") for ends in (first, last))
        return found, (found == self.find(last, times)) & (begun == later)

    def _find(self, addresses: Addresses, rows: Ints | slice, moment: int, found: Ints) -> None:
        alive = (self._allocated <= moment) & (self._freed > moment)
        wanted, own = addresses[rows], found[rows]
        for depth in np.unique(self._depths[alive]):
            # From the outside inward: a part takes the place of the whole.
            layer = np.flatnonzero(alive & (self._depths == depth))
            places = np.searchsorted(self._starts[layer], wanted, "right") - 1
            nearest = layer[np.maximum(places, 0)]
            holds = (places >= 0) & (wanted - self._starts[nearest] < self._bytes[nearest])
            own[holds] = self._ids[nearest[holds]]
        found[rows] = own

    def _sweep(self, addresses: Addresses, times: Ints, found: Ints) -> None:
        """The same, going through accesses, allocations and frees in the order of time: where there are about as many
        of each, looking at all objects for each access would take the product."""
        begun, ended = np.argsort(self._allocated, kind="stable"), np.argsort(self._freed, kind="stable")
        starts, ends = self._allocated[begun].tolist(), self._freed[ended].tolist()
        # Of each depth the places of those alive, in the order of their addresses.
        alive: list[list[int]] = [[] for _ in range(int(self._depths.max(initial=0)) + 1)]
        depths = self._depths.tolist()
        below = np.searchsorted(self._starts, addresses, "right").tolist()
        made = freed = 0
        for row in np.argsort(times, kind="stable").tolist():
            while made < len(starts) and starts[made] <= times[row]:
                place = int(begun[made])
                if self._freed[place] > self._allocated[place]:
                    insort(alive[depths[place]], place)
                made += 1
            while freed < len(ends) and ends[freed] <= times[row]:
                place = int(ended[freed])
                layer = alive[depths[place]]
                # One that is freed before it is allocated never was alive.
                at = bisect_left(layer, place)
                if at < len(layer) and layer[at] == place:
                    del layer[at]
                freed += 1
            for layer in alive:
                # From the outside inward: a part takes the place of the whole.
                at = bisect_left(layer, below[row]) - 1
                if at >= 0 and addresses[row] - self._starts[layer[at]] < self._bytes[layer[at]]:
                    found[row] = self._ids[layer[at]]


_lookups: WeakKeyDictionary[Tables, dict[int, Lookup]] = WeakKeyDictionary()

# The objects, or tensors, of each process by its number.
Lookups = Mapping[int, Lookup]


class ObjectLookups(Lookups):
    """The objects that the trace has; each process's are looked through when first asked for."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def __getitem__(self, process: int) -> Lookup:
        known = _lookups.setdefault(self._tables, {})
        if process not in known:
            objects = self._tables.objects
            known[process] = Lookup(objects[objects["process"].to_numpy() == process])
        return known[process]

    def __iter__(self) -> Iterator[int]:
        return iter(self._tables.processes.index.tolist())

    def __len__(self) -> int:
        return len(self._tables.processes)


def _groups(values: Ints) -> Iterator[tuple[Ints, int]]:
    """The rows of each distinct value, and the value."""
    order = np.argsort(values, kind="stable")
    distinct, starts = np.unique(values[order], return_index=True)
    for value, rows in zip(distinct.tolist(), np.split(order, starts[1:]), strict=False):
        yield rows, value


def _depths(objects: pd.DataFrame) -> Ints:
    """How many objects each is a part of, directly or not."""
    outer = dict(zip(objects.index.tolist(), objects["inside"].tolist(), strict=True))
    depths: dict[int, int] = {0: -1}

    def depth(one: int) -> int:
        chain = []
        while one not in depths:
            chain.append(one)
            depths[one] = 0  # an object inside itself, which no trace has, ends here
            one = outer.get(one, 0)
        for inner in reversed(chain):
            depths[inner] = depths[one] + 1
            one = inner
        return depths[one]

    return np.array([depth(one) for one in outer], np.int64)


NOTHING = Lookup(
    pd.DataFrame(
        {
            "address": np.empty(0, np.uint64),
            **{name: np.empty(0, np.int64) for name in ("bytes", "allocated", "freed", "inside")},
        }
    )
)
