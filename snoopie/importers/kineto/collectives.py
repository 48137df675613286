"""The arguments that PyTorch's profiler gives to kernels of NCCL → the collectives that they carried out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from snoopie.importers.activity.collective import Collective, identity
from snoopie.importers.activity.torch_names import BY_OUTPUT, OPERATIONS, TYPES
from snoopie.importers.activity.values import whole
from snoopie.importers.amounts import LIMIT
from snoopie.importers.kineto.recording import Recording

_REDUCING = ("AllReduce", "Reduce", "ReduceScatter")
_REDUCTION = re.compile(r"_(Sum|Prod|Max|Min|Avg)(?=_|\()")
_RANKS = re.compile(r"-?\d{1,9}")


def collectives(recording: Recording, rank: int | None, world: int | None) -> tuple[dict[int, Collective], int]:
    """The calls of NCCL by the numbers that kernels have, and how many kernels carried out one that is not known."""
    found: dict[int, Collective] = {}
    for (kernel, *arguments), number in recording.collectives.items():
        if (what := collective(arguments, kernel, rank, world)) is not None:
            found[number] = what
    return found, sum(times for number, times in recording.saying.items() if number not in found)


def collective(arguments: Sequence[Any], kernel: str, rank: int | None, world: int | None) -> Collective | None:
    """What a kernel carried out; None where its size, its type or this process's place in the group is not known.

    ``arguments`` are the collective's name, the elements in and out, type, size, name and ranks of the group, and the
    ranks that send and receive; ``rank`` and ``world`` are those of the process.
    """
    name, given, got, kind, size, group, members, source, destination = arguments
    elements = [number for number in (whole(given), whole(got)) if number is not None and 0 <= number < LIMIT >> 4]
    ranks = whole(size)
    if not isinstance(name, str) or not isinstance(kind, str) or kind not in TYPES:
        return None
    if len(elements) < 2 or ranks is None or not 0 < ranks < 1 << 32:
        return None
    place = _place(members, rank, ranks, world)
    if place is None:
        return None
    operation = OPERATIONS.get(name, name)
    spelled, width = TYPES[kind]
    reduction = _REDUCTION.search(kernel) if operation in _REDUCING else None
    other = whole({"Send": destination, "Recv": source}.get(operation))
    return Collective(
        operation=operation,
        reduction=reduction[1].lower() if reduction else "",
        type=spelled,
        count=elements[operation in BY_OUTPUT],
        bytes=max(elements) * width,
        peer=other if other is not None and 0 <= other < 1 << 31 else -1,
        communicator=identity(f"{group} {members} {ranks}"),
        rank=place,
        ranks=ranks,
    )


def _place(members: object, rank: int | None, ranks: int, world: int | None) -> int | None:
    """The place of a process in a group."""
    if rank is None:
        return None
    # A long list is cut: "[0, 1, 2, ...]".
    listed = [int(text) for text in _RANKS.findall(members)[:ranks]] if isinstance(members, str) else []
    if rank in listed:
        return listed.index(rank)
    return rank if ranks == world and rank < ranks else None
