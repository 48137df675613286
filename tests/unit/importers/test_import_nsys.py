"""Exports of Nsight Systems: what comes out is what arithmetic says."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import snoopie
from snoopie import cli
from snoopie.analysis.source.stacks import label_of, labels
from snoopie.analysis.source.stacks import places as frames_of
from snoopie.api.trace import Trace
from snoopie.errors import SnoopieError
from snoopie.importers import spool
from snoopie.importers.nsys import import_nsys, memory, ranges
from snoopie.importers.nsys.names import call_name
from snoopie.trace.check import check
from snoopie.trace.limits import LIMITS
from tests.support.garbled import garble
from tests.support.nsys_export import DRIVER, EPOCH, UUIDS, Export, global_pid, global_tid

VERSIONS = ("2022", "2023", "2024", "2025")
ADDRESS = 0x7F00_0000_0000
APP, CUDA = "/home/u/app", "/usr/lib/libcuda.so.1"


def scenario(version: str) -> Export:
    """Two GPUs that use one address, a thread that frees another's memory, statics, a launch and copies."""
    export = Export(version)
    main, inner = ("main", APP, 0x401000), ("make(int)", APP, 0x402000)
    first = export.chain(("cuMemAlloc", CUDA, 0x10), inner, main)
    second = export.chain(("0x7f0000001234", CUDA, 0x7F0000001234), main)
    call = export.call("cudaMalloc_v3020", 100, 200, tid=11, chain=first)
    export.memory(150, ADDRESS, 1000, call=call)
    call = export.call("cudaMalloc_v3020", 300, 400, tid=12, chain=second)
    export.memory(350, ADDRESS, 500, device=1, call=call)
    call = export.call("cuMemAllocHost_v2", 410, 420, tid=12, event=DRIVER)
    export.memory(415, ADDRESS + 4096, 64, kind=1, call=call)
    export.memory(430, ADDRESS + 8192, 32, kind=5, name="table")
    call = export.call("cudaFree_v3020", 440, 460, tid=13)
    export.memory(450, ADDRESS, 1000, free=True, call=call)
    export.call("cudaMalloc_v3020", 470, 480, tid=12, code=2)
    call = export.call("cudaLaunchKernel_v7000", 500, 510, tid=12, chain=second)
    export.kernel("step(int)", 1000, 2000, call)
    call = export.call("cudaMemcpy_v3020", 600, 700, tid=12)
    export.copy(1, 256, 610, 650, call)
    call = export.call("cudaMemcpyPeer_v4000", 710, 720, tid=12)
    export.copy(10, 128, 730, 790, call, ends=(0, 1))
    call = export.call("cudaMemcpy_v3020", 800, 810, tid=12)
    export.copy(8, 4096, 805, 809, call)
    return export


def load(export: Export, folder: Path) -> Trace:
    imported = import_nsys(export.write(folder / "report.sqlite"), folder / "out.zst")
    trace = snoopie.load(imported.paths)
    assert sorted(set(trace.notices["text"])) == sorted(imported.notices)
    return trace


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def trace(version: str, tmp_path: Path) -> Trace:
    return load(scenario(version), tmp_path)


def epoch(version: str) -> int:
    return 0 if version == "2022" else EPOCH


def test_objects(trace: Trace, version: str) -> None:
    objects = trace.objects
    base = epoch(version)
    assert objects["address"].tolist() == [ADDRESS, ADDRESS, ADDRESS + 4096, ADDRESS + 8192]
    assert objects["bytes"].tolist() == [1000, 500, 64, 32]
    assert objects["owner"].tolist() == [0, 1, -1, 0]
    assert objects["kind"].tolist() == ["device", "device", "host", "device static"]
    assert objects["allocated"].tolist() == [base + 150, base + 350, base + 415, base + 430]
    assert objects["freed"].tolist() == [base + 450, 0, 0, 0]
    assert objects["thread"].tolist() == [11, 12, 12, 0]
    assert objects["freed_by"].tolist() == [13, 0, 0, 0]
    assert objects["call"].tolist() == ["cudaMalloc", "cudaMalloc", "cuMemAllocHost", ""]
    assert objects["name"].tolist() == ["", "", "", "table"]


def test_stacks(trace: Trace, version: str) -> None:
    tables = trace._tables
    stacks, frames = tables.stacks, tables.frames
    functions = tables.symbols.set_index("frame")["function"]

    def words(stack: int) -> Iterator[tuple[str, str]]:
        while stack:
            frame = int(stacks.loc[stack, "frame"])
            yield functions.get(frame, ""), tables.modules["path"].get(frames.loc[frame, "module"], "")
            stack = int(stacks.loc[stack, "caller"])

    first, second, *others = trace.objects["stack"]
    assert list(words(first)) == [("cuMemAlloc", CUDA), ("make(int)", APP), ("main", APP)]
    assert list(words(second)) == [("", CUDA), ("main", APP)]
    assert others == [0, 0]
    assert trace.launches["stack"].tolist() == [second]
    # One stack a caller: main, its two callees, and what one of these called.
    assert len(stacks) == 4
    # Where the version does not say the address, the name of a frame without a symbol is one.
    unresolved = frames.loc[int(stacks.loc[second, "frame"]), "address"]
    assert unresolved == 0x7F0000001234


_IDS = ["function", "group", "stack"]


def test_parts_are_as_the_whole(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What refers to one another is joined however few rows are joined at once."""
    whole = load(scenario(version), tmp_path)
    (tmp_path / "parts").mkdir()
    monkeypatch.setattr(spool, "_TOGETHER", 0)
    monkeypatch.setattr(spool, "_AT_ONCE", 1)
    monkeypatch.setattr(spool, "_SMALL", 1)
    parts = load(scenario(version), tmp_path / "parts")
    for table in ("launches", "spans", "copies", "calls", "objects", "memory_use", "collectives"):
        rows = [sorted(map(str, getattr(trace, table).drop(columns=_IDS, errors="ignore").to_numpy().tolist()))
                for trace in (whole, parts)]  # fmt: skip
        assert rows[0] == rows[1], table
    labels = [trace.stack_label(trace.objects["stack"]).tolist() for trace in (whole, parts)]
    assert labels[0] == labels[1]
    assert parts.losses() == whole.losses()
    assert parts.totals == whole.totals


def test_calls_are_counted_once(trace: Trace, version: str) -> None:
    calls = trace._tables.calls
    assert len(calls) == 9
    named = calls.groupby("call").size().to_dict()
    assert named == {
        "cudaMalloc": 3, "cuMemAllocHost": 1, "cudaFree": 1, "cudaLaunchKernel": 1, "cudaMemcpy": 2,
        "cudaMemcpyPeer": 1,
    }  # fmt: skip
    assert (calls["end"] - calls["start"]).sum() == 100 + 100 + 10 + 20 + 10 + 10 + 100 + 10 + 10
    assert calls["start"].tolist()[0] == epoch(version) + 100
    launch = calls[calls["call"] == "cudaLaunchKernel"].iloc[0]
    assert (launch["kernel"], launch["gpu"]) == ("step(int)", 0)
    assert calls["direction"].tolist()[-3:] == ["host to device", "peer", "device to device"]
    totals = trace._tables.call_totals
    copied = totals[totals["direction"] == "host to device"].iloc[0]
    assert copied[["calls", "errors", "total", "least", "most", "bytes"]].tolist() == [1, 0, 100, 100, 100, 256]
    assert totals["calls"].sum() == 9
    made = totals[totals["call"] == "cudaMalloc"]
    assert (made["errors"].sum(), made["bytes"].sum()) == (1, 1500)
    (error,) = trace._tables.call_errors.itertuples()
    assert (error.call, error.code, error.name, error.calls) == ("cudaMalloc", 2, "CUDA_ERROR_OUT_OF_MEMORY", 1)
    times = trace._tables.call_times
    assert times.groupby("log2")["calls"].sum().to_dict() == {3: 5, 4: 1, 6: 3}


def test_launches_and_copies(trace: Trace, version: str) -> None:
    base = epoch(version)
    (launch,) = trace.launches.itertuples()
    assert (launch.kernel, launch.gpu, launch.thread, launch.time) == ("step(int)", 0, 12, base + 500)
    assert (launch.grid_x, launch.grid_y, launch.grid_z, launch.block_x, launch.shared_memory) == (4, 3, 2, 128, 64)
    (span,) = trace._tables.spans.itertuples()
    assert (span.start, span.end) == (base + 1000, base + 2000)
    copies = trace.copies
    assert copies[["source", "destination", "bytes"]].to_numpy().tolist() == [[-1, 0, 256], [0, 1, 128]]
    assert copies["start"].tolist() == [base + 610, base + 730]
    assert copies["call"].tolist() == ["cudaMemcpy", "cudaMemcpyPeer"]


def test_what_the_trace_says_of_itself(trace: Trace, version: str) -> None:
    process = trace.processes.iloc[0]
    assert (process["pid"], process["host"]) == (4711, "node1")
    assert (process["start_ns"], process["end_ns"]) == (epoch(version) + 100, epoch(version) + 2000)
    assert trace._tables.sources[0].header.tool["imported_from"] == f"Nsight Systems {version}.4.1"
    assert trace.gpus["name"].tolist() == ["NVIDIA H200"] * 2
    own = ["nsys-node1-0", "nsys-node1-1"] if version == "2022" else [f"GPU-{uuid}" for uuid in UUIDS[:2]]
    assert trace.gpus["uuid"].tolist() == own
    assert trace.complete
    said = " ".join(trace.notices["text"])
    assert ("UUID" in said, "session" in said) == (version == "2022", version == "2022")
    assert "--cuda" not in said


def test_a_process_that_sees_other_gpus(tmp_path: Path) -> None:
    export = Export("2024")
    export.add("TARGET_INFO_CUDA_DEVICE", gpuId=1, cudaId=0, pid=4711, uuid=None)
    export.add("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=5, uuid=None)
    export.memory(10, ADDRESS, 100, device=0)
    assert load(export, tmp_path).gpus["uuid"].tolist() == [f"GPU-{UUIDS[1]}"]


def test_several_processes(tmp_path: Path) -> None:
    export = Export("2025")
    for pid, size in ((30, 100), (40, 200)):
        export.add("PROCESSES", globalPid=global_pid(pid), pid=pid, name=f"/bin/app{pid}")
        call = export.call("cudaMalloc", 0, 100, pid=pid, tid=pid)
        export.memory(50, ADDRESS, size, pid=pid, call=call)
    imported = import_nsys(export.write(tmp_path / "report.sqlite"), tmp_path / "out.zst")
    assert imported.paths == [tmp_path / "out.30.zst", tmp_path / "out.40.zst"]
    trace = snoopie.load(imported.paths)
    assert trace.processes["program"].tolist() == ["/bin/app30", "/bin/app40"]
    assert trace.objects[["process", "bytes", "thread"]].to_numpy().tolist() == [[0, 100, 30], [1, 200, 40]]
    # One machine, the same GPUs.
    assert len(trace.gpus) == 2


@pytest.mark.parametrize(
    ("tables", "option"),
    [
        (("CUPTI_ACTIVITY_KIND_RUNTIME",), "--trace=cuda"),
        (("CUDA_CALLCHAINS",), "--cudabacktrace=all"),
        (("CUDA_GPU_MEMORY_USAGE_EVENTS",), "--cuda-memory-usage=true"),
    ],
)
def test_what_a_report_lacks_names_the_option(tmp_path: Path, tables: tuple[str, ...], option: str) -> None:
    trace = load(scenario("2024").without(*tables), tmp_path)
    (sentence,) = (text for text in trace.notices["text"] if "--" in text)
    assert option in sentence


def test_graphs_that_were_recorded_as_a_whole(tmp_path: Path) -> None:
    path = scenario("2024").write(tmp_path / "report.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER)")
        connection.commit()
        # A table without rows says nothing.
        assert not any("graph" in text for text in import_nsys(path, tmp_path / "none.zst").notices)
        connection.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (?, ?)", [(10, 20), (30, 70)])
        connection.commit()
    notices = import_nsys(path, tmp_path / "out.zst").notices
    assert any("--cuda-graph-trace=node" in text for text in notices)
    assert "2 graphs launched as a whole, 50 ns on GPUs." in notices


def test_allocations_that_were_recorded_though_there_are_none(tmp_path: Path) -> None:
    export = Export("2024")
    export.call("cudaFree", 1, 2)
    export.add("META_DATA_CAPTURE", name="COLLECT_GPU_MEMORY_USAGE", value="true")
    assert not any("--cuda-memory-usage" in text for text in load(export, tmp_path).notices["text"])


def test_a_backtrace_in_the_row_of_the_call(tmp_path: Path) -> None:
    export = Export("2025")
    call = export.call("cudaMalloc", 0, 100, chain=export.chain(("main", APP, 1)), again=False)
    export.memory(50, ADDRESS, 10, call=call)
    trace = load(export, tmp_path)
    assert (len(trace._tables.calls), trace.objects["stack"].tolist()) == (1, [1])


def test_a_call_is_only_behind_what_happened_during_it(tmp_path: Path) -> None:
    export = Export("2025")
    call = export.call("cudaMalloc", 0, 100)
    export.memory(101, ADDRESS, 10, call=call)
    assert load(export, tmp_path).objects["call"].tolist() == [""]


def test_frees_that_pair_with_the_latest_allocation(tmp_path: Path) -> None:
    export = Export("2025")
    export.memory(1, ADDRESS, 7, free=True)
    for time, free in ((2, False), (3, False), (4, True), (5, True), (6, True), (7, False)):
        export.memory(time, ADDRESS, time, free=free)
    trace = load(export, tmp_path)
    assert trace.objects["bytes"].tolist() == [2, 3, 7]
    assert trace.objects["freed"].tolist() == [EPOCH + 5, EPOCH + 4, 0]
    assert any(text.startswith("2 frees are of allocations") for text in trace.notices["text"])


def test_a_free_that_names_another_device(tmp_path: Path) -> None:
    export = Export("2025")
    export.memory(1, ADDRESS, 7, device=1)
    export.memory(2, ADDRESS, 7, device=0, free=True)
    assert load(export, tmp_path).objects["freed"].tolist() == [EPOCH + 2]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=60))
def test_pairs_are_those_of_a_stack_at_each_address(events: list[tuple[int, bool]]) -> None:
    live: dict[int, list[int]] = {}
    expected = []
    for row, (place, free) in enumerate(events):
        if not free:
            live.setdefault(place, []).append(row)
        elif live.get(place):
            expected.append((live[place].pop(), row))
    places = np.array([place for place, _ in events], np.int64)
    made, ended = memory._matched(places, np.array([free for _, free in events], np.bool_))
    assert sorted(zip(made.tolist(), ended.tolist(), strict=True)) == sorted(expected)


def test_pools(tmp_path: Path) -> None:
    export = Export("2025")
    for time, pool, reserved, used in ((1, 16, 100, 10), (2, 32, 50, 5), (3, 16, 200, 30)):
        export.memory(time, ADDRESS + time, used, localMemoryPoolAddress=pool, localMemoryPoolSize=reserved,
                      localMemoryPoolUtilizedSize=used)  # fmt: skip
    trace = load(export, tmp_path)
    assert trace.objects["kind"].tolist() == ["pool"] * 3
    use = trace._tables.memory_use
    assert use[["pool_reserved", "pool_used"]].to_numpy().tolist() == [[100, 10], [150, 15], [250, 35]]
    assert use["used"].tolist() == [-1] * 3


def test_moves_of_managed_pages(tmp_path: Path) -> None:
    export = Export("2025")
    export.copy(11, 4096, 10, 20, 0, device=1)
    export.copy(12, 8192, 30, 40, 0, device=1)
    copies = load(export, tmp_path).copies
    assert copies[["source", "destination", "bytes"]].to_numpy().tolist() == [[-1, 1, 4096], [1, -1, 8192]]
    assert set(copies["call"]) == {"unified memory migration"}


def test_names_of_calls() -> None:
    for text in (
        "cudaMemcpyAsync",
        "cudaMemcpyAsync_v3020",
        "cudaMemcpyAsync_ptsz_v7000",
        "cudaMemcpyAsync_v3020_ptds",
    ):
        assert call_name(text) == "cudaMemcpyAsync"
    assert call_name("cuMemcpyHtoDAsync_v2_ptsz") == "cuMemcpyHtoDAsync"
    assert call_name("cudaMemcpy2D_v3020") == "cudaMemcpy2D"


@pytest.mark.parametrize("offset", [0, 1])
def test_backtraces_without_names_are_found_by_their_ids(offset: int, tmp_path: Path) -> None:
    export = Export("2025")
    chains = [export.chain(("0x10", CUDA, 16), (function, APP, 1)) for function in ("f", "g")]
    for chain in chains:
        start = 100 * chain
        export.memory(
            start + 5, ADDRESS + chain, 10, call=export.call("cudaMalloc", start, start + 9, chain=chain - offset)
        )
    trace = load(export, tmp_path)
    assert own_frames(trace, trace.objects["stack"]) == ["f", "g"]


def test_backtraces_that_name_other_calls_are_left_out(tmp_path: Path) -> None:
    export = Export("2025")
    export.call("cudaFree", 1, 2)
    for number in range(5):
        chain = export.chain(("cudaMalloc" if number == 2 else "cudaFree", CUDA, 1), ("main", APP, 2))
        export.call("cudaMalloc", 100 * number, 100 * number + 9, chain=chain)
    trace = load(export, tmp_path)
    assert trace._tables.stacks.empty and any("call stacks name other calls" in text for text in trace.notices["text"])


def test_the_profiler_is_not_on_the_stack(tmp_path: Path) -> None:
    export = Export("2022")
    chain = export.chain(
        ("0x7f01", "/opt/nsys/target/libcupti.so.11.7", 0),
        ("0x7f02", "/opt/nsys/libToolsInjection64.so", 0),
        ("0x7f03", CUDA, 0),
        ("cudaMalloc", "/opt/cuda/lib64/libcudart.so.11", 0),
        ("make(int)", APP, 0),
        ("__libc_start_main", "/lib64/libc-2.31.so", 0),
        ("_start", APP, 0),
    )
    export.memory(50, ADDRESS, 10, call=export.call("cudaMalloc_v3020", 0, 100, chain=chain))
    trace = load(export, tmp_path)
    assert len(trace._tables.frames) == 5
    assert own_frames(trace, trace.objects["stack"]) == ["make"]
    # Nor is a frame of libc a label where there is one of the program further out.
    chain = export.chain(("0x7f03", CUDA, 0), ("qsort", "/lib64/libc-2.31.so", 0), ("sort", "C:\\u\\app.exe", 0))
    export.memory(250, ADDRESS + 64, 10, call=export.call("cudaMalloc_v3020", 200, 300, chain=chain))
    again = snoopie.load(import_nsys(export.write(tmp_path / "more.sqlite"), tmp_path / "more.zst").paths)
    assert own_frames(again, again.objects["stack"]) == ["make", "sort"]


def own_frames(trace: Trace, stacks: Iterable[int]) -> list[str]:
    """The labels of stacks."""
    tables = trace._tables
    places = frames_of(tables.frames, tables.modules, tables.symbols)
    return [str(text) for text in label_of(labels(tables.stacks, places), stacks)]


@pytest.mark.parametrize("value", [None, "text", -(1 << 63), 1 << 40, b"\xff"])
def test_calls_that_do_not_say_what_they_returned(value: object, tmp_path: Path) -> None:
    path = scenario("2025").write(tmp_path / "report.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET returnValue = ?", (value,))
        connection.commit()
    imported = import_nsys(path, tmp_path / "out.zst")
    trace = snoopie.load(imported.paths)
    assert trace._tables.call_errors.empty and len(trace._tables.calls) == 9
    assert "9 calls whose results, and so failures, are not known." in trace.losses()


def test_times_that_cannot_be(tmp_path: Path) -> None:
    export = scenario("2024")
    for start, end in ((5, 1 << 60), (1 << 60, (1 << 60) + 1), (-(1 << 62), 5), (700, 600)):
        call = export.call("cudaEvil", start, end)
        export.kernel("evil", start, end, call)
        export.copy(1, 1, start, end, call)
    imported = import_nsys(export.write(tmp_path / "report.sqlite"), tmp_path / "out.zst")
    assert "12 rows of the report made no sense and were left out." in imported.notices
    assert cli.main(["check", str(tmp_path / "out.zst")]) == 0
    assert len(snoopie.load(imported.paths).launches) == 1


def test_times_before_the_session_are_exact_without_an_epoch(tmp_path: Path) -> None:
    export = Export("2022")
    export.kernel("first", -1000, 0, export.call("cudaLaunchKernel_v7000", -2500, -2000))
    trace = load(export, tmp_path)
    (span,), (call,) = trace._tables.spans.itertuples(), trace._tables.calls.itertuples()
    assert (span.end - span.start, span.start - call.start, call.start) == (1000, 1500, 1)


def test_what_crosses_no_link_is_named(tmp_path: Path) -> None:
    export = scenario("2025")
    for number in range(3):
        export.add("CUPTI_ACTIVITY_KIND_MEMSET", start=number, end=number + 1, deviceId=0, bytes=1000,
                   globalPid=global_pid(4711))  # fmt: skip
    export.copy(9, 100, 1, 2, 0)
    said = load(export, tmp_path).losses()
    assert any(
        text.startswith("2 copies within one GPU's or the host's memory (4.1 KiB, 4,196 bytes) crossed no link")
        for text in said
    )
    assert any(text.startswith("3 memsets (2.9 KiB, 3,000 bytes) crossed no link") for text in said)


def test_messages_on_what_is_missing(tmp_path: Path) -> None:
    export = Export("2024")
    export.memory(1, ADDRESS, 7)
    for severity, text, pid in (
        (2, "Not all CUDA events might have been collected.", 4711),
        (3, "Some events\nwere lost", 4711),
        (2, "Not all OpenGL events might have been collected.", 4711),
        (2, "No NVTX events collected. Does the process use NVTX?", 4711),
        (1, "Buffers holding CUDA trace data were not collected", 4711),
        (2, "Not all NVTX events might have been collected.", 5),
    ):
        export.add("DIAGNOSTIC_EVENT", severity=severity, source=3, text=text, globalPid=global_pid(pid))
    said = [text for text in load(export, tmp_path).losses() if "reported" in text]
    assert said == [
        "Nsight Systems reported: Not all CUDA events might have been collected.",
        "Nsight Systems reported: Some events were lost.",
    ]


def test_uuids_of_zeros_are_none(tmp_path: Path) -> None:
    paths = []
    for name in ("a", "b"):
        export = Export("2025").without("TARGET_INFO_GPU", "TARGET_INFO_SYSTEM_ENV")
        for number in range(2):
            export.add("TARGET_INFO_GPU", id=number, name="Tesla", uuid="0" * 8 + "-0000" * 3 + "-" + "0" * 12,
                       cuDevice=number, computeMajor=7, computeMinor=0)  # fmt: skip
            export.memory(number, ADDRESS, 7, device=number)
        paths += import_nsys(export.write(tmp_path / f"{name}.sqlite"), tmp_path / f"{name}.zst").paths
    trace = snoopie.load(paths, all_runs=True)
    # Two reports that do not name their machines: four GPUs.
    assert len(set(trace.gpus["uuid"])) == 4


def test_gpus_of_one_number_are_not_guessed(tmp_path: Path) -> None:
    def report(*capable: int | None) -> Trace:
        export = Export("2025").without("TARGET_INFO_GPU")
        for number, major in enumerate(capable):
            export.add("TARGET_INFO_GPU", id=number, name=f"GPU {number}", cuDevice=0, computeMajor=major,
                       computeMinor=None if major is None else 0, uuid=UUIDS[number])  # fmt: skip
        export.memory(1, ADDRESS, 7)
        folder = tmp_path / "-".join(map(str, capable))
        folder.mkdir()
        return load(export, folder)

    # What is no GPU of CUDA has no compute capability.
    assert report(None, 8, None).gpus["name"].tolist() == ["GPU 1"]
    unclear = report(8, 8)
    assert unclear.gpus["name"].tolist() == [""]
    assert any("several GPUs of one number" in text for text in unclear.losses())


def test_devices_by_their_bus(tmp_path: Path) -> None:
    export = Export("2022")
    export.add("TARGET_INFO_CUDA_GPU", pid=4711, deviceId=0, pciBusId="0000:01:00.0")
    export.memory(1, ADDRESS, 7)
    assert load(export, tmp_path).gpus["pci"].tolist() == ["0000:01:00.0"]


def test_copies_of_graphs_and_of_unknown_peers(tmp_path: Path) -> None:
    export = Export("2025")
    export.copy(10, 64, 1, 2, 0)
    export.copy(1, 32, 3, 4, 0)
    export.rows["CUPTI_ACTIVITY_KIND_MEMCPY"][-1]["graphNodeId"] = 7
    copies = load(export, tmp_path).copies
    assert copies[["source", "destination", "bytes"]].to_numpy().tolist() == [[-2, -2, 64], [-1, 0, 32]]
    assert copies["kind"].tolist() == ["linear", "graph"]


def test_a_graph_is_the_launch_of_no_kernel(tmp_path: Path) -> None:
    export = Export("2025")
    graph = export.call("cudaGraphLaunch_v10000", 1, 2)
    single = export.call("cudaLaunchKernel_v7000", 3, 4)
    for number, call in enumerate((graph, graph, single)):
        export.kernel(f"k{number}", 10 * number + 10, 10 * number + 15, call)
    trace = load(export, tmp_path)
    assert trace._tables.calls["kernel"].tolist() == ["", "k2"]
    assert trace.launches["time"].tolist() == [EPOCH + 1, EPOCH + 1, EPOCH + 3]


def test_events_of_pools(tmp_path: Path) -> None:
    export = Export("2025")
    for time, operation, reserved, used in ((1, 1, 100, 0), (3, 3, 50, 10), (9, 2, None, None)):
        export.add("CUDA_GPU_MEMORY_POOL_EVENTS", start=time, globalPid=global_pid(4711), deviceId=1, address=16,
                   operationType=operation, localMemoryPoolSize=reserved, localMemoryPoolUtilizedSize=used)  # fmt: skip
    export.memory(2, ADDRESS, 10, device=1, localMemoryPoolAddress=16, localMemoryPoolSize=100,
                  localMemoryPoolUtilizedSize=10)  # fmt: skip
    use = load(export, tmp_path)._tables.memory_use
    assert use[["time", "pool_reserved", "pool_used"]].to_numpy().tolist() == [
        [EPOCH + 1, 100, 0], [EPOCH + 2, 100, 10], [EPOCH + 3, 50, 10], [EPOCH + 9, 0, 0]
    ]  # fmt: skip


COMMUNICATOR = 0xFFFF_0000_0000_0001
INIT, GATHER, BROADCAST, ALL_REDUCE, SEND = 0x1000002, 0x1000004, 0x1000006, 0x1000007, 0x1000009


def two_ranks(version: str = "2025", *, spelled: bool = False) -> Export:
    """Two processes, each a rank with a GPU: an AllReduce, an AllGather, and a group of a send and a receive."""
    export = Export(version)
    export.reductions("Sum", "Product", "Max")
    for rank, pid in enumerate((30, 40)):
        own = {"pid": pid, "tid": pid, "spelled": spelled}
        export.nccl("ncclCommInitRank", 1, 9, schema=INIT, values=(COMMUNICATOR, 2, rank, rank), **own)
        export.nccl("ncclAllReduce", 10, 20, schema=ALL_REDUCE, values=(COMMUNICATOR, 4096, 2), **own)
        export.nccl("ncclAllGather", 30, 40, schema=GATHER, values=(COMMUNICATOR, 100), **own)
        export.nccl("ncclGroupStart", 50, 51, **own | {"spelled": False})
        export.nccl("ncclSend", 52, 53, schema=SEND, values=(COMMUNICATOR, 1000 + rank, 1 - rank), **own)
        export.nccl("ncclRecv", 54, 55, schema=SEND, values=(COMMUNICATOR, 1001 - rank, 1 - rank), **own)
        export.nccl("ncclGroupEnd", 56, 70, **own | {"spelled": False})
        for start in (12, 60):
            call = export.call("cudaLaunchKernelExC", start, start + 1, pid=pid, tid=pid)
            export.kernel("ncclDevKernel_SendRecv(x)", start + 5, start + 9, call, device=rank, pid=pid)
        call = export.call("cudaLaunchKernel", 61, 62, pid=pid, tid=pid)
        export.kernel("other(x)", 80, 90, call, device=rank, pid=pid)
    return export


@pytest.mark.parametrize("form", ["bytes", "json", "parquet"])
def test_calls_of_nccl(form: str, tmp_path: Path) -> None:
    export = two_ranks(spelled=form == "json")
    path = export.write_parquet(tmp_path / "report") if form == "parquet" else export.write(tmp_path / "report.sqlite")
    trace = snoopie.load(import_nsys(path, tmp_path / "out.zst").paths)
    made = trace.collectives
    assert made["operation"].tolist() == ["AllReduce", "AllGather", "Send", "Recv"] * 2
    assert made["reduction"].tolist() == ["max", "", "", ""] * 2
    assert made["bytes"].tolist() == [4096, 200, 1000, 1001, 4096, 200, 1001, 1000]
    assert made["peer"].tolist() == [-1, -1, 1, 1, -1, -1, 0, 0]
    assert made["issuer"].tolist() == [0] * 4 + [1] * 4
    assert made["rank"].tolist() == [0] * 4 + [1] * 4 and set(made["ranks"]) == {2}
    assert set(made["communicator"]) == {f"{COMMUNICATOR:#018x}"}
    groups = made["group"].tolist()
    assert len(set(groups)) == 6 and groups[2] == groups[3] and groups[6] == groups[7]
    # Kernels of NCCL belong to the group that launched them.
    assert trace.launches["group"].tolist() == [groups[0], groups[2], 0, groups[4], groups[6], 0]
    copies = trace.copies.sort_values("bytes")
    assert copies[["source", "destination", "bytes"]].to_numpy().tolist() == [[0, 1, 1000], [1, 0, 1001]]
    assert set(copies["call"]) == {"ncclSend"}
    assert cli.main(["check", *(str(path) for path in trace.processes["path"])]) == 0


def test_calls_of_nccl_without_payloads(tmp_path: Path) -> None:
    export = Export("2023")
    export.kernel("k", 1, 2, export.call("cudaLaunchKernel", 0, 1))
    for time, name in enumerate(("ncclSend", "ncclCommCount", "nccl:all_to_all, op_id = 1", "ncclAllReduce")):
        export.nccl(name, 5 + 2 * time, 6 + 2 * time)
    trace = load(export, tmp_path)
    assert trace.collectives["operation"].tolist() == ["Send", "AllReduce"] and trace.copies.empty
    assert trace.collectives[["count", "bytes"]].to_numpy().tolist() == [[-1, -1], [-1, -1]]
    assert trace.by_collective()["call_bytes"].isna().all()
    assert "2 calls of NCCL with unknown bytes." in trace.losses()


@pytest.mark.parametrize("parquet", [False, True])
def test_ranges_and_marks(parquet: bool, tmp_path: Path) -> None:
    export = Export("2025")
    launched = export.call("cudaLaunchKernel", 100, 110, tid=7)
    export.kernel("k", 200, 300, launched)
    of_thread = {"globalTid": global_tid(export.pid, 7)}
    export.add("NVTX_EVENTS", start=1, end=1, eventType=75, text="app", domainId=3, **of_thread)
    export.add("NVTX_EVENTS", start=50, end=150, eventType=59, textId=export.string("step"), domainId=0, **of_thread)
    export.add("NVTX_EVENTS", start=60, end=90, eventType=59, text="halo", domainId=3, **of_thread)
    export.add("NVTX_EVENTS", start=10, eventType=60, text="whole", domainId=0, **of_thread)
    export.add("NVTX_EVENTS", start=55, eventType=34, text="here", domainId=3, **of_thread)
    for wrong in ({"start": 9, "end": 8}, {"start": None, "end": 8}, {"start": 5, "end": 8, "eventType": 39}):
        export.add("NVTX_EVENTS", **{"eventType": 59, "text": "wrong", **of_thread} | wrong)
    if parquet:
        paths = import_nsys(export.write_parquet(tmp_path / "report"), tmp_path / "p.zst").paths
        trace = snoopie.load(paths)
    else:
        trace = load(export, tmp_path)
    table = trace.ranges
    table = table.assign(start=table["start"] - EPOCH, end=table["end"].where(table["end"] == 0, table["end"] - EPOCH))
    assert table[["name", "domain", "thread", "start", "end", "pushed"]].to_numpy(dtype=object).tolist() == [
        ["halo", "app", 7, 60, 90, True],
        ["step", "", 7, 50, 150, True],
        ["whole", "", 7, 10, 0, False],
    ]
    assert trace.marks[["text", "domain", "thread"]].to_numpy(dtype=object).tolist() == [["here", "app", 7]]
    assert trace.marks["time"].tolist() == [EPOCH + 55]
    assert trace.by_range().set_index("range")["launches"].to_dict() == {"step": 1, "whole": 1, "halo": 0}


@pytest.mark.parametrize("parquet", [False, True])
def test_ranges_are_sorted_however_few_at_once(
    parquet: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Each process has its own, in the order of their ends, which are not that of the report."""
    for where, name in ((spool, "_AT_ONCE"), (spool, "_SMALL"), (ranges, "_AT_ONCE")):
        monkeypatch.setattr(where, name, 1)
    export = Export("2025")
    ends = [10**8 * (7 * number % 30 + 1) for number in range(30)]
    for pid in (50, 51):
        launched = export.call("cudaLaunchKernel", 100, 110, pid=pid)
        export.kernel("k", 200, 300, launched, pid=pid)
        named = {"globalTid": global_tid(pid, 1), "domainId": 2}
        for number, end in enumerate(ends):
            export.add("NVTX_EVENTS", start=number, end=end, eventType=59, text=f"{pid}: {end}", **named)
            export.add("NVTX_EVENTS", start=end, eventType=34, text=f"{pid}: {end}", **named)
            export.add("NVTX_EVENTS", start=-end, eventType=59, text=f"{pid}: open", **named)
        export.add("NVTX_EVENTS", start=1, eventType=75, text=f"domain of {pid}", **named)
    report = export.write_parquet(tmp_path / "report") if parquet else export.write(tmp_path / "report.sqlite")
    paths = import_nsys(report, tmp_path / "out.zst").paths
    assert len(paths) == 2
    for pid, path in zip((50, 51), paths, strict=True):
        trace = snoopie.load(path)
        texts = [f"{pid}: {end}" for end in sorted(ends)]
        assert trace.ranges["name"].tolist() == texts + 30 * [f"{pid}: open"]
        assert trace.marks["text"].tolist() == texts
        assert {*trace.ranges["domain"], *trace.marks["domain"]} == {f"domain of {pid}"}


def test_ranks_of_several_reports(tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in range(2):
        export = Export("2024", pid=50 + rank)
        for name, value in (("OMPI_COMM_WORLD_RANK", rank), ("OMPI_COMM_WORLD_SIZE", 2), ("SECRET_RANK", 7)):
            export.add("META_DATA_CAPTURE", name="PROCESS_0:ENVIRONMENT_VARIABLE", value=f'{name}="{value}"')
        export.add("PROCESSES", globalPid=global_pid(50 + rank), name="app")
        export.nccl("ncclCommInitRank", 1, 9, schema=INIT, values=(COMMUNICATOR, 2, rank, rank))
        export.nccl("ncclSend", 10, 12, schema=SEND, values=(COMMUNICATOR, 100 + rank, 1 - rank))
        export.memory(20, ADDRESS, 100, device=rank)
        export.write(folder / f"report.{rank}.sqlite")
    imported = import_nsys(folder, tmp_path / "out.zst")
    assert imported.paths == [tmp_path / "out.50.zst", tmp_path / "out.51.zst"]
    trace = snoopie.load(imported.paths)
    assert trace.processes[["rank", "ranks"]].to_numpy().tolist() == [[0, 2], [1, 2]]
    assert trace.gpus["uuid"].tolist() == [f"GPU-{uuid}" for uuid in UUIDS[:2]]
    assert sorted(trace.copies[["source", "destination", "bytes"]].to_numpy().tolist()) == [[0, 1, 100], [1, 0, 101]]
    named = import_nsys(sorted(folder.iterdir()), tmp_path / "named.zst")
    assert [path.name for path in named.paths] == ["named.50.zst", "named.51.zst"] and named.notices == imported.notices
    assert b"SECRET" not in b"".join(path.read_bytes() for path in imported.paths)


@pytest.mark.parametrize("version", VERSIONS)
def test_parquet_says_what_sqlite_says(version: str, tmp_path: Path) -> None:
    export = scenario(version)
    sqlite = snoopie.load(import_nsys(export.write(tmp_path / "report.sqlite"), tmp_path / "a.zst").paths)
    parquet = snoopie.load(import_nsys(export.write_parquet(tmp_path / "report"), tmp_path / "b.zst").paths)
    for table in ("objects", "calls", "launches", "copies", "spans", "notices", "stacks", "symbols"):
        pd.testing.assert_frame_equal(getattr(sqlite._tables, table), getattr(parquet._tables, table))
    broken = next((tmp_path / "report").glob("CUPTI*RUNTIME.parquet"))
    broken.write_bytes(broken.read_bytes()[:100])
    with pytest.raises(SnoopieError, match="damaged or incomplete"):
        import_nsys(tmp_path / "report", tmp_path / "c.zst")


def test_a_schema_that_is_no_text(tmp_path: Path) -> None:
    path = scenario(VERSIONS[0]).write(tmp_path / "report.sqlite")
    garble(path)
    with pytest.raises(SnoopieError, match=r"damaged or incomplete \(malformed database schema \(SPO\ufffdLED\)"):
        import_nsys(path, tmp_path / "out.zst")


OTHER_COLUMNS: dict[str, Callable[[int], pa.Array]] = {
    "text": lambda rows: pa.array(["x"] * rows),
    "bytes": lambda rows: pa.array([b"\xff"] * rows),
    "dictionary": lambda rows: pa.array(["x"] * rows).dictionary_encode(),
    "fractions": lambda rows: pa.array([1.5] * rows),
    "nothing": pa.nulls,
    "unsigned": lambda rows: pa.array([(1 << 64) - 1] * rows, pa.uint64()),
    "lists": lambda rows: pa.array([[1]] * rows),
}


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_parquet_of_other_types(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    files = sorted(two_ranks().write_parquet(folder / "report").iterdir())
    for file in data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=3, unique=True)):
        table = pq.read_table(file)
        place = data.draw(st.integers(0, table.num_columns - 1))
        kind = data.draw(st.sampled_from(sorted(OTHER_COLUMNS)))
        column = OTHER_COLUMNS[kind](len(table))
        pq.write_table(table.set_column(place, table.column_names[place], column), file)
    imported = import_nsys(folder / "report", folder / "out.zst")
    assert all(not (checked := check(path, LIMITS)).wrong and not checked.suspicious for path in imported.paths)


FAKE = """#!/bin/sh
# As nsys export: copies what it is given to where --output says; an old one knows no blobs.
echo "$@" >> "{log}"
case "$*" in *--include-blobs*) {blobs};; esac
while [ $# -gt 1 ]; do [ "$1" = --output ] && out=$2; shift; done
cp "$1" "$out"
"""


@pytest.mark.parametrize("blobs", [":", "exit 1"])
def test_a_report_is_exported_first(blobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "nsys").write_text(FAKE.format(log=tmp_path / "log", blobs=blobs))
    (tools / "nsys").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    report = scenario("2025").write(tmp_path / "my report.sqlite").rename(tmp_path / "my report.nsys-rep")
    imported = import_nsys(report, tmp_path)
    assert imported.paths == [tmp_path / "my report.zst"]
    assert len(snoopie.load(imported.paths).objects) == 4
    commands = (tmp_path / "log").read_text().splitlines()
    assert ["--include-blobs" in command for command in commands] == [True, False][: len(commands)]
    assert len(commands) == (1 if blobs == ":" else 2)


def test_a_report_that_cannot_be_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.qdrep"
    report.write_bytes(b"whatever")
    tools = tmp_path / "bin"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    refused(report, "can only be read by nsys, which is not installed here", capsys)
    (tools / "nsys").write_text("#!/bin/sh\necho 'The version of the report is newer'\nexit 1\n")
    (tools / "nsys").chmod(0o755)
    refused(report, "nsys cannot export", capsys)


NUMBERS = st.sampled_from([None, "text", b"\xff\xfe", 1.5, -1, 0, 1 << 31, 1 << 60, (1 << 63) - 1, -(1 << 63)])
TABLES = sorted(table for table in Export("2025").schema() if not table.startswith("META"))


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_report_holds_is_imported_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("report")
    export = two_ranks(data.draw(st.sampled_from(VERSIONS)))
    for table, rows in scenario(export.version).rows.items():
        export.rows.setdefault(table, []).extend(rows)
    path = export.write(folder / "report.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        held = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in data.draw(
            st.lists(st.sampled_from([name for name in TABLES if name in held]), max_size=3, unique=True)
        ):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            column = data.draw(st.sampled_from(columns))
            how = data.draw(st.sampled_from(["all", "one", "column", "table"]))
            if how == "table" or (how == "column" and len(columns) == 1):
                connection.execute(f"DROP TABLE {table}")
            elif how == "column":
                connection.execute(f'ALTER TABLE {table} DROP COLUMN "{column}"')
            else:
                which = "" if how == "all" else "WHERE rowid % 3 = 1"
                connection.execute(f'UPDATE {table} SET "{column}" = ? {which}', (data.draw(NUMBERS),))
        connection.commit()
    try:
        imported = import_nsys(path, folder / "out.zst")
    except SnoopieError:
        assert sorted(file.name for file in folder.iterdir()) == ["report.sqlite"]
        return
    trace = snoopie.load(imported.paths, all_runs=True)
    # Every analysis of what there is answers.
    assert trace.losses()
    for answer in (trace.by_call, trace.by_pair, trace.by_collective, trace.timeline, trace.memory_usage):
        answer()
    for made in imported.paths:
        checked = check(made, LIMITS)
        assert not checked.wrong and not checked.suspicious


def test_cells_of_wrong_types(tmp_path: Path) -> None:
    path = scenario("2025").write(tmp_path / "report.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        pid = global_pid(4711)
        for table, values in (
            ("CUDA_GPU_MEMORY_USAGE_EVENTS", "(start, globalPid, address, bytes, memKind, memoryOperationType)"),
            ("CUPTI_ACTIVITY_KIND_KERNEL", "(start, globalPid, end, deviceId, demangledName, streamId)"),
            ("CUPTI_ACTIVITY_KIND_MEMCPY", "(start, globalPid, end, bytes, copyKind, deviceId)"),
            ("CUPTI_ACTIVITY_KIND_RUNTIME", "(start, globalTid, end, correlationId, nameId, returnValue)"),
        ):
            for row in (("x", None, b"\xff", -1), (None,) * 4, (2.5e300, -1, -1, -1)):
                connection.execute(f"INSERT INTO {table} {values} VALUES (?, ?, ?, ?, ?, ?)", ("y", pid, *row))
            connection.execute(f"INSERT INTO {table} {values} VALUES (1, ?, 2, 9000000000000000000, 3, 0)", (pid,))
        connection.execute("UPDATE StringIds SET value = x'ff00fe' WHERE value = 'step(int)'")
        connection.execute("UPDATE TARGET_INFO_GPU SET name = 7, uuid = 'no', totalMemory = 'x'")
        connection.commit()
    imported = import_nsys(path, tmp_path / "out.zst")
    trace = snoopie.load(imported.paths)
    assert trace.objects["bytes"].tolist()[:4] == [1000, 500, 64, 32]
    assert len(trace.copies) == 2
    assert any("made no sense" in text for text in imported.notices)


def test_hostile_strings(tmp_path: Path) -> None:
    # So long that what takes time with the square of a length would not end.
    evil = "<script>\x1b[31m\n\u202e" + "x" * 500_000 + "_v1" * 200_000 + "!"
    export = Export("2025", pid=5)
    call = export.call(evil, 0, 100, chain=export.chain((evil, evil, 1)))
    export.memory(50, ADDRESS, 10, call=call, name=evil)
    export.kernel(evil, 10, 20, call)
    export.add("PROCESSES", globalPid=global_pid(5), name=evil)
    trace = load(export, tmp_path)
    assert trace.objects["name"].tolist()[0].startswith("<script>")
    assert cli.main(["info", str(tmp_path / "out.zst")]) == 0


def test_tables_without_rows(tmp_path: Path) -> None:
    tables = [table for table in Export().schema() if "CUPTI" in table or "CUDA" in table]
    path = Export().write(tmp_path / "report.sqlite", empty=tuple(tables))
    trace = snoopie.load(import_nsys(path, tmp_path / "out.zst").paths)
    assert trace.objects.empty and trace.launches.empty and trace.processes["pid"].tolist() == [0]


def test_amounts_beyond_any_machine(tmp_path: Path) -> None:
    export = Export()
    for number in range(4):
        export.memory(number, ADDRESS + number, 1 << 60)
    with pytest.raises(SnoopieError, match="add up to more"):
        import_nsys(export.write(tmp_path / "report.sqlite"), tmp_path / "out.zst")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.sqlite"]


def refused(path: Path, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["import", "nsys", str(path), "-o", str(path.with_suffix(".zst"))]) == 1
    shown = capsys.readouterr()
    assert words in shown.err and shown.err.count("\n") == 1 and "Traceback" not in shown.err
    assert not path.with_suffix(".zst").exists()


def test_what_is_no_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.sqlite"
    text.write_text("this is no database, however long it is")
    refused(text, "is not an SQLite export", capsys)
    refused(tmp_path / "missing.sqlite", "there is no file", capsys)
    folder = tmp_path / "folder.sqlite"
    folder.mkdir()
    refused(folder, "no report of Nsight Systems", capsys)
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    refused(empty, "is empty", capsys)
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.commit()
    refused(other, "not of Nsight Systems", capsys)
    refused(Export().write(tmp_path / "cpu.sqlite", empty=("StringIds",)), "--trace=cuda", capsys)


def test_a_cut_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export = Export()
    for number in range(2000):
        export.memory(number, ADDRESS + number, 1)
    whole = export.write(tmp_path / "whole.sqlite").read_bytes()
    cut = tmp_path / "cut.sqlite"
    for part in (2, 3, 50):
        cut.write_bytes(whole[: len(whole) // part])
        refused(cut, "damaged or incomplete", capsys)
    torn = bytearray(whole)
    torn[4096 * 12 : 4096 * 14] = b"\xa5" * 8192
    cut.write_bytes(torn)
    refused(cut, "damaged or incomplete", capsys)


def test_names_are_quoted_and_views_not_run(tmp_path: Path) -> None:
    path = scenario("2025").write(tmp_path / "report.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('CREATE TABLE "x\' OR "" 1" (a)')
        connection.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS SELECT randomblob(1000000000) AS start")
        connection.commit()
    assert import_nsys(path, tmp_path / "out.zst").paths


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scenario("2022").write(Path("my report.sqlite"))
    assert cli.main(["import", "nsys", "my report.sqlite"]) == 0
    shown = capsys.readouterr()
    assert "wrote my report.zst" in shown.out and "UUID" in shown.out
    assert shown.err == "Next: snoopie info 'my report.zst'\n"
    before = Path("my report.zst").read_bytes()
    assert cli.main(["import", "nsys", "my report.sqlite"]) == 1
    assert "already exists" in capsys.readouterr().err
    assert cli.main(["import", "nsys", "my report.sqlite", "--force"]) == 0
    assert Path("my report.zst").read_bytes() == before
    assert cli.main(["import", "nsys", "my report.sqlite", "-o", "new/folder/"]) == 0
    assert Path("new/folder/my report.zst").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my report.sqlite", "my report.zst", "new"]
    capsys.readouterr()
    assert cli.main(["import", "nsys", "my report.sqlite", "-o", "my report.sqlite", "--force"]) == 2
    assert "is the file being imported" in capsys.readouterr().err


def test_an_import_that_fails_keeps_what_was_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.zst"
    out.write_text("mine")
    export = Export()
    for number in range(4):
        export.memory(number, ADDRESS + number, 1 << 60)
    path = export.write(tmp_path / "report.sqlite")
    assert cli.main(["import", "nsys", str(path), "-o", str(out), "--force"]) == 1
    assert out.read_text() == "mine"


def test_who_allocated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The three files of the scripts that users have: with a stack, by a driver call, by nobody known."""
    trace = load(scenario("2025"), tmp_path)
    usage = trace.memory_by_kind(by_origin=True)
    peaks = usage.groupby("kind")["peak"].sum().to_dict()
    assert peaks == {"valid": 1000 + 500, "driver": 64, "invalid": 32}
    assert int(trace.memory_by_kind()["peak"].sum()) == sum(peaks.values())
    events = trace.memory_events()
    assert events[["operation", "bytes", "origin"]].to_numpy().tolist() == [
        ["allocation", 1000, "valid"], ["allocation", 500, "valid"], ["allocation", 64, "driver"],
        ["allocation", 32, "invalid"], ["free", 1000, "valid"],
    ]  # fmt: skip
    assert events["call_stack"].tolist()[0] == "cuMemAlloc(libcuda.so.1) -> make(int)(app) -> main(app)"
    picture = tmp_path / "m.png"
    words = ["memory", "--usage", "--by-origin", str(tmp_path / "out.zst"), "--plot", str(picture)]
    assert cli.main(words) == 0
    said = capsys.readouterr().out
    assert all(origin in said for origin in ("valid", "driver", "invalid"))
    assert picture.stat().st_size > 1000
