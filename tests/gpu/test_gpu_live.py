"""A launch runs without probes only where none of its accesses can leave the GPU, and no access is missed for it."""

from __future__ import annotations

from collections import Counter

import pytest
from gpu_runs import Runner
from gpu_traffic import between_gpus, kernel_name, nothing_dropped, site_lines

from snoopie import Trace

PROBES = ("live", "full", "check")
# The table at the top of pointers.cu.
LINES = {
    "direct": "plain",
    "in_struct": "member",
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
}
# Of these the parameters tell when they stay on their GPU.
JUDGED = {"direct", "in_struct", "distance", "elements", "number", "difference"}
THREADS, WARPS = 1024, 32


def pointers(runner: Runner, pair: tuple[str, ...], probes: str, launches: int, **settings: str) -> Trace:
    return runner.traced("pointers", launches, visible=pair, PROBES=probes, **settings).trace


@pytest.mark.parametrize("launches", [4, 40])
@pytest.mark.parametrize("probes", PROBES)
def test_no_way_to_a_pointer_is_missed(runner: Runner, pair: tuple[str, ...], probes: str, launches: int) -> None:
    trace = pointers(runner, pair, probes, launches)
    nothing_dropped(trace)
    lines = site_lines(trace, "pointers")
    found: Counter[tuple[str, str, str]] = Counter()
    for row in between_gpus(trace).itertuples():
        assert (row.issuer, row.owner, row.operation, row.width) == (0, 1, "store", 4)
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
    bare = set(trace.launches.kernel[trace.launches.bare == 1].map(kernel_name))
    assert bare == (JUDGED if probes == "live" else set())


def test_sampled_launches_are_the_same(runner: Runner, pair: tuple[str, ...]) -> None:
    """What LAUNCH_SAMPLE chooses does not depend on which launches need probes."""
    columns = ["kernel", "launches", "measured"]
    live, full = (
        pointers(runner, pair, probes, 40, LAUNCH_SAMPLE="5").sampling[columns] for probes in ("live", "full")
    )
    assert live.sort_values(columns).to_numpy().tolist() == full.sort_values(columns).to_numpy().tolist()
    assert set(live.launches) == {40}
