"""NCCL's calls against plain loops over random ones."""

from __future__ import annotations

from hypothesis import given

from tests.plain import plain_collectives
from tests.plain.comparing import falls
from tests.plain.drawing import seeds, some, written

SIGNATURE = ["operation", "reduction", "type", "communicator"]


@some
@given(seeds)
def test_collectives(seed: int) -> None:
    made = plain_collectives.make(seed)
    trace = written(made.builder, seed)
    table, expected = trace.by_collective(), plain_collectives.by_collective(made)
    assert falls(table["bytes"])
    rows = {tuple(row[name] for name in SIGNATURE): row for row in table.to_dict("records")}
    assert set(rows) == set(expected) and len(rows) == len(table)
    for key, values in expected.items():
        for name, value in values.items():
            # A column with a size that is not known is one of floats.
            assert (value is None and rows[key][name] != rows[key][name]) or rows[key][name] == value, (key, name)
    columns = ["collective", "issuer", "operation", "bytes", "host_ns", "group"]
    for signature in expected:
        for limit in (1, 1000):
            found = trace.calls_behind(*signature, limit=limit)[columns].itertuples(index=False, name=None)
            assert list(found) == plain_collectives.behind(made, signature)[:limit]


def test_random_calls_have_something_of_everything() -> None:
    tables = [plain_collectives.by_collective(plain_collectives.make(seed)) for seed in range(40)]
    names = {signature[0] for table in tables for signature in table}
    assert {"", "AllReduce", "2 × AllReduce", "Recv + Send"} <= names
    rows = [row for table in tables for row in table.values()]
    assert any(row["call_bytes"] is None for row in rows) and any(row["call_bytes"] for row in rows)
    assert any(row["launches"] > 1 and row["bytes"] for row in rows) and {} in tables
