"""What a trace does not show."""

from __future__ import annotations

from functools import cached_property

import pandas as pd

from snoopie.analysis import losses
from snoopie.analysis.traffic import counts as _counts
from snoopie.api.attributes import TraceAttributes


class LossMethods(TraceAttributes):
    """What was not recorded."""

    def not_measured(self) -> pd.DataFrame:
        """Sites that were not measured, most often run first: site kernel (that holds it) file line offset opcode
        operation width sass accesses lanes.

        ``accesses`` says how often warps ran it. What it moved is nowhere.
        """
        sites = self.sites if self._selected is None else self.sites[self._selected.sites]
        return losses.not_measured(sites, self._unmeasured)

    def losses(self) -> list[str]:
        """What the trace does not show, in plain sentences; [] if nothing was lost. Views say the same as the whole."""
        return losses.losses(self._tables, self._whole._sums("site", "owner"), self._whole._unmeasured)

    @cached_property
    def _unmeasured(self) -> pd.DataFrame:
        if self._cluster is not None:
            return self._cluster.unmeasured(self._selected)
        counts = _counts.weighted(self._tables, self._tables.unmeasured_counts)
        return counts if self._selected is None else self._selected.of_launches(self._tables, counts)
