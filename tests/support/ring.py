"""A small trace of four GPUs whose traffic is known by arithmetic, and the source that it claims to come from.

As the collector did before the fourth version of the format, it counts in wire units of 32 bytes, written or read.
Every GPU runs three kernels, each of 4 blocks of 128 threads = 16 warps = 512 threads:

| kernel   | line                                | to    | operation | width | an access touches                       |
|----------|-------------------------------------|-------|-----------|-------|-----------------------------------------|
| ring_put | ring.cu:6                           | next  | store     | 16    | 32 lanes side by side: 16 wire units    |
| ring_get | shift.h:4, inlined at ring.cu:12    | next  | load      | 4     | 32 lanes 256 bytes apart: 32 wire units |
| ring_bump| ring.cu:18                          | GPU 0 | atomic    | 4     | 1 lane: 1 wire unit                     |
| ring_bump| ring.cu:19                          | GPU 0 | reduction | 8     | 32 lanes, one address: 1 wire unit      |

GPU 0 does not run ring_bump: its own memory is not remote. ring_put also holds one instruction that was not measured;
each of its warps runs it once, 64 times in all, and that is in no sum.
So, with 4 launches of put and get and 3 of bump:

| operation | accesses | lanes |   units | bytes | wire bytes |
|-----------|---------:|------:|--------:|------:|-----------:|
| store     |       64 |  2048 |    1024 | 32768 |      32768 |
| load      |       64 |  2048 |    2048 |  8192 |      65536 |
| atomic    |       48 |    48 |      48 |   192 |       1536 |
| reduction |       48 |  1536 |      48 | 12288 |       1536 |
| all       |      224 |  5680 |    3168 | 53440 |     101376 |
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.support.encoder import START_NS, UNKNOWN, TraceBuilder

PUT = "void ring_put<float4>(float4 *, int)"
GET = "ring_get(float const *, float *, int)"
BUMP = "ring_bump(unsigned int *, unsigned long long *)"
RING_CU = "/home/u/ring/src/ring.cu"
SHIFT_H = "/home/u/ring/include/shift.h"

TOTALS = {"accesses": 224, "lanes": 5680, "wire_units": 3168, "bytes": 53440, "wire_bytes": 101376}
# From the table above; rows issue, columns own. Each GPU puts 8192 and gets 2048 bytes at its neighbour; 1, 2 and 3
# also bump 64 + 4096 bytes on GPU 0, which is 3's neighbour.
ISSUED_BYTES = [[0, 10240, 0, 0], [4160, 0, 10240, 0], [4160, 0, 0, 10240], [14400, 0, 0, 0]]
# Rows are where data came from: stores and reductions as above (8192, 4096), loads the other way (2048), atomics both
# ways (64).
FLOW_BYTES = [[0, 8256, 64, 2112], [6208, 0, 8192, 0], [4160, 2048, 0, 8192], [12352, 0, 2048, 0]]

RING_SOURCE = """\
#include "shift.h"

template <class T>
__global__ void ring_put(T *next, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) next[i] = T{};
}

__global__ void ring_get(const float *next, float *own, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        own[i] = shifted(next, i);
}

__global__ void ring_bump(unsigned *ticket, unsigned long long *sum) {
    __shared__ unsigned turn;
    if (threadIdx.x % 32 == 0)
        turn = atomicAdd(ticket, 1u);
    atomicAdd(sum, 1ull);
}
"""
SHIFT_SOURCE = """\
#pragma once

__device__ inline float shifted(const float *from, int i) {
    return from[64 * i];
}
"""


def ring_builder(
    ordinals: Sequence[int] = (0, 1, 2, 3),
    run_on: Sequence[int] | None = None,
    *,
    pid: int = 4711,
    rank: int | None = None,
) -> TraceBuilder:
    """One process that sees the GPUs in the order of ``ordinals`` and launches on ``run_on`` (default: all)."""
    ranks = {} if rank is None else {"OMPI_COMM_WORLD_RANK": str(rank)}
    trace = TraceBuilder(ordinals, pid=pid, ranks=ranks)
    place = {number: ordinal for ordinal, number in enumerate(ordinals)}
    put, get, bump = trace.function(PUT), trace.function(GET), trace.function(BUMP)
    stored = trace.site(put, "STG.E.128", "store", 16, line=trace.line(RING_CU, 6), sass="STG.E.128 [R2.64], R4")
    skipped = trace.site(put, "UTMALDG.1D", "load", 0, line=trace.line(RING_CU, 6), measured=False)
    outer = trace.line(RING_CU, 12)
    loaded = trace.site(get, "LDG.E", "load", 4, line=trace.line(SHIFT_H, 4, "shifted(float const *, int)", outer))
    ticket = trace.site(bump, "ATOMG.E.ADD.STRONG.GPU", "atomic", 4, line=trace.line(RING_CU, 18))
    summed = trace.site(bump, "REDG.E.ADD.64.STRONG.GPU", "reduction", 8, line=trace.line(RING_CU, 19))
    heap = {number: 0x7F00_0000_0000 + (number << 30) for number in ordinals}
    for number in ordinals:
        trace.add("objects", address=heap[number], bytes=1 << 21, owner=place[number], kind=0, time=START_NS + number)
    for number in ordinals if run_on is None else run_on:
        issuer, owner = place[number], place[(number + 1) % 4]
        base = heap[(number + 1) % 4]
        launch = trace.launch(put, issuer)
        trace.count(launch, stored, owner, 16, 512, 256)
        trace.count(launch, skipped, UNKNOWN, 16, 16, 0)
        for warp in range(16):
            trace.record(launch, stored, owner, base + 512 * warp, 16, block=warp // 4, warp=warp % 4)
        launch = trace.launch(get, issuer)
        trace.count(launch, loaded, owner, 16, 512, 512)
        for warp in range(16):
            trace.record(launch, loaded, owner, base + 8192 * warp, 256, block=warp // 4, warp=warp % 4)
        if number == 0:
            continue
        launch = trace.launch(bump, issuer)
        trace.count(launch, ticket, place[0], 16, 16, 16)
        trace.count(launch, summed, place[0], 16, 512, 16)
        for warp in range(16):
            trace.record(launch, ticket, place[0], heap[0], 0, mask=1, block=warp // 4, warp=warp % 4)
            every = dict.fromkeys(range(32), heap[0] + 8)
            trace.scattered(launch, summed, place[0], every, block=warp // 4, warp=warp % 4)
    trace.add("frees", object=1, time=START_NS + 1_000_000_000)
    return trace


def write_ring(folder: Path, *, name: str = "ring.zst") -> Path:
    """The trace of one process with four GPUs."""
    return ring_builder().write(folder / name)


def write_two_processes(folder: Path) -> list[Path]:
    """The same traffic by two processes of two GPUs each, which number the GPUs differently."""
    first = ring_builder((0, 1, 2, 3), (0, 1), pid=4711, rank=0)
    second = ring_builder((2, 3, 0, 1), (2, 3), pid=4712, rank=1)
    return [first.write(folder / "ring.0.zst"), second.write(folder / "ring.1.zst")]


def write_sources(folder: Path) -> Path:
    """The source files, laid out under ``folder`` as in the paths of the trace; returns the folder to name."""
    for path, text in (("src/ring.cu", RING_SOURCE), ("include/shift.h", SHIFT_SOURCE)):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder
