"""snoopie stats --times: native time and bandwidth beside the exact bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snoopie.cli import main
from tests.support.native import Launch, Rank, write_clean, write_exact

PUT = Launch("put", moves=True)
STEP = [PUT, Launch("gemm", grid=8)]


@pytest.fixture
def exact(tmp_path: Path) -> Path:
    return write_exact(tmp_path / "exact", [Rank([STEP * 4])])


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    return write_clean(tmp_path / "clean", [Rank([[Launch("warm"), *STEP * 4]])])


@pytest.mark.parametrize("by", ["pair", "kernel", "line", "launch"])
def test_a_table_gains_time_and_rate(exact: Path, clean: Path, by: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", str(exact), "--by", by]) == 0
    plain = capsys.readouterr().out
    assert "Native" not in plain
    assert main(["stats", str(exact), "--by", by, "--times", str(clean)]) == 0
    said = capsys.readouterr()
    head, first = said.out.splitlines()[:2]
    assert head.split("  ")[-1].strip() == "Of the link"
    assert "Native time" in head and "Native rate" in head
    # 32 MiB in a millisecond each, of 450 GB/s.
    time = " 1 ms" if by == "launch" else " 4 ms"
    assert time in first and "33.6 GB/s" in first and "7.5 %" in first
    assert "Communication and other kernels, in native time" in said.out
    assert "have no native time" not in said.err


def test_what_has_no_native_times(exact: Path, clean: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", str(exact), "--by", "operation", "--times", str(clean)]) == 0
    assert "Native time" not in capsys.readouterr().out.splitlines()[0]


def test_json_and_csv(exact: Path, clean: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", str(exact), "--by", "kernel", "--times", str(clean), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    (row,) = printed["rows"]
    assert (row["kernel"], row["native_time"], row["native_launches"]) == ("put(int*)", 4_000_000, 4)
    assert printed["native"]["matching"][0] == {"recording": "exact", "outcome": "matched", "launches": 8}
    assert printed["native"]["overlap"][0]["communication"] == 4_000_000
    assert main(["stats", str(exact), "--by", "kernel", "--csv", "--times", str(clean)]) == 0
    header, _ = capsys.readouterr().out.splitlines()
    assert "native_time" in header.split(",")


def test_launches_without_a_partner_are_said(exact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = write_clean(tmp_path / "other", [Rank([[PUT] * 4])])
    assert main(["stats", str(exact), "--times", str(other)]) == 0
    assert (
        "snoopie: note: 4 launches have no native time (50 %): their kernel did not run in the clean recording."
        in capsys.readouterr().err
    )


def test_a_recording_with_probes_is_refused(exact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", str(exact), "--times", str(exact)]) != 0
    assert "was recorded with instrumentation, so its times are not native" in capsys.readouterr().err
