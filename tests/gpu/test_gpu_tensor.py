"""tensor: copies by tensor maps are counted with the bytes and wire units of those elements of a box that exist."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import NamedTuple

from gpu_runs import Runner
from gpu_traffic import Far, Table, by_launch, nothing_lost, unit_of

Three = tuple[int, int, int]


class Moved(NamedTuple):
    """What a launch moved. In which units lanes are counted is not part of it: only the bytes are."""

    kernel: str
    operation: str
    accesses: int
    bytes: int
    units: int


class Tensor(NamedTuple):
    """Sizes and box in elements, width and pitches in bytes; on each axis one in `step` of a box is copied."""

    width: int
    rank: int
    sizes: Three
    pitches: Three
    box: Three
    step: Three = (1, 1, 1)


BYTES = Tensor(1, 1, (992, 1, 1), (1, 0, 0), (128, 1, 1))
SHORTS = Tensor(2, 2, (40, 10, 1), (2, 96, 0), (16, 4, 1))
WORDS = Tensor(4, 3, (20, 6, 4), (4, 96, 640), (8, 3, 2))
LONGS = Tensor(8, 2, (12, 8, 1), (8, 112, 0), (4, 8, 1))
STEPPED = Tensor(4, 2, (20, 8, 1), (4, 96, 0), (8, 4, 1), (1, 2, 1))

CASES: list[tuple[Tensor, Three]] = [
    *((BYTES, (x, 0, 0)) for x in (16, 928, -32)),
    (SHORTS, (8, 3, 0)),
    (SHORTS, (32, 8, 0)),
    (WORDS, (4, 2, 1)),
    (WORDS, (16, 4, 3)),
    (LONGS, (2, 0, 0)),
    (LONGS, (12, 0, 0)),
    (STEPPED, (4, 1, 0)),
]


def moved(kernel: str, operation: str, tensor: Tensor, at: Three) -> Moved:
    """One copy of a box."""
    xs, ys, zs = (
        [place for place in range(first, first + size, step) if 0 <= place < end]
        for first, size, step, end in zip(at, tensor.box, tensor.step, tensor.sizes, strict=True)
    )
    offsets = [sum(map(operator.mul, place, tensor.pitches)) for place in itertools.product(xs, ys, zs)]
    unit = unit_of(operation, tensor.width)
    units = {(offset + byte) // unit for offset in offsets for byte in range(tensor.width)}
    return Moved(kernel, operation, 1, len(offsets) * tensor.width, len(units))


def of_tensor() -> Iterator[Moved]:
    """What the top of tensor.cu says, in the order of launching, without the launches that have no access."""
    for tensor, at in CASES:
        kinds = [(f"fetch<{tensor.rank}>", "load")]
        if tensor is not STEPPED and at[0] >= 0:
            kinds.append((f"put<{tensor.rank}>", "store"))
        if tensor is WORDS:
            kinds.append(("add", "reduction"))
        copies = [moved(kernel, operation, tensor, at) for kernel, operation in kinds]
        yield from (copy for copy in copies if copy.bytes)
    for kernel in ("from_constant", "from_memory", "edited"):
        yield moved(kernel, "load", SHORTS, (8, 3, 0))


def only_row(table: Table, owner: int) -> Moved:
    """The one row of a launch's table, which must be GPU 0's on that memory, at the line of the copy."""
    ((where, traffic),) = table.items()
    assert (where.issuer, where.owner, where.line) == (0, owner, "box")
    kernel = where.kernel.replace("(int)", "")  # of a template argument
    return Moved(kernel, traffic.operation, traffic.accesses, traffic.lanes * traffic.width, traffic.units)


def test_boxes_are_counted(runner: Runner, far: Far) -> None:
    trace = runner.traced("tensor", visible=far.visible).trace
    nothing_lost(trace)
    assert [only_row(table, far.owner) for table in by_launch(trace, "tensor").values()] == list(of_tensor())


def test_arithmetic_of_boxes() -> None:
    # By hand: two rows of 16 bytes, in one sector each, out of a box that sticks out on both axes.
    assert moved("", "load", SHORTS, (32, 8, 0)) == ("", "load", 1, 32, 2)
    # Eight rows of 32 bytes from 16 on, 112 bytes apart: rows begin at 16 or at 0 of a sector in turn.
    assert moved("", "load", LONGS, (2, 0, 0)) == ("", "load", 1, 256, 12)
    # What is written moves no half that is not touched.
    assert moved("", "store", LONGS, (2, 0, 0)) == ("", "store", 1, 256, 16)
    assert moved("", "load", LONGS, (12, 0, 0)).bytes == 0
    assert moved("", "load", STEPPED, (4, 1, 0)).bytes == 64
