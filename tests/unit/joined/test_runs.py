"""Which processes are of one run, and which run somebody means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import snoopie
from snoopie.errors import CorruptError, SeveralRunsError, UsageError
from tests.support.encoder import START_NS, TraceBuilder

S = 10**9


def write(
    folder: Path, pid: int, start: int = 0, end: int = 10, run: Mapping[str, Any] | None = None, program: str = "ring",
    host: str = "node1", ranks: Mapping[str, str] | None = None, footer: bool = True,
) -> Path:  # fmt: skip
    """A trace of a process that ran so many seconds from and to after START_NS."""
    builder = TraceBuilder(2, pid=pid, host=host, ranks=ranks)
    builder.header["process"] |= {"program": program, "start_ns": START_NS + start * S}
    if run is not None:
        builder.header["process"]["run"] = run
    builder.add("notices", time=START_NS + end * S, text="")
    builder.end_ns = START_NS + end * S
    return builder.write(folder / f"t.{pid}.zst", footer=footer)


def runs(folder: Path, **options: Any) -> list[list[int]]:
    """The process IDs of each run."""
    trace = snoopie.load(folder, all_runs=True, **options)
    return [trace.processes.loc[trace.processes["run"] == run, "pid"].tolist() for run in trace.runs.index]


def named(run: str, of: str = "run") -> dict[str, str]:
    return {"id": run, "of": of}


def test_what_was_given_one_id_is_one_run_whatever_it_is(tmp_path: Path) -> None:
    write(tmp_path, 1, 0, 1, named("a"), program="make")
    write(tmp_path, 2, 5, 6, named("a"), host="node2")
    write(tmp_path, 3, 5, 6, named("b"), host="node2")
    assert runs(tmp_path) == [[1, 2], [3]]


def test_a_jobs_name_comes_again(tmp_path: Path) -> None:
    for pid, start in ((1, 0), (2, 5), (3, 14), (4, 30), (5, 31)):
        write(tmp_path, pid, start, start + 10, named("openmpi-7", "job"), host=f"node{pid}")
    write(tmp_path, 6, 0, 40, named("openmpi-8", "job"))
    assert runs(tmp_path) == [[1, 2, 3], [6], [4, 5]]
    ids = snoopie.load(tmp_path, all_runs=True).runs["run_id"].tolist()
    assert ids == [
        "openmpi-7@20260921-141320", "openmpi-8@20260921-141320", "openmpi-7@20260921-141350",
    ]  # fmt: skip


@pytest.mark.parametrize("run", [None, named("x-1-2", "process")])
def test_without_a_name_it_is_one_program_at_one_time_on_one_host_or_of_as_many_ranks(
    tmp_path: Path, run: dict[str, str] | None
) -> None:
    two, three = {"RANK": "0", "WORLD_SIZE": "2"}, {"RANK": "0", "WORLD_SIZE": "3"}
    write(tmp_path, 1, 0, 10, run)
    write(tmp_path, 2, 9, 20, run)
    write(tmp_path, 3, 21, 30, run)
    write(tmp_path, 4, 0, 10, run, program="jacobi")
    write(tmp_path, 5, 0, 10, run, host="node2")
    write(tmp_path, 6, 0, 10, run, host="node3", ranks=two)
    write(tmp_path, 7, 0, 10, run, host="node4", ranks=two)
    write(tmp_path, 8, 0, 10, run, host="node5", ranks=three)
    assert runs(tmp_path) == [[1, 2], [4], [5], [6, 7], [8], [3]]


def test_a_process_that_was_killed_ran_as_long_as_its_trace_tells(tmp_path: Path) -> None:
    write(tmp_path, 1, 0, 10, footer=False)
    write(tmp_path, 2, 8, 20, footer=False)
    write(tmp_path, 3, 21, 30, footer=False)
    assert runs(tmp_path, allow_truncated=True) == [[1, 2], [3]]


def test_several_runs_are_refused_and_named(tmp_path: Path) -> None:
    write(tmp_path, 1, 0, 10, named("first"))
    write(tmp_path, 2, 20, 30, named("second"), program="jacobi")
    with pytest.raises(SeveralRunsError) as refused:
        snoopie.load(tmp_path)
    text = str(refused.value)
    assert re.match(r"these traces are of 2 runs that do not belong together: 0: first \(ring, 1 process, 2026-", text)
    assert "1: second (jacobi, 1 process, 2026-" in text
    assert text.endswith("; choose one with load(…, run=0), or add them up with load(…, all_runs=True)")
    for number in range(3, 10):
        write(tmp_path, number, 100 * number, 100 * number + 1, named(f"no{number}"))
    with pytest.raises(SeveralRunsError, match=r"no6 \(.*, and 3 more, which snoopie info lists; choose"):
        snoopie.load(tmp_path)


def test_one_is_chosen_by_its_number_or_its_id(tmp_path: Path) -> None:
    for pid, run in enumerate(("20261122-1", "20261122-12", "20261123-1"), start=1):
        write(tmp_path, pid, 20 * pid, 20 * pid + 1, named(run))

    def pid(run: str | int) -> int:
        (only,) = snoopie.load(tmp_path, run=run).processes["pid"]
        return int(only)

    assert [pid(number) for number in (0, 1, "2")] == [1, 2, 3]
    assert pid("20261123") == 3
    assert pid("20261122-1") == 1  # all of an id, which another begins with
    assert pid("20261122-12") == 2
    with pytest.raises(UsageError, match=r"^20261122 begins the ids of several runs: 0: 20261122-1 \(.*, 1: "):
        pid("20261122")
    for run in (3, -1, "3", "x", ""):
        with pytest.raises(UsageError, match=f"^there is no run {run}: the traces have 0: 20261122-1 "):
            pid(run)
    with pytest.raises(UsageError, match="cannot both be meant"):
        snoopie.load(tmp_path, run=0, all_runs=True)


def test_a_trace_of_several_runs_says_so(tmp_path: Path) -> None:
    write(tmp_path, 1, 0, 10, named("first"))
    write(tmp_path, 2, 20, 30, named("second"))
    write(tmp_path, 3, 21, 31, named("second"), host="node2")
    trace = snoopie.load(tmp_path, all_runs=True)
    assert repr(trace).startswith("<Trace of 3 processes of 2 runs: ")
    assert trace.runs[["run_id", "program", "processes", "hosts"]].to_numpy().tolist() == [
        ["first", "ring", 1, "node1"],
        ["second", "ring", 2, "node1, node2"],
    ]
    assert trace.runs["start_ns"].tolist() == [START_NS, START_NS + 20 * S]
    assert trace.runs["end_ns"].tolist() == [START_NS + 10 * S, START_NS + 31 * S]
    assert " runs" not in repr(snoopie.load(tmp_path, run=1))


@pytest.mark.parametrize("run", ["x", {"id": 7}, {"of": "run"}, {"id": "", "of": "job"}, {"id": "a", "of": "week"}])
def test_a_run_that_is_none(tmp_path: Path, run: Any) -> None:
    write(tmp_path, 1, run=run)
    with pytest.raises(CorruptError):
        snoopie.load(tmp_path)


def test_a_hostile_name_is_shown_harmless(tmp_path: Path) -> None:
    write(tmp_path, 1, 0, 10, named("a\x1b[31m\n"))
    write(tmp_path, 2, 20, 30, named("b"), program="x\x1b[31m")
    write(tmp_path, 3, -6_400_000_000, 7_000_000_000, named("c", "job"))
    with pytest.raises(SeveralRunsError) as refused:
        snoopie.load(tmp_path)
    assert str(refused.value).isprintable()
