"""Traces of PyTorch's profiler: what comes out is what stands in them."""

from __future__ import annotations

import gzip
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import snoopie
from snoopie import cli
from snoopie.api.trace import Trace
from snoopie.errors import CorruptError, NotATraceError, SnoopieError, TruncatedError
from snoopie.importers import Imported, spool
from snoopie.importers.kineto import import_kineto

BASE = 1_735_632_360_000_000_000
PID, THREAD = 4711, 4712


def event(cat: str, name: str, ts: Any, dur: Any, pid: Any = PID, tid: Any = THREAD, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def kernel(name: str, ts: Any, dur: Any, correlation: int, device: int = 0, **more: Any) -> dict[str, Any]:
    about = {"device": device, "context": 1, "stream": 7, "correlation": correlation, "shared memory": 1024}
    return event(
        "kernel", name, ts, dur, device, 7, **about, grid=[8, 2, 1], block=[128, 1, 1], **{**more}
    )  # fmt: skip


def copy(name: str, ts: Any, dur: Any, correlation: int, size: Any, device: int = 0, **more: Any) -> dict[str, Any]:
    about: dict[str, Any] = {"device": device, "stream": 9, "correlation": correlation, **more}
    if size is not None:
        about["bytes"] = size
    return event("gpu_memcpy", name, ts, dur, device, 9, **about)


def call(name: str, ts: Any, dur: Any, correlation: int, **more: Any) -> dict[str, Any]:
    return event("cuda_runtime", name, ts, dur, cbid=211, correlation=correlation, **more)


NCCL = {
    "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 2, "dtype": "Half",
    "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[1, 3]",
}  # fmt: skip
EVENTS = [
    {"name": "process_name", "ph": "M", "ts": 1.0, "pid": PID, "tid": 0, "args": {"name": "python3"}},
    event("cpu_op", "aten::add", 900.0, 50.0, **{"External id": 1, "Input Dims": [[2, 3], []]}),
    call("cudaLaunchKernel", 1000.001, 5.5, 10),
    kernel("add<float>(int)", 2000.123, 7.877, 10),
    {"ph": "s", "id": 10, "pid": PID, "tid": THREAD, "ts": 1000.001, "cat": "ac2g", "name": "ac2g"},
    {"ph": "f", "id": 10, "pid": 0, "tid": 7, "ts": 2000.123, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    call("cudaMemcpyAsync", 1010, 2, 11),
    copy("Memcpy HtoD (Pageable -> Device)", 2100, 10, 11, 4096),
    call("cudaMemcpyPeerAsync", 1020, 2, 12),
    copy("Memcpy PtoP (Device -> Device)", 2200, 10, 12, 8192, 1, fromDevice=0, inDevice=1, toDevice=1),
    copy("Memcpy DtoD (Device -> Device)", 2300, 10, 99, 16),
    call("cudaMemsetAsync", 1030, 2, 13),
    event("gpu_memset", "Memset (Device)", 2400, 1, 0, 7, device=0, stream=7, correlation=13, bytes=512),
    call("cudaLaunchKernelExC", 1040, 3, 14),
    kernel("ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 2500, 100, 14, **NCCL),
    event("cuda_driver", "cuLaunchKernel", 1050, 3, correlation=15),
    kernel("triton_", 2700, 1, 15, 1),
    call("cudaGraphLaunch", 1060, 3, 16),
    kernel("first", 2800, 1, 16),
    kernel("second", 2801, 1, 16),
    {
        "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": PID, "tid": THREAD, "ts": 1070.5,
        "args": {"Device Type": 1, "Device Id": 0, "Addr": 1 << 46, "Bytes": 512, "Total Allocated": 512,
                 "Total Reserved": 2097152},
    },
]  # fmt: skip
ABOUT = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150_000_000_000}, {"id": 1, "name": "B"}],
    "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 4},
    "host_name": "node1",
}
LAYOUTS = ("as the profiler", "one line", "sorted")


def text_of(events: list[Any], about: dict[str, Any], layout: str = "as the profiler", base: int = BASE) -> str:
    """A file as the profiler lays it out, or in another way."""
    if layout != "as the profiler":
        whole = {**about, "baseTimeNanoseconds": base, "traceEvents": events}
        return json.dumps(whole, sort_keys=layout == "sorted")
    # The profiler's own events begin with "ph" and "cat"; each stands on several lines.
    spelled = ",\n  ".join(
        json.dumps(one).replace('{"ph"', '{\n    "ph"', 1).replace(', "ts"', ',\n    "ts"', 1) for one in events
    )
    head = json.dumps(about)[:-1] + ", " if about else "{"
    return f'{head}\n  "traceEvents": [\n  {spelled}\n  ],\n  "baseTimeNanoseconds": {base}\n}}\n'


def check(imported: Imported) -> Trace:
    trace = snoopie.load(imported.paths)
    assert set(trace.notices["text"]) == set(imported.notices)
    return trace


def imported(folder: Path, events: list[Any], about: dict[str, Any] = ABOUT, layout: str = LAYOUTS[0]) -> Trace:
    path = folder / "worker0.pt.trace.json"
    path.write_text(text_of(events, about, layout), encoding="utf-8")
    return check(import_kineto(path, folder / "out.zst", force=True))


def ns(microseconds: float) -> int:
    return BASE + round(1000 * microseconds)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_trace(tmp_path: Path, layout: str) -> None:
    trace = imported(tmp_path, EVENTS, layout=layout)
    process = trace.processes.iloc[0]
    assert (process["host"], process["pid"], process["program"]) == ("node1", PID, "python3")
    assert (process["rank"], process["ranks"], process["start_ns"]) == (3, 4, ns(1000.001))
    assert trace.gpus[["uuid", "name"]].to_numpy().tolist() == [
        ["kineto-node1-rank3-0", "NVIDIA H200"],
        ["kineto-node1-rank3-1", "B"],
    ]
    columns = ["kernel", "gpu", "stream", "thread", "time", "grid_x", "grid_y", "block_x", "shared_memory"]
    rows = trace.launches[columns].to_numpy().tolist()
    assert rows[0] == ["add<float>(int)", 0, 7, THREAD, ns(1000.001), 8, 2, 128, 1024]
    assert [(row[0], row[1], row[4]) for row in rows[2:]] == [
        ("triton_", 1, ns(1050)), ("first", 0, ns(1060)), ("second", 0, ns(1060))
    ]  # fmt: skip
    assert trace.spans[["start", "end"]].to_numpy().tolist()[0] == [ns(2000.123), ns(2008)]
    copies = trace.copies[["call", "source", "destination", "issuer", "bytes", "stream", "thread", "start", "end"]]
    assert copies.to_numpy().tolist() == [
        ["cudaMemcpyAsync", -1, 0, 0, 4096, 9, THREAD, ns(2100), ns(2110)],
        ["cudaMemcpyPeerAsync", 0, 1, 1, 8192, 9, THREAD, ns(2200), ns(2210)],
        ["Memcpy DtoD (Device -> Device)", 0, 0, 0, 16, 9, 0, ns(2300), ns(2310)],
    ]
    calls = trace.calls[["call", "kernel", "gpu", "direction", "bytes", "start", "end"]].to_numpy().tolist()
    assert calls == [
        ["cudaLaunchKernel", "add<float>(int)", 0, "", 0, ns(1000.001), ns(1005.501)],
        ["cudaMemcpyAsync", "", 0, "host to device", 4096, ns(1010), ns(1012)],
        ["cudaMemcpyPeerAsync", "", 1, "peer", 8192, ns(1020), ns(1022)],
        ["cudaMemsetAsync", "", 0, "", 512, ns(1030), ns(1032)],
        ["cudaLaunchKernelExC", rows[1][0], 0, "", 0, ns(1040), ns(1043)],
        ["cuLaunchKernel", "triton_", 1, "", 0, ns(1050), ns(1053)],
        ["cudaGraphLaunch", "", 0, "", 0, ns(1060), ns(1063)],
    ]
    assert trace.memory_use[["pool_reserved", "pool_used"]].to_numpy().tolist() == [[2097152, 512]]
    losses = " ".join(trace.losses())
    for part in ("Copies within the memory of one GPU: 1.", "whose call is not in the file: 1.", "UUIDs of GPUs"):
        assert part in losses
    assert "skipped" not in losses


def test_parts_are_as_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What refers to one another is joined however few rows are joined at once."""
    whole = imported(tmp_path, EVENTS)
    tables = ("launches", "spans", "copies", "calls", "collectives", "memory_use")
    ids = ["function", "group"]

    def rows(trace: Trace) -> list[list[str]]:
        found = (getattr(trace, table).drop(columns=ids, errors="ignore") for table in tables)
        return [sorted(map(str, table.to_numpy().tolist())) for table in found]

    monkeypatch.setattr(spool, "_TOGETHER", 0)
    monkeypatch.setattr(spool, "_AT_ONCE", 1)
    monkeypatch.setattr(spool, "_SMALL", 1)
    (tmp_path / "parts").mkdir()
    parts = imported(tmp_path / "parts", EVENTS)
    assert rows(parts) == rows(whole)
    assert parts.losses() == whole.losses()
    assert parts.totals == whole.totals


def test_collectives(tmp_path: Path) -> None:
    trace = imported(tmp_path, EVENTS)
    columns = ["operation", "reduction", "type", "count", "bytes", "peer", "rank", "ranks", "issuer", "start", "end"]
    assert trace.collectives[columns].to_numpy().tolist() == [
        ["AllReduce", "sum", "float16", 1000, 2000, -1, 1, 2, 0, ns(1040), ns(1043)]
    ]
    of_group = trace.launches[trace.launches["group"] > 0]
    assert of_group["group"].tolist() == trace.collectives["group"].tolist()
    rows = trace.by_collective()
    assert rows[["operation", "calls", "launches", "call_bytes"]].to_numpy().tolist() == [["AllReduce", 1, 1, 2000]]


def arguments(**changed: Any) -> dict[str, Any]:
    return {name: value for name, value in {**NCCL, **changed}.items() if value is not None}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"Collective name": "_allgather_base", "Out msg nelems": 2000}, ["AllGather", 1000, 4000, -1, 1]),
        ({"Collective name": "_reduce_scatter_base", "In msg nelems": 2000}, ["ReduceScatter", 1000, 4000, -1, 1]),
        ({"Collective name": "send", "Src Rank": 3, "Dst Rank": 1}, ["Send", 1000, 2000, 1, 1]),
        ({"Collective name": "recv", "Src Rank": 1, "Dst Rank": 3}, ["Recv", 1000, 2000, 1, 1]),
        ({"Collective name": "new_one"}, ["new_one", 1000, 2000, -1, 1]),
        ({"Process Group Ranks": "[0, 1, ...]", "Group size": 4}, ["AllReduce", 1000, 2000, -1, 3]),
        ({"Process Group Ranks": None, "Group size": 4}, ["AllReduce", 1000, 2000, -1, 3]),
        # What is not known in full is not invented.
        ({"Process Group Ranks": None}, None),
        ({"Process Group Ranks": f"[{'9' * 5000}]"}, None),
        ({"dtype": "QUInt4x2"}, None),
        ({"dtype": ["Half"]}, None),
        ({"In msg nelems": None}, None),
        ({"Out msg nelems": -5}, None),
        ({"Group size": 0}, None),
        ({"Collective name": 7}, None),
    ],
)
def test_what_a_kernel_of_nccl_says(tmp_path: Path, changed: dict[str, Any], expected: list[Any] | None) -> None:
    trace = imported(tmp_path, [kernel("ncclKernel", 100, 5, 1, **arguments(**changed))])
    columns = ["operation", "count", "bytes", "peer", "rank"]
    assert trace.collectives[columns].to_numpy().tolist() == ([] if expected is None else [expected])
    assert len(trace.launches) == 1
    assert (expected is None) == any("does not say in full" in sentence for sentence in trace.losses())


def test_ranks_of_one_run(tmp_path: Path) -> None:
    for rank in (0, 1):
        about = {**ABOUT, "distributedInfo": {"rank": rank, "world_size": 2}}
        data = text_of([*EVENTS, kernel("own", 5000, 1, 77, rank, **NCCL)], about)
        with gzip.open(tmp_path / f"rank{rank}.json.gz", "wt") as file:
            file.write(data)
    (tmp_path / "config.json").write_text('{"hta": {}}')
    done = import_kineto(tmp_path, tmp_path / "run.zst")
    assert [path.name for path in done.paths] == ["run.rank0.zst", "run.rank1.zst"]
    trace = check(done)
    assert trace.processes["rank"].tolist() == [0, 1]
    assert len(trace.gpus) == 4
    assert len(trace.runs) == 1
    one = import_kineto([tmp_path / "rank0.json.gz", tmp_path / "rank1.json.gz"], tmp_path / "again.zst")
    assert check(one).copies["bytes"].sum() == trace.copies["bytes"].sum() == 2 * (4096 + 8192 + 16)


def test_gpus_of_two_recordings_without_a_host(tmp_path: Path) -> None:
    """Rank 0 of one is not rank 0 of the other: nothing says that they ran on one machine."""
    about = {name: value for name, value in ABOUT.items() if name != "host_name"}
    paths = []
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(text_of(EVENTS, about))
        paths += import_kineto(tmp_path / f"{name}.json", tmp_path / f"{name}.zst").paths
    assert len(snoopie.load(paths[0]).gpus) == 2
    assert len(snoopie.load(paths, all_runs=True).gpus) == 4


def test_times_keep_their_nanoseconds(tmp_path: Path) -> None:
    # Since 1970, in µs with a fraction: more digits than a binary number has.
    path = tmp_path / "t.json"
    events = text_of([kernel("k", 0, 0, 1), call("cudaLaunchKernel", 1, 2, 1)], {}, base=0)
    events = events.replace('"ts": 0', '"ts": 1712195495519689.047').replace('"dur": 0', '"dur": 0.953')
    events = events.replace('"ts": 1,', '"ts": 1712195495519680.001,')
    path.write_text(events)
    trace = check(import_kineto(path, tmp_path / "t.zst"))
    assert trace.spans[["start", "end"]].to_numpy().tolist() == [[1712195495519689047, 1712195495519690000]]
    assert trace.calls["start"].tolist() == [1712195495519680001]


def test_a_file_without_a_date(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(text_of([kernel("k", 10, 5, 1)], {}, base=0))
    trace = check(import_kineto(path, tmp_path / "t.zst"))
    assert trace.processes["start_ns"].tolist() == [0]
    assert trace.spans["start"].tolist() == [10000]
    assert any("does not say when it began" in sentence for sentence in trace.losses())


def test_copies_of_rocm_have_their_size_at_the_call(tmp_path: Path) -> None:
    events = [
        call("hipMemcpyWithStream", 1, 2, 5, size="2560", kind="1", stream="0x0"),
        copy("Memcpy HtoD (Host -> Device)", 10, 2, 5, None),
        copy("Memcpy DtoH (Device -> Host)", 20, 2, 6, None),
    ]
    trace = imported(tmp_path, events)
    assert trace.copies[["bytes", "source", "destination"]].to_numpy().tolist() == [[2560, -1, 0]]
    assert trace.calls["bytes"].tolist() == [2560]
    assert any("without a size, left out: 1." in sentence for sentence in trace.losses())


def test_mtia(tmp_path: Path) -> None:
    events = [
        event("mtia_runtime", "runFunction", 1, 2, correlation=3),
        event("mtia_ccp_events", "fc-dtype_Float", 10, 5, 17, 9, correlation=3, stream=101),
        event("mtia_ccp_events", "dma_request", 20, 5, 17, 9, stream=101, direction="HOST_TO_DEVICE", size=640),
        event("mtia_ccp_events", "event_record", 30, 1, 17, 9, stream=101),
    ]
    trace = imported(tmp_path, events)
    assert trace.launches[["kernel", "stream"]].to_numpy().tolist() == [["fc-dtype_Float", 101]]
    assert trace.copies[["bytes", "source", "destination"]].to_numpy().tolist() == [[640, -1, 0]]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_a_file_that_was_cut(tmp_path: Path, suffix: str) -> None:
    data = text_of(EVENTS, ABOUT).encode()
    path = tmp_path / f"cut{suffix}"
    # Compressed, the last bytes are those of the check: what comes before can be read.
    path.write_bytes(gzip.compress(data)[:-12] if suffix.endswith("gz") else data[: data.index(b'"cudaGraphLaunch"')])
    with pytest.raises(TruncatedError, match=r"ends too early.*--allow-truncated"):
        import_kineto(path, tmp_path / "out.zst")
    assert not (tmp_path / "out.zst").exists()
    done = import_kineto(path, tmp_path / "out.zst", allow_truncated=True)
    trace = check(done)
    assert "add<float>(int)" in trace.launches["kernel"].tolist()
    assert any("ends too early" in sentence for sentence in done.notices)


def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text_of(EVENTS, ABOUT).replace('"cudaMemsetAsync"', '"cudaMemsetAsync'))
    with pytest.raises(CorruptError, match=r"no valid JSON after [0-9]+ events"):
        import_kineto(path, tmp_path / "out.zst")


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("", NotATraceError, "no JSON|not JSON"),
        ("hello", NotATraceError, "not JSON"),
        ('{"hta": {"defaults": 1}}', NotATraceError, "no events"),
        ('{"traceEvents": 7}', SnoopieError, "no GPU activity"),
        (text_of([event("cpu_op", "aten::add", 1, 1)], {}), SnoopieError, "no GPU activity; record it with"),
    ],
)
def test_other_files(tmp_path: Path, text: str, error: type[SnoopieError], match: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(error, match=match):
        import_kineto(path, tmp_path / "out.zst")
    assert not (tmp_path / "out.zst").exists()


ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(-(1 << 70), 1 << 70), st.floats(), st.text(max_size=5), st.just([1, "x"]),
    st.just({"a": {}}), st.just("12.5"), st.just("0x7f00"), st.just("1e400"), st.just([1, -2, 1 << 40]),
)  # fmt: skip
PLACES = st.tuples(
    st.integers(0, len(EVENTS) - 1),
    st.sampled_from(["ts", "dur", "name", "pid", "tid", "cat", "ph", "args"]),
    st.one_of(st.none(), st.sampled_from(["device", "stream", "correlation", "bytes", "grid", "block", "Group size"])),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(PLACES, st.one_of(st.just("gone"), ANYTHING)), min_size=1, max_size=6), st.sampled_from(LAYOUTS)
)
def test_no_value_stops_the_others(tmp_path: Path, changes: list[Any], layout: str) -> None:
    events: list[Any] = json.loads(json.dumps(EVENTS))
    for (number, name, argument), value in changes:
        of = events[number]
        if argument is not None and isinstance(of.get("args"), dict):
            of, name = of["args"], argument
        of.pop(name, None)
        if value != "gone":
            of[name] = deepcopy(value)  # one of the values would else be put into itself
    mark = kernel("mark", 9000, 1, 4711, 1)
    trace = imported(tmp_path, [mark, *events, mark], layout=layout)
    assert trace.launches["kernel"].tolist().count("mark") == 2
    assert cli.main(["check", str(tmp_path / "out.zst")]) == 0


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(ANYTHING, st.sampled_from(EVENTS)), max_size=12), st.dictionaries(
    st.sampled_from([*ABOUT, "baseTimeNanoseconds"]), ANYTHING, max_size=4))  # fmt: skip
def test_no_event_and_no_member_stops_the_others(tmp_path: Path, events: list[Any], about: dict[str, Any]) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps({**about, "traceEvents": [*events, kernel("mark", 10**9, 1, 1)]}))
    trace = check(import_kineto(path, tmp_path / "out.zst", force=True))
    assert "mark" in trace.launches["kernel"].tolist()


def test_events_over_many_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = imported(tmp_path, EVENTS * 40)
    monkeypatch.setattr("snoopie.importers.kineto.events._PIECE", 700)
    for layout in LAYOUTS:
        pieces = imported(tmp_path, EVENTS * 40, layout=layout)
        for table in ("launches", "copies", "calls", "spans", "collectives"):
            assert getattr(pieces, table).equals(getattr(whole, table)), (layout, table)


def test_what_commands_say_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "worker0.pt.trace.json"
    source.write_text(text_of(EVENTS, ABOUT))
    assert cli.main(["import", str(source), "-o", f"{tmp_path}/"]) == 0
    assert "is of the kind kineto" in capsys.readouterr().out
    trace = str(tmp_path / "worker0.zst")
    for words in (["check"], ["stats"], ["summary"], ["info"], ["calls"], ["report", "-o", f"{tmp_path}/r.html"],
                  ["export", "--format", "chrome", "-o", f"{tmp_path}/x.json"]):  # fmt: skip
        assert cli.main([words[0], trace, *words[1:]]) == 0, words
    assert "cudaMemcpyPeerAsync" in capsys.readouterr().out
