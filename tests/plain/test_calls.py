"""Driver calls, and what other tools know of them, against plain loops over random ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from snoopie.analysis.host.copies import ORDERS, Order
from tests.plain import plain_calls
from tests.plain.comparing import falls, records, same
from tests.plain.drawing import seeds, some
from tests.plain.plain_calls import KEYS, Row

some_keys = st.lists(st.sampled_from(KEYS), unique=True)


def check(table: pd.DataFrame, keys: list[str], expected: Mapping[Any, Row], most: str) -> None:
    """That a table has these rows: in a column with an unknown number, all are floats."""
    found = {tuple(row[name] for name in keys): row for row in records(table)}
    assert len(found) == len(table) and set(found) == set(expected)
    for key, values in expected.items():
        row = found[key]
        assert set(row) == {*keys, *values}
        for name, value in values.items():
            exact = value is not None and row[name] == value
            assert exact or same(row[name], value), (key, name, row[name], value)
    assert falls(table[most].dropna())


@some
@given(seeds, some_keys)
def test_by_call(seed: int, keys: list[str]) -> None:
    made = plain_calls.make(seed)
    trace = made.load(seed)
    check(trace.by_call(*keys), [*keys, "call"], plain_calls.by_call(made, [*keys, "call"]), "host_ns")
    check(trace.by_thread(), ["process", "thread"], plain_calls.by_call(made, ["process", "thread"]), "host_ns")


@some
@given(seeds, some_keys)
def test_kernels_directions_and_errors(seed: int, keys: list[str]) -> None:
    made = plain_calls.make(seed)
    trace = made.load(seed)
    tables: list[tuple[Callable[..., pd.DataFrame], list[str], Callable[..., dict[Any, Row]], str]] = [
        (trace.by_launched_kernel, ["kernel", *keys], plain_calls.by_kernel, "host_ns"),
        (trace.by_direction, ["direction", *keys, "call"], plain_calls.by_direction, "bytes"),
        (trace.by_error, ["call", *keys, "returned", "name"], plain_calls.by_error, "calls"),
    ]
    for method, named, expected, most in tables:
        check(method(*keys), named, expected(made, keys), most)


@some
@given(seeds, st.sampled_from(ORDERS), st.integers(1, 9))
def test_single_calls(seed: int, order: Order, limit: int) -> None:
    made = plain_calls.make(seed)
    trace = made.load(seed)
    for call in {one.call for one in made.singles}:
        expected = plain_calls.single(made, call, trace.period[0])
        table = trace.single_calls(call, order, limit)
        found = [
            tuple(None if value != value else value for value in row)
            for row in table.itertuples(index=False, name=None)
        ]
        place = {"start": 6, "host_ns": 7, "bytes": 8}[order]
        # What is not known comes last.
        ranked = sorted(
            expected, key=lambda row: (row[place] is None, (row[place] or 0) * (1 if order == "start" else -1))
        )
        assert [row[place] for row in found] == [row[place] for row in ranked[:limit]]
        assert set(found) <= set(expected) and len(set(found)) == len(found)


@some
@given(seeds)
def test_what_no_tool_recorded(seed: int) -> None:
    made = plain_calls.make(seed)
    said = made.load(seed).unknown()
    assert set(said) == plain_calls.unknown(made) and len(said) == len(made.lacks)


def test_random_calls_are_of_all_kinds() -> None:
    several = [plain_calls.make(seed) for seed in range(40)]
    rows = [row for made in several for row in plain_calls.by_call(made, ["call"]).values()]
    for name in ("errors", "host_ns", "min_ns", "bytes", "p50_ns"):
        assert {row[name] is None for row in rows} == {True, False}, name
    assert any(0 < row["unsized"] < row["calls"] for row in rows)
    rates = {(*key[:1], row["bandwidth"] is None)
             for made in several for key, row in plain_calls.by_direction(made, []).items()}  # fmt: skip
    assert {(direction, none) for direction in plain_calls.WAITED for none in (True, False)} <= rates
    assert {len(made.tools) for made in several if made.lacks} == {1, 2}
