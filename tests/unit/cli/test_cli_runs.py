"""The command line on traces of several runs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from snoopie.cli import main
from tests.support import mixed, ring


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runs: ring, and mixed, of two processes, which began later."""
    folder = tmp_path / "traces"
    folder.mkdir()
    builder = ring.ring_builder(pid=42)
    builder.header["process"]["run"] = {"id": "first", "of": "run"}
    builder.header["process"]["start_ns"] -= 10**9
    builder.write(folder / "ring.zst")
    return mixed.write_mixed(folder)


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    status = main(list(map(str, words)))
    return status, *capsys.readouterr()


COMMANDS = ["stats", "findings", "calls", "calls --live=0.1", "memory", "summary", "plot --figure lines -o {}/x.png"]
COMMANDS += ["report -o {}/x.html", "export --format csv -o {}/csv"]


@pytest.mark.parametrize("command", COMMANDS)
def test_several_runs_are_not_added_up(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, command: str
) -> None:
    status, out, err = run(capsys, *shlex.split(command.format(tmp_path)), folder)
    assert (status, out) == (2, "")
    assert err.startswith("snoopie: these traces are of 2 runs that do not belong together: 0: first (ring, 1 process,")
    assert err.endswith("; choose one with --run 0, or add them up with --all-runs\n")
    assert len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["traces"]


def test_one_run_is_chosen(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    alone = run(capsys, "stats", folder / "ring.zst")[1]
    for chosen in ("--run=0", "--run=fir"):
        status, out, err = run(capsys, "stats", chosen, folder)
        assert (status, out) == (0, alone)
        assert err.splitlines()[-1] == f"Next: snoopie view {chosen} {folder}"
        assert "added up" not in err
    status, out, err = run(capsys, "stats", "--run", "third", folder)
    assert (status, out) == (2, "")
    assert err.startswith("snoopie: there is no run third: the traces have 0: first (ring,")


def test_all_runs_are_added_up_and_named(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    status, _, err = run(capsys, "stats", "--all-runs", folder)
    assert status == 0
    assert err.startswith("snoopie: note: 2 runs are added up: first (ring, 1 process, 2026-")
    assert ", node1-4711-1790000000 (mixed, 2 processes, 2026-" in err.splitlines()[0]
    assert err.splitlines()[-1] == f"Next: snoopie view --all-runs {folder}"


def test_both_cannot_be_meant(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    with pytest.raises(SystemExit):
        run(capsys, "stats", "--all-runs", "--run=0", folder)


def test_info_lists_the_runs(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    status, out, err = run(capsys, "info", folder)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "Runs"
    assert [line.split()[:4] for line in lines[2:4]] == [
        ["0", "first", "ring", "1"],
        ["1", "node1-4711-1790000000", "mixed", "2"],
    ]
    assert "Totals of all runs" in lines
    processes = lines[lines.index("Processes") + 1 :][:4]
    assert processes[0].split()[:2] == ["Process", "Run"]
    assert sorted(line.split()[1] for line in processes[1:]) == ["0", "1", "1"]
    assert err.splitlines()[-1] == f"Next: snoopie stats --by line --run=0 {folder}"
    assert "Runs" not in run(capsys, "info", "--run=1", folder)[1].splitlines()


def test_a_diff_takes_a_run_of_each(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    status, out, err = run(capsys, "diff", folder, folder, "--run-a=0")
    assert (status, out) == (2, "")
    assert err.startswith("snoopie: B: these traces are of 2 runs that do not belong together: 0: first")
    assert err.endswith("; choose one with --run-b 0, or add them up with --all-runs\n")
    status, out, _ = run(capsys, "diff", folder, folder, "--run-a=0", "--run-b", "first")
    assert status == 0
    assert "52.2 KiB  52.2 KiB" in out
    status, out, _ = run(capsys, "diff", folder, folder, "--run-a=0", "--all-runs")
    assert status == 0
    assert "52.2 KiB  52.2 KiB" not in out
