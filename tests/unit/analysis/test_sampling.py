"""Launches that were not measured: amounts are scaled, and say that they are estimates."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import snoopie
from snoopie.cli import main
from tests.support.encoder import TraceBuilder
from tests.support.pages import metrics, start, view
from tests.support.sampled import BIG, sampled_builder

VALUES = ["accesses", "lanes", "bytes", "wire_units", "wire_bytes"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return sampled_builder().write(tmp_path / "t.zst")


@pytest.fixture
def trace(path: Path) -> snoopie.Trace:
    return snoopie.load(path)


def test_amounts_are_scaled_and_exact_ones_stay_exact(trace: snoopie.Trace) -> None:
    assert trace.estimated
    # 24 accesses of 3 launches stand for those of 10.
    kernels = trace.by_kernel().set_index("kernel")
    assert kernels.loc["often", ["launches", "measured", *VALUES]].tolist() == [
        12, 5, 80 + 10, 2560 + 320, 10240 + 1280, 320 + 40, 10240 + 1280
    ]  # fmt: skip
    assert kernels.loc["once", ["launches", "measured", "accesses"]].tolist() == [1, 1, BIG]
    assert kernels[VALUES].dtypes.unique().tolist() == ["int64"]
    assert trace.matrix("accesses").to_numpy().tolist() == [[0, 80], [BIG + 10, 0]]
    assert trace.matrix("accesses", "flow").to_numpy().tolist() == [[0, BIG + 80], [BIG + 10, 0]]
    assert trace.by_line()["accesses"].tolist() == [BIG, 90]
    assert trace.by_site()["accesses"].tolist() == [BIG, 90]
    assert trace.by_operation()["accesses"].tolist() == [BIG, 90]
    assert trace.by("kernel", "issuer")["accesses"].tolist() == [BIG, 80, 10]
    assert trace.line_sites("/home/u/a.cu", 3)["accesses"].tolist() == [90]
    assert trace.file_lines("/home/u/a.cu")["accesses"].tolist() == [90, BIG]
    assert trace.line_matrix("/home/u/a.cu", 3, "accesses").to_numpy().tolist() == [[0, 80], [10, 0]]
    assert trace.summary()["accesses"] == BIG + 90
    assert (trace.summary()["launches"], trace.summary()["measured"]) == (13, 6)
    # 3 executions in 3 of 10 launches.
    assert trace.not_measured()[["accesses", "lanes"]].to_numpy().tolist() == [[10, 10]]


def test_what_was_measured_stays(trace: snoopie.Trace) -> None:
    assert trace.counts["accesses"].tolist() == [7, 8, 9, 5, 5, BIG]
    assert trace.by_launch()["accesses"].tolist() == [BIG, 9, 8, 7, 5, 5]
    assert len(trace.records) == trace.summary()["records"] == 3
    assert trace.totals == snoopie.load(trace.paths).totals


def test_views(trace: snoopie.Trace) -> None:
    view = trace.select(issuers="GPU 0")
    assert view.estimated
    assert view.summary()["accesses"] == 80
    assert not trace.select(kernels="once").estimated
    assert trace.select(kernels="once").summary()["accesses"] == BIG
    assert not trace.select(issuers="GPU 1").estimated
    # Launches that are named stand for themselves.
    named = trace.select(launches=[1, 2])
    assert not named.estimated
    assert named.by_kernel()[["launches", "measured", "accesses"]].to_numpy().tolist() == [[2, 2, 15]]
    assert named.select(operations="store").summary()["accesses"] == 15
    assert named.not_measured()["accesses"].tolist() == [2]
    assert trace.select(launches=[]).summary()["launches"] == 0


def test_rounding_comes_last(tmp_path: Path) -> None:
    """Three lines with a third of an access each, together one."""
    trace = TraceBuilder(2)
    kernels = [trace.function(f"k{number}") for number in range(3)]
    for number, kernel in enumerate(kernels):
        site = trace.site(kernel, "STG.E", "store", 4, line=trace.line("a.cu", number + 1))
        trace.count(trace.launch(kernel, 0), site, 1, 1, 1, 1)
        trace.add("sampling", function=kernel, gpu=0, launches=4, measured=3)
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    assert loaded.by_line()["accesses"].tolist() == [1, 1, 1]
    assert loaded.summary()["accesses"] == 4
    assert loaded.by_pair()["accesses"].tolist() == [4]


def test_processes_that_were_sampled_and_that_were_not(tmp_path: Path) -> None:
    sampled_builder().write(tmp_path / "1.zst")
    exact = sampled_builder()
    exact.header["process"]["pid"] += 1
    exact.rows["sampling"].clear()
    exact.write(tmp_path / "2.zst")
    trace = snoopie.load(tmp_path)
    assert trace.select(kernels="often").summary()["accesses"] == 90 + 34
    assert trace.sampling["process"].tolist() == [0, 0]


def test_estimates_beyond_64_bits_are_refused(tmp_path: Path) -> None:
    trace = sampled_builder()
    trace.rows["sampling"][0]["launches"] = 1 << 60
    with pytest.raises(snoopie.CorruptError, match="add up to more"):
        snoopie.load(trace.write(tmp_path / "t.zst"))


def test_it_is_said(trace: snoopie.Trace, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentences = trace.losses()
    assert sentences[0] == (
        "1 launch in 3.33 was measured (3 of 10): amounts are estimates, scaled by the number of launches."
    )
    assert sentences[1] == "Amounts exclude 6 launches of kernels that were never measured."
    assert "≈ " in repr(trace)
    for command in (["stats"], ["stats", "--by", "kernel"], ["info"]):
        assert main([*command, str(path)]) == 0
        out, err = capsys.readouterr()
        assert "≈ " in out
        assert "amounts are estimates" in out + err
    assert "Measured" in _stats(path, capsys, "--by", "kernel")
    assert '"estimated": true' in _stats(path, capsys, "--json")


def _stats(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["stats", *options, str(path)]) == 0
    return capsys.readouterr().out


def test_nothing_is_said_of_exact_amounts(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = snoopie.load(ring_path)
    assert not trace.estimated
    assert "weight" not in trace._sums("kernel")
    assert not any("estimate" in sentence for sentence in trace.losses())
    assert "≈" not in repr(trace) + _stats(ring_path, capsys) + _stats(ring_path, capsys, "--by", "kernel")
    pd.testing.assert_series_equal(trace.by_kernel()["launches"], trace.by_kernel()["measured"], check_names=False)


def test_the_app_marks_estimates(monkeypatch: pytest.MonkeyPatch, path: Path, ring_path: Path) -> None:
    app = start(monkeypatch, path)
    assert not app.exception
    assert all(metrics(app)[name].startswith("≈ ") for name in ("Bytes", "Wire bytes", "Accesses", "Wire efficiency"))
    assert metrics(app)["Launches"] == "13"
    for name in ("overview", "communication", "kernels", "sites", "source"):
        app = view(monkeypatch, name, path)
        assert not app.exception
        assert any(caption.value.startswith("≈ Estimated") for caption in app.caption), name
        app = view(monkeypatch, name, ring_path)
        assert not any("≈" in caption.value for caption in app.caption), name
