"""What kernels waited for."""

from __future__ import annotations

from snoopie.api.trace import Trace
from snoopie.report.parts import Folders, Part, Section, Text, table


def waits(trace: Trace, _: Folders) -> Section:
    title = "Waits"
    waited = trace.by_wait()
    if waited.empty:
        recorded = any(settings.get("waits") == "on" for settings in trace.settings)
        return Section("waits", title, absent="no kernel waited" if recorded else "waits are recorded with WAITS=on")
    shown = ["file", "line", "kernel", "issuer", "owner", "awaited", "stored_by", "waits", "waited", "longest"]
    parts: list[Part] = [
        table(
            waited,
            shown,
            "Lines that polled memory until it changed, and who stores there; the time of all warps is added up",
            "snoopie waits lists them all",
        ),
        Text("These times are instrumented: exact in order, approximate in length."),
    ]
    return Section("waits", title, parts)
