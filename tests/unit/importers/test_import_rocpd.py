"""Databases of rocmProfileData and rocprofv3: what comes out is what stands in them."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import snoopie
from snoopie import cli
from snoopie.api.trace import Trace
from snoopie.errors import CorruptError, NotATraceError, SnoopieError
from snoopie.importers.rocpd import import_rocpd
from tests.support.garbled import garble

Rows = Sequence[Sequence[Any]]
Tables = Mapping[str, tuple[str, Rows]]

STRINGS = ["", "hipLaunchKernel", "hipMemcpyAsync", "hipExtModuleLaunchKernel", "UserMarker", "step", "add(int)",
           "KernelExecution", "CopyHostToDevice", "CopyDeviceToDevice", "FillBuffer", "hipMemsetAsync"]  # fmt: skip


def string(text: str) -> int:
    return STRINGS.index(text) + 1


RPD: Tables = {
    "rocpd_metadata": ("id tag value", [(1, "schema_version", "2")]),
    "rocpd_string": ("id string", list(enumerate(STRINGS, start=1))),
    "rocpd_api": (
        "id pid tid start end apiName_id args_id",
        [
            (1, 77, 78, 1000, 1100, string("hipLaunchKernel"), 1),
            (2, 77, 78, 1200, 1300, string("hipMemcpyAsync"), 1),
            (3, 77, 78, 1400, 1500, string("hipExtModuleLaunchKernel"), 1),
            (4, 77, 78, 1600, 1700, string("UserMarker"), string("step")),
            (5, 77, 78, 1800, 1900, string("hipMemsetAsync"), 1),
            (6, 77, 78, 1950, 1960, string("hipMemcpyAsync"), 1),
        ],
    ),
    "rocpd_op": (
        "id gpuId queueId sequenceId completionSignal start end description_id opType_id",
        [
            (1, 2, 3, 0, "", 2000, 2500, string("add(int)"), string("KernelExecution")),
            (2, 2, 3, 0, "", 3000, 3500, 1, string("CopyHostToDevice")),
            (3, 2, 3, 0, "", 4000, 4500, string("add(int)"), string("KernelExecution")),
            (4, 2, 3, 0, "", 4600, 4700, 1, string("FillBuffer")),
            (5, 2, 3, 0, "", 5000, 5100, 1, string("CopyDeviceToDevice")),
        ],
    ),
    "rocpd_api_ops": ("id api_id op_id", [(1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 5, 4), (5, 6, 5)]),
    "rocpd_kernelapi": (
        "api_ptr_id stream gridX gridY gridZ workgroupX workgroupY workgroupZ groupSegmentSize kernelName_id",
        [(1, "0x0", 10, 2, 1, 64, 1, 1, 512, string("add(int)")),
         (3, "0x0", 130, 1, 1, 64, 1, 1, 0, string("add(int)"))],
    ),
    "rocpd_copyapi": (
        "api_ptr_id stream size width height kind dst src dstDevice srcDevice sync pinned",
        [(2, "0x0", 2000000000, "", "", 1, "0x1", "0x2", 0, 0, 0, 0),
         (6, "0x0", "", "", "", 3, "0x1", "0x2", 0, 0, 0, 0)],
    ),
}  # fmt: skip


def write(path: Path, tables: Tables) -> Path:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        for name, (columns, rows) in tables.items():
            spelled = ", ".join(f'"{column}"' for column in columns.split())
            database.execute(f'CREATE TABLE "{name}" ({spelled})')
            marks = ", ".join("?" * len(columns.split()))
            database.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
        database.commit()
    return path


def imported(folder: Path, tables: Tables) -> Trace:
    done = import_rocpd(write(folder / "run.rpd", tables), folder / "out.zst", force=True)
    trace = snoopie.load(done.paths)
    assert set(trace.notices["text"]) == set(done.notices)
    return trace


LAUNCH = ["kernel", "gpu", "stream", "thread", "time", "grid_x", "grid_y", "block_x", "shared_memory"]
COPY = ["call", "source", "destination", "issuer", "bytes", "thread", "start", "end"]


def test_rocm_profile_data(tmp_path: Path) -> None:
    trace = imported(tmp_path, RPD)
    assert trace.processes[["pid", "start_ns"]].to_numpy().tolist() == [[77, 0]]
    # Without a host, those of another file are others.
    (run,) = trace.runs["run_id"].tolist()
    assert trace.gpus["uuid"].tolist() == [f"rocpd-{run}-2"]
    assert trace.launches[LAUNCH].to_numpy().tolist() == [
        ["add(int)", 0, 3, 78, 1000, 10, 2, 64, 512],
        # Told in threads: 130 are 3 blocks of 64.
        ["add(int)", 0, 3, 78, 1400, 3, 1, 64, 0],
    ]
    assert trace.spans[["start", "end"]].to_numpy().tolist() == [[2000, 2500], [4000, 4500]]
    assert trace.copies[COPY].to_numpy().tolist() == [["hipMemcpyAsync", -1, 0, 0, 2000000000, 78, 3000, 3500]]
    assert trace.calls[["call", "kernel", "direction", "bytes"]].to_numpy().tolist() == [
        ["hipLaunchKernel", "add(int)", "", 0],
        ["hipMemcpyAsync", "", "host to device", 2000000000],
        ["hipExtModuleLaunchKernel", "add(int)", "", 0],
        ["roctx: step", "", "", 0],
        ["hipMemsetAsync", "", "", 0],
        ["hipMemcpyAsync", "", "", 0],
    ]
    losses = " ".join(trace.losses())
    for part in ("without a size, left out: 1.", "of unknown size, left out: 1.", "roctx: 1.", "not record the date"):
        assert part in losses


def test_arguments_of_newer_versions_and_several_processes(tmp_path: Path) -> None:
    columns, rows = RPD["rocpd_api"]
    tables = {
        **RPD,
        "rocpd_ustring": ("id string", [(1, "a mark")]),
        "rocpd_api": (columns, [(*row[:1], 77 if row[0] < 4 else 99, *row[2:6], 1) for row in rows]),
    }
    trace = imported(tmp_path, tables)
    assert trace.processes["pid"].tolist() == [77, 99]
    calls = trace.calls.groupby("process")["call"].agg(list).to_dict()
    assert calls[1] == ["roctx: a mark", "hipMemsetAsync", "hipMemcpyAsync"]
    assert len(trace.gpus) == 1


def test_a_copy_between_gpus_of_which_one_is_named(tmp_path: Path) -> None:
    columns, rows = RPD["rocpd_op"]
    api_columns, copies = RPD["rocpd_copyapi"]
    tables = {
        **RPD,
        "rocpd_op": (columns, [*rows, (6, 5, 0, 0, "", 9000, 9001, string("add(int)"), string("KernelExecution"))]),
        "rocpd_copyapi": (api_columns, [copies[0], (6, "0x0", 64, *copies[1][3:])]),
    }
    trace = imported(tmp_path, tables)
    assert trace.copies[["source", "destination", "bytes"]].to_numpy().tolist() == [[-1, 0, 2000000000], [-2, -2, 64]]


U = "_00006b5e_d52b_7e1a_8c2d_9f0e1a2b3c4d"
SDK_STRINGS = ["hipLaunchKernel", "hipMemcpyPeerAsync", "HIP_RUNTIME_API_EXT", "MARKER_CORE_RANGE_API", "step",
               "MEMORY_COPY_DEVICE_TO_DEVICE", "MEMORY_COPY_HOST_TO_DEVICE"]  # fmt: skip
SDK: dict[str, tuple[str, Rows]] = {
    f"rocpd_metadata{U}": ("id tag value", [(1, "schema_version", "3")]),
    f"rocpd_string{U}": ("id guid string", [(n, "g", text) for n, text in enumerate(SDK_STRINGS, start=1)]),
    f"rocpd_info_node{U}": ("id guid hash machine_id hostname", [(1, "g", 5, "m", "node7")]),
    f"rocpd_info_process{U}": ("id guid nid ppid pid command", [(1, "g", 1, 3, 4711, "./app 3")]),
    f"rocpd_info_thread{U}": ("id guid nid pid tid", [(1, "g", 1, 1, 4712)]),
    f"rocpd_info_agent{U}": (
        "id guid nid pid type absolute_index product_name name",
        [(1, "g", 1, 1, "CPU", 0, "EPYC", "cpu"), (2, "g", 1, 1, "GPU", 1, "MI300X", "gfx942"),
         (3, "g", 1, 1, "GPU", 2, None, "gfx942")],
    ),
    f"rocpd_info_kernel_symbol{U}": (
        "id guid nid pid kernel_name display_name", [(1, "g", 1, 1, "_Z3addi.kd", "add(int)")]
    ),
    f"rocpd_event{U}": (
        "id guid category_id stack_id parent_stack_id correlation_id",
        [(1, "g", 3, 10, 0, 0), (2, "g", 3, 11, 0, 0), (3, "g", 4, 12, 0, 0), (4, "g", None, 10, 0, 0),
         (5, "g", None, 11, 0, 0), (6, "g", None, 99, 0, 0)],
    ),
    f"rocpd_region{U}": (
        "id guid nid pid tid start end name_id event_id",
        [(1, "g", 1, 1, 1, 1000, 1100, 1, 1), (2, "g", 1, 1, 1, 1200, 1300, 2, 2), (3, "g", 1, 1, 1, 1400, 1500, 5, 3)],
    ),
    f"rocpd_kernel_dispatch{U}": (
        "id guid nid pid tid agent_id kernel_id dispatch_id queue_id stream_id start end private_segment_size "
        "group_segment_size workgroup_size_x workgroup_size_y workgroup_size_z grid_size_x grid_size_y grid_size_z "
        "event_id",
        [(1, "g", 1, 1, 1, 2, 1, 1, 1, 4, 2000, 2500, 0, 256, 64, 1, 1, 130, 2, 1, 4)],
    ),
    f"rocpd_memory_copy{U}": (
        "id guid nid pid tid start end name_id dst_agent_id dst_address src_agent_id src_address size queue_id "
        "stream_id event_id",
        [(1, "g", 1, 1, 1, 3000, 3100, 6, 3, 0, 2, 0, 8192, 1, 4, 5),
         (2, "g", 1, 1, 1, 3200, 3300, 7, 2, 0, 1, 0, 64, 1, 4, 6)],
    ),
    f"rocpd_memory_allocate{U}": (
        "id guid nid pid tid agent_id type level start end address size event_id",
        [(1, "g", 1, 1, 1, 2, "ALLOC", "REAL", 500, 510, 1 << 40, 4096, None),
         (2, "g", 1, 1, 1, None, "FREE", "REAL", 9000, 9010, 1 << 40, 0, None),
         (3, "g", 1, 1, 1, 1, "ALLOC", "REAL", 520, 530, 1 << 41, 64, None),
         (4, "g", 1, 1, 1, 2, "ALLOC", "SCRATCH", 520, 530, 1 << 42, 64, None),
         (5, "g", 1, 1, 1, None, "FREE", "REAL", 9000, 9010, 1 << 43, 0, None)],
    ),
}  # fmt: skip


def by_track(tables: Mapping[str, tuple[str, Rows]]) -> dict[str, tuple[str, Rows]]:
    """The same with times, threads and GPUs in tables of their own, as other versions have it."""
    tracks: list[Sequence[Any]] = []
    stamps: list[Sequence[Any]] = []
    moved = dict(tables)
    for name, (columns, rows) in tables.items():
        words = columns.split()
        if "start" not in words:
            continue
        out = [
            word for word in ("nid", "pid", "tid", "agent_id", "queue_id", "stream_id", "start", "end") if word in words
        ]
        kept = [word for word in words if word not in out]
        changed = []
        for row in rows:
            cells = dict(zip(words, row, strict=True))
            stamps += [(len(stamps) + 1, cells["start"]), (len(stamps) + 2, cells["end"])]
            tracks.append(
                (len(tracks) + 1, *(cells.get(word) for word in ("nid", "pid", "tid", "agent_id", "stream_id")))
            )
            changed.append((*(cells[word] for word in kept), len(tracks), len(stamps) - 1, len(stamps)))
        moved[name] = (" ".join([*kept, "track_id", "start_id", "end_id"]), changed)
    moved[f"rocpd_track{U}"] = ("id nid pid tid agent_id stream_id", tracks)
    moved[f"rocpd_timestamp{U}"] = ("id value", stamps)
    return moved


@pytest.mark.parametrize("tables", [SDK, by_track(SDK)], ids=["plain", "tracks"])
def test_rocprofv3(tmp_path: Path, tables: Tables) -> None:
    trace = imported(tmp_path, tables)
    assert trace.processes[["host", "pid", "program"]].to_numpy().tolist() == [["node7", 4711, "./app"]]
    assert trace.gpus[["uuid", "name"]].to_numpy().tolist() == [
        ["rocpd-node7-2", "MI300X"],
        ["rocpd-node7-3", "gfx942"],
    ]
    assert trace.launches[LAUNCH].to_numpy().tolist() == [["add(int)", 0, 4, 4712, 1000, 3, 2, 64, 256]]
    assert trace.spans[["start", "end"]].to_numpy().tolist() == [[2000, 2500]]
    assert trace.copies[COPY].to_numpy().tolist() == [
        ["hipMemcpyPeerAsync", 0, 1, 1, 8192, 4712, 3000, 3100],
        ["MEMORY_COPY_HOST_TO_DEVICE", -1, 0, 0, 64, 0, 3200, 3300],
    ]
    assert trace.calls[["call", "kernel", "gpu", "direction", "bytes"]].to_numpy().tolist() == [
        ["hipLaunchKernel", "add(int)", 0, "", 0],
        ["hipMemcpyPeerAsync", "", 1, "peer", 8192],
        ["roctx: step", "", -2, "", 0],
    ]
    objects = trace.objects
    assert objects[["bytes", "owner", "freed"]].to_numpy().tolist() == [[4096, 0, 9010], [64, -1, 0]]
    losses = " ".join(trace.losses())
    for part in (
        "scratch memory, left out: 1.",
        "that the file does not have: 1.",
        "whose call is not in the file: 1.",
    ):
        assert part in losses


def test_a_compressed_database(tmp_path: Path) -> None:
    packed = tmp_path / "run.rpd.gz"
    packed.write_bytes(gzip.compress(write(tmp_path / "plain", RPD).read_bytes()))
    assert cli.main(["import", str(packed), "-o", str(tmp_path / "out.zst")]) == 0
    assert len(snoopie.load(tmp_path / "out.zst").launches) == 2
    packed.write_bytes(packed.read_bytes()[:-40])
    with pytest.raises(SnoopieError, match="ends too early"):
        import_rocpd(packed, tmp_path / "new.zst")


def test_other_files(tmp_path: Path) -> None:
    with pytest.raises(NotATraceError, match="not a database of rocpd"):
        import_rocpd(Path(__file__), tmp_path / "out.zst")
    with pytest.raises(NotATraceError, match="but not of rocpd"):
        import_rocpd(write(tmp_path / "x.rpd", {"t": ("a", [])}), tmp_path / "out.zst")
    with pytest.raises(SnoopieError, match="has no call, kernel or copy"):
        import_rocpd(write(tmp_path / "y.rpd", {"rocpd_op": ("id", [])}), tmp_path / "out.zst")
    damaged = write(tmp_path / "z.rpd", RPD)
    damaged.write_bytes(damaged.read_bytes()[:5000])
    with pytest.raises(CorruptError, match="damaged or incomplete"):
        import_rocpd(damaged, tmp_path / "out.zst")
    assert not list(tmp_path.glob("*.zst"))


def test_a_schema_that_is_no_text(tmp_path: Path) -> None:
    path = write(tmp_path / "x.rpd", RPD)
    garble(path)
    with pytest.raises(CorruptError, match="damaged or incomplete"):
        import_rocpd(path, tmp_path / "out.zst")


def test_views_are_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "run.rpd", {name: table for name, table in RPD.items() if name != "rocpd_op"})
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE VIEW rocpd_op AS SELECT randomblob(1000000000) AS start")
        database.commit()
    done = import_rocpd(path, tmp_path / "out.zst")
    assert len(snoopie.load(done.paths).launches) == 0


CELL = st.one_of(
    st.none(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(allow_nan=False), st.text(max_size=6),
    st.binary(max_size=4), st.just("0x7f"),
)  # fmt: skip


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(["rpd", "sdk", "tracks"]))
def test_no_table_column_or_cell_stops_the_others(tmp_path: Path, data: st.DataObject, which: str) -> None:
    tables = dict({"rpd": RPD, "sdk": SDK, "tracks": by_track(SDK)}[which])
    # What says that it is such a file, and one call.
    needed = {"rocpd_api", f"rocpd_info_process{U}", f"rocpd_region{U}", f"rocpd_timestamp{U}"}
    for name in data.draw(st.sets(st.sampled_from(sorted(set(tables) - needed)), max_size=2)):
        del tables[name]
    for name in data.draw(st.lists(st.sampled_from(sorted(set(tables) - needed)), max_size=4)):
        columns, rows = tables[name]
        words = columns.split()
        place = data.draw(st.integers(0, len(words) - 1))
        if len(words) > 1 and data.draw(st.booleans()):
            tables[name] = (
                " ".join(words[:place] + words[place + 1 :]),
                [(*row[:place], *row[place + 1 :]) for row in rows],
            )
        else:
            value = data.draw(CELL)
            tables[name] = (columns, [(*row[:place], value, *row[place + 1 :]) for row in rows])
    trace = imported(tmp_path, tables)
    assert len(trace.calls) == len(tables["rocpd_api" if which == "rpd" else f"rocpd_region{U}"][1])
    assert cli.main(["check", str(tmp_path / "out.zst")]) == 0
