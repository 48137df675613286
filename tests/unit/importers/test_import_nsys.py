"""Exports of Nsight Systems: what comes out is what arithmetic says."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snoopie
from snoopie import cli
from snoopie.api.trace import Trace
from snoopie.errors import SnoopieError
from snoopie.importers.nsys import import_nsys, memory
from tests.support.nsys_export import DRIVER, EPOCH, UUIDS, Export, global_pid

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
    assert objects["call"].tolist() == ["cudaMalloc", "cudaMalloc", "cuMemAllocHost_v2", ""]
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


def test_calls_are_counted_once(trace: Trace, version: str) -> None:
    calls = trace._tables.calls
    assert len(calls) == 9
    named = calls.groupby("call").size().to_dict()
    assert named == {
        "cudaMalloc": 3, "cuMemAllocHost_v2": 1, "cudaFree": 1, "cudaLaunchKernel": 1, "cudaMemcpy": 2,
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
        connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER)")
    assert any("--cuda-graph-trace=node" in text for text in import_nsys(path, tmp_path / "out.zst").notices)


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
    assert any("invalid rows" in text for text in imported.notices)


def test_hostile_strings(tmp_path: Path) -> None:
    evil = "<script>\x1b[31m\n\u202e" + "x" * 70_000
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
    refused(folder, "is not a file", capsys)
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
