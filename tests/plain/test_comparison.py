"""Comparisons of two traces against plain loops over random runs."""

from __future__ import annotations

from random import Random
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

import snoopie
from snoopie.analysis.traffic.reading import INITIATED, READINGS, Initiated, Reading
from snoopie.analysis.traffic.values import VALUES, Value
from snoopie.api.comparison import Comparison
from tests.plain import plain_comparison, plain_rates, plain_remarks, plain_run, random_runs
from tests.plain.comparing import check_table, check_times, falls, same
from tests.plain.drawing import seeds, some
from tests.plain.plain_run import Run
from tests.plain.plain_runs import label

readings = st.sampled_from(READINGS)
initiators = st.sampled_from(INITIATED)
values = st.sampled_from(VALUES)


def made(seed: int) -> tuple[Run, Run, Comparison]:
    a, b = plain_run.make(seed), plain_run.make(seed + 1)
    return a, b, snoopie.compare(a.load(seed), b.load(seed + 1))


@some
@given(seeds, readings, initiators, values)
def test_pairs(seed: int, reading: Reading, initiated: Initiated, value: Value) -> None:
    a, b, both = made(seed)
    value = value if initiated == "device" else "bytes"
    one, other = (plain_comparison.pairs(run, reading, initiated, value) for run in (a, b))
    table = both.by_pair(value, reading, initiated)
    keys = ["issuer", "owner"] if reading == "issued" else ["from", "to"]
    check_table(table, keys, plain_comparison.compared(one, other), most="")
    assert falls(table["change"].abs().tolist())
    labels = plain_comparison.places(a, b, initiated)
    squares = both.matrices(value, reading, initiated)
    for square, cells in zip(squares, (one, other), strict=False):
        assert list(square.index) == list(square.columns) == labels
        assert square.to_numpy().tolist() == [[cells.get((row, at), 0) for at in labels] for row in labels]
    change = [[other.get((row, at), 0) - one.get((row, at), 0) for at in labels] for row in labels]
    assert squares[2].to_numpy().tolist() == both.matrix(value, reading, initiated).to_numpy().tolist() == change


@some
@given(seeds, st.sampled_from([*VALUES, "launches", "measured"]))
def test_kernels(seed: int, value: str) -> None:
    a, b, both = made(seed)
    one, other = (plain_comparison.kernels(run, value) for run in (a, b))
    table = both.by_kernel(value)
    check_table(table, ["kernel"], plain_comparison.compared(one, other), most="")
    assert falls(table["change"].abs().tolist())


@some
@given(seeds)
def test_objects(seed: int) -> None:
    a, b, both = made(seed)
    one, other = (plain_comparison.objects(run) for run in (a, b))
    table = both.by_object("objects")
    # What is of no known object has no owner.
    table = table[table["owner"] != ""][["owner", "kind", "a", "b", "change", "ratio", "only"]]
    expected = plain_comparison.compared(one, other)
    copied = table[[key not in expected for key in zip(table["owner"], table["kind"], strict=True)]]
    assert copied.empty
    check_table(table, ["owner", "kind"], expected, most="")


@some
@given(seeds)
def test_summary(seed: int) -> None:
    a, b, both = made(seed)
    found = both.summary().to_dict("index")
    for name, row in plain_comparison.summary(a, b).items():
        assert all(same(found[name][column], value) for column, value in row.items()), (name, found[name], row)
    # A trace is the same as itself.
    assert not snoopie.compare(both.a, both.a).different


@some
@given(seeds, st.sampled_from(("kernel", "pair")))
def test_least_times(seed: int, by: Literal["kernel", "pair"]) -> None:
    runs = [random_runs.make(seed + number) for number in range(2)]
    both = snoopie.compare(*(run.load(seed) for run in runs))
    sides = [
        {
            tuple(map(label, key)) if by == "pair" else key: int(time)
            for key, (_, time) in plain_rates.least_times(run, by).items()
            if time
        }
        for run in runs
    ]
    assert not both.has_native
    check_times(both.times(by), ["from", "to"] if by == "pair" else ["kernel"], plain_comparison.compared(*sides))


@some
@given(seeds)
def test_remarks(seed: int) -> None:
    random = Random(seed)
    a, b = (plain_remarks.recorded(plain_run.make(seed + number), random) for number in range(2))
    both = snoopie.compare(a.run.load(seed), b.run.load(seed))
    differences = [begins for begins, there in plain_remarks.differences(a, b).items() if there]
    on_losses = plain_remarks.on_losses(both.a.losses(), both.b.losses())
    said = both.remarks()
    assert len(said) == len(differences) + len(on_losses)
    assert all(sentence.startswith(begins) for sentence, begins in zip(said, differences, strict=False)), said
    assert said[len(differences) :] == on_losses
    alone = snoopie.compare(both.a, both.a).remarks()
    assert alone == ["A and B are the same recording.", *(f"A and B: {sentence}" for sentence in both.a.losses())]


def test_random_pairs_of_runs_differ() -> None:
    rows = [
        row
        for seed in range(20)
        for row in plain_comparison.compared(
            *(plain_comparison.kernels(plain_run.make(one), "bytes") for one in (seed, seed + 1))
        ).values()
    ]
    assert {row["only"] for row in rows} == {"", "A", "B"}
    assert {(row["change"] > 0) - (row["change"] < 0) for row in rows if not row["only"]} >= {-1, 1}
    made = [
        [plain_remarks.recorded(plain_run.make(one), Random(seed)) for one in (seed, seed + 1)] for seed in range(20)
    ]
    remarks = [plain_remarks.differences(*pair) for pair in made]
    assert all({list(row.values())[place] for row in remarks} == {True, False} for place in range(5))
