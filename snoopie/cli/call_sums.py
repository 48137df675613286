"""Driver calls, summed up; also of processes that still run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from snoopie.analysis.host import calls
from snoopie.api.trace import Trace
from snoopie.errors import TruncatedError
from snoopie.joined import runs
from snoopie.joined.tables import Tables
from snoopie.trace.growing import Growing
from snoopie.trace.lacks import Lack
from snoopie.trace.limits import LIMITS, Limits

# The sums behind all tables, and what distinguishes their rows.
_TABLES = ("call_totals", "call_times", "call_errors")
_TOTALS = ("process", "thread", "gpu", "call", "kernel", "direction")
_TIMES = ("process", "thread", "gpu", "call")


class Sums:
    """The calls of some processes, to which more can be added."""

    def __init__(self, tables: Trace | Tables) -> None:
        self.label = tables.label
        # Why something is not known; "" of what is, and of processes that still run.
        self.no_calls, self.no_errors, self.no_sizes = (
            tables.lacks(what) if isinstance(tables, Trace) else ""
            for what in (Lack.CALLS, Lack.ERRORS, Lack.CALL_SIZES)
        )
        self.totals = calls.summarise(tables.call_totals, _TOTALS)
        self.times = calls.summarise_times(tables.call_times, _TIMES)
        self.errors = calls.summarise_errors(tables.call_errors, _TIMES)

    def add(self, more: Sums) -> None:
        """Adds what came later, whose processes and GPUs have the same numbers."""
        self.label = more.label
        self.totals = calls.merge([self.totals, more.totals], _TOTALS)
        self.times = calls.merge_times([self.times, more.times], _TIMES)
        self.errors = calls.merge_errors([self.errors, more.errors], _TIMES)

    def by_call(self, *keys: str) -> pd.DataFrame:
        return self._known(calls.by_call(self.totals, self.times, self.label, list(keys)))

    def by_kernel(self) -> pd.DataFrame:
        return self._known(calls.by_kernel(self.totals, self.label))

    def by_direction(self) -> pd.DataFrame:
        return self._known(calls.by_direction(self.totals, self.label))

    def _known(self, table: pd.DataFrame) -> pd.DataFrame:
        return calls.known(table, errors=not self.no_errors, sizes=not self.no_sizes)

    def by_error(self) -> pd.DataFrame:
        return calls.by_error(self.errors, self.label)


class Live:
    """The calls of processes that still run, as far as their traces go: files, and all that come into folders."""

    def __init__(
        self, sources: Iterable[Path], run: str | None = None, *, all_runs: bool = False, limits: Limits = LIMITS
    ) -> None:
        self._sources = list(sources)
        self._run, self._all_runs, self._limits = run, all_runs, limits
        self._processes: dict[Path, Growing] = {}
        self.sums: Sums | None = None

    @property
    def running(self) -> int:
        """How many of the processes have not ended."""
        return sum(not process.ended for process in self._processes.values())

    @property
    def known(self) -> int:
        """How many processes there are or were."""
        return len(self._processes)

    def look(self) -> bool:
        """Reads what is new. Returns whether more can come."""
        self._find()
        # Asked first: what a process wrote before it was gone is then there to be read.
        more = not self._processes or self.running > 0
        for process in self._processes.values():
            process.advance()
        if self._processes:
            new = Sums(Tables(runs.chosen(list(self._processes.values()), self._run, all_runs=self._all_runs)))
            if self.sums is None:
                self.sums = new
            else:
                self.sums.add(new)
        return more and (not self._processes or any(process.footer is None for process in self._processes.values()))

    def close(self) -> None:
        """Closes the files."""
        for process in self._processes.values():
            process.close()

    def _find(self) -> None:
        for source in self._sources:
            for path in sorted(source.glob("*.zst")) if source.is_dir() else [source]:
                real = path.resolve()
                if real in self._processes:
                    continue
                # A file whose header is still being written is for the next time.
                with contextlib.suppress(TruncatedError):
                    self._processes[real] = Growing(path, _TABLES, limits=self._limits)
