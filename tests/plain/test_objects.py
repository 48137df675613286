"""Traffic by object and by array, against plain loops on random traces."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.plain import plain_arrays, plain_objects, plain_shares
from tests.plain.comparing import alike, falls, records, rows
from tests.plain.drawing import seeds, some
from tests.plain.plain_shares import VALUES

OWN = ("object", "owner", "kind", "name", "source", "size", "call", "stack", "allocated", "freed")


@some
@given(seeds)
def test_by_object(seed: int) -> None:
    known, trace = plain_objects.written(seed)
    table = trace.by_object()
    expected = plain_shares.shared(known, known.at, named=True)
    found = {row["object"]: row for row in records(table)}
    assert set(found) == set(expected)
    for number, share in expected.items():
        assert plain_shares.fits(share, found[number])
    for place, name in enumerate(VALUES[:2]):
        assert table[name].sum() == sum(amounts[place] for amounts in known.counts.values())
    own = {
        thing.number: (
            thing.number, "host" if thing.owner < 0 else f"GPU {thing.owner}", thing.kind, plain_arrays.name_of(thing),
            thing.caller.label, thing.size, thing.call, thing.caller.stack, thing.made, thing.freed,
        )
        for thing in known.things
    }  # fmt: skip
    own[0] = 0, "", "", "", "", 0, "", 0, 0, 0
    assert {row[0]: row for row in rows(table, *OWN)} == {number: own[number] for number in expected}
    for moved, wire, share in rows(table, "bytes", "wire_bytes", "wire_efficiency"):
        assert alike(share, moved / wire if wire else None)
    assert falls(table[["bytes", "copied_in", "copied_out"]].sum(axis=1))


@some
@given(seeds)
def test_arrays(seed: int) -> None:
    known, trace = plain_objects.written(seed)
    arrays = trace.arrays()
    assert {number: (array, name) for number, array, name in arrays.itertuples(name=None)} == plain_arrays.arrays(known)
    table = trace.by_object(merged=True)
    expected = plain_arrays.merged(known, records(trace.by_object()))
    for found in records(table):
        same = next(row for row in expected if row["object"] == found["object"])
        assert alike(
            found.pop("wire_efficiency"), found["bytes"] / found["wire_bytes"] if found["wire_bytes"] else None
        )
        assert found == {name: same[name] for name in found}
    assert len(table) == len(expected)
    assert table["bytes"].is_monotonic_decreasing


@pytest.mark.parametrize("seed", range(3))
def test_random_objects_share_and_are_arrays(seed: int) -> None:
    several = [plain_objects.make(30 * seed + number) for number in range(30)]
    shares = [share for known in several for share in plain_shares.shared(known, known.at, named=True).values()]
    assert {share.exact for share in shares if share.sums["bytes"]} == {True, False}
    assert any(share.copied_in for share in shares)
    assert any(share.copied_out for share in shares)
    assert any(share.slack["lanes"] for share in shares)
    arrays = [plain_arrays.arrays(known) for known in several]
    assert any(array != number for of in arrays for number, (array, _) in of.items())
    assert any(name.endswith(" (2)") for of in arrays for _, name in of.values())
