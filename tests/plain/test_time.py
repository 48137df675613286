"""What ran and what flowed when, against plain loops over random runs."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Literal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snoopie.api.trace import Trace
from snoopie.errors import UsageError
from tests.plain import plain_over_time, plain_ranges, plain_rates, plain_resources, random_runs
from tests.plain.comparing import alike, compare_over_time, falls, rows
from tests.plain.drawing import seeds, some
from tests.plain.plain_ranges import Called
from tests.plain.plain_rates import Rate
from tests.plain.plain_resources import Between, Busy, Record, Row
from tests.plain.plain_runs import Run, label


def loaded(seed: int) -> tuple[Run, Trace]:
    known = random_runs.make(seed)
    return known, known.load(seed)


@some
@given(seeds)
def test_timeline(seed: int) -> None:
    known, trace = loaded(seed)
    found = trace.timeline().reset_index()
    columns = ("launch", "process", "kernel", "gpu", "stream", "thread", "called", "start", "end", "spanned")
    assert list(found) == list(columns)
    assert sorted(rows(found, *columns)) == [launch[: len(columns)] for launch in known.launches]


@some
@given(seeds)
def test_pairs_by_launch(seed: int) -> None:
    known, trace = loaded(seed)
    for reading, ends in (("issued", ("issuer", "owner")), ("flow", ("from", "to"))):
        expected = {
            (launch, label(one), label(other)): tuple(sums)
            for (launch, one, other), sums in plain_over_time.by_launch(known, reading).items()
        }
        values = ("accesses", "lanes", "bytes", "wire_units", "wire_bytes")
        found = trace.pairs_by_launch(reading)  # type: ignore[arg-type]
        assert len(found) == len(expected)
        assert {row[:3]: row[3:] for row in rows(found, "launch", *ends, *values)} == expected


@some
@given(seeds)
def test_traffic_over_time(seed: int) -> None:
    known, trace = loaded(seed)
    random = known.random
    for reading, ends in (("issued", ("issuer", "owner")), ("flow", ("from", "to"))):
        for initiated in random.sample(("device", "host", "both"), 2):
            bins, window = random.choice((1, 2, 7, 1000)), random_runs.window(random)
            first, last, folds = window
            table = trace.traffic_over_time(bins, reading, initiated, first, last, folds=folds)  # type: ignore[arg-type]
            pieces = [
                piece._replace(key=tuple(map(label, piece.key)))
                for piece in plain_over_time.pieces(known, reading, initiated)
            ]
            compare_over_time(table, ends, pieces, bins, window)


@some
@given(seeds)
def test_resources(seed: int) -> None:
    known, trace = loaded(seed)
    random = known.random
    for between in (None, random_period(random)):
        for barriers in (False, True):
            every = plain_resources.every_record(known, barriers, between)
            compare_resources(trace.resources(barriers=barriers, between=between), every, None, between)


@some
@given(seeds)
def test_resources_of_a_view(seed: int) -> None:
    """``others`` is when only what is not in the view ran."""
    known, trace = loaded(seed)
    name = known.random.choice(random_runs.KERNELS)
    if not any(launch.kernel == name for launch in known.launches):
        return
    for between in (None, random_period(known.random)):
        own = plain_resources.records((launch for launch in known.launches if launch.kernel == name), ())
        whole = plain_resources.every_record(known, False, between)
        view = trace.select(kernels=name)
        compare_resources(view.resources(between=between), plain_resources.cut(own, between), whole, between)
        compare_rows(view.by_resource(between=between), plain_resources.cut(own, between), whole, between)


@some
@given(seeds)
def test_by_resource(seed: int) -> None:
    known, trace = loaded(seed)
    random = known.random
    for critical in (False, True):
        for between in (None, random_period(random)):
            barriers, limits = random.random() < 0.5, random.choice((None, (1,), (5, 35), (5, 10, 2000)))
            table = trace.by_resource(limits, barriers=barriers, critical=critical, between=between)
            every = plain_resources.every_record(known, barriers, between)
            compare_rows(table, every, None, between, limits or plain_resources.LIMITS, critical=critical)


def random_period(random: Random) -> tuple[int, int]:
    first, last = sorted((random_runs.moment(random), random_runs.moment(random)))
    return first, last + 1


def length(every: list[Record], between: Between) -> int:
    """What shares are of."""
    if between is not None:
        return between[1] - between[0]
    first, last = (min(one.start for one in every), max(one.end for one in every)) if every else (0, 0)
    return max(last - first, 1)


def compare_resources(table: pd.DataFrame, every: list[Record], whole: list[Record] | None, between: Between) -> None:
    expected = plain_resources.resources(every, whole)
    assert {row[0]: row[1:] for row in rows(table, "resource", *Busy._fields)} == expected
    # The GPUs come first.
    assert list(table["resource"]) == sorted(expected, key=lambda name: (name == plain_resources.DATA, name))
    for name, share in rows(table, "resource", "busy_share"):
        assert share == pytest.approx(expected[name].busy / length(every, between), rel=1e-9)


def compare_rows(
    table: pd.DataFrame,
    every: list[Record],
    whole: list[Record] | None,
    between: Between,
    limits: Sequence[int] = plain_resources.LIMITS,
    *,
    critical: bool = False,
) -> None:
    expected = plain_resources.by_resource(every, limits, critical=critical, whole=whole)
    found = {row[:3]: row[3:] for row in rows(table, "resource", "kind", "name", *Row._fields)}
    assert {key: row[0] for key, row in found.items()} == {key: row.calls for key, row in expected.items()}
    undecided = plain_resources.undecided(every) if critical else set()
    for key, row in expected.items():
        assert key[0] in undecided or found[key] == row, key
    for resource in undecided:
        assert sum(row[1] for key, row in found.items() if key[0] == resource) == sum(
            row.total for key, row in expected.items() if key[0] == resource
        )
    for total, calls, share, average in rows(table, "total", "calls", "share", "average"):
        assert share == pytest.approx(total / length(every, between), rel=1e-9)
        assert average == pytest.approx(total / calls, rel=1e-9)
    order = [(name == plain_resources.DATA, name, -total) for name, total in rows(table, "resource", "total")]
    assert order == sorted(order)


@some
@given(seeds)
def test_by_workgroup(seed: int) -> None:
    known, trace = loaded(seed)
    table = rows(trace.by_workgroup(), "threads", "block_x", "block_y", "block_z", "kernel", "launches")
    assert table == [(*key, number) for key, number in sorted(plain_resources.workgroups(known).items())]


@some
@given(seeds)
def test_by_range(seed: int) -> None:
    known, trace = loaded(seed)
    table, expected = trace.by_range(), plain_ranges.by_range(known)
    assert {row[:3]: row[3:] for row in rows(table, "range", "domain", "of", *Called._fields)} == expected
    assert len(table) == len(expected)
    for size, wire, share in rows(table, "bytes", "wire_bytes", "wire_efficiency"):
        assert alike(share, size / wire if wire else None)
    assert falls(table["bytes"].dropna())


@some
@given(seeds)
def test_marked(seed: int) -> None:
    known, trace = loaded(seed)
    for text in ("step", "step 1", "end", "none"):
        for number in (1, 2, 5):
            expected = plain_ranges.marked(known, text, number)
            for pattern in (f"{number}%{text}", *([text] if number == 1 else [])):
                if expected is None:
                    with pytest.raises(UsageError):
                        trace.marked(pattern)
                else:
                    assert trace.marked(pattern) == expected


@some
@given(seeds)
def test_bandwidth(seed: int) -> None:
    known, trace = loaded(seed)
    for over, keys in (("pair", ("from", "to")), ("gpu", ("gpu", "direction"))):
        for initiated in ("device", "host", "both"):
            table = trace.bandwidth(over, initiated)  # type: ignore[arg-type]
            expected = {
                (label(key[0]), label(key[1]) if over == "pair" else key[1]): row
                for key, row in plain_rates.bandwidth(known, over, initiated).items()
            }
            found = {row[:2]: row[2:] for row in rows(table, *keys, *Rate._fields)}
            assert len(table) == len(found)
            assert set(found) == set(expected)
            for key, (size, busy, *rates) in found.items():
                assert (size, busy) == expected[key][:2]
                assert all(map(alike, rates, expected[key][2:]))
            assert falls(table["wire_bytes"].dropna())


@some
@given(seeds)
def test_least_times(seed: int) -> None:
    known, trace = loaded(seed)
    for by, keys in (("pair", ("from", "to")), ("kernel", ("kernel",)), ("line", ("file", "line"))):
        table = trace.least_times(by)  # type: ignore[arg-type]
        expected = {
            (tuple(map(label, key)) if by == "pair" else (key,) if by == "kernel" else key): row
            for key, row in plain_rates.least_times(known, by).items()
        }
        found = {row[:-2]: row[-2:] for row in rows(table, *keys, "wire_bytes", "least_time")}
        assert len(table) == len(found)
        assert {key: row[0] for key, row in found.items()} == {key: row[0] for key, row in expected.items()}
        assert all(alike(row[1], expected[key][1]) for key, row in found.items())
        assert falls(table["least_time"].dropna())


@some
@given(seeds, st.sampled_from(("bytes", "ran", "start")), st.integers(1, 5))
def test_single_launches(seed: int, order: Literal["bytes", "ran", "start"], limit: int) -> None:
    known, trace = loaded(seed)
    expected = []
    for launch in known.launches:
        own = [count for count in known.counts if count.launch is launch]
        size, ran = sum(count.bytes for count in own), launch.end - launch.start if launch.spanned else -1
        row = (
            launch.id, launch.kernel, label(launch.gpu), launch.process, launch.stream, launch.thread,
            launch.start - trace.period[0], ran, size, sum(count.accesses for count in own),
        )  # fmt: skip
        expected.append(({"bytes": -size, "ran": -ran, "start": launch.start}[order], row))
    columns = ("launch", "kernel", "issuer", "process", "stream", "thread", "began", "ran", "bytes", "accesses")
    compare_first(rows(trace.single_launches(order, limit), *columns), expected, limit)


@some
@given(seeds, st.sampled_from(("bytes", "host_ns", "start")), st.integers(1, 5))
def test_single_copies(seed: int, order: Literal["bytes", "host_ns", "start"], limit: int) -> None:
    known, trace = loaded(seed)
    expected = [
        (
            {"bytes": -copy.bytes, "host_ns": copy.start - copy.end, "start": copy.start}[order],
            (
                copy.id, copy.process, label(copy.source), label(copy.destination), label(copy.issuer), "linear",
                "cuMemcpyAsync", copy.bytes, copy.stream, copy.thread, copy.start - trace.period[0],
                copy.end - copy.start,
            ),
        )
        for copy in known.copies
    ]  # fmt: skip
    compare_first(rows(trace.single_copies(order, limit)), expected, limit)


def compare_first(found: list[tuple[Any, ...]], expected: list[tuple[int, tuple[Any, ...]]], limit: int) -> None:
    """That so many rows are the first in some order; of those that are level some."""
    places = {row: place for place, row in expected}
    assert [places[row] for row in found] == sorted(place for place, _ in expected)[:limit]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("seed", range(3))
def test_random_runs_have_something_in_them(seed: int) -> None:
    """Together: each alone can lack something."""
    runs = [random_runs.make(10 * seed + number) for number in range(10)]
    assert {len(run.builders) for run in runs} == {1, 2}
    assert {launch.spanned for run in runs for launch in run.launches} == {False, True}
    assert any(launch.start == launch.end and launch.spanned for run in runs for launch in run.launches)
    for name in ("counts", "copies", "collectives", "calls", "ranges", "marks", "unmeasured", "barriers"):
        assert any(getattr(run, name) for run in runs), name
