"""copies: what the host copies between itself and the GPUs is in the trace, copy by copy, and nothing else is."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pytest
from gpu_runs import Run, Runner

HOST = -1
KINDS = {"linear", "2d", "3d", "batch", "graph", "prefetch"}


class Copy(NamedTuple):
    """A copy whose ends differ; a GPU by its number, the host as -1."""

    kind: str
    source: int
    destination: int
    bytes: int
    issuer: int


def printed(run: Run) -> Counter[Copy]:
    """What the program says that it did: copies.cu gives the form."""
    lines = [line.split()[1:] for line in run.stdout.splitlines() if line.startswith("copy ")]
    return Counter(Copy(kind, *map(int, numbers)) for kind, *numbers in lines)


def recorded(run: Run) -> Counter[Copy]:
    """The same from the trace."""
    table = run.trace.copies
    columns = [table.kind.astype(str), *(table[name].astype(int) for name in Copy._fields[1:])]
    return Counter(Copy(*row) for row in zip(*columns, strict=True))


@pytest.fixture(scope="session")
def run(runner: Runner, pair: tuple[str, ...]) -> Run:
    """The program under the collector, on the first two GPUs."""
    return runner.traced("copies", visible=pair)


def test_every_copy_that_crosses_is_recorded_and_no_other(run: Run) -> None:
    made, found = printed(run), recorded(run)
    assert found - made == Counter(), "recorded, but not made"
    assert made - found == Counter(), "made, but not recorded"
    assert run.trace.complete
    assert run.trace.totals["errors"] == 0


def test_the_program_tries_every_kind_in_every_direction(run: Run) -> None:
    made = printed(run)
    ends = {(HOST, 0), (HOST, 1), (0, HOST), (1, HOST), (0, 1), (1, 0)}
    for kind in ("linear", "2d", "3d"):
        assert {copy[1:3] for copy in made if copy.kind == kind} == ends
    # Two launches with the same parameters are two copies.
    assert made[Copy("graph", 0, 1, 1501, 0)] == 3
    assert made[Copy("graph", 1, HOST, 1504, 0)] == made[Copy("graph", 0, 1, 1504, 0)] - 2
    # Kinds that need more than CUDA 12.0 or this hardware are left out with a reason, and copies of arrays between GPUs
    # may be refused.
    assert {copy.kind for copy in made} == KINDS or "not tried" in run.stdout
    refused = [line.split()[2:4] for line in run.stdout.splitlines() if line.startswith("refused ")]
    assert all(HOST not in map(int, ends_refused) for ends_refused in refused)


def test_when_and_by_whom(run: Run) -> None:
    table = run.trace.copies
    assert (table.end >= table.start).all()
    assert table.start.min() > 0
    assert table.thread.nunique() == 2
    assert table.call.str.startswith("cu").all()
    # An array has no address; two copies are between arrays.
    addressed = (table.source_address > 0) | (table.destination_address > 0)
    assert addressed[~table.bytes.isin([1408, 1409])].all()
    # The footer's totals are those of the table.
    assert run.trace.totals["copies"] == len(table)
    assert run.trace.totals["copy_bytes"] == table.bytes.sum()


def test_the_collector_adds_no_copies_of_its_own(runner: Runner, pair: tuple[str, ...]) -> None:
    # Kernels are measured here, so the collector copies counts and pages; the program copies words and counts back.
    n = 5000
    run = runner.traced("graph", n, 3, visible=pair)
    assert recorded(run) == Counter({Copy("linear", 1, HOST, 4 * n, 0): 2})
