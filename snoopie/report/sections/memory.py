"""What memory was touched, how much there was over time and at its peak, what was never freed."""

from __future__ import annotations

import pandas as pd

from snoopie.analysis.memory import usage as _usage
from snoopie.api.trace import Trace
from snoopie.figures import memory as chart
from snoopie.report.parts import Folders, Part, Section, Text, drawing, table
from snoopie.trace.lacks import Lack
from snoopie.words import units
from snoopie.words.widths import PAGE

# More charts than this are drawn as one of all together; moments of each, so that it stays small.
_CHARTS, _MOMENTS = 6, 500
_PEAKS = 8


def objects(trace: Trace, _: Folders) -> Section:
    title = "Objects"
    touched = trace.by_object()
    touched = touched[(touched[["bytes", "accesses", "copied_in", "copied_out"]] > 0).any(axis=1)]
    if not (touched["object"] > 0).any():
        absent = trace.lacks(Lack.ALLOCATIONS) or "no allocation was touched, or allocations were not recorded"
        return Section("objects", title, absent=absent)
    parts: list[Part] = [
        table(
            touched,
            ["object", "owner", "kind", "name", "source", "size", "bytes", "accesses", "copied_in", "copied_out"],
            "Allocations by what GPUs moved to and from them; copies are those of the host",
            "snoopie stats --by object lists them all",
        )
    ]
    if not touched["exact"].all():
        parts.append(Text("Traffic of objects that share pages is divided in proportion to the recorded accesses."))
    return Section("objects", title, parts)


def usage(trace: Trace, _: Folders) -> Section:
    title = "Memory over time"
    used = trace.memory_usage()
    charts = chart.panels(used, trace.memory_agreement(), trace.processes)
    if not charts:
        return Section("memory", title, absent=trace.lacks(Lack.ALLOCATIONS) or "no allocation was recorded")
    if len(charts) > _CHARTS:
        charts = chart.total(used, trace.processes)
    if unknown := trace.lacks(Lack.FREES):
        return Section("memory", title, absent=unknown)
    start = int(trace.processes["start_ns"].min())
    drawn = chart.draw(charts, start, width=PAGE, most=_MOMENTS)
    parts: list[Part] = [drawing(drawn, "Allocated memory by kind; the line shows what the driver reported.")]
    peaks = trace.memory_watermark().groupby(["peak", "process", "device"], sort=False)
    for (_whose, process, device), live in list(peaks)[:_PEAKS]:
        peak = int(live["peak"].iloc[0])
        whose = f"process {process} on {device}" if len(trace.processes) > 1 else str(device)
        after = units.duration(int(live["time"].iloc[0]) - start)
        parts.append(
            table(
                live,
                ["source", "call", "kind", "objects", "bytes"],
                f"Peak of {whose}: {units.bytes(peak)} after {after}",
                "snoopie memory --watermark --json lists them all",
            )
        )
    if len(peaks) > _PEAKS:
        parts.append(Text(f"{len(peaks) - _PEAKS} more peaks: snoopie memory --watermark lists them."))
    return Section("memory", title, parts)


def leaks(trace: Trace, _: Folders) -> Section:
    title = "Never freed"
    kept = trace.leaks()
    # What lives until the program's end by design is no leak.
    lost: pd.DataFrame = kept[kept["state"] == _usage.NEVER_FREED]
    if trace.objects.empty:
        return Section("leaks", title, absent=trace.lacks(Lack.ALLOCATIONS) or "no allocation was recorded")
    if unknown := trace.lacks(Lack.FREES):
        return Section("leaks", title, absent=unknown)
    parts: list[Part] = []
    if not trace.complete:
        parts.append(Text("The trace is incomplete: memory that it shows as not freed may have been freed later."))
    elif lost.empty:
        parts.append(Text("No leaks: every allocation was freed, or lives until the program's end by design."))
    if len(lost):
        shown = ["process", "device", "source", "call", "kind", "objects", "bytes"]
        where = "snoopie memory --leaks --json lists them all"
        parts.append(table(lost, shown, "Memory not freed when the program began to exit", where))
    return Section("leaks", title, parts)
