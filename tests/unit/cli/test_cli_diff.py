"""snoopie diff, as a user or a CI job types it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import snoopie
from snoopie import cli
from tests.support import compared, ring
from tests.support.command import run
from tests.support.encoder import TraceBuilder


@pytest.fixture
def later_path(tmp_path: Path) -> Path:
    return compared.write_later(tmp_path)


def test_the_summary_is_the_default(ring_path: Path, later_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "diff", ring_path, later_path)
    assert status == 0
    assert out.splitlines() == [
        "Amount                  A         B   Change     B / A",
        "Bytes            52.2 KiB  61.2 KiB   +9 KiB   1.172 ×",
        "Wire bytes         99 KiB   164 KiB  +65 KiB   1.657 ×",
        "Accesses              224       296      +72   1.321 ×",
        "Lanes               5.7 K       8 K   +2.3 K   1.406 ×",
        "Wire units          3.2 K     5.2 K   +2.1 K   1.657 ×",
        "Launches               11        12       +1   1.091 ×",
        "Kernels                 3         4       +1   1.333 ×",
        "Copies                  0         1       +1         –",
        "Bytes copied          0 B     1 MiB   +1 MiB         –",
        "Peak memory         8 MiB    10 MiB   +2 MiB    1.25 ×",
        "Never freed         6 MiB    10 MiB   +4 MiB   1.667 ×",
        "Wire efficiency    52.7 %    37.3 %  -15.4 %  0.7078 ×",
    ]
    assert "note: A has 4 GPUs, B has 5 GPUs" in err
    assert err.splitlines()[-1] == f"Next: snoopie view --compare {later_path} {ring_path}"


def test_by_kernel(ring_path: Path, later_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "diff", "--by", "kernel", ring_path, later_path)
    heading, *rows, last = out.splitlines()
    assert heading.split() == ["Kernel", "A", "B", "Change", "B", "/", "A"]
    assert [row.split("(")[0] for row in rows] == ["ring_bump", "ring_count", "ring_get", "ring_scale"]
    assert rows[0].endswith("12.2 KiB       0 B  -12.2 KiB  only in A")
    assert rows[2].endswith("8 KiB    16 KiB     +8 KiB        2 ×")
    assert last == "4 of 4 rows that changed in bytes, of 5 compared"
    _, out, _ = run(capsys, "diff", "--by", "kernel", "--top", 1, "--value", "wire_bytes", ring_path, later_path)
    assert len(out.splitlines()) == 3
    assert out.splitlines()[-1] == "1 of 4 rows that changed in wire bytes, of 5 compared"


@pytest.mark.parametrize(
    ("by", "row"),
    [
        ("pair", "GPU 0   GPU 1    10 KiB    12 KiB  +2 KiB      1.2 ×"),
        ("line", f"{ring.SHIFT_H}:4"),
        ("object", "GPU 1  device    10 KiB    12 KiB  +2 KiB      1.2 ×"),
    ],
)
def test_by_other_keys(
    ring_path: Path, later_path: Path, capsys: pytest.CaptureFixture[str], by: str, row: str
) -> None:
    status, out, _ = run(capsys, "diff", "--by", by, ring_path, later_path)
    assert status == 0
    assert row in out


@pytest.mark.parametrize("by", ["pair", "kernel", "line", "object"])
def test_a_trace_and_itself(ring_path: Path, capsys: pytest.CaptureFixture[str], by: str) -> None:
    status, out, err = run(capsys, "diff", "--by", by, "--fail-if-increase", "bytes:0", ring_path, ring_path)
    assert status == 0
    assert out.startswith(f"no difference in bytes by {by}: ")
    assert "A and B are the same recording." in err


def test_limits(ring_path: Path, later_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = ["--fail-if-increase", "bytes:18%", "--fail-if-increase", "copy_bytes:1MiB"]
    assert run(capsys, "diff", *limits, ring_path, later_path)[0] == 0
    limits += ["--fail-if-increase", "bytes:17%", "--fail-if-increase", "launches:0"]
    status, _, err = run(capsys, "diff", *limits, ring_path, later_path)
    assert status == 3
    assert err.splitlines()[-2:] == [
        "snoopie: bytes rose by 9 KiB (17.2 %) to 61.2 KiB, more than the 17% allowed",
        "snoopie: launches rose by 1 (9.1 %) to 12, more than the 0 allowed",
    ]
    # What shrinks is no increase.
    assert run(capsys, "diff", "--fail-if-increase", "bytes:0", later_path, ring_path)[0] == 0


def test_limits_on_rows_and_parts(ring_path: Path, later_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*words: str, back: bool = False) -> tuple[int, list[str]]:
        paths = (later_path, ring_path) if back else (ring_path, later_path)
        status, _, err = run(capsys, "diff", *words, *paths)
        return status, [line.removeprefix("snoopie: ") for line in err.splitlines() if " allowed" in line]

    assert said("--fail-if-increase", "bytes/line:8KiB", "--fail-if-increase", "bytes/pair:2KiB") == (0, [])
    assert said("--fail-if-increase", "bytes/line:1KiB") == (
        3,
        [f"bytes of {ring.SHIFT_H}:4 rose by 8 KiB (100 %) to 16 KiB, more than the 1KiB allowed"],
    )
    status, pairs = said("--fail-if-increase", "bytes/pair:0")
    assert status == 3
    assert len(pairs) == 5
    assert "bytes of GPU 0 -> GPU 1 rose by 2 KiB (20 %) to 12 KiB, more than the 0 allowed" in pairs
    assert pairs[-1] == "bytes of GPU 0 -> GPU 2 rose by 1 KiB to 1 KiB, more than the 0 allowed"
    # The kernel has another name in B.
    assert said("--fail-if-decrease", "bytes/kernel:50%") == (
        3,
        [f"bytes of {ring.BUMP} fell by 12.2 KiB (100 %) to 0 B, more than the 50% allowed"],
    )
    assert said("--fail-if-decrease", "bytes:0") == (0, [])
    assert said("--fail-if-decrease", "bytes:5%", back=True) == (
        3,
        ["bytes fell by 9 KiB (14.7 %) to 52.2 KiB, more than the 5% allowed"],
    )
    # Of a part of the traffic; what only one of the two has is 0 in the other.
    assert said("--fail-if-increase", "bytes(GPU 0 -> GPU 1):20%", "--fail-if-decrease", "bytes(0 -> 1):0") == (0, [])
    assert said("--fail-if-increase", 'bytes(line="shift.h:4", GPU 0 -> GPU 1):10%') == (
        3,
        ['bytes(line="shift.h:4", GPU 0 -> GPU 1) rose by 2 KiB (100 %) to 4 KiB, more than the 10% allowed'],
    )
    assert said("--fail-if-increase", "bytes(kernel=ring_scale):0")[0] == 3
    assert said("--fail-if-decrease", "launches(kernel=ring_bump):0") == (
        3,
        ["launches(kernel=ring_bump) fell by 3 (100 %) to 0, more than the 0 allowed"],
    )


def test_of_many_rows_the_first_are_named(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = TraceBuilder(4).write(ring_path.parent / "empty.zst")
    _, _, err = run(capsys, "diff", "--fail-if-decrease", "bytes/pair:0", ring_path, empty)
    lines = [line for line in err.splitlines() if "bytes of" in line]
    assert len(lines) == 6
    assert lines[-1] == "snoopie: … and bytes of 1 more, by pair"


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ("bytes/colour:0", "there is no bytes by colour to limit"),
        ("copies/pair:0", "there is no copies by pair to limit"),
        ("launches/line:0", "there is no launches by line to limit"),
        ("bytes(GPU 0):0", "stands where -> is needed"),
        ("pairs(store):0", "is no part of the traffic"),
        ("bytes(kernel=none_such):0", "no kernel is called none_such"),
        ("bytes(GPU 0 -> GPU 9):0", "there is no place GPU 9"),
    ],
)
def test_wrong_limits(ring_path: Path, limit: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "diff", "--fail-if-decrease", limit, ring_path, ring_path)
    assert status == 2
    assert sentence in err


def test_json(ring_path: Path, later_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["diff", "--json", "--by", "pair", "--fail-if-increase", "bytes:0", ring_path, later_path]
    status, out, err = run(capsys, *words)
    told = json.loads(out)
    assert status == 3
    assert len(err.splitlines()) == len(told["exceeded"]) == 1
    assert told["a"] == {"files": [str(ring_path)], "complete": True, "estimated": False}
    assert (told["different"], told["by"], told["value"]) == (True, "pair", "bytes")
    assert {row["metric"]: row["change"] for row in told["summary"]}["bytes"] == 9216
    assert {"issuer": "GPU 0", "owner": "GPU 2", "a": 0, "b": 1024, "change": 1024, "ratio": None, "only": "B"} in told[
        "rows"
    ]
    assert len(told["remarks"]) == 3


def test_csv_and_markdown(ring_path: Path, later_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "diff", "--csv", "--by", "pair", ring_path, later_path)
    header, *rows = out.splitlines()
    assert (status, header) == (0, "issuer,owner,a,b,change,ratio,only")
    assert "GPU 0,GPU 2,0,1024,1024,,B" in rows
    assert "Next:" not in err
    _, out, _ = run(capsys, "diff", "--csv", ring_path, later_path)
    assert next(row for row in out.splitlines() if row.startswith("bytes,")).split(",")[3] == "9216"
    # What did not change is no row of a document, as on a terminal.
    _, out, _ = run(capsys, "diff", "--markdown", "--by", "pair", ring_path, later_path)
    header, _, *rows = out.splitlines()
    assert header == "| Issuer | Owner | A | B | Change | B / A |"
    assert "| GPU 0 | GPU 2 | 0 B | 1 KiB | +1 KiB | only in B |" in rows
    assert len(rows) < len(snoopie.compare(snoopie.load(ring_path), snoopie.load(later_path)).by_pair())
    _, out, _ = run(capsys, "diff", "--csv", "--by", "pair", "--top", 1, ring_path, later_path)
    assert len(out.splitlines()) == 2


def test_a_part_of_both(ring_path: Path, later_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "diff", "--csv", "--by", "pair", "--issuer", 0, ring_path, later_path)
    assert {row.split(",")[0] for row in out.splitlines()[1:]} == {"GPU 0"}
    status, _, err = run(capsys, "diff", "--issuer", 77, ring_path, later_path)
    assert status == 2
    assert err.startswith("snoopie: A: there is no place 77; ")


def test_folders_and_patterns(ring_path: Path, two_process_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "diff", "--by", "line", ring_path, two_process_folder)
    assert (status, out) == (0, "no difference in bytes by line: 4 rows compared\n")
    assert "A is of 1 process, B of 2 processes." in err
    status, out, err = run(capsys, "diff", "--by", "pair", two_process_folder / "*.zst", ring_path)
    assert (status, out) == (0, "no difference in bytes by pair: 6 rows compared\n")
    assert "Next" not in err


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["notes.txt"], 1, "is not a Snoopie trace"),
        (["nowhere.zst"], 1, "nowhere.zst"),
        (["cut.zst"], 1, "--allow-truncated"),
        (["ring.zst", "--fail-if-increase", "bytes:5"], 0, ""),
        (["ring.zst", "--fail-if-increase", "bytes:x"], 2, "x is not an amount of bytes"),
        (["ring.zst", "--value", "lanes"], 2, "the summary has every value"),
        (["cut.zst", "--allow-truncated", "--fail-if-increase", "leaks:0"], 1, "leaks is unknown for B"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    ring_path: Path, words: list[str], status: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (ring_path.parent / "notes.txt").write_text("hello")
    ring.ring_builder(pid=5).write(ring_path.parent / "cut.zst", footer=False)
    found, _, err = run(capsys, "diff", ring_path, ring_path.parent / words[0], *words[1:])
    assert found == status
    if sentence:
        assert len([line for line in err.splitlines() if "note:" not in line]) == 1
        assert sentence in err


def test_names_from_a_trace_are_made_harmless(
    ring_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = ring.ring_builder(pid=5)
    for row in hostile.rows["strings"]:
        row["text"] = row["text"].replace("ring_get", "\x1b[2J<script>\n")
    hostile.notice("\x1b[31mred")
    _, out, err = run(capsys, "diff", "--by", "kernel", ring_path, hostile.write(tmp_path / "h.zst"))
    assert "\x1b" not in out + err
    assert "<script>" in out


def test_the_view_of_two_traces(
    ring_path: Path, later_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, words: started.append(words))
    cli.main(["view", str(ring_path), "--compare", str(later_path)])
    (words,) = started
    assert words[words.index("--") + 1 :] == [f"--compare={later_path}", str(ring_path)]
    assert "--page=compare" in words
    capsys.readouterr()
    assert run(capsys, "view", ring_path, "--compare", "nowhere.zst") == (
        1,
        "",
        "snoopie: there is no nowhere.zst; check the path\n",
    )
    assert len(started) == 1
