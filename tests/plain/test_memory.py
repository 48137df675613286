"""How much memory there was, against plain loops on random traces of several processes."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given

from tests.plain import plain_memory
from tests.plain.comparing import rows
from tests.plain.drawing import seeds, some


@some
@given(seeds)
def test_events(seed: int) -> None:
    known, trace = plain_memory.written(seed)
    for device, process, place, number in plain_memory.asked(known, seed):
        found = trace.memory_events(device, process)
        assert sorted(rows(found)) == sorted(plain_memory.events(known, known.chosen(place, number)))
        assert found["time"].is_monotonic_increasing


@some
@given(seeds)
def test_usage(seed: int) -> None:
    known, trace = plain_memory.written(seed)
    for device, process, place, number in plain_memory.asked(known, seed):
        for by_origin in (False, True):
            expected = plain_memory.usage(known, known.chosen(place, number), by_origin)
            found = trace.memory_usage(device, process, by_origin=by_origin)
            one_by_one = [(*key, *row) for key, own in expected.items() for row in own]
            assert sorted(rows(found)) == sorted(one_by_one)
            assert found["time"].is_monotonic_increasing
            few = trace.memory_by_kind(device, process, by_origin=by_origin)
            assert sorted(rows(few)) == sorted(plain_memory.by_kind(expected))


@some
@given(seeds)
def test_curve(seed: int) -> None:
    known, trace = plain_memory.written(seed)
    for device, process, place, number in plain_memory.asked(known, seed):
        pieces = known.chosen(place, number)
        kinds, expected = plain_memory.curve(pieces, known.last(place, number))
        found = trace.memory_curve(device, process)
        assert sorted(found.columns[1:]) == kinds
        assert rows(found[["time", *kinds]]) == expected
        points = Random(seed).randint(1, 10)
        few = rows(trace.memory_curve(device, process, points)[["time", *kinds]])
        assert len(few) <= points + 2
        assert few == [row for row in expected if row in few]
        assert max(sum(row[1:]) for row in few) == max(sum(row[1:]) for row in expected)
        assert few[-1] == expected[-1]


@some
@given(seeds)
def test_usage_in_a_part_of_the_time(seed: int) -> None:
    known, trace = plain_memory.written(seed)
    first, after = plain_memory.some_time(known, seed)
    process = Random(seed).randrange(len(known.builders))
    view = trace.select(between=(first, after), processes=process)
    pieces = plain_memory.within(known.chosen(None, process), first, after)
    expected = plain_memory.usage(known, pieces, by_origin=False)
    assert sorted(rows(view.memory_usage())) == sorted((*key, *row) for key, own in expected.items() for row in own)
    assert sorted(rows(view.memory_by_kind())) == sorted(plain_memory.by_kind(expected))


@pytest.mark.parametrize("seed", range(3))
def test_random_memory_has_something_in_it(seed: int) -> None:
    several = [plain_memory.make(20 * seed + number) for number in range(20)]
    pieces = [piece for known in several for piece in known.pieces]
    assert {piece.kind for piece in pieces} >= {"device", "pool", "physical", "mapping", "graph", "device static"}
    assert {piece.origin for piece in pieces} == set(plain_memory.ORIGINS)
    assert {piece.place for piece in pieces} == {-2, -1, 0, 1, 2}
    assert any(piece.freed == 0 for piece in pieces)
    assert any(piece.freed == piece.made for piece in pieces)
    assert any(piece.size == 0 for piece in pieces)
    assert any(not all(known.whole) for known in several)
    assert any(len(known.builders) > 1 and known.reports for known in several)
