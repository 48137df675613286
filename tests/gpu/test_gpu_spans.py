"""spans: when launches ran, compared with the GPU's own clock, which their records have."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from gpu_runs import Runner
from gpu_traffic import Far, nothing_lost

import snoopie
from snoopie.exporters.chrome import export
from tests.support import chrome

MS = 20
# Between two events of a stream, by the driver's documentation.
PRECISION = 1000
# What a span can be off the host's clock.
OFF = 50_000


@pytest.fixture
def trace(runner: Runner, far: Far) -> snoopie.Trace:
    trace = runner.traced("spans", MS, visible=far.visible).trace
    nothing_lost(trace)
    return trace


@pytest.fixture
def when(trace: snoopie.Trace) -> pd.DataFrame:
    """Launches by the numbers that they have at the top of spans.cu."""
    table = trace.timeline().reset_index(drop=True)
    table.index += 1
    return table


def test_spans_are_of_launches_by_calls(when: pd.DataFrame) -> None:
    assert when["spanned"].tolist() == [True] * 7 + [False]
    assert [name.split("(")[0] for name in when["kernel"]] == [
        "behind",
        "beside",
        *["behind"] * 3,
        *["beside"] * 2,
        "behind",
    ]


def test_a_span_is_as_long_as_the_kernel(trace: snoopie.Trace, when: pd.DataFrame) -> None:
    times = trace.records.groupby("launch")["time"]
    # From the first access to the last.
    inside = (times.max() - times.min()).to_numpy()
    assert len(inside) == len(when)
    length = (when["end"] - when["start"]).to_numpy()
    for number in range(3, 8):
        assert inside[number - 1] >= MS * 1_000_000 - PRECISION
        assert inside[number - 1] <= length[number - 1] + PRECISION
        assert length[number - 1] <= 1.05 * inside[number - 1] + 200_000


def test_a_span_is_when_the_kernel_ran(trace: snoopie.Trace, when: pd.DataFrame, alone: None) -> None:
    spanned = when[when["spanned"]]
    assert (spanned["start"] >= spanned["called"]).all()
    assert (spanned["end"] <= trace.processes.loc[0, "end_ns"]).all()
    # What the host waited for had ended when it went on.
    assert (when.loc[[2, 5, 7], "end"].to_numpy() <= when.loc[[3, 6, 8], "called"].to_numpy() + OFF).all()
    # An idle GPU begins soon.
    assert (when.loc[[3, 6], "start"] - when.loc[[3, 6], "called"]).max() < 5_000_000


def test_launches_of_a_stream_follow_one_another(when: pd.DataFrame) -> None:
    of_stream = when.loc[1:6]
    assert of_stream["stream"].nunique() == 1
    starts, ends = of_stream["start"].to_numpy()[1:], of_stream["end"].to_numpy()[:-1]
    assert (starts >= ends - PRECISION).all()
    # Without a pause where the next was already there.
    assert (when.loc[[4, 5], "start"].to_numpy() - when.loc[[3, 4], "end"].to_numpy()).max() < 1_000_000


def test_launches_of_two_streams_run_side_by_side(when: pd.DataFrame) -> None:
    one, other = when.loc[6], when.loc[7]
    assert one["stream"] != other["stream"]
    together = min(one["end"], other["end"]) - max(one["start"], other["start"])
    assert together > MS * 1_000_000 / 2


def test_the_timeline_keeps_the_rules(trace: snoopie.Trace, tmp_path: Path) -> None:
    export(trace, tmp_path / "x.json")
    events = chrome.check(chrome.read(tmp_path / "x.json"))
    kernels = [event for event in events if event["ph"] == "X" and event["cat"] == "kernel"]
    assert len(kernels) == sum(event["ph"] == "s" for event in events) == 7
