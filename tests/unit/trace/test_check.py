"""snoopie check: what it says of traces that are whole, cut, damaged, or say what cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import hostile
from tests.support.command import run
from tests.support.encoder import START_NS, TraceBuilder
from tests.support.ring import ring_builder


def checked(capsys: pytest.CaptureFixture[str], path: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit status, and what --json says of one file."""
    status, out, _ = run(capsys, "check", path, "--json", *words)
    said = json.loads(out)
    assert said["version"] == 1
    (file,) = said["files"]
    assert isinstance(file, dict)
    assert status == (0 if file["valid"] else 1)
    return status, file


def test_a_whole_trace(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, file = checked(capsys, ring_path)
    assert (status, file["complete"], file["suspicious"], file["wrong"]) == (0, True, [], [])
    assert file["rows"]["launches"] > 0
    assert len(file["right"]) == 3


def test_for_people(two_process_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "check", two_process_folder)
    assert status == 0
    assert out.count(": valid\n") == 2
    assert out.count("all times are in order, and within the run") == 2


def test_a_truncated_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ring_builder().write(tmp_path / "t.zst", footer=False)
    status, file = checked(capsys, path)
    assert (status, file["complete"], file["wrong"]) == (1, False, [])
    assert "its end is missing" in file["lost"][0]
    assert checked(capsys, path, "--allow-truncated")[0] == 0


def test_damage(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(ring_path.read_bytes())
    data[len(data) // 2] ^= 1
    ring_path.write_bytes(data)
    status, file = checked(capsys, ring_path)
    assert status == 1
    assert "wrong checksum" in file["wrong"][0]


@pytest.mark.parametrize(("total", "what"), [("accesses", "accesses"), ("records_written", "records written")])
def test_a_footer_that_says_something_else(
    total: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = ring_builder()
    trace.totals[total] = 1_000_000
    status, file = checked(capsys, trace.write(tmp_path / "t.zst"))
    assert status == 1
    assert file["wrong"][0].startswith(f"the footer says 1,000,000 {what}, and the tables hold ")


def reversed_span(trace: TraceBuilder) -> None:
    trace.add("spans", launch=1, start=START_NS + 2, end=START_NS + 1)


def reversed_wait(trace: TraceBuilder) -> None:
    trace.add("waits", launch=1, site=trace.site(1, "LDG.E", "load", 4), first=2, last=1)


def early_free(trace: TraceBuilder) -> None:
    trace.allocation("device", 4096, 1, 500, 400)


def free_twice(trace: TraceBuilder) -> None:
    made = trace.allocation("device", 4096, 1, 500, 600)
    trace.add("frees", object=made, time=START_NS + 700)


def late_launch(trace: TraceBuilder) -> None:
    trace.launch(1, 0, time=START_NS + 10**12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (reversed_span, "rows of spans end before they begin"),
        (reversed_wait, "rows of waits end before they begin"),
        (early_free, "1 of 1 objects are freed before they are allocated"),
        (free_twice, "1 objects are freed twice"),
        (late_launch, "rows of launches are from before the process or after its end"),
    ],
)
def test_times_that_cannot_be(change: Any, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = TraceBuilder(2)
    trace.launch(trace.function("kernel"), 0)
    change(trace)
    status, file = checked(capsys, trace.write(tmp_path / "t.zst"))
    assert (status, file["wrong"]) == (1, [])
    (sentence,) = file["suspicious"]
    assert said in sentence


def test_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = hostile.write(tmp_path, ["nested-objects"])["nested-objects"]
    status, file = checked(capsys, path)
    assert status == 1
    assert "the limit is" in file["wrong"][0]
    assert "the limit is" not in json.dumps(checked(capsys, path, "--trust")[1])
