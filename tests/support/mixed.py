"""A run of two processes, one a GPU, that use every path: kernels, copies, NCCL, the host's memory, a multicast object.

Rank 0 works on GPU 0, rank 1 on GPU 1, which it calls its first. Each of the two, towards the other's GPU:

| what                                            | to        | operation | bytes                    |
|-------------------------------------------------|-----------|-----------|--------------------------|
| `exchange` at exchange.cu:7                     | peer      | store     | 16 × 32 × 4 = 2048       |
| `exchange` at exchange.cu:8                     | host      | load      | 8 × 32 × 4 = 1024        |
| `exchange` at exchange.cu:9                     | multicast | store     | 4 × 32 × 4 = 512         |
| `exchange` at exchange.cu:10 (rank 0 alone)     | unknown   | store     | 2 × 32 × 4 = 256         |
| NCCL's kernel, once for an AllReduce            | peer      | store     | 64 × 32 × 16 = 32768     |
| NCCL's kernel, once for a Send and a Recv       | peer      | store     | 16 × 32 × 16 = 8192      |
| copies: host to GPU · 2 × GPU to peer · GPU to host | | | 1048576 · 2 × 65536 · 4096 |

Rank 0 has a range, `exchange`, around its first launch, and one around its first copy and AllReduce.

Instructions that cannot be measured: a texture read that ran 12 times in each process, a bulk copy that never ran.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.encoder import FIRST_SET, HOST, START_NS, UNKNOWN, TraceBuilder

EXCHANGE = "exchange(float*, float const*, int)"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
FILE = "/home/u/mixed/exchange.cu"
COMMUNICATOR = 0x5EED_0000_0000_C0DE


def mixed_builder(rank: int) -> TraceBuilder:
    """The trace of one rank; its own GPU comes first."""
    ranks = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    trace = TraceBuilder((rank, 1 - rank), pid=4711 + rank, ranks=ranks)
    trace.header["process"]["program"] = "mixed"
    trace.header["process"]["command"] = ["./mixed", "--steps", "1"]
    exchange, nccl = trace.function(EXCHANGE), trace.function(NCCL)
    lines = [trace.line(FILE, number) for number in range(7, 11)]
    texture = trace.site(exchange, "TEX.SCR.B.LL", "load", 0, line=lines[1], measured=False, sass="TEX.SCR.B.LL R4, R2")
    trace.site(exchange, "UBLKCP.T.S", "load", 0, line=lines[2], measured=False, sass="UBLKCP.T.S [UR4], [UR6], UR8")
    put, fetch, spread, lost = (
        trace.site(exchange, opcode, operation, 4, line=line)
        for opcode, operation, line in zip(
            ("STG.E", "LDG.E", "STG.E", "STG.E"), ("store", "load", "store", "store"), lines, strict=True
        )
    )
    ring = trace.site(nccl, "STG.E.128", "store", 16)
    both = trace.set(FIRST_SET, 0, 1)

    trace.copy(HOST, 0, 1 << 20, gpu=0, call="cuMemcpyHtoDAsync_v2")
    launch = trace.launch(exchange, 0)
    trace.count(launch, put, 1, 16, 512, 64)
    trace.count(launch, fetch, HOST, 8, 256, 32)
    trace.count(launch, spread, both, 4, 128, 16)
    trace.count(launch, texture, UNKNOWN, 12, 384, 0)
    if rank == 0:
        trace.count(launch, lost, UNKNOWN, 2, 64, 64)
    if rank == 0:
        # Around its launch, and around the first copy and the first call of NCCL.
        named = {"thread": 4711, "name": trace.string("exchange"), "pushed": 1}
        for start in (START_NS + 500, START_NS + 99_500):
            trace.add("ranges", start=start, end=start + 1000, **named)
    trace.collective(1, "AllReduce", 4096, gpu=0, reduction="sum", communicator=COMMUNICATOR, rank=rank, ranks=2)
    trace.count(trace.launch(nccl, 0, group=1), ring, 1, 64, 2048, 1024)
    for operation in ("Send", "Recv"):
        trace.collective(2, operation, 2048, gpu=0, peer=1 - rank, communicator=COMMUNICATOR, rank=rank, ranks=2)
    trace.count(trace.launch(nccl, 0, group=2), ring, 1, 16, 512, 256)
    for _ in range(2):
        trace.copy(0, 1, 1 << 16, gpu=0, call="cuMemcpyPeerAsync", stream=0x55D0_C0DE)
    trace.copy(0, HOST, 4096, gpu=0, call="cuMemcpyDtoH_v2")
    return trace


def write_mixed(folder: Path) -> Path:
    """The traces of both ranks, in a folder; returns it."""
    for rank in (0, 1):
        mixed_builder(rank).write(folder / f"mixed.{rank}.zst")
    return folder
