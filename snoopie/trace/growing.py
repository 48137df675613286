"""A trace while its program runs: what some of its tables got since the last look."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Collection
from pathlib import Path

from snoopie.trace.container import FOOTER, GrowingContainer
from snoopie.trace.declaration import known_tables
from snoopie.trace.limits import LIMITS, Limits
from snoopie.trace.roles import REFERENCES
from snoopie.trace.tables import Process, Rows


class Growing(Process):
    """A file that may still be written. `column` has the rows of ``tables`` that the last `advance` found.

    Nothing of any other table is decoded, or even read, except those that they refer to. Raises what `Process.open`
    raises, but not because the end is missing; a file whose header is not whole yet is a TruncatedError, an EmptyError
    or a NotATraceError as there.
    """

    def __init__(self, path: Path, tables: Collection[str], *, limits: Limits = LIMITS) -> None:
        self._growing = GrowingContainer(path)
        try:
            super().__init__(self._growing, allow_truncated=True, limits=limits)
        except BaseException:
            self._growing.close()
            raise
        wanted = _with_referred(tables)
        self._wanted = {FOOTER} | {number for number, table in self.header.tables.items() if table.name in wanted}
        self._dropped = 0

    @property
    def ended(self) -> bool:
        """True if the trace has its end, or if nobody is left who would write it."""
        return self.footer is not None or self._gone()

    @property
    def dropped(self) -> int:
        """Records dropped by the collector, as far as the file says by now."""
        return self._dropped

    @property
    def last_ns(self) -> int:
        """Of a process that still runs, now."""
        return super().last_ns if self.ended else max(self.header.start_ns, time.time_ns())

    def advance(self) -> None:
        """Reads what has been appended since the last time. CorruptError where that is no trace."""
        parts: dict[str, Rows] = {}
        if "strings" in self._tables:
            known = self._tables["strings"]
            parts["strings"] = Rows(known_tables()["strings"], 0)
            parts["strings"].add(known, len(known["id"]))
        for block in self._growing.appended():
            self._count(block)
            self._dropped = max(self._dropped, block.dropped)
            self._index.check(block.offset + block.size)
            if block.table in self._wanted or block.table not in self.header.tables:
                self._take(block, parts, try_records=False)
        self._tables = {table: rows.columns() for table, rows in parts.items()}

    def close(self) -> None:
        """Closes the file."""
        self._growing.close()

    def _gone(self) -> bool:
        """True if the process is known to have ended: it was one of this machine, which has it no more."""
        if self.header.host != socket.gethostname() or self.header.pid <= 0:
            return False
        try:
            os.kill(self.header.pid, 0)
        except (ProcessLookupError, OverflowError):
            return True
        except OSError:
            return False
        return False


def _with_referred(tables: Collection[str]) -> set[str]:
    """The tables, and those whose rows they refer to: a reference is checked where it stands."""
    wanted = {"strings", *tables}
    while (
        more := {
            column.role.ref
            for name in wanted
            for column in known_tables()[name].columns.values()
            if column.role.name in REFERENCES
        }
        - wanted
    ):
        wanted |= more
    return wanted
