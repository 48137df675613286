"""Trace.export, Trace.report and Trace.tables write what the commands write."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import snoopie
from snoopie import cli
from snoopie.api.files import Format
from snoopie.errors import SnoopieError, UsageError
from snoopie.exporters.tables import LANES, TABLES
from tests.support import ring


@pytest.fixture
def trace(ring_path: Path) -> snoopie.Trace:
    return snoopie.load(ring_path)


@pytest.mark.parametrize("name", ["x.sqlite", "x.json", "x.json.gz", "x.db"])
def test_the_name_says_the_format(trace: snoopie.Trace, ring_path: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "a").mkdir()
    assert trace.export(tmp_path / "a" / name) == [tmp_path / "a" / name]
    format = "chrome" if ".json" in name else "sqlite"
    assert cli.main(["export", str(ring_path), "--format", format, "-o", str(tmp_path / "b" / name)]) == 0
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_folders_and_single_tables(trace: snoopie.Trace, tmp_path: Path, format: Format) -> None:
    paths = trace.export(tmp_path / "out", format, lanes=True)
    assert [path.name for path in paths] == [f"{name}.{format}" for name in TABLES | LANES]
    one = tmp_path / f"x.{format}"
    assert trace.export(one, table="counts") == [one]
    assert one.read_bytes() == (tmp_path / "out" / f"counts.{format}").read_bytes()


def test_tables_for_pandas(trace: snoopie.Trace) -> None:
    tables = trace.tables()
    assert list(tables) == list(TABLES)
    assert tables["counts"]["bytes"].sum() == ring.TOTALS["bytes"]
    pd.testing.assert_frame_equal(trace.tables("sites")["sites"], trace.sites.reset_index())
    assert len(trace.tables(lanes=True)["lane_accesses"]) == ring.TOTALS["lanes"]


def test_of_a_view(trace: snoopie.Trace, tmp_path: Path) -> None:
    trace.select(kernels=ring.PUT).export(tmp_path / "x.csv", table="traffic_by_kernel")
    assert pd.read_csv(tmp_path / "x.csv")["bytes"].tolist() == [32768]


def test_the_report(trace: snoopie.Trace, ring_path: Path, tmp_path: Path) -> None:
    sources = ring.write_sources(tmp_path / "src")
    trace.report(tmp_path / "a.html", [sources], title="Ring")
    words = ["report", str(ring_path), "-o", str(tmp_path / "b.html"), "--source", str(sources), "--title", "Ring"]
    assert cli.main(words) == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    with pytest.raises(SnoopieError, match="already exists"):
        trace.report(tmp_path / "a.html")
    trace.report(tmp_path / "a.html", force=True)


def test_refusals(trace: snoopie.Trace, tmp_path: Path) -> None:
    for wrong, sentence in (
        (lambda: trace.export(tmp_path / "x"), "does not say which format"),
        (lambda: trace.export(tmp_path / "x.json", lanes=True), "a timeline has no tables and no lanes"),
        (lambda: trace.export(tmp_path / "x", "csv", table="pairs"), "there is no table pairs"),
        (lambda: trace.export(tmp_path / "x", "xlsx"), "there is no format xlsx"),  # type: ignore[arg-type]
        (lambda: trace.tables("pairs"), "there is no table pairs"),
        (lambda: trace.report(tmp_path / "x.html", [tmp_path / "none"]), "there is no folder"),
    ):
        with pytest.raises(UsageError, match=sentence):
            wrong()
    assert [path for path in tmp_path.iterdir() if path.name.startswith("x")] == []
