"""A launch runs without probes only where none of its accesses can leave the GPU, and no access is missed for it."""

from __future__ import annotations

from collections import Counter

import pytest
from gpu_programs import of_jacobi
from gpu_runs import Runner
from gpu_traffic import (
    Far,
    Traffic,
    Where,
    across,
    by_launch,
    dense,
    kernel_name,
    nothing_dropped,
    nothing_lost,
    site_lines,
    total,
)

from snoopie import Trace

PROBES = ("live", "full", "check")
# The table at the top of pointers.cu.
LINES = {
    "direct": "plain",
    "in_struct": "member",
    "in_large": "beyond",
    "in_table": "entry",
    "from_memory": "loaded",
    "managed": "page",
    "constant": "bank",
    "shared": "tile",
    "distance": "bytes",
    "elements": "far",
    "number": "near",
    "difference": "other",
    "before": "behind",
    "either": "chosen",
    "shuffled": "handed",
    "function": "called",
    "swapped": "last",
    "by_mode": "mode",
    "by_list": "listed",
    "by_switch": "switched",
    "counted": "turned",
    "by_block": "apart",
    "by_rank": "rank",
}
# Of these the parameters tell when they stay on their GPU,
JUDGED = {"direct", "in_struct", "distance", "elements", "number", "difference"}
JUDGED |= {"by_mode", "by_list", "by_switch", "by_rank"}
# and of these it is told of one of two accesses.
PARTIAL = {"from_memory"}
THREADS, WARPS = 1024, 32


def pointers(runner: Runner, far: Far, probes: str, launches: int, **settings: str) -> Trace:
    return runner.traced("pointers", launches, visible=far.visible, PROBES=probes, **settings).trace


@pytest.mark.parametrize("launches", [4, 40])
@pytest.mark.parametrize("probes", PROBES)
def test_no_way_to_a_pointer_is_missed(runner: Runner, far: Far, probes: str, launches: int) -> None:
    trace = pointers(runner, far, probes, launches)
    nothing_dropped(trace)
    lines = site_lines(trace, "pointers")
    found: Counter[tuple[str, str, str]] = Counter()
    for row in across(trace, far.owner).itertuples():
        if (lines[row.site], row.operation) == ("page", "load"):
            continue  # the pointer itself, in memory that counts as the host's
        assert (row.issuer, row.owner, row.operation, row.width) == (0, far.owner, "store", 4)
        where = kernel_name(trace.launches.kernel[row.launch]), lines[row.site]
        found[*where, "accesses"] += row.accesses
        found[*where, "lanes"] += row.lanes
    remote = launches // 4
    # A struct's elements begin in the middle of a warp's 128 bytes, which makes no difference to its accesses.
    expected = {(*where, "accesses"): WARPS * remote for where in LINES.items()}
    expected |= {(*where, "lanes"): THREADS * remote for where in LINES.items()}
    assert dict(found) == expected
    assert not [text for text in trace.notices.text if "although" in text]
    assert trace.launches.kernel.map(kernel_name).value_counts().to_dict() == dict.fromkeys(LINES, launches)
    codes = trace.launches.groupby(trace.launches.kernel.map(kernel_name)).code.agg(set)
    original = {kernel for kernel, code in codes.items() if "original" in code}
    partial = {kernel for kernel, code in codes.items() if "partial" in code}
    assert original == (JUDGED if probes == "live" else set())
    assert (partial >= PARTIAL) if probes == "live" else not partial


@pytest.mark.parametrize("launches", [2, 20])
@pytest.mark.parametrize("probes", PROBES)
def test_nodes_of_graphs_are_judged_by_all_that_they_hold(runner: Runner, far: Far, probes: str, launches: int) -> None:
    trace = runner.traced("nodes", launches, visible=far.visible, PROBES=probes).trace
    nothing_lost(trace)
    # The table at the top of nodes.cu: for each launch of pass, in their order.
    quiet: dict[Where, Traffic] = {}
    store = {Where(0, far.owner, "pass", "to"): dense("store", 4, 1024)}
    load = {Where(0, far.owner, "pass", "from"): dense("load", 4, 1024)}
    expected = [quiet, quiet] * launches + [quiet, store] * launches + [quiet, quiet] * launches
    expected += [load, quiet, quiet] * launches
    tables = by_launch(trace, "nodes")
    kernels = trace.launches.kernel.map(kernel_name).sort_index()
    assert [tables.get(launch, quiet) for launch in kernels.index[kernels == "pass"]] == expected
    assert (kernels == "keep").sum() == 4 * launches
    codes = trace.launches.code[kernels.index]
    kept = codes[kernels == "keep"].tolist()
    passed = codes[kernels == "pass"].tolist()
    if probes != "live":
        assert set(kept) == set(passed) == {"full"}
        return
    # The first launch of each is a check.
    assert set(kept[1:]) == {"original"}
    assert "original" in passed[: 2 * launches]
    assert "original" not in passed[2 * launches :]


def test_sampled_launches_are_the_same(runner: Runner, far: Far) -> None:
    """What LAUNCH_SAMPLE chooses does not depend on which launches need probes."""
    columns = ["kernel", "launches", "measured"]
    live, full = (pointers(runner, far, probes, 40, LAUNCH_SAMPLE="5").sampling[columns] for probes in ("live", "full"))
    assert live.sort_values(columns).to_numpy().tolist() == full.sort_values(columns).to_numpy().tolist()
    assert set(live.launches) == {40}


def test_only_what_may_leave_the_gpu_has_calls(runner: Runner, pair: tuple[str, ...]) -> None:
    """Of jacobi's seven accesses the two remote stores."""
    columns, iterations = 1024, 30
    trace = runner.traced("jacobi", columns, 501, iterations, visible=pair, PROBES="live").trace
    nothing_lost(trace)
    assert total(by_launch(trace, "jacobi").values()) == of_jacobi(len(pair), columns, iterations)
    sweeps = trace.launches[trace.launches.kernel.map(kernel_name) == "sweep"]
    codes = sweeps.groupby(["gpu", "code"]).size().to_dict()
    # The first launch on a GPU runs all probes, as a check.
    assert codes == {(0, "full"): 1, (0, "partial"): iterations - 1,
                     (1, "full"): 1, (1, "partial"): iterations - 1}  # fmt: skip


@pytest.mark.parametrize("probes", PROBES)
@pytest.mark.parametrize("threads", [1, 4])
def test_launches_at_the_same_time_each_have_their_calls(runner: Runner, far: Far, probes: str, threads: int) -> None:
    """Threads launch one kernel at the same time, each with other pointers from launch to launch."""
    launches = 400
    trace = runner.traced("turns", threads, launches, visible=far.visible, PROBES=probes).trace
    nothing_dropped(trace)
    found: Counter[str] = Counter()
    for row in across(trace, far.owner).itertuples():
        found[row.operation] += row.accesses
    turns = [(i, t) for i in range(launches) for t in range(threads)]
    loads, stores = sum((i + t) % 3 == 0 for i, t in turns), sum((i // 8 + t) % 4 == 0 for i, t in turns)
    assert dict(found) == {"load": WARPS * loads, "store": WARPS * stores}
    assert not [text for text in trace.notices.text if "although" in text]


def test_page_faults_take_no_access_apart(runner: Runner, few: tuple[str, ...]) -> None:
    """Around page faults the lanes of a warp run apart: those of one access once waited for each other for ever."""
    launches, inside, warps = 3, 2046, 64 * 2046
    trace = runner.traced("paged", launches, visible=few).trace
    counts = trace.counts.groupby(trace.counts.site.map(trace.sites.operation))[["accesses", "lanes"]].sum()
    assert counts.to_dict("index") == {
        "load": {"accesses": 4 * launches * warps, "lanes": 4 * launches * inside**2},
        "store": {"accesses": launches * warps, "lanes": launches * inside**2},
    }
