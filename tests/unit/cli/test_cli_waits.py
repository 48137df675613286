"""snoopie waits, and what a report says of waits."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

import snoopie
from snoopie.report.parts import Table
from snoopie.report.sections.waits import waits
from tests.support.command import run
from tests.support.encoder import TraceBuilder
from tests.support.waiting import RING_CU, write_waiting


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_waiting(tmp_path)


def test_lines(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "waits", path)
    heading, first, *others, total = out.splitlines()
    assert status == 0
    assert heading.split("  ")[0] == "Source"
    for part in (f"{RING_CU}:7", "GPU 1", "GPU 0", "ring.cu:9", "address", "5.5 µs", "4 µs"):
        assert part in first
    assert heading.split()[-2:] == ["Held", "Moving"]
    (moved,) = (line for line in others if "ring.cu:23" in line and "ring.cu:22" not in line)
    assert moved.split()[-2:] == ["1", "µs"]
    assert total == (
        "5 waits, 5.8 µs of warps in them; 1 did not end by the value; thread blocks were held for 5.8 µs and moving "
        "for 1.8 µs; instrumented times"
    )


def test_csv_is_exact(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "waits", "--by", "block", "--csv", path)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["waited"] for row in rows] == ["4000", "1500", "350"]
    assert [row["moving"] for row in rows] == ["1000", "400", "350"]


def test_one_kernel_of_one_gpu(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "waits", "--issuer", "1", "--by", "awaited", "--csv", path)
    assert [row["awaited"] for row in csv.DictReader(io.StringIO(out))] == ["GPU 0"]


@pytest.mark.parametrize(
    ("settings", "said"), [({}, "WAITS=on"), ({"waits": "on"}, "no kernel waited, or accessed other memory")]
)
def test_nothing(settings: dict[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = TraceBuilder(2, settings=settings).write(tmp_path / "empty.zst")
    status, out, _ = run(capsys, "waits", empty)
    assert status == 0
    assert said in out
    assert said in waits(snoopie.load(empty), None).absent


def test_report(path: Path) -> None:
    (table,) = (part for part in waits(snoopie.load(path), None).parts if isinstance(part, Table))
    assert [row[1].text for row in table.rows] == ["7", "20", "30", "23", "22", "9"]
