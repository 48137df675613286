"""What was called within ranges, whatever lies in what: compared with looking at every pair of a call and a range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snoopie
from snoopie.analysis.time import ranges
from snoopie.analysis.traffic.counts import VALUES
from snoopie.cli import main
from tests.support.encoder import HOST, START_NS, TraceBuilder

Range = tuple[int, int, int, int, str, bool]
Call = tuple[int, int, int, int]
_LINE = (st.integers(0, 1), st.integers(1, 2))
RANGES = st.lists(
    st.tuples(*_LINE, st.integers(1, 30), st.integers(0, 30), st.sampled_from("ab"), st.booleans()), max_size=12
)
CALLS = st.lists(st.tuples(*_LINE, st.integers(0, 32), st.integers(0, 100)), max_size=15)


def holds(one: Range, call: Call) -> bool:
    process, thread, start, end, _, pushed = one
    at = call[2]
    return call[0] == process and (not pushed or call[1] == thread) and at > 0 and start <= at < (end or 10**9)


def tables(named: list[Range], calls: list[Call]) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The ranges, the launches, and their traffic."""
    of = pd.DataFrame(named, columns=["process", "thread", "start", "end", "name", "pushed"]).astype(
        {name: np.int64 for name in ("process", "thread", "start", "end")} | {"name": "str", "pushed": bool}
    )
    made = pd.DataFrame(calls, columns=["process", "thread", "time", "bytes"]).astype(np.int64)
    made.index = pd.RangeIndex(1, len(made) + 1, name="launch")
    traffic = pd.DataFrame({name: made["bytes"] for name in VALUES}).rename_axis("launch").reset_index()
    return of.assign(domain=""), made, traffic


@given(RANGES, CALLS)
@settings(max_examples=100, deadline=None)
def test_each_call_counts_once_by_name(named: list[Range], calls: list[Call]) -> None:
    of, made, traffic = tables(named, calls)
    inside = ranges.inside(of, made, "time")
    assert inside.tolist() == [any(holds(one, call) for one in named) for call in calls]
    no_copies = pd.DataFrame({"process": [], "thread": [], "start": [], "bytes": []}, dtype=np.int64)
    table = ranges.by_range(of, made.drop(columns="bytes"), traffic, no_copies, 40).set_index(["range", "of"])
    expected: dict[tuple[str, str], list[int]] = {}
    for name, pushed in sorted({(one[4], one[5]) for one in named}):
        own = [one for one in named if (one[4], one[5]) == (name, pushed)]
        held = [call for call in calls if any(holds(one, call) for one in own)]
        lasted = sum(max((one[3] or 40) - one[2], 0) for one in own)
        expected[name, "thread" if pushed else "process"] = [len(own), lasted, len(held), sum(call[3] for call in held)]
    if rest := [call for call in calls if not any(holds(one, call) for one in named)]:
        expected["", ""] = [0, 0, len(rest), sum(call[3] for call in rest)]
    found = table[["times", "duration", "launches", "bytes"]]
    assert dict(zip(found.index, found.to_numpy().tolist(), strict=True)) == expected


def builder() -> TraceBuilder:
    """Launches at 1, 2, … µs of 32, 64, … bytes on thread 7, but for the third, which is on thread 8; a copy at 10."""
    trace = TraceBuilder(2)
    put = trace.function("put(int*)")
    store = trace.site(put, "STG.E", "store", 1)
    for number in range(1, 5):
        launch = trace.launch(put, 0, time=START_NS + 1000 * number, thread=8 if number == 3 else 7)
        trace.count(launch, store, 1, number, 32 * number, 2 * number)
    trace.copy(HOST, 1, 1001, gpu=1, thread=7, start=START_NS + 10_000, end=START_NS + 11_000)
    for name, domain, start, end, pushed in (
        ("step", "", 1600, 3500, 1),
        ("step", "", 9500, 12_000, 1),
        ("inner", "lib", 1500, 2500, 1),
        ("all", "", 1500, 0, 0),
    ):
        named: dict[str, Any] = {"name": trace.string(name), "domain": trace.string(domain) if domain else 0}
        trace.add("ranges", thread=7, start=START_NS + start, end=START_NS + end if end else 0, pushed=pushed, **named)
    return trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return builder().write(tmp_path / "t.zst")


def test_the_table(path: Path) -> None:
    table = snoopie.load(path).by_range()
    columns = ["range", "domain", "of", "times", "launches", "measured", "bytes", "copies", "copy_bytes"]
    assert table[columns].to_numpy(dtype=object).tolist() == [
        ["all", "", "process", 1, 3, 3, 32 * 9, 1, 1001],
        ["step", "", "thread", 2, 1, 1, 64, 1, 1001],
        ["inner", "lib", "thread", 1, 1, 1, 64, 0, 0],
        ["", "", "", 0, 1, 1, 32, 0, 0],
    ]


@pytest.mark.parametrize(
    ("names", "launches", "copies"),
    [
        ("step", [2], 1),
        ("inner", [2], 0),
        ("inner@lib", [2], 0),
        ("inner@", [], 0),
        ("*n*", [2], 0),
        ("all", [2, 3, 4], 1),
    ],
)
def test_views(path: Path, names: str, launches: list[int], copies: int) -> None:
    if names == "inner@":
        with pytest.warns(UserWarning, match="ranges: nothing is called inner@"):
            view = snoopie.load(path).select(ranges=names)
    else:
        view = snoopie.load(path).select(ranges=names)
    assert view.launches.index.tolist() == launches
    assert len(view.copies) == copies


def test_sampled_launches_stand_for_others(tmp_path: Path) -> None:
    trace = builder()
    trace.add("sampling", function=1, gpu=0, launches=8, measured=4)
    table = snoopie.load(trace.write(tmp_path / "s.zst")).by_range().set_index("range")
    assert table.loc["step", ["launches", "measured", "bytes"]].tolist() == [2, 1, 2 * 64]


def test_the_commands(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--by", "range", str(path)]) == 0
    out = capsys.readouterr().out
    # Of 320 bytes: the rows do not add up, and are not to.
    assert [line.split()[0] for line in out.splitlines()[1:4]] == ["all", "step", "inner"]
    assert "90 %" in out.splitlines()[1] and "20 %" in out.splitlines()[2] and "(in no range)" in out
    assert main(["stats", "--by", "launch", "--range", "inner@lib", "--csv", str(path)]) == 0
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines()] == ["launch", "2"]
    assert main(["stats", "--range", "none", str(path)]) == 2
    assert capsys.readouterr().err == "snoopie: there is no range none; the trace has step, inner, all\n"


def test_times_that_no_machine_reaches(tmp_path: Path) -> None:
    trace = TraceBuilder(1)
    for _ in range(8):
        trace.add("ranges", thread=7, start=1, end=2**63 - 1, pushed=1, name=trace.string("long"))
    assert snoopie.load(trace.write(tmp_path / "t.zst")).by_range()["duration"].tolist() == [1 << 61]


def test_lanes(path: Path) -> None:
    trace = snoopie.load(path)
    lanes = trace.activity_lanes()
    own = lanes[lanes["what"] == "range"]
    assert own[["place", "line", "events", "end"]].to_numpy(dtype=object).tolist() == [
        ["host", 7, 4, START_NS + 12_000]
    ]
    described = trace.activity_of("range", 3)
    assert described[["name", "thread", "duration", "bytes"]].to_numpy(dtype=object).tolist() == [
        ["inner", 7, 1000, -1]
    ]
