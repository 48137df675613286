"""What is exported is what was loaded."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import pandas as pd
import pytest

import snoopie
from snoopie import cli
from snoopie.errors import SnoopieError, UsageError
from snoopie.exporters import formulas
from snoopie.exporters.folder import export
from snoopie.exporters.formulas import write_csv
from snoopie.exporters.tables import LANES, TABLES
from tests.support import ring
from tests.support.encoder import TraceBuilder


def read(path: Path) -> pd.DataFrame:
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    return pd.read_csv(path, keep_default_na=False, dtype={"base": "uint64", "address": "uint64", "stream": "uint64"})


def same(read_back: pd.DataFrame, table: pd.DataFrame) -> None:
    if table.index.name is not None:
        table = table.reset_index()
    assert list(read_back.columns) == list(table.columns)
    for name in table.columns:
        assert read_back[name].astype(str).tolist() == table[name].astype(str).tolist(), name


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_every_table_comes_back(two_process_folder: Path, tmp_path: Path, format: str) -> None:
    more = ring.ring_builder(pid=4713)
    more.set(64, 0, 2)
    more.bulk(1, 1, 64, 2**63, 2**40)
    more.copy(254, 1, 2**54 + 1, gpu=1, stream=2**64 - 1)
    more.collective(1, "AllReduce", 2**53 + 1, gpu=0, reduction="sum")
    more.rows["launches"][0]["group"] = 1
    more.write(two_process_folder / "more.zst")
    trace = snoopie.load(two_process_folder)
    paths = export(trace, tmp_path / "out", format, lanes=True)
    assert set(paths) == {*TABLES, *LANES}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f"{name}.{format}" for name in paths}
    for name in (
        "processes",
        "gpus",
        "links",
        "functions",
        "lines",
        "sites",
        "launches",
        "counts",
        "records",
        "sets",
        "copies",
        "collectives",
        "objects",
    ):
        same(read(paths[name]), getattr(trace, name))
    same(read(paths["lane_accesses"]), trace.lane_accesses())
    same(read(paths["copies_by_call"]), trace.by_copy())
    same(read(paths["not_measured"]), trace.not_measured())
    for name in ("pair", "kernel", "line", "site", "operation", "launch", "collective"):
        same(read(paths[f"traffic_by_{name}"]), getattr(trace, f"by_{name}")())
    same(read(paths["flow_by_pair"]), trace.by_pair(reading="flow"))
    assert read(paths["counts"])["bytes"].sum() == 2 * ring.TOTALS["bytes"]
    assert len(read(paths["lane_accesses"])) == 2 * ring.TOTALS["lanes"] + 1
    assert read(paths["copies_by_call"])["bytes"].tolist() == [2**54 + 1]


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_empty_tables_keep_their_columns(tmp_path: Path, format: str) -> None:
    trace = snoopie.load(TraceBuilder(2).write(tmp_path / "quiet.zst"))
    paths = export(trace, tmp_path / "out", format, lanes=True)
    for name in ("counts", "records", "traffic_by_pair", "traffic_by_site", "lane_accesses"):
        table = read(paths[name])
        assert len(table) == 0
        assert "launch" in table or "accesses" in table


def test_numbers_beyond_53_bits_are_exact(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    put = builder.function("put")
    site = builder.site(put, "STG.E", "store", 1)
    launch = builder.launch(put, 0)
    builder.count(launch, site, 1, 2**53 + 1, 2**54 + 1, 1)
    builder.record(launch, site, 1, 2**64 - 64, 1)
    trace = snoopie.load(builder.write(tmp_path / "large.zst"))
    for format in ("parquet", "csv"):
        paths = export(trace, tmp_path / format, format, lanes=True)
        assert read(paths["traffic_by_pair"])["lanes"].tolist() == [2**54 + 1]
        assert read(paths["records"])["base"].tolist() == [2**64 - 64]


def test_text_survives_csv(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    name = "k<\"a\", 'b'>(int,\n  float) → é"
    builder.function(name)
    paths = export(snoopie.load(builder.write(tmp_path / "x.zst")), tmp_path / "out", "csv")
    assert read(paths["functions"])["name"].tolist() == [name]


# Spreadsheets leave out spaces and what is not seen, and some take wide and small forms for "=".
FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", " =1", " \xa0 @x", "\x00=1",
            "\x01\x1b=1", "\ufeff=1", "\u200b+1", "\u202e-1", "＝1", "＋1", "－1", "＠x", " ＝1", "﹦1", "'=1",
            "'"]  # fmt: skip


TEXTS = {
    "plain": ["strided", "void f<int>(int*)", "é 1:2", "a/b.cu:7"],
    "formula": ["-1", "=1+1", "b", "c"],
    "quoted": ["a,b", 'say "a"', "two\nlines", "c"],
    "carriage": ["a\rb", "b", "c", "d"],
    "empty": ["", "b", "c", "d"],
    "none": [None, "b", "c", "d"],
}


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("kind", TEXTS)
def test_many_rows_are_written_as_few_are(monkeypatch: pytest.MonkeyPatch, kind: str, header: bool) -> None:
    table = pd.DataFrame(
        {
            "unsigned": pd.Series([0, 1, 2**64 - 1, 2**53 + 1], dtype="uint64"),
            "signed": pd.Series([-(2**63), -1, 0, 2**63 - 1], dtype="int64"),
            "small": pd.Series([-1, 0, 1, 127], dtype="int8"),
            "text": TEXTS[kind],
            "category": pd.Categorical(["load", "store", "load", "load"]),
        }
    )
    for part in (table, table[["signed"]], table.drop(columns="text"), table.assign(more=[0.1, 1e-7, 1e300, 2.0])):
        few, many = io.StringIO(), io.StringIO()
        write_csv(part, few, header=header)
        with monkeypatch.context() as patch:
            patch.setattr(formulas, "_MANY", 3)
            write_csv(part, many, header=header)
        assert many.getvalue() == few.getvalue()


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    for text in FORMULAS:
        site = builder.site(builder.function(text, text), text, "store", 4, line=builder.line(text, 3), sass=text)
        builder.count(builder.launch(len(builder.rows["functions"]), 0), site, 1, 10, 320, 10)
        builder.copy(0, 1, 4096, gpu=0, call=text)
        builder.notice(text)
    builder.header["process"] |= {"program": "=1", "host": "@x", "command": ["+x"]}
    trace = snoopie.load(builder.write(tmp_path / "x.zst"))
    paths = export(trace, tmp_path / "out", "csv")
    cells = 0
    for path in paths.values():
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.reader(file):
                for cell in row:
                    assert not cell.startswith(("=", "+", "@", "\t", "\r")) and (
                        not cell.startswith("-") or float(cell) < 0
                    ), (path, cell)
                    cells += cell.startswith("'")
    assert cells > 100
    # Nothing is lost: one "'" less is what the trace says, and other formats say it as it is.
    assert read(paths["functions"])["name"].tolist() == [f"'{name}" for name in FORMULAS]
    raw = export(trace, tmp_path / "raw", "parquet")
    assert read(raw["functions"])["name"].tolist() == FORMULAS


@pytest.mark.parametrize("format", ["csv", "parquet", "sqlite"])
def test_a_trace_whose_name_is_no_text(ring_path: Path, tmp_path: Path, format: str) -> None:
    path = tmp_path / os.fsdecode(b"b\xff.zst")
    path.write_bytes(ring_path.read_bytes())
    trace = snoopie.load(path)
    assert trace.processes["path"].tolist() == [f"{tmp_path}/b\\xff.zst"]
    assert cli.main(["export", "--format", format, "-o", str(tmp_path / "out"), str(path)]) == 0


def test_nothing_is_overwritten_without_force(ring_path: Path, tmp_path: Path) -> None:
    trace = snoopie.load(ring_path)
    mine = tmp_path / "out" / "sites.csv"
    mine.parent.mkdir()
    mine.write_text("mine")
    with pytest.raises(
        SnoopieError, match=r"sites\.csv already exists; name another folder, or overwrite with --force"
    ):
        export(trace, mine.parent, "csv")
    assert [path.name for path in mine.parent.iterdir()] == ["sites.csv"]
    assert mine.read_text() == "mine"
    export(trace, mine.parent, "csv", force=True)
    assert len(read(mine)) == len(trace.sites)


def test_a_failure_leaves_nothing_behind(ring_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    with pytest.raises(SnoopieError, match="cannot be written"):
        export(snoopie.load(ring_path), tmp_path / "out", "csv")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_that_cannot_be_made(ring_path: Path) -> None:
    with pytest.raises(SnoopieError, match="cannot be written"):
        export(snoopie.load(ring_path), ring_path / "below", "csv")
    with pytest.raises(UsageError, match="there is no format xlsx"):
        export(snoopie.load(ring_path), ring_path.parent, "xlsx")


def test_the_command_says_where_and_what_next(
    ring_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    assert cli.main(["export", str(ring_path), "--format", "parquet", "-o", str(folder)]) == 0
    done = capsys.readouterr()
    assert done.out.startswith(f"wrote {len(TABLES)} tables, ")
    assert done.out.endswith(f" bytes, to {folder}\n")
    assert f'read_parquet("{folder}/traffic_by_pair.parquet")' in done.err
    assert cli.main(["export", str(ring_path), "--format", "parquet", "-o", str(folder)]) == 1
    assert cli.main(["export", str(ring_path), "--format", "parquet", "-o", str(folder), "--force", "--lanes"]) == 0
    assert (folder / "lane_accesses.parquet").exists()
