"""When bytes moved within launches, against plain loops over random records."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given

from snoopie.api.trace import Trace
from tests.plain import plain_moments, random_runs
from tests.plain.comparing import alike, compare_over_time, falls, rows
from tests.plain.drawing import seeds, some
from tests.plain.plain_moments import Clock, Overlap, Stamp
from tests.plain.plain_runs import Run, label


def loaded(seed: int) -> tuple[Run, list[Stamp], Trace]:
    known = random_runs.make(seed)
    stamps = plain_moments.add_records(known)
    return known, stamps, known.load(seed)


def clocks(stamps: list[Stamp]) -> list[Clock]:
    return plain_moments.clocks((stamp.launch, stamp.time) for stamp in stamps)


@some
@given(seeds)
def test_clocks(seed: int) -> None:
    _, stamps, trace = loaded(seed)
    expected = [(clock.process, label(clock.gpu), *clock[2:]) for clock in clocks(stamps)]
    assert rows(trace.clocks(), *Clock._fields) == expected


@some
@given(seeds)
def test_traffic_by_moment(seed: int) -> None:
    known, stamps, trace = loaded(seed)
    random = known.random
    for reading, ends in (("issued", ("issuer", "owner")), ("flow", ("from", "to"))):
        initiated, bins = random.choice(("device", "host", "both")), random.choice((1, 7, 1000))
        window = first, last, folds = random_runs.window(random)
        table = trace.traffic_by_moment(bins, reading, initiated, first, last, folds=folds)  # type: ignore[arg-type]
        pieces = [
            piece._replace(key=tuple(map(label, piece.key)))
            for piece in plain_moments.by_pair(known, stamps, reading, initiated)
        ]
        compare_over_time(table, ends, pieces, bins, window)


@some
@given(seeds)
def test_lines_by_moment(seed: int) -> None:
    known, stamps, trace = loaded(seed)
    bins, window = known.random.choice((1, 7, 1000)), random_runs.window(known.random)
    first, last, folds = window
    table = trace.lines_by_moment(bins, first, last, folds=folds)
    compare_over_time(table, ["line"], plain_moments.by_line(known, stamps), bins, window)


@some
@given(seeds)
def test_overlap(seed: int) -> None:
    known, stamps, trace = loaded(seed)
    of_launches = plain_moments.overlap(known, stamps)
    of_kernels = plain_moments.overlap_by_kernel(of_launches)
    # GPUs with launches that are too short for the clocks: of what surely ran beside them less may be known.
    most = max((row.error for row in of_launches.values()), default=0)
    short = {launch.gpu for launch in known.launches if launch.spanned and launch.end - launch.start <= 2 * most}
    for by, exact, keys, expected in (
        (
            "launch", ("moving", "began", "ended", "ran", "error"), ("launch", "kernel", "issuer", "owner"),
            {(launch.id, launch.kernel, launch.gpu, owner): row for (launch, owner), row in of_launches.items()},
        ),
        ("kernel", ("launches", "moving", "ran", "error"), ("kernel", "issuer", "owner"), of_kernels),
    ):  # fmt: skip
        table = trace.overlap(by)  # type: ignore[arg-type]
        assert len(table) == len(expected)
        assert falls(table["bytes"].dropna())
        found = dict(zip(rows(table, *keys), table.to_dict("records"), strict=True))
        for key, row in expected.items():
            own = found[*key[:-2], label(key[-2]), label(key[-1])]
            assert own["bytes"] == row.bytes
            assert all(own[name] == getattr(row, name) for name in exact)
            assert alike(own["spread"], row.moving / max(row.ran, 1))
            assert abs(Fraction(own["densest"]) - row.densest * 10**6) <= row.slack * 10**6
            assert alike(own["capacity"], row.capacity)
            assert alike(own["capacity_share"], row.capacity and own["densest"] / row.capacity)
            for name in ("under", "under_least", "under_most"):
                amount: Fraction = getattr(row, name)
                if name != "under_least" or key[-2] not in short:
                    assert abs(own[name] - amount) <= row.slack, name
                assert own[name] <= amount + row.slack
            assert own["under_least"] <= own["under"] <= own["under_most"] <= own["bytes"]


def test_random_records_have_something_in_them() -> None:
    runs = [(run, plain_moments.add_records(run)) for run in map(random_runs.make, range(100))]
    every = [clocks(stamps) for _, stamps in runs]
    assert any(len({clock[:2] for clock in own}) < len(own) for own in every), "a clock that was set"
    assert any(clock.launches > 1 for own in every for clock in own)
    overlaps: list[Overlap] = [row for run, stamps in runs for row in plain_moments.overlap(run, stamps).values()]
    assert any(0 < row.under < row.bytes for row in overlaps)
    assert any(row.under_least < row.under_most for row in overlaps)
    assert any(row.slack for row in overlaps)
