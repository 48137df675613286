"""What a trace says first, in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

import snoopie
from tests.support import hostile
from tests.support.encoder import HOST, TraceBuilder


def told(folder: Path, gpus: int, pairs: list[tuple[int, int]], operation: str = "store", line: int = 5) -> str:
    """The sentence of a program whose one line reaches these owners from these issuers."""
    trace = TraceBuilder(gpus)
    kernel = trace.function("void step<int>(float*)")
    site = trace.site(kernel, "ST", operation, 4, line=trace.line("/src/a.cu", line) if line else 0)
    for issuer, owner in pairs:
        trace.count(trace.launch(kernel, issuer), site, owner, 1, 32, 8)
    return snoopie.load(trace.write(folder / "t.zst")).story()


@pytest.mark.parametrize(
    ("gpus", "pairs", "whom"),
    [
        (2, [(0, 1), (1, 0)], "each GPU to one other"),
        (4, [(gpu, (gpu + 1) % 4) for gpu in range(4)], "each GPU to the next one"),
        (5, [(gpu, (gpu + step) % 5) for gpu in range(5) for step in (1, 4)], "each GPU to its two neighbours"),
        (4, [(gpu, other) for gpu in range(4) for other in range(4) if other != gpu], "each GPU to all others"),
        (6, [(0, 3), (0, 4)], "1 GPU to 2 others"),
        (2, [(0, HOST), (1, HOST)], "each GPU to the host"),
        (2, [(0, 1), (0, HOST)], "1 GPU to one other and the host"),
        (
            4,
            [pair for gpu in range(4) for pair in ((gpu, (gpu + 1) % 4), (gpu, HOST))],
            "each GPU to the next one and the host",
        ),
        (3, [(0, 1), (0, 2), (1, 2)], "2 GPUs to up to 2 places"),
    ],
)
def test_between_whom(tmp_path: Path, gpus: int, pairs: list[tuple[int, int]], whom: str) -> None:
    assert told(tmp_path, gpus, pairs) == f"a.cu:5 sends all bytes, {whom}, 50 % efficient."


def test_more_places_than_a_hundred(tmp_path: Path) -> None:
    """Each is less than a hundredth of what its GPU issues."""
    trace = snoopie.load(hostile.write(tmp_path, ["250-gpus"])["250-gpus"])
    assert len(trace.gpus) == 250
    assert trace.story() == "Kernel kernel sends all bytes, each GPU to all others, 100 % efficient."


def test_what_is_done(tmp_path: Path) -> None:
    assert told(tmp_path, 2, [(0, 1), (1, 0)], "load").startswith("a.cu:5 fetches all bytes, each GPU from one other")
    assert told(tmp_path, 2, [(0, 1)], "atomic").startswith("a.cu:5 updates all bytes, 1 GPU on one other")
    assert told(tmp_path, 2, [(0, 1)], line=0).startswith("Kernel step<int> sends all bytes")
    assert told(tmp_path, 2, []) == "No kernel reached memory outside its GPU."


def test_the_line_is_one_that_is_known(tmp_path: Path) -> None:
    """What has no line moves most, but less than all lines together."""
    trace = TraceBuilder(2)
    kernel = trace.function("step()")
    launch = trace.launch(kernel, 0)
    for line, accesses in ((0, 4), (1, 2), (2, 3)):
        at = trace.line("/src/a.cu", line) if line else 0
        trace.count(launch, trace.site(kernel, "ST", "store", 4, line=at), 1, accesses, 32 * accesses, 8 * accesses)
    told = snoopie.load(trace.write(tmp_path / "t.zst")).story()
    assert told == "a.cu:2 sends 33.3 % of all bytes, 1 GPU to one other, 50 % efficient."


def test_lines_of_launches_that_stand_for_others_are_known(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    for kernel, line, accesses, launches in (("few()", 1, 2, 9), ("all()", 0, 3, 1)):
        function = trace.function(kernel)
        at = trace.line("/src/a.cu", line) if line else 0
        site = trace.site(function, "ST", "store", 4, line=at)
        trace.count(trace.launch(function, 0), site, 1, accesses, 32 * accesses, 8 * accesses)
        trace.add("sampling", function=function, gpu=0, launches=launches, measured=1)
    told = snoopie.load(trace.write(tmp_path / "t.zst")).story()
    assert told == "a.cu:1 sends 85.7 % of all bytes, 1 GPU to one other, 50 % efficient."


def test_bytes_that_are_not_known_are_not_none(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    kernel = trace.function("step()")
    trace.count(trace.launch(kernel, 0), trace.site(kernel, "ST", "store", 0), 1, 1, 32, 4)
    told = snoopie.load(trace.write(tmp_path / "t.zst")).story()
    assert told == "Kernels reached memory outside their GPU, but how many bytes they moved is not known."
