"""bench/attached.py: what it makes of the figures of processes, and of processes that fail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench"))

import attached  # noqa: E402
import cost  # noqa: E402


def printed(*, factor: float) -> dict[str, object]:
    """Steps that get slower by themselves, by a half from turn to turn; all records cost them `factor`."""
    native = [[8.0, 8.0, 80.0], [12.0, 12.0, 1.0], [18.0, 18.0, 18.0], [27.0] * 3, [40.5] * 3]
    groups = [
        (kinds, [10.0 * 1.5**place * (factor if kinds == attached.ALL else 1)] * 6)
        for place, kinds in enumerate(attached.KINDS.values())
    ]
    return {"right": True, "native": native, "attached": groups, "records": 1, "heard": 1}


def test_groups_are_set_against_the_native_ones_around_them() -> None:
    one = attached.turns(printed(factor=1.1))
    assert one.native_ms == (2, 3, 4.5, 6.75, 10.125)
    assert one.times_native[attached.ALL] == pytest.approx([1.1] * 6)
    # The median of three and three.
    assert one.times_native["none"] == pytest.approx([33.75 / 33.75] * 6)


def test_a_section_has_a_row_for_each_number_of_ranks_and_each_kind() -> None:
    processes = [attached.turns(printed(factor=factor)) for factor in (1.0, 1.1)]
    text = attached.section({1: processes, 2: processes[:1]}, "4 H200", "2026-01-02")
    assert "on 2026-01-02: 4 H200." in text
    (row,) = [line for line in text.splitlines() if line.startswith("| 1, ") and "all records" in line]
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    # Six groups of 1.0 and six of 1.1: their standard deviation is 0.0522.
    assert cells[1:] == ["all records", "1.050", "0.019", "1.000–1.100", "1.000–1.100", "12 in 2 processes"]
    assert sum(line.startswith("| 2, ") for line in text.splitlines()) == len(attached.KINDS)


def test_processes_share_the_gpus_and_one_that_fails_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three GPUs have room for three processes of one rank, and for one of two."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(cost, "gpus", lambda: [{"name": "H200", "arch": "90", "driver": "580.1"}] * 3)
    names = ("gpus", "driver", "cuda", "nvbit", "snoopie", "commit")
    monkeypatch.setattr(cost, "machine", lambda: dict.fromkeys(names, "?"))
    monkeypatch.setattr(attached, "built", lambda: tmp_path / "attach.so")
    seen: list[str] = []

    def run(command: list[str], environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
        seen.append(environment["CUDA_VISIBLE_DEVICES"])
        bad = seen[-1] == "1"
        output = "" if bad else "warmed up\n" + json.dumps(printed(factor=1.01))
        return subprocess.CompletedProcess(command, 77 if bad else 0, output, "no CUPTI" if bad else "")

    monkeypatch.setattr(cost, "run", run)
    document = tmp_path / "performance.md"
    document.write_text(f"{attached.BEGIN}\nold\n{attached.END}\nafter\n")
    monkeypatch.setattr(sys, "argv", ["attached.py", "--processes", "4", "--out", str(document)])
    assert attached.main() == 1
    assert sorted(seen) == ["0", "0", "0,1", "0,1", "0,1", "0,1", "1", "2"]
    assert "1 ranks: ended with status 77: no CUPTI" in capsys.readouterr().err
    assert "old" not in document.read_text()
    assert "| 2, " in document.read_text()


@pytest.mark.parametrize(("factor", "status"), [(1.04, 0), (1.06, 1)])
def test_a_recording_that_costs_more_than_the_target_is_a_failure(
    factor: float, status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cost, "visible_gpus", lambda: ["0"])
    monkeypatch.setattr(cost, "machine", lambda: {})
    monkeypatch.setattr(cost, "describe", lambda machine: "?")
    monkeypatch.setattr(attached, "built", lambda: tmp_path / "attach.so")
    monkeypatch.setattr(attached, "measure", lambda *told: attached.turns(printed(factor=factor)))
    monkeypatch.setattr(sys, "argv", ["attached.py"])
    assert attached.main() == status
