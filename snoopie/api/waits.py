"""What kernels waited for, and how long they moved."""

from __future__ import annotations

from functools import cached_property, partial

import pandas as pd

from snoopie.analysis.waits import by_launch as _by_launch
from snoopie.analysis.waits import by_wait as _by_wait
from snoopie.analysis.waits import moving, stores
from snoopie.analysis.waits.by_wait import By
from snoopie.analysis.waits.stores import Stores
from snoopie.api.core import PAIR
from snoopie.api.notebook import Rows
from snoopie.api.source import SourceMethods
from snoopie.api.time import TimeMethods
from snoopie.words import units


class WaitMethods(TimeMethods, SourceMethods):
    """Waits, recorded with WAITS=on. Their times are instrumented: exact in order, approximate in length."""

    def by_wait(self, by: By = "line") -> pd.DataFrame:
        """The keys of ``by``, kernel issuer owner (labels) awaited (labels of the GPUs that store there) stored_by
        (lines) known_by waits given_up polls waited held longest (ns) blocks (that waited) accesses moving (ns): where
        kernels waited or moved; the longest time first.

        ``by``: line (file line), site (and file line sass), kernel, launch, block (launch first_block blocks), owner,
        awaited. Who stores there is what `awaited_stores` knows of it; "" if nothing is. ``waited`` adds up warps,
        ``held`` and ``moving`` thread blocks: the time in which any warp of a block waited there, and that from its
        first to its last of ``accesses`` to other memory there, less the time in which it was held. By owner and
        awaited nothing is known of accesses.
        """
        return Rows(_by_wait.by_wait(self._tables, self._named_waits, self._named_moves, self._whole.waits, by))

    def file_waits(self, file: str) -> pd.DataFrame:
        """line kernel … moving: the rows of `by_wait` of one file in its order, for the margin of a listing"""
        self._warn_of(file)
        table = self.by_wait()
        own = table[table["file"] == file]
        return Rows(own.drop(columns="file").sort_values("line", ignore_index=True))

    def waits_by_launch(self) -> pd.DataFrame:
        """launch | kernel gpu (label) name ("for GPU 1 at ring.cu:7") awaited file line start end (host ns) error (of
        these) waits given_up waited longest (ns): when launches waited, from the first wait to the end of the last.

        How a launch's waits lie in that time is not known: ``waited`` adds up all warps. ``name`` to ``line`` are of
        where it waited most. Only of GPUs whose clock is known, from launches with times on them.
        """
        table = self._launch_waits
        kernels = self.launches.loc[table.index, "kernel"]
        gpus = pd.Series([self.label(int(gpu)) for gpu in table["gpu"]], table.index, dtype="str")
        return table.assign(kernel=kernels, gpu=gpus)[["kernel", "gpu", *_by_launch.COLUMNS[4:]]]

    def moves_by_launch(self) -> pd.DataFrame:
        """launch | kernel gpu (label) name ("GPU 1 at ring.cu:9") owner file line start end (host ns) error (of these)
        accesses moving (ns): when launches accessed other memory, from the first access to the last.

        ``moving`` adds up thread blocks, as in `by_wait`. ``name`` to ``line`` are of where it moved most. Only of GPUs
        whose clock is known, from launches with times on them.
        """
        table = self._launch_moves
        kernels = self.launches.loc[table.index, "kernel"]
        gpus = pd.Series([self.label(int(gpu)) for gpu in table["gpu"]], table.index, dtype="str")
        return table.assign(kernel=kernels, gpu=gpus)[["kernel", "gpu", *_by_launch.MOVED[4:]]]

    def about_waits(self) -> list[str]:
        """Sentences for a timeline of `moves_by_launch` and `waits_by_launch`: what its bars are, and how exactly their
        times are known."""
        if self.waits.empty and self.moves.empty:
            return []
        if self._launches_waited.empty and self._launches_moved.empty:
            return ["Kernels moved or waited, but not when is known: their launches have no GPU timestamps."]
        sentences = []
        if len(self._launches_moved):
            sentences.append("A launch that accessed other memory has a bar from its first access to its last.")
        if len(self._launches_waited):
            sentences.append(
                "A launch that waited has a bar from its first wait to the end of the last, in the colour of the GPU "
                "that it waited for. How its waits lie in between is not known: the stronger the bar, the more of it "
                "the longest one filled."
            )
        errors = pd.concat([self._launches_moved["error"], self._launches_waited["error"]])
        return [" ".join([*sentences, f"Their times are known to ± {units.duration(int(errors.max()))}."])]

    @cached_property
    def _named_waits(self) -> pd.DataFrame:
        return _by_wait.named(self._tables, self.waits, self._stores_awaited, self.label)

    @cached_property
    def _named_moves(self) -> pd.DataFrame:
        # Without moves nobody need add up the counts.
        counts = self._sums("launch", "site", *PAIR) if len(self.moves) else self.moves.assign(owner=0)
        return moving.named(self._tables, self.moves, counts, self.label)

    @cached_property
    def _launch_waits(self) -> pd.DataFrame:
        return _by_launch.by_launch(self._named_waits, self._launches_waited)

    @cached_property
    def _launch_moves(self) -> pd.DataFrame:
        return _by_launch.moved_by_launch(self._named_moves, self._whole.waits, self._launches_moved)

    @cached_property
    def _launches_moved(self) -> pd.DataFrame:
        # Names, which the filters by owner need, are not for nothing.
        moves = self._named_moves if len(self.moves) else self.moves
        return _by_launch.times(moves, self._whole._wait_clock, self._whole._when)

    @cached_property
    def _launches_waited(self) -> pd.DataFrame:
        """As `by_launch.times`, without a look at the records, which names need."""
        return _by_launch.times(self.waits, self._whole._wait_clock, self._whole._when)

    @cached_property
    def _wait_clock(self) -> pd.DataFrame:
        return _by_launch.of_clocks(self.waits, self.moves, self._when)

    def awaited_stores(self) -> pd.DataFrame:
        """process owner (label) object address known_by issuer (label) kernel file line operation accesses bytes: who
        stores to what was polled, of the whole trace; most bytes first for each address.

        ``known_by``: address, where records have stores to it; object, where counts have stores to the allocation; or
        owner, where all that is known is who stores to that GPU's memory. A GPU's stores to its own are not recorded.
        A recorded store of several polled addresses counts for the lowest. LimitError where addresses and stores are
        too many for a table of both.
        """
        found = self._stores_awaited.of_targets(self._tables)
        sites = self._tables.sites.loc[found["store"].to_numpy()].reset_index(drop=True)
        table = found.drop(columns=["store", *stores.SUMS]).assign(
            **{name: sites[name] for name in ("kernel", "file", "line", "operation")},
            **{name: found[name] for name in stores.SUMS},
        )
        for name in ("owner", "issuer"):
            table[name] = pd.Series([self.label(place) for place in table[name].tolist()], dtype="str")
        return Rows(table)

    @cached_property
    def _stores_awaited(self) -> Stores:
        # Of the whole trace: a launch waits for what another stores.
        work = partial(stores.recorded, polled=stores.polled(self.waits))
        recorded = stores.merged(self._whole._of_records(work)) if len(self.waits) else stores.merged([])
        counts = self._whole._sums("process", "site", "object", *PAIR)
        return stores.stores(self.waits, counts, recorded)
