"""A program that is further ahead of its GPU than there are counters: it is slowed down, and each launch is counted."""

from __future__ import annotations

import pytest
from gpu_runs import Runner
from gpu_traffic import Far, Traffic, Where, by_launch, nothing_dropped

STEPS = 128


def launches_of(runner: Runner, far: Far, *how: object) -> int:
    """How many launches of ahead.cu were counted, all of them as the top of that file says."""
    trace = runner.traced("ahead", *how, visible=far.visible, KERNEL_NAME="follow", SAMPLE_SIZE="0").trace
    if trace.gpus.loc[0, "memory"] < 128 << 30 and "graph" in how:
        pytest.skip("a GPU with less than 128 GiB has fewer counters")
    nothing_dropped(trace)
    once = {Where(0, far.owner, "follow", "follow"): Traffic("load", 4, STEPS, 32 * STEPS, 4 * STEPS)}
    tables = list(by_launch(trace, "ahead").values())
    assert {tuple(table.items()) for table in tables} == {tuple(once.items())}
    assert trace.totals["launches_measured"] == len(tables)
    return len(tables)


# A launch takes 1.2 MB of counters where there are two GPUs, and more where there are more.


def test_launches_wait_for_counters(runner: Runner, far: Far) -> None:
    """The driver itself lets a stream be a thousand launches ahead."""
    assert launches_of(runner, far, 3000) == 3000


def test_a_graph_has_counters_for_all_its_nodes(runner: Runner, far: Far) -> None:
    """None has begun when the last gets its counters."""
    assert launches_of(runner, far, 100, "graph") == 100
