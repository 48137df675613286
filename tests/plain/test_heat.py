"""Where and how often objects were touched, against plain loops over lanes and bytes on random traces."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given

from tests.plain import plain_heat, plain_objects
from tests.plain.comparing import alike, rows
from tests.plain.drawing import seeds, some, written
from tests.plain.plain_objects import Objects
from tests.support.encoder import START_NS, TraceBuilder

OPERATIONS = ((), ("load",), ("store", "atomic"))


def some_of(known: Objects, random: Random) -> tuple[list[int], int, int, int]:
    """Some objects, the size of the largest, and a range of bytes in it."""
    numbers = [thing.number for thing in known.things]
    chosen = random.sample(numbers, min(len(numbers), random.choice((1, 1, 3))))
    size = max(thing.size for thing in known.things if thing.number in chosen)
    start = random.choice((0, random.randrange(size)))
    return chosen, size, start, random.choice((size, random.randint(start + 1, size)))


@some
@given(seeds)
def test_reuse(seed: int) -> None:
    known, trace = plain_objects.written(seed)
    found = trace.reuse()
    expected = plain_heat.reuse(known)
    assert {row[0]: row[1:] for row in rows(found, "object", "accesses", "bytes", "distinct")} == expected
    for moved, distinct, share in rows(found, "bytes", "distinct", "reuse"):
        assert alike(share, moved / distinct)
    assert (found["bytes"] - found["distinct"]).is_monotonic_decreasing


@some
@given(seeds)
def test_heat(seed: int) -> None:
    known, trace = plain_objects.written(seed)
    random = Random(seed)
    if not known.things:
        return
    for operations in OPERATIONS:
        chosen, _, start, stop = some_of(known, random)
        bins, width = random.randint(1, 40), random.choice((1, 4, 7))
        found = trace.object_heat(chosen, bins, start, stop, width=width, operations=operations)
        step = plain_heat.part(stop - start, bins, width)
        expected = plain_heat.heat(known, set(chosen), operations)
        assert [int(offset) for offset in found.columns] == list(range(start, stop, step))
        assert {issuer: list(row) for issuer, *row in found.itertuples(name=None)} == {
            f"GPU {issuer}": plain_heat.along(own, start, stop, step) for issuer, own in expected.items()
        }


@some
@given(seeds)
def test_rows(seed: int) -> None:
    known, trace = plain_objects.written(seed)
    random = Random(seed)
    if not known.things:
        return
    for operations in OPERATIONS:
        chosen, _, start, stop = some_of(known, random)
        length, width = random.randint(1, random.choice((20, 2 * (stop - start)))), random.choice((1, 4))
        issuer = random.choice((None, *range(plain_objects.GPUS)))
        cells = random.randint(1, 5), random.randint(1, 9)
        down, across = (0, -(-(stop - start) // length)), (0, min(length, stop - start))
        lines = left = None
        if random.random() < 0.5:
            first, edge = random.randrange(down[1] + 2), random.randrange(length)
            lines = down = first, first + random.randint(1, 4)
            left = across = edge, random.randint(edge + 1, length)
        found = trace.object_rows(
            chosen, length, start, stop, rows=lines, columns=left, width=width, issuer=issuer, operations=operations,
            cells=cells,
        )  # fmt: skip
        high, wide = (
            plain_heat.part(down[1] - down[0], cells[0], 1),
            plain_heat.part(across[1] - across[0], cells[1], width),
        )
        sums: Counter[tuple[int, int]] = Counter()
        for own in plain_heat.heat(known, set(chosen), operations, issuer).values():
            for byte, times in own.items():
                row, column = divmod(byte - start, length)
                if start <= byte < stop and down[0] <= row < down[1] and across[0] <= column < across[1]:
                    sums[(row - down[0]) // high, (column - across[0]) // wide] += times
        assert found.index.tolist() == list(range(*down, high))
        assert [int(offset) for offset in found.columns] == list(range(*across, wide))
        assert {cell: n for cell, n in sums.items() if n} == {
            (row, column): value
            for row, line in enumerate(found.to_numpy().tolist())
            for column, value in enumerate(line)
            if value
        }


@some
@given(seeds)
def test_how_often(seed: int) -> None:
    known, trace = plain_objects.written(seed)
    random = Random(seed)
    if not known.things:
        return
    for operations in OPERATIONS:
        chosen = some_of(known, random)[0][:1]
        issuer = random.choice((None, *range(plain_objects.GPUS)))
        found = trace.object_reuse(chosen, issuer, operations)
        expected = plain_heat.how_often(plain_heat.heat(known, set(chosen), operations, issuer))
        assert rows(found) == [(*key, size) for key, size in sorted(expected.items())]


@some
@given(seeds)
def test_offsets(seed: int) -> None:
    known, trace = plain_objects.written(seed)
    random = Random(seed)
    for thing in known.things:
        bins, start = random.randint(1, 20), random.choice((0, random.randrange(thing.size)))
        begun = [at for _, at in plain_objects.lanes_of(known, {thing.number}) if start < at]
        stop = random.choice((thing.size, random.randint(start + 1, thing.size), *begun))
        found = trace.object_offsets(thing.number, bins, start, stop)
        expected = plain_heat.offsets(known, thing.number, bins, start, stop)
        assert sorted(rows(found)) == sorted(
            (offset, f"GPU {issuer}", operation, *sums) for (offset, issuer, operation), sums in expected.items()
        )


@some
@given(seeds)
def test_row_length(seed: int) -> None:
    """Of a matrix of which a GPU touched a column or a tile the length of a row is seen, of whole rows that of some."""
    random = Random(seed)
    length, lines = 4 * random.randint(16, 400), random.randint(8, 30)
    builder = TraceBuilder(2)
    kernel = builder.function("kernel")
    site, launch = builder.site(kernel, "LDG.E", "load", 4), builder.launch(kernel, 0)
    address = random.randint(1, 1 << 30) * 512
    # Of some there are copies, each touched in a part of the rows.
    copies = [
        builder.add("objects", address=address + (copy << 40), bytes=length * lines, owner=1, kind=0, time=START_NS)
        for copy in range(random.choice((1, 1, 2)))
    ]
    whole = random.random() < 0.3
    across = length // 4 if whole else random.choice((1, random.randint(1, length // 8)))
    edge = random.randint(0, length // 4 - across)
    for row in random.sample(range(lines), lines // 2) if whole else range(lines):
        for first in range(0, across, 32):
            lanes = min(32, across - first)
            begin = address + (row % len(copies) << 40) + row * length + 4 * (edge + first)
            builder.record(launch, site, 1, begin, 4, mask=(1 << lanes) - 1)
    # Nothing tells of what nobody touched, nor of what is touched from end to end.
    other = builder.add("objects", address=1 << 45, bytes=4096, owner=1, kind=0, time=START_NS)
    all_of_it = builder.add("objects", address=1 << 46, bytes=1280, owner=1, kind=0, time=START_NS)
    for part in range(10):
        builder.record(launch, site, 1, (1 << 46) + 128 * part, 4)
    trace = written(builder, seed)
    found = trace.row_length(copies)
    assert found % length == 0 if whole else found == length
    assert trace.row_length(copies[0]) == found or len(copies) > 1
    assert trace.row_length(other) == trace.row_length(all_of_it) == 0


@pytest.mark.parametrize("seed", range(3))
def test_random_objects_are_touched(seed: int) -> None:
    several = [plain_objects.make(20 * seed + number) for number in range(20)]
    held = [access for known in several for access in known.accesses]
    assert {bool(access.object) for access in held} == {False, True}
    assert {access.operation for access in held if access.object} == {"load", "store", "atomic"}
    assert any(thing.inside and plain_heat.touches(known, thing.number) for known in several for thing in known.things)
    assert any(len(known.builders) > 1 and {access.process for access in known.accesses} == {0, 1} for known in several)
    often = [times for known in several for thing in known.things
             for _, times in plain_heat.how_often(plain_heat.heat(known, {thing.number}))]  # fmt: skip
    assert max(often) >= 4
