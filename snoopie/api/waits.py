"""What kernels waited for."""

from __future__ import annotations

from functools import cached_property, partial

import pandas as pd

from snoopie.analysis.waits import by_launch as _by_launch
from snoopie.analysis.waits import by_wait as _by_wait
from snoopie.analysis.waits import stores
from snoopie.analysis.waits.by_wait import By
from snoopie.api.core import PAIR
from snoopie.api.notebook import Rows
from snoopie.api.source import SourceMethods
from snoopie.api.time import TimeMethods
from snoopie.words import units


class WaitMethods(TimeMethods, SourceMethods):
    """Waits, recorded with WAITS=on. Their times are instrumented: exact in order, approximate in length."""

    def by_wait(self, by: By = "line") -> pd.DataFrame:
        """The keys of ``by``, kernel issuer owner (labels) awaited (labels of the GPUs that store there) stored_by
        (lines) known_by waits given_up polls waited longest (ns) blocks; the longest time first.

        ``by``: line (file line), site (and file line sass), kernel, launch, block (launch first_block blocks), owner,
        awaited. Who stores there is what `awaited_stores` knows of it; "" if nothing is. ``waited`` adds up warps.
        """
        return Rows(_by_wait.by_wait(self._tables, self.waits, self._stores_awaited, self.label, by))

    def file_waits(self, file: str) -> pd.DataFrame:
        """line kernel … blocks: the rows of `by_wait` of one file in its order, for the margin of a listing"""
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

    def about_waits(self) -> list[str]:
        """Sentences for a timeline of `waits_by_launch`: what its bars are, and how exactly their times are known."""
        if self.waits.empty:
            return []
        if self._launches_waited.empty:
            return ["Kernels waited, but not when is known: their launches have no GPU timestamps."]
        error = units.duration(int(self._launches_waited["error"].max()))
        return [
            "A launch that waited has a bar from its first wait to the end of the last, in the colour of the GPU that "
            "it waited for. How its waits lie in between is not known: the stronger the bar, the more of it the "
            f"longest one filled. Their times are known to ± {error}."
        ]

    @cached_property
    def _launch_waits(self) -> pd.DataFrame:
        named = _by_wait.named(self._tables, self.waits, self._stores_awaited, self.label)
        return _by_launch.by_launch(named, self._launches_waited)

    @cached_property
    def _launches_waited(self) -> pd.DataFrame:
        """As `by_launch.times`, without a look at the records, which names need."""
        return _by_launch.times(self.waits, self._whole._wait_clock, self._whole._when)

    @cached_property
    def _wait_clock(self) -> pd.DataFrame:
        return _by_launch.of_clocks(self.waits, self._when)

    def awaited_stores(self) -> pd.DataFrame:
        """process owner (label) object address known_by issuer (label) kernel file line operation accesses bytes: who
        stores to what was polled, of the whole trace; most bytes first for each address.

        ``known_by``: address, where records have stores to it; object, where counts have stores to the allocation; or
        owner, where all that is known is who stores to that GPU's memory. A GPU's stores to its own are not recorded.
        """
        found = self._stores_awaited
        sites = self._tables.sites.loc[found["store"].to_numpy()].reset_index(drop=True)
        table = found.drop(columns=["store", *stores.SUMS]).assign(
            **{name: sites[name] for name in ("kernel", "file", "line", "operation")},
            **{name: found[name] for name in stores.SUMS},
        )
        for name in ("owner", "issuer"):
            table[name] = pd.Series([self.label(place) for place in table[name].tolist()], dtype="str")
        return Rows(table)

    @cached_property
    def _stores_awaited(self) -> pd.DataFrame:
        # Of the whole trace: a launch waits for what another stores.
        work = partial(stores.recorded, polled=stores.polled(self.waits))
        recorded = stores.merged(self._whole._of_records(work)) if len(self.waits) else stores.merged([])
        counts = self._whole._sums("process", "site", "object", *PAIR)
        return stores.stores(self.waits, counts, recorded)
