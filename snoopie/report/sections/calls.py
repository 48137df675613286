"""The program's driver calls."""

from __future__ import annotations

from snoopie.analysis.host.calls import shown
from snoopie.api.trace import Trace
from snoopie.report.parts import Folders, Part, Section, Text, table
from snoopie.trace.lacks import Lack


def calls(trace: Trace, _: Folders) -> Section:
    title = "Driver calls"
    by_call = trace.by_call()
    if by_call.empty:
        return Section("calls", title, absent=trace.lacks(Lack.CALLS) or "driver calls were not recorded")
    where = "snoopie calls lists them all"
    columns = shown(by_call, ["call", "calls", "errors", "host_ns", "mean_ns", "p99_ns", "max_ns", "bytes", "unsized"])
    parts: list[Part] = [table(by_call, columns, "By call, longest in the calls first", where)]
    failed = trace.by_error()
    if len(failed):
        parts.append(table(failed, ["call", "returned", "name", "calls"], "Calls that failed", where))
    elif unknown := trace.lacks(Lack.ERRORS):
        parts.append(Text(f"Calls that failed: {unknown}."))
    return Section("calls", title, parts)
