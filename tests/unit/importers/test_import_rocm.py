"""Texts of ROCm's tracers: what comes out is what stands in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import snoopie
from snoopie import cli
from snoopie.api.trace import Trace
from snoopie.errors import NotATraceError
from snoopie.importers import Imported
from snoopie.importers.rocm import import_hcc, import_rtg

DEPS = "dep1:0 dep2:0 dep3:0 dep4:0 dep5:0"
RTG = f"""\
HIP: pid:12 tid:13 hipFree ret=0 @100 +20
HIP: pid:12 tid:13 hipLaunchKernel [step(int) [clone .kd]] ret=0 @200 +30
HIP: pid:12 tid:14 hipModuleLaunchKernel(0x1, {{2, ret=3}}, "a b") [copy<float, 2>] ret=701 @300 +40
HSA: pid:12 tid:13 hsa_signal_wait_scacquire (1, 2) ret=void @310 +5
HSA: pid:12 tid:13 dispatch queue:0 agent:1 signal:3 name:'step(int)' tick:205 id:0 workgroup:{{64,2,1}} grid:{{130,2,1}}
HSA: pid:12 tid:13 dispatch queue:1 agent:2 signal:3 name:'it's 'x' start:1' tick:206 id:1 workgroup:{{64,1,1}} grid:{{64,1,1}}
HSA: pid:12 tid:13 dispatch queue:0 agent:1 signal:3 name:'step(int)' start:1000 stop:3000 id:0
HSA: pid:12 tid:13 dispatch queue:5 agent:2 signal:3 name:'lone' start:1500 stop:1600 id:7
HSA: pid:12 tid:13 barrier queue:0 agent:1 signal:3 {DEPS} tick:4 id:2
HSA: pid:12 tid:13 barrier queue:0 agent:1 signal:3 start:3000 stop:3001 {DEPS} id:2
HSA: pid:12 tid:13 copy agent:2 signal:3 start:20000 stop:21000 {DEPS}
RTX: pid:12 tid:13 epoch 1 @400 +10
RTX: pid:12 tid:13 mark @500
"""  # noqa: E501
HCC = """\
profile:    copy;  DeviceToDevice_async_fast;     13.1 us;  83831227978264; 83831227991384; #0.1.9; 4004 bytes; 0.0 MB; 0.3 GB/s;
"""  # noqa: E501


def check(imported: Imported) -> Trace:
    trace = snoopie.load(imported.paths)
    assert sorted(set(trace.notices["text"])) == sorted(imported.notices)
    return trace


def rtg(folder: Path, content: str) -> Trace:
    path = folder / "rtg.txt"
    path.write_text(content, encoding="utf-8")
    return check(import_rtg(path, folder / "rtg.zst", force=True))


def hcc(folder: Path, content: str) -> Trace:
    path = folder / "hcc.txt"
    path.write_text(content, encoding="utf-8")
    return check(import_hcc(path, folder / "hcc.zst", force=True))


def test_rtg_tracer(tmp_path: Path) -> None:
    trace = rtg(tmp_path, RTG)
    assert trace.processes[["pid", "start_ns", "end_ns"]].to_numpy().tolist() == [[12, 100, 21000]]
    assert trace.gpus["uuid"].tolist() == ["rocm-1", "rocm-2"]
    kernels = trace.launches[["kernel", "gpu", "stream", "thread", "time", "grid_x", "grid_y", "block_x", "block_y"]]
    assert kernels.to_numpy().tolist() == [
        ["step(int)", 0, 0, 13, 205, 3, 1, 64, 2],
        ["it's 'x' start:1", 1, 1, 13, 206, 1, 1, 64, 1],
        ["lone", 1, 5, 0, 1500, 0, 0, 0, 0],
    ]
    spans = trace.spans.assign(kernel=trace.launches.loc[trace.spans["launch"], "kernel"].to_numpy())
    assert spans[["kernel", "start", "end"]].to_numpy().tolist() == [["step(int)", 1000, 3000], ["lone", 1500, 1600]]
    assert trace.calls[["call", "kernel", "thread", "start", "end", "code"]].to_numpy().tolist() == [
        ["hipFree", "", 13, 100, 120, 0],
        ["hipLaunchKernel", "step(int) [clone .kd]", 13, 200, 230, 0],
        ["hipModuleLaunchKernel", "copy<float, 2>", 14, 300, 340, 701],
        ["hsa_signal_wait_scacquire", "", 13, 310, 315, 0],
        ["roctx: epoch 1", "", 13, 400, 410, 0],
        ["roctx: mark", "", 13, 500, 500, 0],
    ]
    assert trace.call_errors[["call", "code", "calls"]].to_numpy().tolist() == [["hipModuleLaunchKernel", 701, 1]]
    assert trace.copies[["source", "destination", "issuer", "start", "end"]].to_numpy().tolist() == [
        [-2, -2, 1, 20000, 21000]
    ]
    losses = " ".join(trace.losses())
    for part in (
        "end on the GPU is not in the text: 1.",
        "stand in the table barriers: 1.",
        "does not record the sizes and ends of copies",
    ):
        assert part in losses
    busy = trace.resources().set_index("resource")
    assert busy["busy"].to_dict() == {"GPU 0": 2000, "GPU 1": 100, "DATA": 1000}


def test_rtg_tracer_of_two_processes(tmp_path: Path) -> None:
    trace = rtg(tmp_path, RTG + RTG.replace("pid:12", "pid:99"))
    assert [path.name for path in trace.paths] == ["rtg.12.zst", "rtg.99.zst"]
    assert len(trace.gpus) == 2
    assert len(trace.spans) == 4


def test_hcc_profile(tmp_path: Path) -> None:
    tab = "\t"
    kernel = (
        f"profile:  kernel;{tab}{'vecadd':>40};{tab}   0.4 us;{tab}83831227991984;{tab}83831227992384;{tab}#0.1.10;"
    )
    more = [
        "the program's own words", kernel,
        f"profile: barrier;{tab}x;{tab}   0.1 us;{tab}1;{tab}2;{tab}#0.1.11;",
        f"profile: copyslo;{tab}HostToDevice_sync;{tab}   1.0 us;{tab}83831228000000;{tab}83831228001000;{tab}#1.0.12;"
        f"{tab}64 bytes;{tab}0.0 MB;{tab}0.1 GB/s;",
    ]  # fmt: skip
    trace = hcc(tmp_path, HCC + "\n".join(more) + "\n")
    assert trace.gpus["uuid"].tolist() == ["rocm-0", "rocm-1"]
    names = ["source", "destination", "issuer", "bytes", "stream", "start", "end", "call"]
    assert trace.copies[names].to_numpy().tolist() == [
        [0, 0, 0, 4004, 1, 83831227978264, 83831227991384, "DeviceToDevice_async_fast"],
        [-1, 1, 1, 64, 0, 83831228000000, 83831228001000, "HostToDevice_sync"],
    ]
    assert trace.launches[["kernel", "gpu", "stream"]].to_numpy().tolist() == [["vecadd", 0, 1]]
    assert trace.spans[["start", "end"]].to_numpy().tolist() == [[83831227991984, 83831227992384]]
    rows = trace.by_resource()
    assert rows[["resource", "name", "total"]].to_numpy().tolist() == [
        ["GPU 0", "vecadd", 400],
        ["DATA", "DeviceToDevice_4004_bytes", 13120],
        ["DATA", "gap <10 us", 83831228000000 - 83831227991384],
        ["DATA", "HostToDevice_64_bytes", 1000],
    ]
    # What the program prints is no damage, but marks a moment.
    assert trace.marks[["time", "text"]].to_numpy().tolist() == [[83831227991984, "the program's own words"]]
    assert not any("damaged" in sentence for sentence in trace.losses())
    assert trace.barriers[["gpu", "start", "end", "name"]].to_numpy().tolist() == [[0, 1, 2, "x"]]


def test_three_forms_of_hcc_profile(tmp_path: Path) -> None:
    forms = [
        "profile:  kernel;  a;     0.4 us;  50; 100; 500; #0.1.1;",
        "profile:  kernel;  b;     0.4 us;  600; 1000; #2.1.2;",
        "profile: barrier;  depcnt=1,acq=none,rel=none;     0.5 us;  1000; 1500; #0.1.3; deps=#0.1.9",
        "profile:  kernel;  c;     0.4 us;",
        "profile:  kernel;  d;     0.4 us;  #0.0.4;",
        "profile:    copy;  HostToDevice;     0.4 us;  2000; 2400; #0.1.9; 64 bytes; 0.0 MB; 0.3 GB/s;",
        "profile:  kernel;  e;     0.4 us;  2000; 1000; #0.1.5;",
    ]
    trace = hcc(tmp_path, "\n".join(forms))
    spans = trace.spans.assign(kernel=trace.launches.loc[trace.spans["launch"], "kernel"].to_numpy())
    assert spans[["kernel", "start", "end"]].to_numpy().tolist() == [["a", 100, 500], ["b", 600, 1000]]
    assert sorted(trace.launches["kernel"]) == ["a", "b", "c", "d"]
    assert trace.launches.set_index("kernel")["gpu"].to_dict() == {"a": 0, "b": 2, "c": 0, "d": 0}
    assert trace.barriers[["gpu", "stream", "start", "end", "name"]].to_numpy().tolist() == [
        [0, 1, 1000, 1500, "depcnt=1,acq=none,rel=none"]
    ]
    assert trace.copies[["bytes", "source", "destination"]].to_numpy().tolist() == [[64, -1, 0]]
    losses = trace.losses()
    assert "Kernels whose end on the GPU is not in the text: 2." in losses
    assert "Records without times took 800 ns in all; how long each of them took is in no table." in losses
    assert "Lines that are damaged or not records of HCC_PROFILE=2, skipped: 1." in losses


def test_a_folder_of_rtg_tracer_has_a_file_for_each_thread(tmp_path: Path) -> None:
    folder = tmp_path / "rtg_trace_12"
    folder.mkdir()
    lines = [line for line in RTG.splitlines() if "stop:" in line or "tid:13" in line]
    # The lines of the GPU stand in the file of a thread of the tracer, which comes first.
    gpu = [line for line in lines if "stop:" in line]
    vendor = [
        "HSA: pid:12 tid:13 vendor queue:0 agent:1 signal:3 dep:0 tick:4 id:3",
        "HSA: pid:12 tid:2 vendor queue:0 agent:1 signal:3 start:3001 stop:3005 dep:0 id:3",
    ]
    (folder / "rtg_trace_12.0002.txt").write_text("\n".join([*gpu, vendor[1]]) + "\n")
    (folder / "rtg_trace_12.0013.txt").write_text("\n".join([line for line in lines if line not in gpu] + vendor[:1]))
    (folder / "rtg_trace_12.0014.txt").write_text(RTG.splitlines()[2] + "\n")
    trace = check(import_rtg(folder, tmp_path / "t.zst"))
    whole = rtg(tmp_path, RTG)
    for table in ("calls", "copies", "call_errors"):
        names = [name for name in getattr(whole, table).columns if name != "gpu"]
        own, other = (sorted(map(str, getattr(each, table)[names].to_numpy().tolist())) for each in (trace, whole))
        assert own == other
    shapes = ["kernel", "thread", "time", "grid_x", "block_x"]
    assert sorted(trace.launches[shapes].to_numpy().tolist()) == sorted(whole.launches[shapes].to_numpy().tolist())
    assert trace.barriers[["start", "end", "name"]].to_numpy().tolist() == [
        [3000, 3001, "barrier"],
        [3001, 3005, "vendor"],
    ]
    assert not any("damaged" in sentence for sentence in trace.losses())


@pytest.mark.parametrize(
    ("call", "size", "direction"),
    [
        ("hipMemcpy(dst=0x7f01, src=0x7f02, sizeBytes=4096, kind=1)", 4096, "host to device"),
        ("hipMemcpyAsync(dst=0x1, sizeBytes=8, kind=hipMemcpyDeviceToHost, stream:<null>)", 8, "device to host"),
        ("hipMalloc(ptr=0x7f01, size=100)", 100, ""),
        ("hipModuleLaunchKernel(f=1, sharedMemBytes=7, size=9)", 0, ""),
    ],
)  # fmt: skip
def test_arguments_say_how_much_a_call_moves(tmp_path: Path, call: str, size: int, direction: str) -> None:
    trace = rtg(tmp_path, f"HIP: pid:1 tid:2 {call} ret=0 @100 +20\n")
    assert trace.calls[["call", "bytes", "direction"]].to_numpy().tolist() == [[call.split("(")[0], size, direction]]


def test_sizes_of_hsa_copies(tmp_path: Path) -> None:
    call = "hsa_amd_memory_async_copy (0x7f, agent_94, 0x7e, agent_95, 16384, 0, 0, signal_4)"
    trace = rtg(tmp_path, f"HSA: pid:1 tid:2 {call} ret=0 @100 +20\n")
    assert trace.by_call().iloc[0][["call", "bytes"]].tolist() == ["hsa_amd_memory_async_copy", 16384]


def rpt(
    records: list[tuple[str, str, int, int]], gaps: tuple[int, ...]
) -> dict[tuple[str, str], tuple[int, int, int, int]]:
    """rpt's own arithmetic: resource and name → time, calls, shortest, longest (ns)."""
    found: dict[tuple[str, str], list[int]] = {}
    latest: dict[str, int] = {}
    for resource, name, start, stop in sorted(records, key=lambda record: record[2]):
        before = latest.get(resource)
        if before is not None and start > before:
            length = start - before
            at = next((place for place, limit in enumerate(gaps) if length < 1000 * limit), len(gaps))
            gap = (
                f"gap <{gaps[0]} us" if at == 0 else f"gap >={gaps[-1]} us" if at == len(gaps)
                else f"gap {gaps[at - 1]}-{gaps[at]} us"
            )  # fmt: skip
            found.setdefault((resource, gap), []).append(length)
        time = max(stop - max(start, before or 0), 0)
        found.setdefault((resource, name), []).append(time)
        latest[resource] = max(before or 0, stop)
    return {key: (sum(times), len(times), min(times), max(times)) for key, times in found.items()}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["kernel", "copy", "barrier"]), st.integers(1, 10**9), st.integers(0, 10**8)),
        min_size=1, max_size=20, unique_by=lambda record: record[1],
    )
)  # fmt: skip
def test_each_row_of_rpt(tmp_path: Path, records: list[tuple[str, int, int]]) -> None:
    lines, expected = [], []
    for kind, start, length in records:
        name = {"kernel": "fill.kd", "copy": "HostToDevice", "barrier": ""}[kind]
        more = "\t16384 bytes;\t0.0 MB;\t0.3 GB/s;" if kind == "copy" else ""
        lines.append(f"profile: {kind:>7};\t{name:>40};\t   1.0 us;\t{start};\t{start + length};\t#0.1.2;{more}")
        row = {"kernel": "fill.kd", "copy": "HostToDevice_16384_bytes", "barrier": "barrier"}[kind]
        expected.append(("DATA" if kind == "copy" else "GPU 0", row, start, start + length))
    trace = hcc(tmp_path, "\n".join(lines))
    for gaps in ((10, 20, 50, 100, 1000, 10000, 100000), (7, 300)):
        rows = trace.by_resource(gaps, barriers=True, critical=True)
        own = {
            (row.resource, row.name): (row.total, row.calls, row.least, row.most)
            for row in rows.itertuples(index=False)
        }
        assert own == rpt(expected, gaps)


MARKED = "\n".join(
    [
        "starting", "profile: kernel; a; 1.0 us; 1000; 2000; #0.0.1;", "MyMarker 1",
        "profile: kernel; b; 1.0 us; 3000; 4000; #0.0.2;", "MyMarker 2",
        "profile: kernel; c; 1.0 us; 9000; 9500; #0.0.3;", "the end",
    ]
)  # fmt: skip


@pytest.mark.parametrize(
    ("options", "kernels"),
    [
        ([], ["a", "b", "c"]), (["--from", "MyMarker"], ["b", "c"]), (["--from", "2%MyMarker"], ["c"]),
        (["--to", "MyMarker 2"], ["a", "b"]), (["--from", "Marker 1", "--to", "Marker 2"], ["b"]),
    ],
)  # fmt: skip
def test_a_region_between_marks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], kernels: list[str]
) -> None:
    hcc(tmp_path, MARKED)
    assert cli.main(["summary", str(tmp_path / "hcc.zst"), "--json", *options]) == 0
    rows = json.loads(capsys.readouterr().out)["resources"][0]["rows"]
    assert sorted(row["name"] for row in rows if row["kind"] == "kernel") == kernels


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--from", "nothing"], "no mark of the program matches nothing"),
        (["--from", "3%MyMarker"], "only 2 marks of the program match 3%MyMarker"),
        (["--from", "("], "is no regular expression"),
        (["--from", "Marker 2", "--to", "Marker 1"], "--to is not after --from"),
        (["--gaps", "0,5"], "not rising numbers"),
        (["--gaps", "x"], "is not a list of µs"),
    ],
)
def test_wrong_regions(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str) -> None:
    hcc(tmp_path, MARKED)
    try:
        status = cli.main(["summary", str(tmp_path / "hcc.zst"), *options])
    except SystemExit as ended:
        status = int(str(ended.code))
    assert status == 2
    assert said in capsys.readouterr().err


def test_workgroups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rtg(tmp_path, RTG)
    assert cli.main(["summary", str(tmp_path / "rtg.zst"), "--workgroups", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["workgroups"]
    assert [list(row.values()) for row in rows] == [
        [64, 64, 1, 1, "it's 'x' start:1", 1],
        [128, 64, 2, 1, "step(int)", 1],
    ]
    hcc(tmp_path, HCC)
    assert cli.main(["summary", str(tmp_path / "hcc.zst"), "--workgroups"]) == 0
    assert (
        "unknown: what HCC_PROFILE=2 recorded does not include the thread blocks of kernels" in capsys.readouterr().out
    )


def test_copies_without_a_size_have_none_in_their_names(tmp_path: Path) -> None:
    assert rtg(tmp_path, RTG).by_resource().set_index("kind").loc["copy", "name"] == "copy"


def test_a_timeline_names_launches_as_their_kernels(tmp_path: Path) -> None:
    rtg(tmp_path, RTG)
    out = tmp_path / "t.json"
    export = ["export", str(tmp_path / "rtg.zst"), "--format", "chrome", "-o", str(out), "--force"]

    def events() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(out.read_text())["traceEvents"]
        return found

    assert cli.main(export) == 0
    calls = {event["name"] for event in events() if event.get("cat") == "call"}
    assert {"hipLaunchKernel", "hipModuleLaunchKernel"} <= calls
    assert cli.main([*export, "--kernel-names", "--group", "process"]) == 0
    calls = {event["name"] for event in events() if event.get("cat") == "call"}
    assert not calls & {"hipLaunchKernel", "hipModuleLaunchKernel"}
    assert "hipFree" in calls and any("step" in name for name in calls)
    # One process has both the calls and the kernels.
    assert (
        len({event["pid"] for event in events() if event.get("cat") in ("call", "kernel") and event["ph"] == "X"}) == 1
    )
    threads = [event["args"]["name"] for event in events() if event["name"] == "thread_name"]
    assert "GPU 0 default stream" in threads
    assert cli.main(["export", str(tmp_path / "rtg.zst"), "--format", "csv", "-o", str(out), "--kernel-names"]) == 2


LINES = st.one_of(
    st.text(max_size=80),
    st.sampled_from(RTG.splitlines()).flatmap(
        lambda line: st.tuples(st.integers(0, len(line)), st.text(max_size=5), st.integers(0, len(line))).map(
            lambda cut: line[: cut[0]] + cut[1] + line[cut[2] :]
        )
    ),
    st.just("HIP: pid:1 tid:2 hipFree ret=0 @9999999999999999999 +1"),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES, max_size=15))
def test_no_line_stops_the_others(tmp_path: Path, lines: list[str]) -> None:
    for path in tmp_path.glob("*.zst"):
        path.unlink()
    mark = "HIP: pid:4711 tid:13 hipMark ret=0 @100 +20"
    trace = rtg(tmp_path, "\n".join([mark, *lines, mark, ""]))
    assert trace.calls["call"].tolist().count("hipMark") == 2
    trace = hcc(tmp_path, HCC + "\n".join(lines) + "\n" + HCC)
    assert trace.copies["bytes"].tolist().count(4004) == 2


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.txt"
    path.write_text(RTG + HCC)
    for kind in ("rtg", "hcc"):
        assert cli.main(["import", kind, str(path), "-o", str(tmp_path / f"{kind}.zst")]) == 0
        assert f"wrote {tmp_path}/{kind}.zst" in capsys.readouterr().out
        assert cli.main(["summary", str(tmp_path / f"{kind}.zst")]) == 0
    path.write_text("nothing\n")
    with pytest.raises(NotATraceError, match="has no line of rtg_tracer"):
        import_rtg(path, tmp_path / "x.zst")
    with pytest.raises(NotATraceError, match="has no line of HCC_PROFILE=2"):
        import_hcc(path, tmp_path / "x.zst")
