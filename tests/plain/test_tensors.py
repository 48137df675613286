"""Tensors and the traffic by tensor, against plain loops on random traces and histories of PyTorch's allocator."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given

from tests.plain import plain_objects, plain_shares, plain_tensors
from tests.plain.comparing import alike, falls, records, rows
from tests.plain.drawing import seeds, some
from tests.plain.plain_shares import VALUES

OWN = ("gpu", "size", "file", "line", "function", "allocated", "freed")


@some
@given(seeds)
def test_tensors(seed: int) -> None:
    known, trace = plain_objects.written(seed, plain_tensors.TICK)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tensors = plain_tensors.make(known, Random(seed), folder)
        history = next(folder.iterdir()) if len(known.builders) == 1 else folder
        found, table = trace.tensors(history), trace.by_tensor(history)
    assert sorted(rows(found)) == sorted(tensor.row() for tensor in tensors)
    numbers = {row: number for number, row in zip(found.index.tolist(), rows(found), strict=True)}

    def at(process: int, address: int, time: int) -> int:
        held = [tensor for tensor in tensors if tensor.process == process and tensor.holds(address, time)]
        return numbers[held[0].row()] if held else 0

    expected = plain_shares.shared(known, at, named=False)
    sums = {row["tensor"]: row for row in records(table)}
    assert set(sums) == set(expected)
    for number, share in expected.items():
        assert plain_shares.fits(share, sums[number])
    for place, value in enumerate(VALUES[:2]):
        assert table[value].sum() == sum(amounts[place] for amounts in known.counts.values())
    own = {numbers[tensor.row()]: tensor.row() for tensor in tensors}
    for number, *row in rows(table, "tensor", *OWN):
        if number:
            _, _, size, gpu, made, freed, *where = own[number]
            assert row == [gpu, size, *where, made, freed]
        else:
            assert row == [-2, 0, "", 0, "", 0, 0]
    for moved, wire, share in rows(table, "bytes", "wire_bytes", "wire_efficiency"):
        assert alike(share, moved / wire if wire else None)
    assert falls(table[["bytes", "copied_in", "copied_out"]].sum(axis=1))


@pytest.mark.parametrize("seed", range(3))
def test_random_tensors_are_touched(seed: int) -> None:
    touched = 0
    with tempfile.TemporaryDirectory() as name:
        for number in range(20):
            known = plain_objects.make(20 * seed + number, plain_tensors.TICK)
            tensors = plain_tensors.make(known, Random(number), Path(name))
            touched += sum(
                tensor.process == access.process and tensor.holds(access.address, access.time)
                for access in known.accesses
                for tensor in tensors
            )
            assert all(tensor.freed == 0 or tensor.freed > tensor.made for tensor in tensors)
    assert touched > 100
