"""The limits of what moved against plain loops over random records."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from snoopie.analysis.traffic.reading import READINGS, Reading
from tests.plain import plain_wire
from tests.plain.comparing import check_table
from tests.plain.drawing import seeds, some, written


@some
@given(seeds, st.sampled_from(READINGS))
def test_wire_bounds(seed: int, reading: Reading) -> None:
    wire = plain_wire.make(seed)
    trace = written(wire.builder, seed)
    expected = plain_wire.bounds(wire, reading)
    ends = ["issuer", "owner"] if reading == "issued" else ["from", "to"]
    check_table(trace.wire_bounds(reading), ends, expected, most="wire_bytes")
    assert trace.summary()["records"] == sum(
        len(wire.builder.rows[table]) for table in ("records", "scattered", "bulk")
    )


def test_random_records_have_something_of_everything() -> None:
    rows = [
        row
        for seed in range(40)
        for reading in READINGS
        for row in plain_wire.bounds(plain_wire.make(seed), reading).values()
    ]
    assert {row["per_sm"] for row in rows} == {True, False}
    limits = [(row["wire_least"], row["wire_bytes"] or 0) for row in rows]
    assert any(least is None for least, _ in limits) and any(least == most for least, most in limits)
    assert any(least is not None and 0 < least < most for least, most in limits)
