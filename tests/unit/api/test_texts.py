"""The text of source files that a trace holds."""

from __future__ import annotations

from pathlib import Path

import pytest

import snoopie
from snoopie.cli import main
from snoopie.errors import CorruptError
from tests.support.encoder import TraceBuilder

RUN = {"id": "r", "of": "run"}


def builder(pid: int = 1) -> TraceBuilder:
    """Much traffic, with half of each sector unused, by line 2 of a.cu."""
    trace = TraceBuilder(2, pid=pid)
    trace.header["process"]["run"] = RUN
    site = trace.site(trace.function("k()"), "STG.E", "store", 4, line=trace.line("/u/a.cu", 2), wire_unit=16)
    trace.count(trace.launch(1, 0), site, 1, 10**6, 32 * 10**6, 32 * 10**6)
    return trace


def keep(trace: TraceBuilder, name: str, text: str | bytes, **row: int) -> int:
    return trace.add("source_files", **{"file": trace.string(name), "text": text, "bytes": len(text), "kept": 1} | row)


def test_the_table_and_the_text(tmp_path: Path) -> None:
    trace = builder()
    first = keep(trace, "/u/a.cu", "one\ntwo\n")
    second = keep(trace, "/u/b.cu", "", same_as=first, bytes=8)
    keep(trace, "/u/c.cu", "", same_as=second, bytes=8)
    keep(trace, "/u/large.cu", "", bytes=1 << 21, kept=0)
    keep(trace, "/u/odd.cu", b"caf\xe9 \xf0\x9f")
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    assert loaded.source_files.to_numpy().tolist() == [
        [0, "/u/a.cu", 8, True, "one\ntwo\n"],
        [0, "/u/b.cu", 8, True, "one\ntwo\n"],
        [0, "/u/c.cu", 8, True, "one\ntwo\n"],
        [0, "/u/large.cu", 1 << 21, False, ""],
        [0, "/u/odd.cu", 7, True, "caf\\xe9 \\xf0\\x9f"],
    ]
    assert loaded.source("/u/c.cu") == "one\ntwo\n"
    assert loaded.source("/u/large.cu") is None
    assert loaded.source("/u/none.cu") is None
    assert loaded.select(kernels="none").source("/u/a.cu") == "one\ntwo\n"


def test_a_trace_without_texts(ring_path: Path) -> None:
    trace = snoopie.load(ring_path)
    assert trace.source_files.empty
    assert trace.source("/home/u/ring/src/ring.cu") is None


def test_of_several_processes_the_first_that_kept_a_text_counts(tmp_path: Path) -> None:
    for pid, text, kept in ((1, "", 0), (2, "second\n", 1), (3, "third\n", 1)):
        trace = builder(pid)
        keep(trace, "/u/a.cu", text, kept=kept)
        keep(trace, f"/u/{pid}.cu", f"own {pid}", same_as=0)
        trace.write(tmp_path / f"{pid}.zst")
    trace = snoopie.load(tmp_path)
    assert trace.source("/u/a.cu") == "second\n"
    assert [trace.source(f"/u/{pid}.cu") for pid in (1, 2, 3)] == ["own 1", "own 2", "own 3"]
    assert trace.source_files["process"].tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("row", [{"same_as": 9}, {"same_as": 1}, {"file": 99}, {"kept": 7}])
def test_a_row_that_means_nothing(tmp_path: Path, row: dict[str, int]) -> None:
    trace = builder()
    keep(trace, "/u/a.cu", "x", **row)
    with pytest.raises(CorruptError):
        snoopie.load(trace.write(tmp_path / "t.zst"))


def test_findings_quote_their_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = builder()
    keep(trace, "/u/a.cu", "one\r\n\t x[i] = \x1b[31m2;  \r\nthree")
    path = trace.write(tmp_path / "t.zst")
    found = snoopie.load(path).findings()
    of_line = found[found["line"] == 2]
    assert set(of_line["code"]) == {"x[i] = \x1b[31m2;"}
    assert (found.loc[found["line"] != 2, "code"] == "").all()
    assert main(["findings", str(path)]) == 0
    assert "  code       x[i] = \\x1b[31m2;\n" in capsys.readouterr().out


@pytest.mark.parametrize(("line", "code"), [(1, "one"), (3, "three"), (4, "")])
def test_lines_end_where_compilers_end_them(tmp_path: Path, line: int, code: str) -> None:
    trace = TraceBuilder(2)
    site = trace.site(trace.function("k()"), "STG.E", "store", 4, line=trace.line("/u/a.cu", line), wire_unit=16)
    trace.count(trace.launch(1, 0), site, 1, 10**6, 32 * 10**6, 32 * 10**6)
    keep(trace, "/u/a.cu", "one\ntwo\f\u2028\rthree\n")
    found = snoopie.load(trace.write(tmp_path / "t.zst")).findings()
    assert set(found.loc[found["file"] == "/u/a.cu", "code"]) == {code}
