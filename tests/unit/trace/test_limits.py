"""What the limits of a trace refuse, what the sentence says, and what lifts them."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from snoopie.errors import LimitError
from snoopie.trace.container import Container
from snoopie.trace.limits import LIMITS, NONE, Index, Limits, allowed
from snoopie.trace.tables import Process
from tests.support.encoder import TraceBuilder
from tests.support.ring import ring_builder

LIFTED = r"; if you trust who made it, lift all limits with load\(…, trust=True\)$"


@pytest.mark.parametrize(
    ("limit", "blocks", "said"),
    [
        ({"blocks": 2}, 3 * [("counts", 1, 8, False)], "t has 3 blocks, and the limit is 2"),
        ({"rows": 9}, 2 * [("counts", 5, 8, False)], "t claims 10 rows of counts, and the limit is 9"),
        ({"all_rows": 9}, [("counts", 6, 8, False), ("lines", 4, 8, False)], "t claims 10 "),
        ({"small": 10}, [("counts", 1, 11, False)], "t holds 11 B of tables in a file of 10 B, and the limit is 10 B"),
        ({"small_records": 10}, [("records", 1, 11, True)], "t holds 11 B of recorded accesses in a file of 10 B"),
    ],
)  # fmt: skip
def test_what_an_index_claims(limit: dict[str, int], blocks: list[tuple[str, int, int, bool]], said: str) -> None:
    for limits, refused in ((replace(LIMITS, **limit), True), (LIMITS, False), (NONE, False)):
        index = Index("t", limits)
        for table, rows, raw_size, record in blocks:
            index.add(table, rows, raw_size, record=record)
        if not refused:
            index.check(10)
            continue
        with pytest.raises(LimitError, match=LIFTED) as error:
            index.check(10)
        assert error.value.problem.startswith(said)


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("size", [1, (1 << 20) - 1, 1 << 20, 5 << 20])
def test_how_much_a_file_of_a_size_may_hold(size: int, record: bool) -> None:
    """A real run of a kernel of 2,048 loads, 1,000 times the same, had 72.4 MiB of tables in 345 KiB."""
    most = 256 * size if size >= 1 << 20 else (56 if record else 80) << 20
    for held in (most, most + 1):
        index = Index("t", LIMITS)
        index.add("records" if record else "counts", 1, held, record=record)
        if held == most:
            index.check(size)
        else:
            with pytest.raises(LimitError, match=r"of (tables|recorded accesses) in a file of"):
                index.check(size)


def deep() -> bytes:
    trace = TraceBuilder(2)
    function = trace.function("kernel")
    line = trace.line("a.cu", 1, "f", trace.line("a.cu", 2, "g", trace.line("a.cu", 3, "h")))
    trace.count(trace.launch(function, 0), trace.site(function, "STG.E", "store", 4, line=line), 1, 1, 32, 4)
    trace.add("modules")
    frame = trace.add("frames", module=1)
    stack = 0
    for _ in range(3):
        stack = trace.add("stacks", frame=frame, caller=stack)
    outer = trace.allocation("device", 1 << 21, 1, 0)
    trace.allocation("pool", 1 << 20, 1, 0, inside=trace.allocation("pool", 1 << 20, 1, 0, inside=outer))
    return trace.encode()


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"gpus": 1}, "t.zst has 2 GPUs, and the limit is 1"),
        ({"settings": 3}, "t.zst has 4 settings, and the limit is 3"),
        ({"inlined": 2}, "t.zst has 3 functions inlined into one another, and the limit is 2"),
        ({"callers": 2}, "t.zst has call stacks of 3 frames, and the limit is 2"),
        ({"nested": 2}, "t.zst has allocations 3 deep inside one another, and the limit is 2"),
        ({"string": 5}, "t.zst has a string of "),
        ({"small_text": 10, "text_ratio": 0}, "t.zst has tables of "),
    ],
)
def test_what_tables_amount_to(limit: dict[str, int], said: str) -> None:
    data = deep()
    for limits in (LIMITS, NONE, replace(LIMITS, gpus=2, inlined=3, callers=3, nested=3)):
        Process(Container("t.zst", data), allow_truncated=False, limits=limits)
    with pytest.raises(LimitError, match=LIFTED) as error:
        Process(Container("t.zst", data), allow_truncated=True, limits=replace(LIMITS, **limit))
    assert error.value.problem.startswith(said)


def test_trust() -> None:
    assert allowed(True) is NONE
    assert allowed(False) is LIMITS
    assert all(getattr(NONE, limit.name) > getattr(LIMITS, limit.name) for limit in fields(Limits))


def test_far_above_what_runs_need() -> None:
    data = ring_builder().encode()
    tenth = Limits(**{limit.name: getattr(LIMITS, limit.name) // 10 for limit in fields(Limits)})
    assert Process(Container("t.zst", data), allow_truncated=False, limits=tenth).complete
