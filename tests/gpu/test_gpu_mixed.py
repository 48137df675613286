"""mixed: every kind of global memory instruction is counted with its operation, width, lanes and wire units."""

from __future__ import annotations

from collections.abc import Iterator

import gpu_machine
import pytest
from gpu_programs import MIXED_COPIES, MIXED_THREADS
from gpu_runs import Runner
from gpu_traffic import (
    Launch,
    add,
    by_launch,
    dense,
    every,
    kernel_name,
    launch,
    nothing_lost,
    of_threads,
    recorded_lanes,
)

BLOCK = 128


def of_loop() -> Launch:
    """Round k is executed by the threads that have not left: those with i % 4 >= k."""
    rounds = [
        launch(
            "loop",
            ("loop", "store", 4, [i for i in range(MIXED_THREADS) if i % 4 >= k], lambda i, k=k: 4 * (512 * k + i)),
        )
        for k in range(4)
    ]
    (where,) = rounds[0][0]
    return {where: add(table[where] for table, _ in rounds)}, sorted(lane for _, lanes in rounds for lane in lanes)


def of_spread(gpus: int) -> Launch:
    """Thread i stores to GPU i % gpus; what it stores to its own GPU is not remote."""
    parts = [
        launch("spread", ("spread", "store", 4, range(owner, MIXED_THREADS, gpus), every(4)), owner=owner)
        for owner in range(1, gpus)
    ]
    table = {where: traffic for table, _ in parts for where, traffic in table.items()}
    return table, sorted(lane for _, lanes in parts for lane in lanes)


def of_mixed(gpus: int, variant: str) -> Iterator[Launch]:
    """The table at the top of mixed.cu, in the order of launching."""
    # The opcode says what an operation is. For two additions without a result the compiler takes an opcode that can
    # return one: for a half2 always, for a float4 where functions are linked. Before sm_90 a float4 is only stored.
    floats = "atomic" if variant == "-rdc" else "reduction"
    if gpu_machine.gpus()[0].architecture < 90:
        floats = "store"
    everyone = range(MIXED_THREADS)
    for name, width in MIXED_COPIES.items():
        for operation in ("store", "load"):
            yield launch(f"copy<{name}>", ("copy", operation, width, everyone, every(width)))
    yield launch(
        "atomics",
        ("add", "atomic", 4, everyone, every(4)),
        ("cas", "atomic", 4, everyone, every(4)),
        ("exch", "atomic", 8, everyone, every(8)),
    )
    yield launch(
        "reductions",
        ("half", "atomic", 4, everyone, every(4)),
        ("floats", floats, 16, everyone, every(16)),
    )
    yield launch(
        "scatter",
        ("scattered", "store", 4, everyone, lambda i: 4 * (37 * i % MIXED_THREADS)),
        ("strided", "store", 4, [i for i in everyone if i % 3 != 1], every(12)),
    )
    yield of_loop()
    yield launch(
        "functions",
        ("generic", "store", 4, range(0, MIXED_THREADS, 2), every(4)),
        ("inlined", "store", 4, everyone, every(4)),
    )
    yield launch("async_copy", ("async", "load", 16, everyone, every(16)))
    yield of_spread(gpus)


# As the compiler does it by itself, and with the function that is not inlined linked as a function of its own.
@pytest.fixture(scope="session", params=["", "-rdc"], ids=["whole", "linked"])
def variant(request: pytest.FixtureRequest) -> str:
    return request.param


def test_counts_are_exact(runner: Runner, visible: tuple[str, ...], variant: str) -> None:
    trace = runner.traced("mixed", visible=visible, variant=variant).trace
    nothing_lost(trace)
    expected = [table for table, _ in of_mixed(len(visible), variant)]
    assert list(by_launch(trace, "mixed").values()) == expected


def test_recorded_lanes_are_exact(runner: Runner, visible: tuple[str, ...], variant: str) -> None:
    trace = runner.traced("mixed", visible=visible, variant=variant).trace
    expected = [lanes for _, lanes in of_mixed(len(visible), variant)]
    assert list(recorded_lanes(trace, "mixed", lambda kernel: BLOCK).values()) == expected


def test_a_function_of_its_own_counts_for_the_kernel_that_calls_it(runner: Runner, pair: tuple[str, ...]) -> None:
    trace = runner.traced("mixed", visible=pair, variant="-rdc").trace
    called = trace.sites[trace.sites.kernel.map(kernel_name) == "put_generic"]
    counts = trace.counts[trace.counts.site.isin(called.index)]
    assert counts.lanes.sum() == MIXED_THREADS // 2
    assert {kernel_name(trace.launches.loc[launch].kernel) for launch in counts.launch} == {"functions"}


def test_an_inlined_site_knows_its_callers(runner: Runner, pair: tuple[str, ...]) -> None:
    trace = runner.traced("mixed", visible=pair).trace
    chains = [trace.line_chain(line) for line in trace.sites.line_id.unique() if line]
    source = (gpu_machine.TESTS / "apps" / "mixed.cu").read_text().splitlines()
    names = [[source[line - 1].strip() for file, line, _ in chain if file.endswith("mixed.cu")] for chain in chains]
    assert ["*to = value;  // remote: inlined", "put_inlined(&all[i], i);  // call inlined"] in names


def test_arithmetic_of_dense_and_of_threads_agree() -> None:
    for width in (1, 2, 4, 8, 16):
        for n in (1, 31, 32, 33, 250, 4099):
            for operation in ("load", "store"):
                by_thread = of_threads(operation, width, [(i, width * i) for i in range(n)])
                assert dense(operation, width, n) == by_thread
