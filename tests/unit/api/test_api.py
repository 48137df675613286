"""The public object: what may be loaded, the tables, views, and how a trace shows itself."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import snoopie
from snoopie.api import loading
from snoopie.errors import NotATraceError, TruncatedError
from tests.support import ring
from tests.support.encoder import OPERATIONS, START_NS, TraceBuilder

TABLES = {
    "processes": "host pid program command start_ns rank local_rank ranks path complete version",
    "gpus": "uuid name pci memory sm nvlinks host label visible",
    "links": "issuer owner access native_atomics rank",
    "functions": "process name mangled kernel has_lines",
    "lines": "file line function inlined_at",
    "sites": "process function offset sass opcode operation width wire_unit measured line_id file line kernel",
    "launches": "process function kernel gpu stream thread time "
    "grid_x grid_y grid_z block_x block_y block_z shared_memory group",
    "counts": "launch site issuer owner process accesses lanes wire_units bytes wire_bytes",
    "copies": "process kind call source destination source_address destination_address bytes issuer stream thread "
    "start end",
    "collectives": "process operation reduction type count bytes peer communicator rank ranks issuer stream thread "
    "start end group",
    "sets": "process gpus others label",
    "records": "launch site issuer owner process time block warp multiprocessor mask lanes shape base stride bytes",
    "objects": "process address bytes owner kind allocated freed thread freed_by with_context call stack inside name",
    "notices": "process time text",
}
INDEXES = {
    "processes": "process",
    "gpus": "gpu",
    "functions": "function",
    "lines": "line_id",
    "sites": "site",
    "launches": "launch",
    "copies": "copy",
    "collectives": "collective",
    "sets": "owner",
    "objects": "object",
}


@pytest.fixture
def trace(ring_path: Path) -> snoopie.Trace:
    return snoopie.load(ring_path)


@pytest.mark.parametrize("table", sorted(TABLES))
def test_the_columns_of_each_table(trace: snoopie.Trace, table: str) -> None:
    frame = getattr(trace, table)
    expected = TABLES[table].split()
    assert frame.columns.tolist()[: len(expected)] == expected
    assert frame.index.name == INDEXES.get(table)
    pd.testing.assert_frame_equal(getattr(trace, table), frame)
    with pytest.raises(AttributeError, match=f"{table} of a trace cannot be replaced"):
        setattr(trace, table, frame)


@pytest.mark.parametrize("table", sorted(TABLES))
def test_no_table_can_be_changed_by_accident(trace: snoopie.Trace, table: str) -> None:
    frame = getattr(trace, table)
    before = frame.copy()
    for name in frame.columns:
        with contextlib.suppress(ValueError, TypeError):
            frame[name].to_numpy()[:] = 0
        if len(frame):
            frame.loc[frame.index[0], name] = frame[name].iloc[-1]
    frame.index.name, frame["more"] = "other", 1
    frame.drop(columns=frame.columns[0], inplace=True)
    pd.testing.assert_frame_equal(getattr(trace, table), before)


def test_no_table_is_copied_to_be_handed_out(trace: snoopie.Trace) -> None:
    for table, column in (("counts", "bytes"), ("records", "base"), ("launches", "time")):
        first, second = (getattr(trace, table)[column].to_numpy() for _ in range(2))
        assert np.shares_memory(first, second)


def test_what_the_tables_say(trace: snoopie.Trace) -> None:
    assert trace.complete
    assert trace.processes[["host", "pid", "program", "start_ns"]].to_numpy(dtype=object).tolist()[0] == [
        "node1",
        4711,
        "ring",
        START_NS,
    ]
    assert trace.sites["operation"].tolist() == ["store", "load", "load", "atomic", "reduction"]
    assert trace.sites["measured"].tolist() == [True, False, True, True, True]
    assert trace.sites["line"].tolist() == [6, 6, 4, 18, 19]
    assert trace.launches["kernel"].tolist()[:5] == [ring.PUT, ring.GET, ring.PUT, ring.GET, ring.BUMP]
    assert trace.launches[["grid_x", "block_x", "shared_memory"]].to_numpy().tolist()[0] == [4, 128, 0]
    assert trace.objects["kind"].tolist() == ["device"] * 4
    assert trace.objects["bytes"].tolist() == [1 << 21] * 4
    assert trace.totals["launches_measured"] == 11
    assert trace.settings[0]["sample_size"] == 1
    assert trace.schema["counts"]["columns"][0]["name"] == "launch"
    assert set(trace.sites["operation"]) <= set(OPERATIONS)
    assert (trace.label(2), trace.label(-1), trace.label(-2)) == ("GPU 2", "host", "unknown")


def test_sources(ring_path: Path, tmp_path: Path) -> None:
    folder = ring_path.parent
    for source in (
        ring_path,
        str(ring_path),
        folder,
        f"{folder}/",
        [ring_path],
        f"{folder}/r*.zst",
        f"{folder}/**/*.zst",
    ):
        assert snoopie.load(source).summary()["bytes"] == ring.TOTALS["bytes"]
    # A name that looks like a pattern is a name where there is such a file.
    odd = ring_path.rename(folder / "ring[1].zst")
    assert snoopie.load(str(odd)).paths == [odd]


def test_sources_that_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no trace")
    (tmp_path / "folder.zst").mkdir()
    sources: list[str | Path | list[str]] = [tmp_path, [], f"{tmp_path}/*.trace", tmp_path / "absent"]
    for source in sources:
        with pytest.raises(NotATraceError):
            snoopie.load(source)


def test_a_folder_with_one_damaged_trace_names_it(two_process_folder: Path) -> None:
    damaged = two_process_folder / "ring.1.zst"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(TruncatedError, match=r"ring\.1\.zst"):
        snoopie.load(two_process_folder)
    trace = snoopie.load(two_process_folder, allow_truncated=True)
    assert not trace.complete
    assert trace.processes["complete"].tolist() == [True, False]
    # Only the footer is missing.
    assert trace.summary()["bytes"] == ring.TOTALS["bytes"]
    assert trace.totals["launches_seen"] == 5


def sums(trace: snoopie.Trace) -> tuple[int, int, int]:
    summary = trace.summary()
    return int(summary["launches"]), int(summary["records"]), int(summary["bytes"])


def test_views(trace: snoopie.Trace) -> None:
    assert sums(trace.select()) == (11, 224, 53440)
    assert sums(trace.select(kernels=ring.PUT)) == (4, 64, 32768)
    assert sums(trace.select(kernels=[ring.PUT, ring.GET])) == (8, 128, 40960)
    assert sums(trace.select(kernels="*ring_?et*")) == (4, 64, 8192)
    assert sums(trace.select(kernels=[])) == (0, 0, 0)
    assert sums(trace.select(kernels="absent")) == (0, 0, 0)
    # Launches are of kernels and GPUs; operations, owners and files are of single accesses.
    assert sums(trace.select(operations="atomic")) == (11, 48, 192)
    assert sums(trace.select(operations=["load", "store"])) == (11, 128, 40960)
    assert sums(trace.select(issuers=3)) == (3, 64, 14400)
    assert sums(trace.select(issuers=["GPU 0", 1])) == (5, 96, 10240 + 14400)
    assert sums(trace.select(owners="GPU 0")) == (11, 128, 4160 + 4160 + 14400)
    assert sums(trace.select(owners=["GPU 9", "host"])) == (11, 0, 0)
    assert sums(trace.select(launches=5)) == (1, 32, 4160)
    assert sums(trace.select(launches=np.array([1, 2]))) == (2, 32, 10240)
    assert sums(trace.select(files=ring.SHIFT_H)) == (11, 64, 8192)
    assert sums(trace.select(files="*.cu")) == (11, 160, 45248)


def test_records_are_counted_once_for_all_views(trace: snoopie.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    trace.select(kernels=ring.PUT).count_records()

    def read_again(*_: object) -> None:
        pytest.fail("the records were read again")

    monkeypatch.setattr(trace._tables.records, "each", read_again)
    assert sums(trace.select(operations="atomic")) == (11, 48, 192)
    assert sums(trace.select(kernels=ring.PUT).select(issuers=1)) == (1, 16, 8192)


def test_views_of_views_narrow_further(trace: snoopie.Trace) -> None:
    view = trace.select(kernels=ring.BUMP).select(issuers=[1, 2]).select(operations="reduction")
    assert sums(view) == (2, 32, 2 * 4096)
    assert sums(view.select(kernels=ring.PUT)) == (0, 0, 0)
    assert sums(trace.select(owners=[0, 1]).select(owners=[1, 2])) == (11, 32, 10240)
    assert sums(trace) == (11, 224, 53440)


def test_all_of_a_view_follows_the_selection(trace: snoopie.Trace) -> None:
    view = trace.select(kernels=ring.GET, issuers=1)
    assert view.launches.index.tolist() == [4]
    assert view.counts["launch"].tolist() == [4]
    assert set(view.records["launch"]) == {4}
    assert view.lane_accesses()["address"].nunique() == 512
    assert view.matrix().to_numpy().tolist() == [[0] * 4, [0, 0, 2048, 0], [0] * 4, [0] * 4]
    assert view.by_line()["line"].tolist() == [4]
    assert view.line_matrix(ring.RING_CU, 6).to_numpy().sum() == 0
    assert view.line_sites(ring.SHIFT_H, 4)["bytes"].tolist() == [2048]
    assert view.losses() == trace.losses()
    assert len(view.sites) == 5


def test_scattered_records_of_a_view(trace: snoopie.Trace) -> None:
    view = trace.select(operations="reduction", issuers=2)
    assert set(view.records["shape"]) == {"scattered"}
    assert len(view.lane_accesses()) == 16 * 32
    assert set(view.lane_accesses()["width"]) == {8}


def test_a_name_that_is_also_a_pattern_means_itself(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    for name in ("k(float *)", "k(float *, int *)"):
        site = builder.site(builder.function(name), "STG.E", "store", 4)
        builder.count(builder.launch(site, 0), site, 1, 1, 1, 1)
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    assert trace.select(kernels="k(float *)").by_kernel()["kernel"].tolist() == ["k(float *)"]
    assert len(trace.select(kernels="k(*)").by_kernel()) == 2


def test_it_shows_itself(trace: snoopie.Trace) -> None:
    assert repr(trace) == "<Trace of 1 process: 4 GPUs, 11 launches, 52.2 KiB in 224 accesses>"
    assert (
        repr(trace.select(kernels=ring.PUT))
        == "<view of a Trace of 1 process: 4 GPUs, 4 launches, 32 KiB in 64 accesses>"
    )
    shown = trace._repr_html_()
    assert "10 KiB" in shown
    assert "UTMALDG.1D" not in shown


def test_what_it_shows_is_escaped(tmp_path: Path) -> None:
    builder = ring.ring_builder()
    builder.notice("<script>alert(1)</script> & more")
    shown = snoopie.load(builder.write(tmp_path / "t.zst"))._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in shown


def test_frames_of_a_view_do_not_change_the_trace(trace: snoopie.Trace) -> None:
    view = trace.select(kernels=ring.PUT)
    view.counts.loc[:, "bytes"] = 0
    table = view.by_line()
    table.loc[:, "bytes"] = 0
    assert trace.summary()["bytes"] == ring.TOTALS["bytes"]
    assert view.by_line()["bytes"].tolist() == [32768]


def test_text_columns_are_text_even_when_empty(tmp_path: Path) -> None:
    trace = snoopie.load(TraceBuilder(2).write(tmp_path / "t.zst"))
    for table, column in (("functions", "name"), ("sites", "opcode"), ("launches", "kernel"), ("notices", "text")):
        assert pd.api.types.is_string_dtype(getattr(trace, table)[column])


def test_errors_are_one_line() -> None:
    error = snoopie.CorruptError("a\nb  c", "do\nthis")
    assert str(error) == "a b c; do this"
    assert error.problem == "a b c"
    assert str(snoopie.EmptyError("nothing")) == "nothing"
    assert str(snoopie.EmptyError("\x1b[31mred\0")) == "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}"
    for name in snoopie.__all__:
        assert hasattr(snoopie, name)


def test_files_that_do_not_stay_mapped(two_process_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = snoopie.load(two_process_folder)
    monkeypatch.setattr(loading, "_MAPPED", 1)
    trace = snoopie.load(two_process_folder)
    assert trace.records.equals(kept.records)
    assert [process.container._mapped for process in trace._tables.sources] == [None, None]
