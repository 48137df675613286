"""Call stacks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import pandas as pd

from snoopie.analysis.source import stacks
from snoopie.api.attributes import TraceAttributes


class StackMethods(TraceAttributes):
    """Call stacks, and how they are named."""

    def stack(self, stack: int) -> pd.DataFrame:
        """frame level function file line code module (path) python: a call stack, innermost first; none for 0.

        ``level`` 0 is the function at that place, each further one has that before it inlined. A function without a
        name is its place in its file, "libx.so+0x1234". UsageError for a stack that is not there.
        """
        return stacks.stack(self._frame_places, stacks.frames_of(self.stacks, stack))

    def stack_label(self, stacks_: Iterable[int]) -> pd.Series:
        """For each of some stacks, as in a column of them, the innermost place in the user's own code: "a.py:12 step".

        Where a stack has none with a line, the innermost in no library, else the innermost that is neither the
        driver's nor the runtime's, else the innermost; "" for 0.
        """
        return stacks.label_of(self._stack_labels, stacks_)

    @cached_property
    def _frame_places(self) -> pd.DataFrame:
        return stacks.places(self.frames, self.modules, self.symbols)

    @cached_property
    def _stack_labels(self) -> pd.Series:
        kernels = self.functions.loc[self.functions["kernel"], "name"]
        return stacks.labels(self.stacks, self._frame_places, kernels)
