"""A large job's folder: one small trace a rank, eight GPUs a host, all ranks running the same kernels."""

from __future__ import annotations

from pathlib import Path

from tests.support.encoder import START_NS, TraceBuilder

OF_HOST = 8
KERNELS = 6


def rank_builder(rank: int, ranks: int) -> TraceBuilder:
    """The trace of one rank: it sees the GPUs of its host, works on one, and stores in the next."""
    host, own = divmod(rank, OF_HOST)
    numbers = range(host * OF_HOST, (host + 1) * OF_HOST)
    variables = {"RANK": str(rank), "LOCAL_RANK": str(own), "WORLD_SIZE": str(ranks)}
    trace = TraceBuilder(numbers, pid=1000 + own, host=f"node{host}", ranks=variables)
    trace.header["links"] = [link for link in trace.header["links"] if link["issuer"] == own]
    for kernel in range(KERNELS):
        function = trace.function(f"void step{kernel}<float, 128>(float*, int)")
        line = trace.line("/home/u/app/step.cu", 10 + kernel, f"step{kernel}")
        store = trace.site(function, "STG.E.128", "store", 16, line=line)
        load = trace.site(function, "LDG.E", "load", 4, line=line)
        for step in range(4):
            launch = trace.launch(function, own)
            start = START_NS + 10_000 * (KERNELS * step + kernel)
            trace.add("spans", launch=launch, start=start, end=start + 5_000)
            trace.count(launch, store, (own + 1) % OF_HOST, 16, 512, 256)
            trace.count(launch, load, (own + 7) % OF_HOST, 4, 128, 16)
    for number in range(8):
        trace.allocation("device", 1 << 21, own, number, 1_000_000 + number, address=(1 << 40) + (number << 21))
    return trace


def write(folder: Path, ranks: int) -> Path:
    """The traces of so many ranks, in a folder; returns it."""
    folder.mkdir(parents=True)
    for rank in range(ranks):
        rank_builder(rank, ranks).write(folder / f"rank{rank:05}.zst")
    return folder
