"""Single recorded accesses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain

import pandas as pd

from snoopie.analysis.traffic import accesses
from snoopie.api.arguments import Natural
from snoopie.api.attributes import TraceAttributes
from snoopie.api.table import table


class RecordMethods(TraceAttributes):
    """Single recorded accesses."""

    @table
    def records(self) -> pd.DataFrame:
        """One row a recorded access: launch site issuer owner process time block warp multiprocessor mask lanes shape
        base stride bytes. ``multiprocessor`` is the SM, -1 unknown.

        ``shape`` is strided, scattered (base: the address of the lowest lane, stride 0; `lane_accesses` has all
        addresses) or bulk (one thread moved ``bytes``, from base on).
        """
        return accesses.whole(self._tables.records.none().table, self.record_blocks(), self._tables.records.rows)

    def lane_accesses(self, limit: Natural | None = None) -> pd.DataFrame:
        """One row per lane access: launch site issuer owner process time block warp lane address width (bytes).

        A bulk access is one row, as wide as all that it moved. Without a limit this can be 32 rows a record:
        `lane_access_blocks` goes through them piece by piece.
        """
        most = accesses.LANES * self._tables.records.rows
        parts = accesses.limited(self.lane_access_blocks(), limit)
        return accesses.whole(accesses.none(self._tables), parts, most if limit is None else min(limit, most))

    def lane_access_blocks(self) -> Iterator[pd.DataFrame]:
        """The rows of `lane_accesses` in tables of at most about a quarter of a million rows"""
        if self._cluster is not None:
            return chain.from_iterable(self._cluster.records(accesses.lanes, self._selected, blocks=1))
        return accesses.lane_accesses(self._tables, self._of_records(accesses.selected_block))

    def record_blocks(self) -> Iterator[pd.DataFrame]:
        """The rows of ``records`` in the pieces in which they were written"""
        return self._of_records(accesses.records)

    def count_records(self) -> None:
        """Goes through all records of the whole trace, once: the first `summary` of a view does it where nobody did."""
        _ = self._whole._record_counts

    @cached_property
    def _record_count(self) -> int:
        if self._selected is None:
            return self._tables.records.rows
        counts = self._whole._record_counts
        return int(counts.loc[self._selected.rows(self._tables, counts), "records"].sum())

    @cached_property
    def _record_counts(self) -> pd.DataFrame:
        return accesses.merged(self._of_records(accesses.counted))
