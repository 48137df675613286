"""Several processes become one trace: no id means two things, and no process counts twice."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import snoopie
from snoopie.errors import CorruptError
from snoopie.joined import columns as joined_columns
from snoopie.joined.tables import Tables
from snoopie.trace.container import Container
from snoopie.trace.tables import Process
from tests.support import ring
from tests.support.encoder import START_NS, TraceBuilder


def process(trace: TraceBuilder) -> Process:
    return Process(Container("t.zst", trace.encode()), allow_truncated=False)


def test_ids_are_unique_and_references_follow(two_process_folder: Path) -> None:
    trace = snoopie.load(two_process_folder)
    assert trace.functions.index.tolist() == [1, 2, 3, 4, 5, 6]
    assert trace.sites.index.tolist() == list(range(1, 11))
    assert trace.sites["function"].tolist() == [1, 1, 2, 3, 3, 4, 4, 5, 6, 6]
    assert trace.sites["kernel"].tolist() == trace.functions["name"].loc[trace.sites["function"]].tolist()
    assert trace.lines.index.is_unique
    assert trace.lines["inlined_at"].tolist() == [0, 0, 0, 3, 0, 0, 0, 0, 0, 9, 0, 0]
    for line_id in (4, 10):
        assert trace.line_chain(line_id) == [
            (ring.SHIFT_H, 4, "shifted(float const *, int)"),
            (ring.RING_CU, 12, ""),
        ]
    # Process 0 launches put, get, put, get, bump; process 1 put, get, bump twice.
    assert trace.launches["function"].tolist() == [1, 2, 1, 2, 3, 4, 5, 6, 4, 5, 6]
    for table in (trace.counts, trace.records):
        assert (trace.launches["process"].loc[table["launch"]].to_numpy() == table["process"].to_numpy()).all()
        assert (trace.launches["gpu"].loc[table["launch"]].to_numpy() == table["issuer"].to_numpy()).all()
        assert (trace.sites["process"].loc[table["site"]].to_numpy() == table["process"].to_numpy()).all()
    assert trace.objects["freed"].tolist() == [START_NS + 1_000_000_000, 0, 0, 0] * 2


def test_processes_and_totals(two_process_folder: Path) -> None:
    trace = snoopie.load(two_process_folder)
    assert trace.processes["pid"].tolist() == [4711, 4712]
    assert trace.processes["rank"].tolist() == [0, 1]
    assert trace.processes["command"].tolist() == ["./ring 65536 3"] * 2
    assert trace.totals["launches_seen"] == 11
    assert trace.totals["records_written"] == 224
    assert [path.name for path in trace.paths] == ["ring.0.zst", "ring.1.zst"]
    assert len(trace.settings) == 2


def test_the_same_file_counts_once(ring_path: Path, tmp_path: Path) -> None:
    link, copied = tmp_path / "link.zst", tmp_path / "copy.zst"
    link.symlink_to(ring_path)
    copied.write_bytes(ring_path.read_bytes())
    sources: list[list[Path | str]] = [
        [ring_path, ring_path],
        [ring_path, str(ring_path)],
        [link, ring_path],
        [ring_path, copied],
        [ring_path.parent],
        [ring_path, ring_path.parent / ".." / ring_path.parent.name / ring_path.name],
    ]
    for source in sources:
        trace = snoopie.load(source)
        assert len(trace.processes) == 1
        assert trace.summary()["bytes"] == ring.TOTALS["bytes"]


def test_a_link_to_a_folder_leads_to_the_same_files(ring_path: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(ring_path.parent)
    trace = snoopie.load([ring_path.parent, tmp_path / "link", tmp_path / "link" / ring_path.name])
    assert len(trace.processes) == 1


def test_a_cut_copy_counts_once(ring_path: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.zst"
    cut.write_bytes(ring_path.read_bytes()[:-10])
    for source in ([ring_path, cut], [cut, ring_path]):
        trace = snoopie.load(source, allow_truncated=True)
        assert trace.complete
        assert trace.paths == [ring_path]
        assert trace.summary()["bytes"] == ring.TOTALS["bytes"]


def test_two_traces_that_claim_to_be_one_process(ring_path: Path, tmp_path: Path) -> None:
    other = ring.ring_builder()
    other.rows["counts"][0]["lanes"] += 1
    with pytest.raises(CorruptError, match="same process"):
        snoopie.load([ring_path, other.write(tmp_path / "other.zst")])


def test_ids_are_moved_up_by_all_before() -> None:
    """Of rows, of interned strings, and of groups of collectives, which two tables share; 0 stays none."""
    traces = []
    for pid, group in ((1, 5), (2, 3), (3, 4)):
        trace = TraceBuilder(1, pid=pid)
        kernel = trace.function(f"k{pid}")
        trace.launch(kernel, 0, id=7, group=group)
        trace.launch(kernel, 0, id=9)
        trace.collective(group + 1, "AllReduce", 1, gpu=0)
        traces.append(trace)
    tables = Tables([process(trace) for trace in traces])
    assert tables.launches.index.tolist() == [7, 9, 16, 18, 25, 27]
    assert tables.launches["kernel"].tolist() == ["k1", "k1", "k2", "k2", "k3", "k3"]
    # The largest group of each is that of its collective: 6, 4, 5.
    assert tables.launches["group"].tolist() == [5, 0, 6 + 3, 0, 6 + 4 + 4, 0]
    assert tables.collectives["group"].tolist() == [6, 6 + 4, 6 + 4 + 5]


def test_a_part_has_the_rows_of_one_process(two_process_folder: Path) -> None:
    """As they are among all: what a worker of a cluster sees."""
    sources = [Process.open(path) for path in sorted(two_process_folder.iterdir())]
    whole = Tables(sources)
    for number in range(2):
        part = whole.part(number)
        assert part.number(0) == number
        for name in ("launches", "sites", "counts", "objects"):
            table = getattr(whole, name)
            own = table[table["process"] == number]
            got = getattr(part, name)
            pd.testing.assert_frame_equal(got, own if got.index.name else own.reset_index(drop=True))


def test_a_column_of_the_table_has_the_dtype_of_its_role(ring_path: Path) -> None:
    """Also where there is no row of it."""
    for tables in (Tables([Process.open(ring_path)]), Tables([process(TraceBuilder(1))])):
        assert tables.objects["address"].dtype == "uint64"
        assert tables.launches["stream"].dtype == "uint64"
        assert tables.functions["kernel"].dtype == "bool"
        assert tables.sites["operation"].dtype == "str"
        assert tables.copies["issuer"].dtype == "int64"
        assert tables.collectives["communicator"].dtype == "str"


def test_tables_that_are_decoded_when_asked_for_are_as_those_that_are_kept(
    mixed_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = snoopie.load(mixed_folder)
    monkeypatch.setattr("snoopie.trace.tables._KEPT", 0)
    again = snoopie.load(mixed_folder)
    assert all(not source._tables.keys() & {"launches", "copies"} for source in again._tables.sources)
    for table in (
        "launches", "counts", "copies", "sites", "lines", "objects", "spans", "stacks", "frames", "calls",
        "call_totals",
    ):  # fmt: skip
        pd.testing.assert_frame_equal(getattr(again, table), getattr(kept, table))
    assert again.summary() == kept.summary()
    assert again.losses() == kept.losses()
    pd.testing.assert_frame_equal(again.by_resource(), kept.by_resource())
    pd.testing.assert_frame_equal(again.matrix(), kept.matrix())


# --- Many small processes ---


def of_launches(process_launches: list[int]) -> Tables:
    sources = []
    for pid, launches in enumerate(process_launches, start=1):
        trace = TraceBuilder(1, pid=pid)
        function = trace.function(f"k{pid}")
        for _ in range(launches):
            trace.launch(function, 0)
        sources.append(process(trace))
    return Tables(sources)


def test_parts_of_small_processes_come_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_columns, "_TOGETHER", 10)
    tables = of_launches([3, 0, 3, 4, 1, 25, 2, 2])
    parts = list(tables.columns.parts("launches", ("id", "function")))
    assert [part.length("launches") for part in parts] == [10, 1, 25, 4]
    for column in ("id", "function"):
        joined = [number for part in parts for number in part.joined("launches", column).tolist()]
        assert joined == tables.columns.joined("launches", column).tolist()
    assert [number for part in parts for number in part.process("launches").tolist()] == tables.launches[
        "process"
    ].tolist()
    assert tables.launched_kernels == 7


def test_parts_of_a_table_that_nobody_has() -> None:
    assert list(of_launches([0, 0]).columns.parts("launches", ("id",))) == []
