"""What every subject of a trace stands on: its tables, what of them is selected, the sums and records of that."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Self, TypeVar

import pandas as pd

from snoopie.analysis import selection
from snoopie.analysis.traffic import counts as _counts
from snoopie.analysis.traffic.reading import Reading, ends
from snoopie.api.arguments import checked_methods
from snoopie.cluster import Cluster, Work
from snoopie.joined.tables import Tables

_Result = TypeVar("_Result")

# The keys of sums by pair.
PAIR = ("issuer", "owner", "operation")


class TraceCore:
    """Tables, the selected part of them, and what all analyses begin with."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        checked_methods(cls)

    def __init__(
        self,
        tables: Tables,
        selected: selection.Selection | None = None,
        parent: Self | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        self._tables = tables
        self._selected = selected
        self._whole: Self = parent or self
        self._cluster = cluster

    def label(self, place: int) -> str:
        """The name for reading of an issuer or owner: "GPU 0", "host", "unknown", "multicast 0 (GPU 0, GPU 1)"."""
        return self._tables.label(place)

    def _sums(self, *keys: str) -> pd.DataFrame:
        """The traffic with at least these keys: the counts as they are, their sums where that is enough, or sums by the
        workers of a cluster."""
        if self._cluster is None:
            return self._by_code if _counts.CODE.issuperset(keys) else self._traffic
        if keys not in self._known:
            self._known[keys] = self._cluster.sums(keys, self._selected)
        return self._known[keys]

    def _with_launches(self, sums: pd.DataFrame, column: str) -> pd.DataFrame:
        """Traffic by launch, with a column of the launches."""
        own = self._tables.launches[column].reindex(sums["launch"].to_numpy()).to_numpy()
        return sums.assign(**{column: own})

    @cached_property
    def _known(self) -> dict[tuple[str, ...], pd.DataFrame]:
        return {}

    @cached_property
    def _traffic(self) -> pd.DataFrame:
        if self._selected is None:
            return _counts.joined(self._tables)
        return self._selected.traffic(self._tables, self._whole._traffic)

    @cached_property
    def _by_code(self) -> pd.DataFrame:
        return _counts.by_code(self._tables, self._traffic)

    def _labelled(self, table: pd.DataFrame, reading: Reading) -> pd.DataFrame:
        for end in ends(reading):
            labels = {place: self.label(place) for place in table[end].unique()}
            table[end] = pd.Series([labels[place] for place in table[end]], table.index, dtype="str")
        return table

    def _called(self, table: pd.DataFrame) -> pd.DataFrame:
        return table if self._selected is None else self._selected.of_calls(table)

    def _kept(self, table: pd.DataFrame) -> pd.DataFrame:
        if self._selected is None:
            return table
        return table[self._selected.rows(self._tables, table)].reset_index(drop=True)

    def _of_records(self, work: Work[_Result]) -> Iterator[_Result]:
        """What ``work``, a function of a module, makes of the selected records, block by block."""
        if self._cluster is not None:
            return self._cluster.records(work, self._selected)
        made = self._tables.records.each(lambda *block: work(self._tables, self._selected, *block))
        return (result for result in made if result is not None)
