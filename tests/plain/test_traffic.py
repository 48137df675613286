"""Sums of the traffic against plain loops over random runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from snoopie.analysis.traffic.libraries import LIBRARIES, Library
from snoopie.analysis.traffic.pairs import Cell
from snoopie.analysis.traffic.reading import INITIATED, READINGS, Initiated, Reading
from snoopie.api.traffic import Key
from tests.plain import plain_run, plain_traffic
from tests.plain.comparing import check_table, same
from tests.plain.drawing import seeds, some
from tests.plain.plain_run import Moved, Run
from tests.plain.plain_traffic import VALUES

readings = st.sampled_from(READINGS)
initiators = st.sampled_from(INITIATED)
libraries = st.sampled_from([None, *LIBRARIES])
ENDS = {"issued": ("issuer", "owner"), "flow": ("from", "to")}
KEYS: dict[str, Callable[[Run, Moved], Any]] = {
    "kernel": lambda run, row: row.launch.kernel,
    "file": lambda run, row: row.site.file,
    "line": lambda run, row: row.site.line,
    "operation": lambda run, row: row.site.operation,
    "issuer": lambda run, row: run.label(row.launch.gpu),
    "owner": lambda run, row: run.label(row.owner),
}


@some
@given(seeds)
def test_summary(seed: int) -> None:
    run = plain_run.make(seed)
    found, expected = run.load(seed).summary(), plain_traffic.summary(run)
    assert set(found) == set(expected)
    assert all(same(found[name], value) for name, value in expected.items()), (found, expected)


@some
@given(seeds)
def test_by_every_key(seed: int) -> None:
    run = plain_run.make(seed)
    trace = run.load(seed)
    rows = run.traffic
    check_table(trace.by_operation(), ["operation"], plain_traffic.sums_by(rows, lambda row: row.site.operation))
    for table, keys, key in (
        (trace.by_kernel(), ["kernel"], lambda row: row.launch.kernel),
        (trace.by_process(), ["process"], lambda row: row.launch.process),
    ):
        launches = plain_traffic.launches_by(rows, key)
        expected = {name: launches[name] | values for name, values in plain_traffic.sums_by(rows, key).items()}
        check_table(table, keys, expected)


@some
@given(seeds, st.lists(st.sampled_from(get_args(Key)), min_size=1, unique=True))
def test_by_several_keys(seed: int, keys: list[Key]) -> None:
    run = plain_run.make(seed)
    expected = plain_traffic.sums_by(run.traffic, lambda row: tuple(KEYS[key](run, row) for key in keys))
    table = run.load(seed).by(*keys)
    assert list(table.columns[: len(keys)]) == keys
    check_table(table, keys, expected)


@some
@given(seeds, readings, initiators, libraries)
def test_pairs(seed: int, reading: Reading, initiated: Initiated, library: Library | None) -> None:
    run = plain_run.make(seed)
    expected = plain_traffic.pairs(run, reading, initiated, library)
    labelled = {(run.label(one), run.label(other)): row for (one, other), row in expected.items()}
    check_table(run.load(seed).by_pair(reading, initiated, library), ENDS[reading], labelled)


@some
@given(seeds, readings, initiators)
def test_by_library(seed: int, reading: Reading, initiated: Initiated) -> None:
    run = plain_run.make(seed)
    expected = {
        (run.label(one), run.label(other), library): row
        for library in LIBRARIES
        for (one, other), row in plain_traffic.pairs(run, reading, initiated, library).items()
    }
    table = run.load(seed).by_library(reading, initiated)
    assert list(table.columns[:3]) == [*ENDS[reading], "library"]
    check_table(table, [*ENDS[reading], "library"], expected)


@some
@given(seeds, st.sampled_from([*VALUES, "wire_efficiency"]), readings, libraries)
def test_matrices(seed: int, value: Cell, reading: Reading, library: Library | None) -> None:
    run = plain_run.make(seed)
    trace = run.load(seed)
    for initiated in INITIATED if value == "bytes" else INITIATED[:1]:
        expected = plain_traffic.pairs(run, reading, initiated, library)
        matrix = trace.matrix(value, reading, initiated, library)
        places = plain_traffic.places(run, initiated)
        nothing = None if value == "wire_efficiency" else 0
        assert list(matrix.index) == list(matrix.columns) == [run.label(place) for place in places]
        assert (matrix.index.name, matrix.columns.name) == ENDS[reading]
        for row, own in zip(matrix.to_numpy().tolist(), places, strict=True):
            cells = [expected.get((own, other), {}).get(value, nothing) for other in places]
            assert all(map(same, row, cells)), (own, row, cells)


@some
@given(seeds)
def test_routes(seed: int) -> None:
    run = plain_run.make(seed)
    check_table(run.load(seed).by_route(), ["from", "to"], plain_traffic.routes(run))


@some
@given(seeds)
def test_links(seed: int) -> None:
    run = plain_run.make(seed)
    matrix = run.load(seed).link_matrix()
    labels = [run.label(place) for place in range(len(run.gpus))]
    assert list(matrix.index) == list(matrix.columns) == labels
    assert matrix.to_numpy().tolist() == plain_traffic.links(run)


@some
@given(seeds)
def test_copies(seed: int) -> None:
    run = plain_run.make(seed)
    expected = {
        (run.label(source), run.label(destination), *rest): row
        for (source, destination, *rest), row in plain_traffic.by_copy(run).items()
    }
    check_table(run.load(seed).by_copy(), ["from", "to", "kind", "call"], expected)


def test_random_runs_have_something_of_everything() -> None:
    runs = [plain_run.make(seed) for seed in range(30)]
    traffic = [row for run in runs for row in run.traffic]
    assert {row.site.operation for row in traffic} == set(plain_run.OPCODES)
    assert {plain_traffic.kind(row.owner) for row in traffic} == {"GPU", "host", "unknown", "multicast"}
    assert {plain_traffic.library_of(run, row) for run in runs for row in run.traffic} == set(LIBRARIES)
    assert {link for run in runs for line in plain_traffic.links(run) for link in line} == {
        "", "NVLink", "PCIe", "no access", "unknown",
    }  # fmt: skip
    assert any(copy.issuer not in (copy.source, copy.destination) for run in runs for copy in run.copies)
    assert any(run.sampled for run in runs) and any(len(run.builders) > 1 for run in runs)
    assert any(not run.traffic for run in runs) and any(not row.amounts[3] for row in traffic)
    assert any(row.site.unit == 16 for row in traffic) and {len(run.gpus) for run in runs} >= {2, 3, 4, 5}
    assert all(plain_traffic.pairs(runs[0], reading, "both") for reading in READINGS)
