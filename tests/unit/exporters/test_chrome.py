"""Timelines for Perfetto and chrome://tracing: every event by the format's rules, and each where it belongs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import snoopie
from snoopie import cli
from snoopie.errors import SnoopieError
from snoopie.exporters.chrome import export
from snoopie.importers.nsys import import_nsys
from tests.support import chrome, ring
from tests.support.encoder import DIRECTIONS, HOST, START_NS, TraceBuilder
from tests.support.nsys_export import Export

SAMPLES = Path(__file__).parents[3] / "sample_traces"
HOSTILE = '</script>"\\\n\t\x00\x1b[31m é 日本 \U0001f600 \u2028 {"ph":"X"},'


def told(trace: snoopie.Trace, path: Path) -> tuple[dict[str, Any], list[chrome.Event]]:
    export(trace, path)
    whole = chrome.read(path)
    return whole["otherData"], chrome.check(whole)


def of(events: list[chrome.Event], phase: str, category: str = "") -> list[chrome.Event]:
    return [event for event in events if event["ph"] == phase and event.get("cat", "") == category]


def story() -> TraceBuilder:
    """Two launches on GPU 0, the first within a call, a call that failed, a copy within its call, memory."""
    trace = TraceBuilder(2, ranks={"OMPI_COMM_WORLD_RANK": "3"})
    put = trace.function("void n::put<int>(int*)")
    site = trace.site(put, "STG.E", "store", 4)
    for time, start, end in ((1500, 2000, 12_000), (20_000, 25_000, 25_500)):
        launch = trace.launch(put, 0, stream=0x7F00, time=START_NS + time)
        trace.count(launch, site, 1, 100, 2500, 400)
        trace.add("spans", launch=launch, start=START_NS + start, end=START_NS + end)
    unspanned = trace.launch(put, 0, stream=0x7F00, time=START_NS + 30_000)
    trace.count(unspanned, site, 1, 1, 1, 1)
    call, thread = trace.string("cuLaunchKernel"), 4711
    name = trace.string("void n::put<int>(int*)")
    trace.add("calls", call=call, kernel=name, thread=thread, start=START_NS + 1000, end=START_NS + 1900)
    trace.add("calls", call=call, kernel=name, thread=thread, start=START_NS + 3000, end=START_NS + 3500, code=700)
    to_device = DIRECTIONS.index("host to device")
    trace.add(
        "calls", call=trace.string("cuMemcpyHtoDAsync_v2"), thread=thread, start=START_NS + 4000, end=START_NS + 5000,
        bytes=4096, direction=to_device,
    )  # fmt: skip
    # Timed a little earlier and longer than its call.
    trace.copy(
        HOST, 0, 4096, gpu=0, call="cuMemcpyHtoDAsync_v2", stream=0x7F00, start=START_NS + 3990, end=START_NS + 5010
    )
    trace.collective(1, "AllReduce", 1024, gpu=0, reduction="sum", start=START_NS + 19_000, end=START_NS + 20_500)
    trace.add("objects", address=0x1000, bytes=4096, owner=0, kind=0, time=START_NS + 100)
    trace.add("objects", address=0x2000, bytes=100, owner=0, kind=0, time=START_NS + 200)
    trace.add("objects", address=0x2000, bytes=50, owner=0, kind=0, time=START_NS + 250, inside=2)
    trace.add("frees", object=1, time=START_NS + 300)
    trace.add("memory_use", time=START_NS + 50, gpu=0, used=1 << 30, own=-1, pool_reserved=-1, pool_used=-1)
    return trace


def test_every_event_is_where_it_belongs(tmp_path: Path) -> None:
    about, events = told(snoopie.load(story().write(tmp_path / "x.zst")), tmp_path / "x.json")
    assert about["origin_ns"] == str(START_NS + 50)
    processes, threads = chrome.named(events)
    assert processes == {
        1: "ring rank 3 (4711@node1)",
        2: "GPU 0 NVIDIA H200 GPU-00000000-aaaa-bbbb-cccc-000000000000",
        3: "GPU 1 NVIDIA H200 GPU-00000001-aaaa-bbbb-cccc-000000000000",
    }
    assert threads == {(1, 1): "thread 4711", (2, 1): "stream 0x7f00"}

    first, second = of(events, "X", "kernel")
    assert (first["name"], first["pid"], first["ts"], first["dur"]) == ("n::put<int>", 2, 1950, 10_000)
    assert (second["ts"], second["dur"]) == (24_950, 500)
    assert first["args"]["launch"] == 1
    assert first["args"]["grid"] == "4 x 1 x 1"
    assert first["args"]["bytes"] == {"GPU 0 → GPU 1": 10_000}
    assert "instrumentation" in first["args"]["time"]
    (instant,) = of(events, "i", "kernel")
    assert (instant["pid"], instant["ts"], instant["args"]["launch"]) == (2, 29_950, 3)
    assert "unknown" in instant["args"]["time"]

    calls = of(events, "X", "call")
    assert [(event["name"], event["ts"], event["dur"], "cname" in event) for event in calls] == [
        ("cuLaunchKernel", 950, 900, False),
        ("cuLaunchKernel", 2950, 500, True),
        ("cuMemcpyHtoDAsync_v2", 3950, 1000, False),
    ]
    assert calls[2]["args"]["bytes"] == 4096
    (copy,) = of(events, "X", "copy")
    assert (copy["name"], copy["pid"], copy["tid"], copy["ts"], copy["dur"]) == ("copy host → GPU 0", 1, 1, 3950, 1000)
    (queued,) = of(events, "i", "copy")
    assert queued["pid"] == 2 and queued["args"]["time on the GPU"] == "unknown"
    (reduced,) = of(events, "X", "nccl")
    assert reduced["name"] == "ncclAllReduce" and reduced["args"]["count"] == 1024
    # Within the call of NCCL, and ended by it.
    inside, alone = of(events, "X", "launch")
    assert (inside["ts"], inside["dur"]) == (19_950, 500)
    assert (alone["ts"], alone["dur"]) == (29_950, 1000)


def test_ranges_lie_around_calls(tmp_path: Path) -> None:
    trace = story()
    for start, end, name, domain in ((900, 4000, "step", ""), (1000, 2000, 'ha"lo', "app"), (5000, 0, "open", "")):
        named = {"name": trace.string(name), "domain": trace.string(domain) if domain else 0, "pushed": 1}
        trace.add("ranges", thread=4711, start=START_NS + start, end=START_NS + end if end else 0, **named)
    _, events = told(snoopie.load(trace.write(tmp_path / "x.zst")), tmp_path / "x.json")
    assert [
        (one["name"], one["args"]["domain"], one["pid"], one["tid"], one["ts"], one["dur"])
        for one in of(events, "X", "range")
    ] == [("step", "", 1, 1, 850, 3100), ('ha"lo', "app", 1, 1, 950, 1000)]


def test_flows_go_from_the_call_to_the_kernel(tmp_path: Path) -> None:
    _, events = told(snoopie.load(story().write(tmp_path / "x.zst")), tmp_path / "x.json")
    begins, ends = of(events, "s", "launch"), of(events, "f", "launch")
    assert [(event["id"], event["pid"], event["ts"]) for event in begins] == [(1, 1, 1450), (2, 1, 19_950)]
    assert [(event["id"], event["pid"], event["ts"]) for event in ends] == [(1, 2, 1950), (2, 2, 24_950)]


def counted(events: list[chrome.Event], name: str) -> list[tuple[int, int]]:
    return [(event["ts"], *event["args"].values()) for event in events if event["ph"] == "C" and event["name"] == name]


def test_counters(tmp_path: Path) -> None:
    _, events = told(snoopie.load(story().write(tmp_path / "x.zst")), tmp_path / "x.json")
    # What is not freed lives until the end of the process.
    assert counted(events, "memory: device") == [(50, 4096), (150, 4196), (250, 100), (1_999_999_950, 0)]
    assert counted(events, "memory, as the driver reports it: used by all") == [(0, 1 << 30)]
    # 10000 bytes in 10 µs; then as many in half a microsecond, which is in one bin of 1 µs; then 4 bytes at once.
    rates = counted(events, "GPU 0 → GPU 1 by kernels")
    assert rates[0] == (1950, 1_000_000_000)
    assert [rate for time, rate in rates if time < 11_950] == [1_000_000_000] * 10
    assert (11_950, 0) in rates
    assert (24_950, 10_000_000_000) in rates and (25_950, 0) in rates
    assert rates[-2:] == [(29_950, 4_000_000), (30_950, 0)]
    assert sum(rate for _, rate in rates) // 1_000_000 == 10_000 + 10_000 + 4
    # In one call of 1.02 µs: two bins of a microsecond.
    assert sum(rate for _, rate in counted(events, "host → GPU 0 by copies")) // 1_000_000 == 4096


def test_concurrent_kernels_get_tracks_of_their_own(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    put = trace.function("put")
    for stream, start, end in ((1, 0, 10), (1, 5, 20), (1, 10, 15), (9, 5, 20)):
        launch = trace.launch(put, 0, stream=stream)
        trace.add("spans", launch=launch, start=START_NS + 10_000 + start, end=START_NS + 10_000 + end)
    _, events = told(snoopie.load(trace.write(tmp_path / "x.zst")), tmp_path / "x.json")
    _, threads = chrome.named(events)
    tracks = {event["args"]["launch"]: threads[event["pid"], event["tid"]] for event in of(events, "X", "kernel")}
    assert tracks == {1: "default stream", 2: "default stream (2)", 3: "default stream", 4: "stream 0x9"}


def test_processes_and_hosts_are_told_apart(tmp_path: Path) -> None:
    first, second = ring.ring_builder((0, 1, 2, 3), (0, 1), rank=1), ring.ring_builder((0, 1), (0,), pid=5, rank=0)
    second.header["process"]["host"] = "node2"
    for number, gpu in enumerate(second.header["gpus"]):
        gpu["uuid"] = f"GPU-of-node2-{number}"
    for number, builder in enumerate((first, second)):
        for launch in builder.rows["launches"]:
            builder.add("spans", launch=launch["id"], start=launch["time"] + 500, end=launch["time"] + 900)
        builder.write(tmp_path / f"{number}.zst")
    about, events = told(snoopie.load(tmp_path), tmp_path / "x.json")
    assert "node1, node2" in about["clocks"]
    processes, threads = chrome.named(events)
    names = [name.split(" GPU-")[0] for name in processes.values()]
    assert names[0] == "ring rank 1 (4711@node1)"
    assert names[5] == "ring rank 0 (5@node2)"
    assert [name.split()[:2] for name in (*names[1:5], *names[6:8])] == [["GPU", str(number)] for number in range(6)]
    assert len(of(events, "s", "launch")) == len(first.rows["launches"]) + len(second.rows["launches"])
    assert "stream 0x7f0000001000 of ring rank 1 (4711@node1)" in threads.values()


def test_names_can_be_anything(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    trace.header["process"]["program"] = trace.header["process"]["host"] = trace.header["gpus"][0]["name"] = HOSTILE
    launch = trace.launch(trace.function(HOSTILE), 0)
    trace.add("spans", launch=launch, start=START_NS, end=START_NS + 10)
    named = trace.string(HOSTILE)
    trace.add("calls", call=named, kernel=named, thread=1, start=START_NS, end=START_NS + 5, code=1)
    trace.copy(HOST, 0, 1, gpu=0, call=HOSTILE)
    trace.collective(1, HOSTILE, 1, gpu=0, type=HOSTILE, reduction=HOSTILE)
    path = trace.write(tmp_path / "x.zst")
    _, events = told(snoopie.load(path), tmp_path / "x.json")
    assert {event["name"] for event in of(events, "X", "call")} == {HOSTILE}
    assert {event["args"]["kernel"] for event in of(events, "X", "kernel")} == {HOSTILE}
    assert chrome.named(events)[0][1] == f"{HOSTILE} (4711@{HOSTILE})"


def test_times_can_be_anything(tmp_path: Path) -> None:
    trace = story()
    latest = 2**63 - 2
    for start, end in ((0, latest), (latest, 0), (latest, latest), (0, 0), (START_NS, 5)):
        launch = trace.launch(1, 1, time=end, stream=2)
        trace.add("spans", launch=launch, start=start, end=end)
        # A launch has one span; a second says nothing.
        trace.add("spans", launch=launch, start=1, end=2)
        trace.count(launch, 1, 0, 10, 320, 40)
        trace.add("calls", call=1, thread=launch, start=start, end=end)
        trace.add("calls", call=1, thread=4711, start=end, end=start)
        # The reader refuses calls of copies that take longer than anything does.
        trace.copy(HOST, 1, 4, gpu=1, start=end, end=min(start, end))
        trace.collective(launch, "Send", 1, gpu=1, start=start, end=end)
        trace.add("memory_use", time=2 * end // 3, gpu=1, used=latest, own=1, pool_reserved=2, pool_used=3)
        trace.add("frees", object=trace.add("objects", bytes=2**50, owner=1, time=end), time=start)
    _, events = told(snoopie.load(trace.write(tmp_path / "x.zst")), tmp_path / "x.json")
    assert len(of(events, "X", "kernel")) == 2 + 5


def test_an_imported_kernel_is_not_instrumented(tmp_path: Path) -> None:
    report = Export()
    report.kernel("step(int)", 800, 900, report.call("cudaLaunchKernel", 710, 720))
    (path,) = import_nsys(report.write(tmp_path / "report.sqlite"), tmp_path / "out.zst").paths
    _, events = told(snoopie.load(path), tmp_path / "x.json")
    (kernel,) = of(events, "X", "kernel")
    assert (kernel["name"], kernel["dur"]) == ("step", 100)
    assert kernel["args"]["time"].startswith("as Nsight Systems 20")
    assert [event["ts"] for event in of(events, "f", "launch")] == [kernel["ts"]]


@pytest.mark.parametrize("sample", ["jacobi-4gpu.zst", "ring-4gpu.zst", "allreduce-4gpu", "halo-4gpu"])
def test_samples(tmp_path: Path, sample: str) -> None:
    trace = snoopie.load(SAMPLES / sample)
    about, events = told(trace, tmp_path / "x.json.gz")
    assert about["lost"] == trace.losses()
    kernels = of(events, "X", "kernel")
    assert len(kernels) == len(of(events, "X", "launch")) == len(trace.launches)
    assert len(of(events, "X", "copy")) == len(trace.copies)
    assert len(of(events, "X", "nccl")) == len(trace.collectives)
    moved = sum(sum(event["args"]["bytes"].values()) for event in kernels)
    assert moved == trace.matrix(reading="flow").to_numpy().sum()


def test_nothing_recorded(tmp_path: Path) -> None:
    about, events = told(snoopie.load(TraceBuilder(2).write(tmp_path / "x.zst")), tmp_path / "x.json")
    assert about["origin_ns"] == "0"
    assert {event["ph"] for event in events} == {"M"}


def test_a_killed_process_says_so(tmp_path: Path) -> None:
    path = ring.ring_builder().write(tmp_path / "x.zst", footer=False)
    about, _ = told(snoopie.load(path, allow_truncated=True), tmp_path / "x.json")
    assert any("only what comes before is shown" in sentence for sentence in about["lost"])


def test_nothing_is_overwritten_without_force(ring_path: Path, tmp_path: Path) -> None:
    trace = snoopie.load(ring_path)
    mine = tmp_path / "mine.json"
    mine.write_text("mine")
    with pytest.raises(SnoopieError, match=r"mine\.json already exists; name another file, or overwrite with --force"):
        export(trace, mine)
    assert mine.read_text() == "mine"
    export(trace, mine, force=True)
    assert chrome.check(chrome.read(mine))
    with pytest.raises(SnoopieError, match="is a folder; name a file"):
        export(trace, tmp_path, force=True)
    with pytest.raises(SnoopieError, match="cannot be written"):
        export(trace, ring_path / "below.json")


def test_a_failure_leaves_nothing_behind(ring_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("snoopie.exporters.chrome._write", full)
    folder = tmp_path / "out"
    with pytest.raises(SnoopieError, match="No space left on device"):
        export(snoopie.load(ring_path), folder / "x.json")
    assert list(folder.iterdir()) == []


def test_progress_comes_to_its_end(ring_path: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    written = export(snoopie.load(ring_path), tmp_path / "x.json", progress=lambda *numbers: seen.append(numbers))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == written
    assert all(done <= expected for done, expected in seen)


def test_the_command_says_where_and_what_next(
    ring_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.json"
    command = ["export", str(ring_path), "--format", "chrome", "-o", str(path)]
    assert cli.main(command) == 0
    done = capsys.readouterr()
    events = len(chrome.read(path)["traceEvents"])
    assert done.out == f"wrote {events} events, {path.stat().st_size:,} bytes, to {path}\n"
    assert "https://ui.perfetto.dev" in done.err and "chrome://tracing" in done.err
    assert cli.main(command) == 1
    assert cli.main([*command, "--force"]) == 0
    assert cli.main([*command, "--force", "--lanes"]) == 2
    assert "a timeline has no lanes" in capsys.readouterr().err
