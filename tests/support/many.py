"""Sixteen GPUs of two hosts, two processes of eight GPUs each, with the times at which launches ran.

Each GPU stores 1024 × (1 + the distance to the other) bytes in every other GPU of its host, in 1 µs, as one launch, and
then 128 KiB by NCCL's kernel in the next of the host, in 2 µs; and loads 1 KiB from the host's memory.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.encoder import HOST, START_NS, TraceBuilder

GPUS, HOSTS = 16, 2
OF_HOST = GPUS // HOSTS


def many_builder(host: int) -> TraceBuilder:
    """The trace of the process on one host."""
    own = range(host * OF_HOST, (host + 1) * OF_HOST)
    ranks = {"RANK": str(host), "WORLD_SIZE": str(HOSTS)}
    trace = TraceBuilder(own, pid=4711 + host, host=f"node{host + 1}", ranks=ranks)
    spread, reduce = trace.function("spread(float*)"), trace.function("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)")
    stored = trace.site(spread, "STG.E.128", "store", 16)
    loaded = trace.site(spread, "LDG.E", "load", 4)
    passed = trace.site(reduce, "STG.E.128", "store", 16)
    for gpu in range(OF_HOST):
        launch = trace.launch(spread, gpu)
        trace.add("spans", launch=launch, start=START_NS, end=START_NS + 1000)
        for other in range(OF_HOST):
            if other != gpu:
                number = 2 * (1 + abs(other - gpu))
                trace.count(launch, stored, other, number, 32 * number, 16 * number)
        trace.count(launch, loaded, HOST, 8, 256, 32)
        launch = trace.launch(reduce, gpu, group=1)
        trace.add("spans", launch=launch, start=START_NS + 2000, end=START_NS + 4000)
        trace.count(launch, passed, (gpu + 1) % OF_HOST, 256, 8192, 4096)
    return trace


def write_many(folder: Path) -> Path:
    """The traces of both processes, in a folder; returns it."""
    for host in range(HOSTS):
        many_builder(host).write(folder / f"many.{host}.zst")
    return folder
