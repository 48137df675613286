"""order: a launch is counted by code that is in place before it and stays until it ends, whatever runs meanwhile."""

from __future__ import annotations

import itertools

import pytest
from gpu_runs import Runner
from gpu_traffic import Far, Table, Where, by_launch, dense, nothing_dropped

STREAMS = ("default", "blocking", "apart")
KERNELS = "warm,put"


def of(far: Far, kernel: str, threads: int) -> Table:
    """A launch, as the top of order.cu says."""
    return {Where(0, far.owner, kernel, kernel): dense("store", 4, threads)}


@pytest.mark.parametrize(("hold", "put"), itertools.product(STREAMS, STREAMS))
def test_a_first_launch_beside_a_kernel_that_runs(runner: Runner, far: Far, hold: str, put: str) -> None:
    trace = runner.traced("order", hold, put, visible=far.visible, KERNEL_NAME=KERNELS).trace
    nothing_dropped(trace)
    assert list(by_launch(trace, "order").values()) == [of(far, "warm", 32), of(far, "put", 32), of(far, "put", 64)]


def test_a_launch_that_others_wait_for_is_not_held_up(runner: Runner, far: Far) -> None:
    trace = runner.traced("order", "late", visible=far.visible, KERNEL_NAME=KERNELS).trace
    assert trace.complete
    lost = trace.totals["launches_lost"]
    # It has to run while the default stream, in which its code would be put in place, is still busy.
    assert lost in (0, 1)
    assert any("did not end" in sentence for sentence in trace.losses()) == bool(lost)
    first = [] if lost else [of(far, "put", 32)]
    assert list(by_launch(trace, "order").values()) == [of(far, "warm", 32), *first, of(far, "put", 64)]
    assert trace.totals["launches_measured"] == 3 - lost


def test_launches_behind_one_that_waits_for_the_host(runner: Runner, far: Far) -> None:
    """As nvbandwidth has them. Code that has more probes than they need stays as it is."""
    trace = runner.traced("order", "gated", visible=far.visible, KERNEL_NAME="warm,push").trace
    nothing_dropped(trace)
    pushed = [of(far, "push", threads) for threads in (32, 64, 96, 128)]
    assert list(by_launch(trace, "order").values()) == [of(far, "warm", 32), *pushed]


@pytest.mark.parametrize("kind", ["apart", "blocking"])
def test_a_launch_that_waits_for_what_comes_after_the_next(runner: Runner, far: Far, kind: str) -> None:
    """The next one needs no probes, and code stays as it is: writing it would hold up what the first waits for."""
    trace = runner.traced("order", "handed", kind, visible=far.visible, KERNEL_NAME="warm,give").trace
    nothing_dropped(trace)
    assert list(by_launch(trace, "order").values()) == [of(far, "warm", 32), of(far, "give", 32)]


def test_code_stays_until_the_launches_that_need_it_have_ended(runner: Runner, far: Far) -> None:
    trace = runner.traced("order", "sampled", visible=far.visible, KERNEL_NAME=KERNELS, LAUNCH_SAMPLE="2").trace
    nothing_dropped(trace)
    # Of put, the first launch, and of the third and fourth the one that LAUNCH_SAMPLE chooses. The first is under way
    # when the code is changed for the second, which is not measured.
    tables = list(by_launch(trace, "order").values())
    assert tables in ([of(far, "warm", 32), of(far, "put", 32), of(far, "put", threads)] for threads in (96, 128))
    assert trace.sampling[["gpu", "launches", "measured"]].to_numpy(dtype=object).tolist() == [[0, 4, 2]]
