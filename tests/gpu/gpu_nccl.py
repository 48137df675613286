"""What a ring of NCCL stores in the next GPU's memory, to the byte.

What is stored where is read from NCCL's source (2.28: src/device/prims_simple.h, prims_ll.h, prims_ll128.h and those of
the operations, src/enqueue.cc for the sizes of chunks, src/transport/p2p.cc for whose memory a buffer is in). Between
GPUs that write to each other, the receiver owns the buffer. A sender moves its data in steps; in each

- the sender stores the data in 16-byte stores, and nobody loads it over a link:
  Simple   the data as it is,
  LL       in lines of 16 bytes, of which 8 are data and 8 say that they are there,
  LL128    in pieces of 2048 bytes, of which 1920 are data, the last piece filled up;
- in Simple, the sender stores a counter of 8 bytes beside the data for each slice of the step: LL and LL128 need none;
- the receiver stores a counter of 8 bytes in the sender's memory, for each slice in Simple, once in LL and LL128: the
  buffer is free again. In Simple it does so once more before it begins, to return what rounding left.

All waiting is for words in one's own memory. So a ring's all-reduce of N bytes sends 2 (R − 1) / R × N from each of R
ranks: times 1 in Simple, 2 in LL, and 128 / 120 in LL128 before the last piece is filled up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpu_traffic import between_gpus, divide_up

if TYPE_CHECKING:
    import pandas as pd

    from snoopie import Trace

FLOAT = 4
# Floats a rank. Every part of it, for 2, 3 or 4 ranks, is whole steps or one, and whole accesses of whole warps.
N = 98304
SIZE = N * FLOAT

# Most bytes of data in one step, of one channel.
KIB = 1024
STEP = {
    "AllReduce": {"Simple": 2048 * KIB, "LL": 32 * KIB, "LL128": 576000},
    "AllGather": {"Simple": 2048 * KIB, "LL": 32 * KIB, "LL128": 576000},
    "ReduceScatter": {"Simple": 2048 * KIB, "LL": 32 * KIB, "LL128": 576000},
    "Broadcast": {"Simple": 512 * KIB, "LL": 32 * KIB, "LL128": 576000},
    # Point to point knows Simple and LL only.
    "Send, Recv": {"Simple": 512 * KIB, "LL": 32 * KIB, "LL128": 512 * KIB},
    "AlltoAll": {"Simple": 512 * KIB, "LL": 32 * KIB, "LL128": 512 * KIB},
}
SLICES = {"AllReduce": 2, "AllGather": 2, "ReduceScatter": 2, "Broadcast": 1, "Send, Recv": 1, "AlltoAll": 1}
POINT_TO_POINT = ("Send, Recv", "AlltoAll")


def expected_calls(rank: int, ranks: int) -> list[tuple[object, ...]]:
    """operation, reduction, count, bytes and peer of each call of a rank, in the program's order."""
    part = N // ranks
    return [
        ("AllReduce", "sum", N, SIZE, -1),
        ("AllGather", "", part, SIZE, -1),
        ("ReduceScatter", "sum", part, SIZE, -1),
        ("Broadcast", "", N, SIZE, ranks - 1),
        ("Send", "", part, SIZE // ranks, (rank + 1) % ranks),
        ("Recv", "", part, SIZE // ranks, (rank - 1) % ranks),
        ("AlltoAll", "", part, SIZE, -1),
    ]


def settings(protocol: str, **more: str) -> dict[str, str]:
    """What makes NCCL do one thing only: a ring, one protocol, writing to the peer."""
    threshold = 1 << 30 if protocol == "LL" else 0
    return {
        "KERNEL_NAME": "nccl",
        "SAMPLE_SIZE": "0",
        "NCCL_ALGO": "Ring",
        "NCCL_PROTO": protocol,
        "NCCL_P2P_READ_ENABLE": "0",
        "NCCL_P2P_LL_THRESHOLD": str(threshold),
    } | more


def calls(trace: Trace) -> Iterator[tuple[str, pd.DataFrame]]:
    """The calls of each group, with the name of the operation that the program calls there."""
    for _, group in trace.collectives.groupby("group"):
        yield ", ".join(dict.fromkeys(group.sort_values("start").operation)), group


def operation_of_group(trace: Trace) -> dict[int, str]:
    return {int(group.group.iloc[0]): operation for operation, group in calls(trace)}


def by_operation(trace: Trace) -> dict[str, pd.DataFrame]:
    """The counts between GPUs of each of NCCL's operations."""
    counts = between_gpus(trace)
    operations = operation_of_group(trace)
    counts = counts.assign(call=counts.launch.map(trace.launches.group).map(operations))
    return dict(iter(counts.groupby("call")))


def next_in_ring(counts: pd.DataFrame, ranks: int) -> dict[int, int]:
    """Rank → the next one, as the data of an operation went. All ranks are in one ring."""
    data = counts[counts.width == 16]
    pairs = set(zip(data.issuer.astype(int), data.owner.astype(int), strict=True))
    following = dict(pairs)
    assert len(pairs) == len(following) == ranks
    at, seen = 0, []
    for _ in range(ranks):
        seen.append(at)
        at = following[at]
    assert at == 0
    assert sorted(seen) == list(range(ranks))
    return following


def pieces(size: int, most: int) -> list[int]:
    """A size in steps of at most so many bytes."""
    return [min(most, size - start) for start in range(0, size, most)]


def steps(operation: str, protocol: str, ranks: int, following: dict[int, int]) -> Iterator[tuple[int, int, int]]:
    """Sender, receiver and bytes of data of every step."""
    most, part = STEP[operation][protocol], SIZE // ranks
    for sender, receiver in following.items():
        if operation == "AllReduce":
            # A part of each rank goes around together: R − 1 times to be summed, R − 1 times to be handed out.
            for whole in pieces(SIZE, ranks * most):
                yield from [(sender, receiver, whole // ranks)] * (2 * (ranks - 1))
        elif operation in ("AllGather", "ReduceScatter"):
            for piece in pieces(part, most):
                yield from [(sender, receiver, piece)] * (ranks - 1)
        elif operation == "Broadcast" and receiver != ranks - 1:
            yield from ((sender, receiver, piece) for piece in pieces(SIZE, most))
        elif operation == "Send, Recv":
            yield from ((sender, (sender + 1) % ranks, piece) for piece in pieces(part, most))
        elif operation == "AlltoAll":
            others = [rank for rank in range(ranks) if rank != sender]
            yield from ((sender, other, piece) for other in others for piece in pieces(part, most))


def stores_of_data(protocol: str, data: int) -> int:
    """16-byte stores that move so many bytes."""
    return {"Simple": data // 16, "LL": divide_up(data, 8), "LL128": divide_up(data, 1920) * 2048 // 16}[protocol]


def expected_lanes(operation: str, protocol: str, ranks: int, following: dict[int, int]) -> Counter[tuple[int, ...]]:
    """(issuer, owner, width) → lanes that stored."""
    if operation in POINT_TO_POINT and protocol == "LL128":
        protocol = "Simple"
    lanes: Counter[tuple[int, ...]] = Counter()
    for sender, receiver, data in steps(operation, protocol, ranks, following):
        lanes[sender, receiver, 16] += stores_of_data(protocol, data)
        if protocol == "Simple":
            lanes[sender, receiver, 8] += SLICES[operation]
        lanes[receiver, sender, 8] += SLICES[operation] if protocol == "Simple" else 1
    if protocol == "Simple":
        pairs = {(sender, receiver) for sender, receiver, _ in steps(operation, protocol, ranks, following)}
        if operation not in POINT_TO_POINT:
            pairs = set(following.items())  # all ranks of a ring are ready to receive, whether anything comes or not
        lanes.update(Counter((receiver, sender, 8) for sender, receiver in pairs))
    return lanes
