"""What a report contains, in this order."""

from __future__ import annotations

from collections.abc import Callable

from snoopie.api.trace import Trace
from snoopie.report.parts import Folders, Section
from snoopie.report.sections import about, calls, code, communication, findings, memory, waits

# Makes a section of a trace; the folders are those that hold the program's source.
Maker = Callable[[Trace, Folders], Section]

ALL: tuple[Maker, ...] = (
    about.totals,
    about.losses,
    findings.findings,
    communication.pairs,
    communication.timeline,
    code.lines,
    code.kernels,
    waits.waits,
    memory.objects,
    communication.collectives,
    communication.copies,
    memory.usage,
    memory.leaks,
    calls.calls,
    about.machine,
)
