"""findings: of each mode `snoopie findings` says the one thing that the mode is made for, with the right numbers."""

from __future__ import annotations

import gpu_machine
import pytest
from gpu_runs import Runner
from gpu_traffic import markers, nothing_lost

N = 4 << 19  # bytes of the words that a GPU touches, and, side by side, bytes on the wire
STORED, LOADED = 16 << 16, 32 << 16  # wire bytes of one word in each of 2^16 sectors

# Mode → the rule, the marker of the line ("" for none), some numbers and the bytes involved, of both GPUs.
LINES = {
    "stores": ("scattered-stores", "put_apart", {"wire efficiency": 1 / 4, "wire bytes": 2 * STORED}, 2 * STORED),
    "loads": ("scattered-loads", "get_apart", {"wire efficiency": 1 / 8, "wire bytes": 2 * LOADED}, 2 * LOADED),
    "again": ("repeated-loads", "get_again", {"reads of a sector in a launch": 32, "distinct bytes": 2 << 16}, 2 * N),
    "atomics": (
        "remote-atomics",
        "add",
        {"operations on an address in a launch": 2048, "operations": 2 << 17},
        2 * (32 * 4 << 12),  # 2^12 warps, each on 128 bytes
    ),
}
# Mode → the rule, issuer, owner, some numbers, the bytes involved.
PAIRS = {
    "one_way": ("one-sided-pairs", "GPU 0", "GPU 1", {"bytes between GPUs": 2 * N, "bytes back": 0}, 2 * N),
    "staged": ("staged-copies", "GPU 0", "GPU 1", {"copies": 1}, N),
    "exchange": ("host-exchange", "GPU 0", "GPU 1", {"bytes written": N, "bytes read": N}, N),
    "misplaced": ("misplaced-copies", "GPU 1", "GPU 0", {"bytes read over bytes copied in": 1}, N),
    "unequal": ("unequal-ranks", "GPU 0", "", {"bytes over the mean of the others": 8}, 2 * N),
}


def test_a_program_that_does_nothing_wrong(runner: Runner, pair: tuple[str, ...]) -> None:
    trace = runner.traced("findings", "none", visible=pair).trace
    nothing_lost(trace)
    assert trace.summary()["bytes"] == 4 * N
    assert trace.findings().empty


@pytest.mark.parametrize("mode", LINES)
def test_a_line(runner: Runner, pair: tuple[str, ...], mode: str) -> None:
    rule, marker, numbers, involved = LINES[mode]
    trace = runner.traced("findings", mode, visible=pair).trace
    nothing_lost(trace)
    (found,) = trace.findings().to_dict("records")
    assert found["rule"] == rule
    assert markers("findings")[found["line"]] == marker
    assert {name: found["numbers"][name] for name in numbers} == numbers
    assert (found["bytes"], found["severity"]) == (involved, "high")


def test_what_is_read_again_may_have_moved_once(runner: Runner, pair: tuple[str, ...]) -> None:
    """Each launch reads 2^14 words 32 times: each SM that reads one has to bring it once."""
    trace = runner.traced("findings", "again", visible=pair).trace
    sms = trace.records["multiprocessor"]
    assert sms.min() >= 0
    assert sms.nunique() > 1
    table = trace.wire_bounds("flow")
    assert set(zip(table["from"], table["to"], strict=True)) == {("GPU 0", "GPU 1"), ("GPU 1", "GPU 0")}
    assert table["wire_bytes"].tolist() == [N] * 2
    assert table["per_sm"].all()
    assert table["wire_least"].between(4 << 14, N).all()
    assert (table["wire_least"] <= (4 << 14) * sms.nunique()).all()
    assert "with each sector read once a launch and SM" in trace.about_wire_bytes()[0]


@pytest.mark.parametrize("mode", PAIRS)
def test_a_pair(runner: Runner, pair: tuple[str, ...], mode: str) -> None:
    rule, issuer, owner, numbers, involved = PAIRS[mode]
    trace = runner.traced("findings", mode, visible=pair).trace
    nothing_lost(trace)
    (found,) = trace.findings().to_dict("records")
    assert (found["rule"], found["issuer"], found["owner"]) == (rule, issuer, owner)
    assert {name: found["numbers"][name] for name in numbers} == numbers
    assert found["bytes"] == involved


def test_all_of_them_at_once(runner: Runner, pair: tuple[str, ...]) -> None:
    """As in the sample findings-2gpu."""
    trace = runner.traced("findings", "each", visible=pair).trace
    nothing_lost(trace)
    found = trace.findings()
    assert set(found["rule"]) == {rule for rule, *_ in (*LINES.values(), *PAIRS.values())}
    lines = found[found["rule"].isin([rule for rule, *_ in LINES.values()])]
    assert [markers("findings")[line] for line in lines["line"]] == [
        next(marker for rule, marker, *_ in LINES.values() if rule == found) for found in lines["rule"]
    ]


def test_a_hot_owner(runner: Runner, machine: None) -> None:
    """Every GPU moves as much; of what G of them move, GPU 0 owns the part of all but itself."""
    visible = tuple(gpu.uuid for gpu in gpu_machine.gpus())
    trace = runner.traced("findings", "hot", visible=visible).trace
    nothing_lost(trace)
    (found,) = trace.findings().to_dict("records")
    assert (found["rule"], found["owner"]) == ("hot-owner", "GPU 0")
    assert found["numbers"]["bytes at its memory over the mean"] == len(visible) - 1
    assert found["bytes"] == 2 * N * (len(visible) - 1)


@pytest.mark.parametrize("mode", ["stores", "loads", "one_way", "staged", "unequal"])
def test_without_records(runner: Runner, pair: tuple[str, ...], mode: str) -> None:
    """What needs no addresses is found without them."""
    trace = runner.traced("findings", mode, visible=pair, SAMPLE_SIZE="0").trace
    assert list(trace.findings()["rule"]) == [(LINES | PAIRS)[mode][0]]
