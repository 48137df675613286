"""Who reached whom, when, by which collectives and copies."""

from __future__ import annotations

from snoopie.api.trace import Trace
from snoopie.report.parts import TRAFFIC, Folders, Part, Section, Table, drawing, table
from snoopie.words.widths import PAGE

_WIDTH = 4.8  # inches


def pairs(trace: Trace, _: Folders) -> Section:
    title = "Who reached whom"
    moved = trace.by_pair()
    if moved.empty:
        return Section("pairs", title, absent="no kernel reached memory outside its GPU")
    parts: list[Part] = [
        drawing(trace.plot_matrix(width=_WIDTH), "Bytes by issuer (who executed the access) and owner of the memory."),
        table(
            moved, ["issuer", "owner", *TRAFFIC], "Issued: who accessed whose memory", "snoopie stats lists them all"
        ),
        table(
            trace.by_pair(reading="flow"),
            ["from", "to", *TRAFFIC],
            "Flow: source and destination of the data; an atomic counts once each way",
            "snoopie stats --reading flow lists them all",
        ),
    ]
    return Section("pairs", title, parts)


def timeline(trace: Trace, _: Folders) -> Section:
    title = "Over time"
    if trace.traffic_over_time(1, initiated="both").empty:
        return Section("timeline", title, absent="no traffic has timestamps")
    caption = "Traffic over time, by kernels and by host copies; above it, when they ran."
    return Section("timeline", title, [drawing(trace.plot_timeline(bins=300, width=PAGE), caption)])


def collectives(trace: Trace, _: Folders) -> Section:
    title = "Collectives"
    if trace.collectives.empty:
        return Section("collectives", title, absent="no NCCL call was recorded")
    return Section("collectives", title, [collectives_table(trace)])


def collectives_table(trace: Trace) -> Table:
    """NCCL's calls and what they moved."""
    shown = ["operation", "reduction", "type", "communicator", "calls", "launches", "call_bytes", *TRAFFIC]
    caption = "NCCL calls, with the traffic of the kernels that carried them out"
    return table(trace.by_collective(), shown, caption, "snoopie stats --by collective lists them all")


def copies(trace: Trace, _: Folders) -> Section:
    title = "Copies by the host"
    if trace.copies.empty:
        return Section("copies", title, absent="no copy between GPUs, or between host and GPU, was recorded")
    parts: list[Part] = [
        drawing(
            trace.plot_matrix(reading="flow", initiated="host", width=_WIDTH),
            "Bytes moved by host copies, by source and destination.",
        ),
        copies_table(trace, "By ends and call"),
    ]
    return Section("copies", title, parts)


def copies_table(trace: Trace, caption: str) -> Table:
    """Copies by their ends and the call that started them."""
    shown = ["from", "to", "kind", "call", "copies", "bytes", "host_ns"]
    return table(trace.by_copy(), shown, caption, "snoopie stats --by copy lists them all")
