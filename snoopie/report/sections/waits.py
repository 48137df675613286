"""How long kernels moved and waited, and for what."""

from __future__ import annotations

from snoopie.api.trace import Trace
from snoopie.report.parts import Folders, Part, Section, Text, table


def waits(trace: Trace, _: Folders) -> Section:
    title = "Moving or waiting"
    waited = trace.by_wait()
    if waited.empty:
        recorded = any(settings.get("waits") == "on" for settings in trace.settings)
        none = "no kernel waited, or accessed other memory" if recorded else "waits are recorded with WAITS=on"
        return Section("waits", title, absent=none)
    shown = ["file", "line", "kernel", "issuer", "owner", "awaited", "stored_by", "waits", "waited", "held", "moving"]
    parts: list[Part] = [
        table(
            waited,
            shown,
            "Lines that polled memory until it changed, and who stores there, and lines that accessed other memory; "
            "the time of all warps, or thread blocks, is added up",
            "snoopie waits lists them all",
        ),
        Text("These times are instrumented: exact in order, approximate in length."),
    ]
    return Section("waits", title, parts)
