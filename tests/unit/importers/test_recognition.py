"""What wrote a file is found out from what is in it."""

from __future__ import annotations

import gzip
import os
import pickle
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

import snoopie
from snoopie import cli
from snoopie.cli.import_ import KINDS
from snoopie.errors import NotATraceError, SnoopieError
from snoopie.importers.recognition import recognised
from tests.support.garbled import garble
from tests.support.nsys_export import Export

KERNEL = '{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1000, "dur": 5, "args": {"device": 0}}'
TEXTS = {
    "kineto": f'{{"schemaVersion": 1, "traceEvents": [{KERNEL}]}}',
    "rtg": "hello\nHSA: pid:1 tid:2 dispatch queue:0 agent:1 signal:3 name:'k' start:1000 stop:3000 id:0\n",
    "hcc": "the program's words\nprofile:  kernel;  vecadd;  0.4 us;  83831227991984;  83831227992384;  #0.1.10;\n",
    "alnair": "name:cuMemAlloc, start:1663174512512732618, burst:1192, bytes:2097152, kind:-1\n",
    "snoopie-log": "STG.E,0x00007fa571b00504,10240,1,0,125,1586,1,1,0x00007fa571a00000,4\n",
    "inspector": '{"header":{"id":"0x1","rank":0,"n_ranks":1},"metadata":{"dump_timestamp_us":1752867229276385},'
    '"coll_perf":{"coll":"AllReduce","coll_msg_size_bytes":8}}\n',
    "flight-recorder": '{"version": "2.4", "pg_config": {"0": {"ranks": "[7]"}}, "entries": []}',
}


def database(path: Path, *tables: str) -> Path:
    with closing(sqlite3.connect(path)) as made:
        for table in tables:
            made.execute(f"CREATE TABLE {table} (id)")
        made.commit()
    return path


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("packed", ["plain", "gzip", "zstd"])
def test_texts(tmp_path: Path, kind: str, packed: str) -> None:
    data = TEXTS[kind].encode()
    # The name says nothing.
    path = tmp_path / "recording.bin"
    path.write_bytes({"plain": data, "gzip": gzip.compress(data), "zstd": zstandard.compress(data)}[packed])
    assert recognised(path, KINDS) == kind


def test_calls_after_much_else(tmp_path: Path) -> None:
    """NCCL Inspector's first records may all be of what it dropped."""
    told = '{"header":{"rank":0},"metadata":{"inspector_output_format_version":"v4.1"},"dump_stats":{}}\n'
    path = tmp_path / "x.log"
    path.write_text(10_000 * told + TEXTS["inspector"])
    assert recognised(path, KINDS) == "inspector"


def test_databases_and_pickles(tmp_path: Path) -> None:
    assert recognised(database(tmp_path / "a.db", "StringIds", "CUPTI_ACTIVITY_KIND_KERNEL"), KINDS) == "nsys"
    rpd = database(tmp_path / "b.db", "rocpd_api", "rocpd_op")
    assert recognised(rpd, KINDS) == "rocpd"
    assert recognised(database(tmp_path / "c.db", "rocpd_info_process_0a1b_2c"), KINDS) == "rocpd"
    (tmp_path / "b.gz").write_bytes(gzip.compress(rpd.read_bytes()))
    assert recognised(tmp_path / "b.gz", KINDS) == "rocpd"
    (tmp_path / "rank_0").write_bytes(pickle.dumps({"pg_config": {}, "entries": []}, protocol=2))
    assert recognised(tmp_path / "rank_0", KINDS) == "flight-recorder"


def test_parquet_exports_of_nsight_systems(tmp_path: Path) -> None:
    (tmp_path / "ranks").mkdir()
    export = Export("2024").write_parquet(tmp_path / "ranks" / "rank0")
    assert recognised(export, KINDS) == recognised(export.parent, KINDS) == "nsys"
    for table in ("StringIds", "META_DATA_EXPORT"):
        (export / f"{table}.parquet").unlink(missing_ok=True)
    with pytest.raises(NotATraceError, match="nothing that can be imported"):
        recognised(export, KINDS)


def test_every_kind_is_recognised() -> None:
    assert {*TEXTS, "nsys", "rocpd"} == set(KINDS)


def test_folders(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "README").write_text("nothing of that kind")
    (folder / "empty").touch()
    for rank in range(2):
        (folder / f"rank{rank}.json").write_text(TEXTS["kineto"])
    assert recognised(folder, KINDS) == "kineto"
    (folder / "metrics.log").write_text(TEXTS["alnair"])
    with pytest.raises(NotATraceError, match="several kinds: alnair, kineto; name the kind"):
        recognised(folder, KINDS)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "is empty"),
        (b"hello\n", "nothing that can be imported; looked for were tables of Nsight Systems, .* rows of the first"),
        (b"\x00\xff" * 100, "nothing that can be imported"),
        (b'{"hta": 1}', "nothing that can be imported"),
        (b"timestamp, memory.used [MiB]\n2026/11/21 14:03:07.123, 5 MiB\n", "is a log of nvidia-smi.*--nvidia-smi LOG"),
        (pickle.dumps({"device_traces": [], "segments": []}, protocol=2), "is a snapshot of PyTorch's memory"),
    ],
)
def test_what_is_none_of_them(tmp_path: Path, data: bytes, match: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(SnoopieError, match=match) as caught:
        recognised(path, KINDS)
    assert "\n" not in str(caught.value)


# Lines that take no time, unless time grows with the square of their length: then this does not end.
@pytest.mark.parametrize(
    "text", ["timestamp,", "2026/11/21 14:03:07,", "name:", "HSA: ", "x", " ", "{", '{"a":', "0x1,", '"coll_perf"']
)
def test_long_lines(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x"
    path.write_text(text * ((1 << 20) // len(text)))
    with pytest.raises(NotATraceError):
        recognised(path, KINDS)


def test_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As of `snoopie import rtg <(zcat log.gz)`: what is read from it cannot be read again."""
    log = "HSA: pid:1 tid:2 dispatch queue:0 agent:1 signal:3 name:'k' start:1000 stop:3000 id:0\n"
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(log,), daemon=True)
    writer.start()
    assert cli.main(["import", str(tmp_path / "pipe"), "-o", str(tmp_path / "out.zst")]) == 2
    assert "is a pipe, which can be read only once; name its kind" in capsys.readouterr().err
    assert cli.main(["import", "rtg", str(tmp_path / "pipe"), "-o", str(tmp_path / "out.zst")]) == 0
    writer.join()
    assert snoopie.load(tmp_path / "out.zst").launches["kernel"].tolist() == ["k"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.json", "b.json"):
        Path(name).write_text(TEXTS["kineto"])
    assert cli.main(["import", "a.json"]) == 0
    assert capsys.readouterr().out.startswith("a.json is of the kind kineto: traces of PyTorch's profiler")
    assert Path("a.zst").exists()
    # With the kind, nothing is to be found out; options may stand anywhere.
    assert cli.main(["import", "kineto", "-o", "c.zst", "a.json"]) == 0
    assert "is of the kind" not in capsys.readouterr().out
    assert cli.main(["import", "--force", "a.json", "-o", "d.zst", "b.json"]) == 0
    assert Path("d.a.zst").exists()
    Path("x.log").write_text(TEXTS["alnair"])
    for words, told in (
        (["a.json", "x.log"], "the files are of different kinds: a.json is of kineto, x.log is of alnair"),
        (["alnair", "x.log", "a.json"], "files of alnair are imported one at a time"),
        (["kineto"], "there is no file after kineto"),
        (["rocpd", "x.log", "--allow-truncated"], "cannot be imported in part"),
    ):
        assert cli.main(["import", *words]) == 2, words
        assert told in capsys.readouterr().err
    assert cli.main(["import", "nothing.json"]) == 1
    assert "nothing.json cannot be read" in capsys.readouterr().err


def test_a_file_that_is_called_like_a_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kineto").write_text(TEXTS["kineto"])
    assert cli.main(["import", "kineto", "-o", "one.zst"]) == 0
    assert cli.main(["import", "kineto", "kineto", "-o", "two.zst"]) == 0


def test_a_database_whose_schema_is_no_text(tmp_path: Path) -> None:
    path = database(tmp_path / "x.db", "rocpd_op")
    garble(path)
    with pytest.raises(SnoopieError):
        recognised(path, KINDS)
