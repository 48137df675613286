"""snoopie expect, as a user or a CI job types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import ring
from tests.support.command import run


def test_what_holds_and_what_does_not(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    get = "bytes(kernel=ring_get, GPU 0 -> GPU 1)"
    status, out, err = run(capsys, "expect", ring_path, f"{get} == N/2", "launches == 11", "--let", "N=4KiB")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"holds:       {get} == N/2",
        f"             {get} = 2,048 (2 KiB)",
        "             N/2 = 2,048 (2 KiB)",
        "holds:       launches == 11",
        "             launches = 11",
    ]
    status, out, _ = run(capsys, "expect", ring_path, "launches == 11", f"{get} == 1")
    assert status == 3
    assert out.splitlines()[2:] == [f"fails:       {get} == 1", f"             {get} = 2,048 (2 KiB)"]


def test_what_was_not_covered(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "expect", ring_path, "bytes == 53440")
    assert status == 3
    assert out.startswith("not covered: bytes == 53440\n")
    assert "not everything was counted: 1 instruction" in out and "snoopie info names them" in out
    assert err == "snoopie: --allow-gaps judges what was counted all the same\n"
    assert run(capsys, "expect", ring_path, "bytes == 53440", "--allow-gaps")[0] == 0


def test_json(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(
        capsys, "expect", "--json", ring_path, "bytes(kernel=ring_get) == 8192", "pairs(kernel=ring_bump) == ring"
    )
    told = json.loads(out)
    assert status == 3
    assert (told["version"], told["holds"]) == (1, False)
    assert told["expectations"][0] == {
        "expression": "bytes(kernel=ring_get) == 8192",
        "outcome": "holds",
        "amounts": [{"text": "bytes(kernel=ring_get)", "value": 8192, "estimated": False}],
        "gaps": [],
        "notes": [],
    }
    pairs = told["expectations"][1]
    assert pairs["outcome"] == "fails"
    assert pairs["amounts"][0]["value"] == [["GPU 1", "GPU 0"], ["GPU 2", "GPU 0"], ["GPU 3", "GPU 0"]]


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["ring.zst", "bytes"], 2, "says nothing that can hold"),
        (["ring.zst", "bytes(0 -> 9) == 0", "launches == 11"], 2, "there is no place GPU 9"),
        (["ring.zst", "bytes == N", "--let", "N"], 2, "N gives no name a number"),
        (["ring.zst", "bytes == 0", "--let", "bytes=5"], 2, "bytes cannot be the name of a number"),
        (["nowhere.zst", "bytes == 0"], 1, "nowhere.zst"),
        (["cut.zst", "bytes == 0"], 1, "--allow-truncated"),
        (["cut.zst", "launches == 11", "--allow-truncated"], 3, "not everything was counted"),
        (["cut.zst", "launches == 11", "--allow-truncated", "--allow-gaps"], 0, "launches = 11"),
    ],
)
def test_exit_statuses(
    ring_path: Path, words: list[str], status: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ring.ring_builder(pid=5).write(ring_path.parent / "cut.zst", footer=False)
    found, out, err = run(capsys, "expect", ring_path.parent / words[0], *words[1:])
    assert found == status
    assert sentence in out + err


def test_names_from_a_trace_are_made_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = ring.ring_builder(pid=5)
    for row in hostile.rows["strings"]:
        row["text"] = row["text"].replace("ring_get", "\x1b[2Jring\n")
    path = hostile.write(tmp_path / "h.zst")
    _, out, err = run(capsys, "expect", path, "bytes(kernel=none_such) == 0", "bytes == '\x1b[31m'")
    assert "\x1b" not in out + err
