"""bench/joined.py: what it says of two recordings, which are those of a sample."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench"))

import cost  # noqa: E402
import joined  # noqa: E402


@pytest.fixture
def without_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "gpus", lambda: [{"name": "H200", "arch": "90", "driver": "580.1"}] * 2)
    monkeypatch.setattr(cost, "collector", lambda: Path("mem_multigpu.so"))


def test_a_section_has_shares_and_reasons() -> None:
    found = {"halo": joined.Joined(200, 199, 210, ("1 of the exact recording: alone",))}
    text = joined.section(found, "2 H200", "2026-01-02")
    assert "on 2026-01-02: 2 H200." in text
    assert "| halo | 200 | 199 | 99.5% | 210 |" in text
    assert text.endswith("\n- halo: 1 of the exact recording: alone\n")
    assert joined.Joined(0, 0, 0, ()).share == 0


def test_commands_run_twice_and_what_is_left_of_them_is_read(
    without_gpus: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that fails, and none of its own: the section says that there is nothing."""
    ran: list[list[str]] = []

    def run(command: list[str], *where: object, **options: object) -> subprocess.CompletedProcess[str]:
        ran.append([str(word) for word in command])
        return subprocess.CompletedProcess(command, 3 if command[-1] == "bad" else 0, "", "no such thing")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(cost, "run", run)
    document = tmp_path / "performance.md"
    document.write_text(f"# Performance\n\n{joined.BEGIN}\nold\n{joined.END}\nafter\n")
    monkeypatch.setattr(sys, "argv", ["joined.py", "--only", "", "one=some bad", "--out", str(document)])
    monkeypatch.setattr(
        cost, "machine", lambda: dict.fromkeys(("gpus", "driver", "cuda", "nvbit", "snoopie", "commit"), "?")
    )
    assert joined.main() == 1
    assert ran[-1][-3:] == ["--", "some", "bad"]
    assert "--with-times" in ran[-1]
    assert "one: some bad: status 3: no such thing" in capsys.readouterr().err
    written = document.read_text()
    assert "old" not in written
    assert written.endswith(f"{joined.END}\nafter\n")
