"""Collectives over all ranks against plain loops over random ones."""

from __future__ import annotations

from collections import Counter

from hypothesis import given

from tests.plain import plain_sequence
from tests.plain.comparing import records, same
from tests.plain.drawing import seeds, some


@some
@given(seeds)
def test_sequence(seed: int) -> None:
    made = plain_sequence.make(seed)
    table, expected = made.load(seed).collective_sequence(), plain_sequence.by_sequence(made)
    assert table["began"].is_monotonic_increasing
    rows = {(row["communicator"], row["number"]): row for row in records(table)}
    assert len(rows) == len(table) == len(expected)
    for wanted in expected:
        row = rows[wanted["communicator"], wanted["number"]]
        how = tuple(row.pop(name) for name in ("algorithm", "protocol", "channels"))
        assert how in wanted.pop("how"), (how, row)
        assert row.pop("last_rank") in wanted.pop("last_rank"), row
        assert set(row) == set(wanted)
        for name, value in wanted.items():
            assert same(row[name], value), (name, row[name], value, row)


def test_random_collectives_are_of_all_kinds() -> None:
    found = sum((plain_sequence.kinds(plain_sequence.make(seed)) for seed in range(60)), Counter())
    assert {*plain_sequence.OPERATIONS, "Ring", "Tree", "", "0 ranks", "1 ranks", "3 ranks"} <= set(found)
    assert {"known", "not known", "part", "whole", "skewed", "at once", "no time", "some time"} <= set(found)
    assert {"size -1", "size 0", "size 1"} <= set(found)
