"""A process of which some launches were not measured."""

from __future__ import annotations

from tests.support.encoder import UNKNOWN, TraceBuilder

BIG = (1 << 54) + 1


def sampled_builder() -> TraceBuilder:
    """`often` on GPU 0: 3 of 10 launches measured, 7 + 8 + 9 accesses; on GPU 1: both. `once`: too much for floats."""
    trace = TraceBuilder(2)
    often, once, never = (trace.function(name) for name in ("often", "once", "never"))
    store = trace.site(often, "STG.E", "store", 4, line=trace.line("/home/u/a.cu", 3))
    atomic = trace.site(once, "ATOMG.E", "atomic", 1, line=trace.line("/home/u/a.cu", 4))
    texture = trace.site(often, "TEX", "load", 0, measured=False)
    for accesses in (7, 8, 9):
        launch = trace.launch(often, 0)
        trace.count(launch, store, 1, accesses, 32 * accesses, 4 * accesses)
        trace.count(launch, texture, UNKNOWN, 1, 1, 0)
        trace.record(launch, store, 1, 0x7F0000001000, 4)
    for _ in range(2):
        trace.count(trace.launch(often, 1), store, 0, 5, 160, 20)
    trace.count(trace.launch(once, 1), atomic, 0, BIG, BIG, BIG)
    trace.add("sampling", function=often, gpu=0, launches=10, measured=3)
    trace.add("sampling", function=never, gpu=1, launches=6, measured=0)
    return trace
