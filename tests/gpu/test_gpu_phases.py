"""Ranges of NVTX and regions, what is recorded of a program, and the stacks of captured launches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from gpu_runs import Runner
from gpu_traffic import APPS, Far, nothing_dropped

if TYPE_CHECKING:
    from snoopie import Trace

N = 64
LINES = (APPS / "phases.cu").read_text().splitlines()
MARKED = {match[1]: number for number, line in enumerate(LINES, 1) if (match := re.search(r"// stack: (\w+)$", line))}
# The table at the top of phases.cu: name and domain → k of the puts; a launch of the graph is two launches.
REPLAY = [256, 512, 256, 512]
RANGES = {
    ("step", ""): [1, 2, 4],
    ("halo", "app"): [2],
    ("whole", ""): [8, 16],
    ("other", ""): [16],
    ("region", ""): [64],
    ("capture", ""): [],
    ("replay", ""): REPLAY,
    ("", ""): [32, 1024],
}


def recorded(trace: Trace) -> list[int]:
    """The k of the puts whose counts are in the trace, in their order."""
    return [bytes // (4 * N) for bytes in trace.by_launch().sort_values("launch")["bytes"]]


@pytest.fixture
def trace(runner: Runner, far: Far) -> Trace:
    return runner.traced("phases", N, visible=far.visible).trace


def test_traffic_by_range(trace: Trace) -> None:
    nothing_dropped(trace)
    (outside,) = trace.losses()
    assert outside.startswith("1 launch outside of what was to be recorded")
    table = trace.by_range().set_index(["range", "domain"])
    assert {key: row.bytes for key, row in table.iterrows()} == {key: 4 * N * sum(ks) for key, ks in RANGES.items()}
    assert {key: row.launches for key, row in table.iterrows()} == {key: len(ks) for key, ks in RANGES.items()}
    # The copy in the region; the others are to the host, at the end.
    assert table.loc[("region", ""), ["copies", "copy_bytes"]].tolist() == [1, 4 * N]
    assert set(table.index[table["of"] == "process"]) == {("whole", "")}
    assert trace.marks["text"].tolist() == ["profiled from here"]
    assert trace.totals["launches_outside"] == 1
    assert trace.totals["launches_seen"] == len(recorded(trace)) + 1
    assert recorded(trace.select(ranges="halo@app")) == [2]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"CAPTURE_RANGE": "step"}, [1, 2, 4]),
        ({"CAPTURE_RANGE": "halo@app"}, [2]),
        # snoopie_record(1) starts it again.
        ({"CAPTURE_RANGE": "profiler-api"}, [32, *REPLAY, 1024]),
        ({"LAUNCH_SKIP": "1", "LAUNCH_COUNT": "3"}, [2, 4, 8]),
        ({"CAPTURE_RANGE": "replay", "LAUNCH_SKIP": "2"}, REPLAY[2:]),
        ({"DELAY": "100000"}, []),
    ],
)
def test_what_is_recorded(runner: Runner, far: Far, settings: dict[str, str], expected: list[int]) -> None:
    trace = runner.traced("phases", N, visible=far.visible, **settings).trace
    # The two nodes of a graph that is launched may come in any order.
    assert sorted(recorded(trace)) == sorted(expected)
    assert trace.totals["launches_outside"] == trace.totals["launches_seen"] - len(expected)
    assert trace.totals["launches_lost"] == 0
    assert set(trace.ranges["name"]) == {"step", "halo", "whole", "other", "region", "capture", "replay"}


def test_captured_launches_have_the_stack_of_their_capture(trace: Trace) -> None:
    bytes_of = trace.by_launch().set_index("launch")["bytes"]
    callers = {}
    for launch, stack in trace.select(ranges="replay").launches["stack"].items():
        frames = trace.stack(int(stack))
        own = frames[frames["file"].str.endswith("/phases.cu")]
        names = [name.partition("(")[0] for name in own["function"]]
        callers.setdefault(bytes_of[launch] // (4 * N), set()).add(tuple(names))
    # nvcc's stub of the kernel is of the file, too.
    for k, name in ((256, "capture_one"), (512, "capture_other")):
        (names,) = callers[k]
        assert name in names and names[-2:] == ("captured", "main")
