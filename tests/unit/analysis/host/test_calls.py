"""Driver calls: their sums by call, kernel, direction, thread and error; the command; following a growing trace."""

from __future__ import annotations

import json
import os
import random
import socket
from pathlib import Path

import pandas as pd
import pytest

import snoopie
from snoopie import cli
from snoopie.analysis.host import calls
from snoopie.cli.call_sums import Live
from snoopie.errors import CorruptError, NotATraceError, UsageError
from tests.support.encoder import DIRECTIONS, SCHEMA, START_NS, UNKNOWN, TraceBuilder, without

MAIN, WORKER = 4711, 4712


def add(
    trace: TraceBuilder, call: str, durations: list[int], *, thread: int = MAIN, gpu: int = 0, kernel: str = "",
    direction: str = "", size: int = 0, errors: dict[int, str] | None = None,
) -> None:  # fmt: skip
    """One beat of a call: a row of sums, and what belongs to it in the other two tables."""
    errors = errors or {}
    key = {"call": trace.string(call), "thread": thread, "gpu": gpu}
    trace.add(
        "call_totals",
        **key,
        time=START_NS,
        kernel=trace.string(kernel),
        direction=DIRECTIONS.index(direction),
        calls=len(durations),
        errors=len(errors),
        total=sum(durations),
        least=min(durations),
        most=max(durations),
        bytes=size,
    )
    for duration in durations:
        trace.add("call_times", **key, log2=duration.bit_length() - 1, calls=1)
    for code, name in errors.items():
        trace.add("call_errors", **key, code=code, name=trace.string(name), calls=1)


def fill(trace: TraceBuilder) -> TraceBuilder:
    """Two beats of two threads on two GPUs."""
    for _ in range(2):
        add(trace, "cuLaunchKernel", [1000] * 9 + [100_000], kernel="put(float*)")
        add(trace, "cuLaunchKernelEx", [3000], kernel="put(float*)", thread=WORKER, gpu=1)
        add(trace, "cuLaunchKernel", [2000, 2000], kernel="get<int>(int*)", thread=WORKER, gpu=1)
        add(trace, "cuMemcpyHtoD_v2", [1000, 3000], direction="host to device", size=8000)
        add(trace, "cuMemcpyDtoHAsync_v2", [500], direction="device to host", size=100)
        add(trace, "cuMemcpyPeer", [400], direction="peer", size=50)
    add(trace, "cuMemAlloc_v2", [70, 50], gpu=UNKNOWN, size=64, errors={2: "CUDA_ERROR_OUT_OF_MEMORY"})
    return trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return fill(TraceBuilder(2)).write(tmp_path / "t.zst")


@pytest.fixture
def trace(path: Path) -> snoopie.Trace:
    return snoopie.load(path)


def rows(table: pd.DataFrame, *columns: str) -> list[list[object]]:
    return table[list(columns)].to_numpy(dtype=object).tolist()


def test_by_call(trace: snoopie.Trace) -> None:
    table = trace.by_call()
    columns = "call calls errors host_ns mean_ns min_ns max_ns p50_ns p90_ns p99_ns bytes unsized"
    assert table.columns.tolist() == columns.split()
    assert rows(table, "call", "calls", "errors", "host_ns", "min_ns", "max_ns", "bytes") == [
        ["cuLaunchKernel", 24, 0, 226_000, 1000, 100_000, 0],
        ["cuMemcpyHtoD_v2", 4, 0, 8000, 1000, 3000, 16_000],
        ["cuLaunchKernelEx", 2, 0, 6000, 3000, 3000, 0],
        ["cuMemcpyDtoHAsync_v2", 2, 0, 1000, 500, 500, 200],
        ["cuMemcpyPeer", 2, 0, 800, 400, 400, 100],
        ["cuMemAlloc_v2", 2, 1, 120, 50, 70, 64],
    ]
    assert table["mean_ns"].tolist()[1] == 2000
    assert not table["unsized"].any()
    # 18 of 24 launches took 1000 ns, which lies between 512 and 1024; four 2000; two 100 000, the longest of all.
    assert rows(table, "p50_ns", "p90_ns", "p99_ns")[0] == [1024, 2048, 100_000]
    # No bound lies above the longest.
    assert rows(table, "p50_ns", "p99_ns")[4] == [400, 400]


def test_by_more_keys(trace: snoopie.Trace) -> None:
    launches = trace.by_call("thread", "gpu", "thread")
    launches = launches[launches["call"] == "cuLaunchKernel"]
    assert rows(launches, "thread", "gpu", "calls", "p90_ns") == [
        [MAIN, "GPU 0", 20, 1024],
        [WORKER, "GPU 1", 4, 2000],
    ]
    assert rows(trace.by_call("gpu"), "gpu", "call")[-1] == ["unknown", "cuMemAlloc_v2"]
    assert rows(trace.by_thread(), "process", "thread", "calls", "errors") == [[0, MAIN, 30, 1], [0, WORKER, 6, 0]]
    with pytest.raises(UsageError, match="process, thread, gpu"):
        trace.by_call("kernel")


def test_by_launched_kernel(trace: snoopie.Trace) -> None:
    columns = ["kernel", "launches", "errors", "host_ns", "min_ns", "max_ns"]
    assert rows(trace.by_launched_kernel(), *columns) == [
        ["put(float*)", 22, 0, 224_000, 1000, 100_000],
        ["get<int>(int*)", 4, 0, 8000, 2000, 2000],
    ]
    assert rows(trace.by_launched_kernel("gpu"), "kernel", "gpu", "launches") == [
        ["put(float*)", "GPU 0", 20],
        ["get<int>(int*)", "GPU 1", 4],
        ["put(float*)", "GPU 1", 2],
    ]


def test_only_what_is_waited_for_has_a_bandwidth(trace: snoopie.Trace) -> None:
    table = trace.by_direction()
    columns = ["direction", "call", "asynchronous", "calls", "bytes", "host_ns"]
    assert rows(table, *columns) == [
        ["host to device", "cuMemcpyHtoD_v2", False, 4, 16_000, 8000],
        ["device to host", "cuMemcpyDtoHAsync_v2", True, 2, 200, 1000],
        ["peer", "cuMemcpyPeer", False, 2, 100, 800],
    ]
    assert table["bandwidth"].tolist()[0] == 2e9
    assert table["bandwidth"].isna().tolist() == [False, True, True]


def test_by_error(trace: snoopie.Trace) -> None:
    assert trace.by_error("gpu").to_dict("records") == [
        {"call": "cuMemAlloc_v2", "gpu": "unknown", "returned": 2, "name": "CUDA_ERROR_OUT_OF_MEMORY", "calls": 1}
    ]


def test_single_calls(tmp_path: Path) -> None:
    built = TraceBuilder(2)
    for number, (call, start, end, size) in enumerate(
        [("cuMemAlloc_v2", 0, 90, 64), ("cuLaunchKernel", 100, 130, 0), ("cuMemAlloc_v2", 200, 240, 128)]
    ):
        built.add(
            "calls", call=built.string(call), thread=MAIN, gpu=1, start=START_NS + 5 + start, end=START_NS + 5 + end,
            bytes=size, code=number,
        )  # fmt: skip
    trace = snoopie.load(built.write(tmp_path / "x.zst"))
    columns = "event", "gpu", "began", "host_ns", "bytes", "returned"
    longest = [[1, "GPU 1", 0, 90, 64, 0], [3, "GPU 1", 200, 40, 128, 2]]
    assert rows(trace.single_calls("cuMemAlloc_v2"), *columns) == longest
    assert rows(trace.single_calls("cuMemAlloc_v2", "bytes"), *columns) == longest[::-1]
    assert rows(trace.single_calls("cuMemAlloc_v2", "start", 1), *columns) == longest[:1]
    assert trace.single_calls("cuMemFree_v2").empty
    with pytest.raises(UsageError, match="calls cannot be ordered by 'x'"):
        trace.single_calls("cuMemAlloc_v2", "x")  # type: ignore[arg-type]


def test_a_trace_without_calls(tmp_path: Path) -> None:
    for schema in (SCHEMA, without("call_totals", "call_times", "call_errors", "calls")):
        trace = snoopie.load(TraceBuilder(1, schema=schema).write(tmp_path / f"{len(schema)}.zst"))
        for table in (trace.by_call(), trace.by_thread(), trace.by_launched_kernel(), trace.by_direction()):
            assert table.empty
        assert trace.by_error().empty
    assert trace.by_call("gpu").columns.tolist()[:3] == ["gpu", "call", "calls"]


def test_blocks_in_any_order_give_the_same_sums(trace: snoopie.Trace) -> None:
    keys = ["call", "gpu"]
    totals, times = trace.call_totals, trace.call_times
    for seed in range(5):
        order = random.Random(seed).sample(range(len(totals)), len(totals))
        cut = seed + 2
        parts = [calls.summarise(totals.iloc[part], keys) for part in (order[:cut], order[cut:8], order[8:])]
        merged = calls.merge([calls.merge(parts[:2], keys), parts[2]], keys).sort_values(keys, ignore_index=True)
        whole = calls.summarise(totals, keys).sort_values(keys, ignore_index=True)
        pd.testing.assert_frame_equal(merged, whole)
    parts = [calls.summarise_times(times.iloc[:4], keys), calls.summarise_times(times.iloc[4:], keys)]
    assert calls.merge_times(parts, keys)["calls"].sum() == times["calls"].sum()


# The command


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = cli.main([str(word) for word in words])
    done = capsys.readouterr()
    return status, done.out, done.err


def test_the_tables_for_people(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "calls", path)
    assert status == 0
    parts = [part.splitlines() for part in out.split("\n\n")]
    assert parts[0][0].split()[:3] == ["Call", "Calls", "Errors"]
    assert " ".join(parts[0][1].split()) == "cuLaunchKernel 24 0 226 µs 9.4 µs 1 µs 100 µs 1 µs 2 µs 100 µs 0 B"
    assert parts[0][-1] == "36 calls, 1 failed; 241.9 µs in them"
    assert [part[0] for part in parts[1:]] == ["Launches", "Copies", "Errors"]
    assert " ".join(parts[2][2].split()) == "host to device cuMemcpyHtoD_v2 no 4 0 15.6 KiB 8 µs 2 GB/s"
    assert parts[2][3].split()[-1] == "–"
    assert err == f"Next: snoopie stats {path}\n"


@pytest.mark.parametrize(
    ("by", "first", "count"),
    [
        ("call", "cuLaunchKernel", 6),
        ("kernel", "put(float*)", 2),
        ("direction", "host to device", 3),
        ("thread", 0, 2),
        ("error", "cuMemAlloc_v2", 1),
    ],
)
def test_json(path: Path, capsys: pytest.CaptureFixture[str], by: str, first: object, count: int) -> None:
    status, out, err = run(capsys, "calls", "--json", "--by", by, path)
    told = json.loads(out)
    assert (status, err) == (0, "")
    assert (told["by"], told["complete"], told["losses"]) == (by, True, [])
    assert next(iter(told["rows"][0].values())) == first
    assert len(told["rows"]) == count
    # The same as a table.
    _, out, _ = run(capsys, "calls", "--by", by, path)
    assert len(out.splitlines()) == count + 1


def test_what_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = TraceBuilder(1).write(tmp_path / "t.zst")
    assert "CALLS=off" in run(capsys, "calls", empty)[1]
    builder = TraceBuilder(1)
    add(builder, "cuMemFree_v2", [10])
    one = builder.write(tmp_path / "one.zst")
    assert run(capsys, "calls", "--by", "error", one)[1] == "no call failed\n"
    assert "1 call, 0 failed; 10 ns in them" in run(capsys, "calls", one)[1]


# A trace that grows


class Recording:
    """A trace that is written in steps, by a process that can be seen to live."""

    def __init__(self, path: Path, pid: int, gpus: list[int] | None = None) -> None:
        builder = TraceBuilder(gpus or 1, pid=pid, host=socket.gethostname())
        site = builder.site(builder.function("k"), "STG.E", "store", 4)
        builder.launch(1, 0)
        for record in range(50):
            builder.record(1, site, 0, 4096 + record, 4)
        for _ in range(4):
            add(builder, "cuMemFree_v2", [100, 200], errors={1: "CUDA_ERROR_INVALID_VALUE"})
        blocks = builder.blocks(block_rows=1)
        self.path, self.pieces = path, b"".join(blocks)
        self.header, self.footer = len(blocks[0]), len(blocks[-1])
        self.written = 0

    def write(self, until: int) -> None:
        with self.path.open("ab") as file:
            file.write(self.pieces[self.written : until])
        self.written = max(self.written, until)


def freed(live: Live) -> int:
    return 0 if live.sums is None else int(live.sums.totals["calls"].sum())


def test_a_growing_trace_is_followed(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "t.zst", os.getpid())
    recording.write(0)
    live = Live([recording.path])
    assert live.look() and live.sums is None
    recording.write(recording.header - 1)
    assert live.look() and live.sums is None
    seen = [0]
    # Pieces that end anywhere.
    for until in range(recording.header, len(recording.pieces) - recording.footer, 97):
        recording.write(until)
        assert live.look()
        seen.append(freed(live))
    assert sorted(seen) == seen and set(seen) >= {0, 2, 4, 6}
    recording.write(len(recording.pieces))
    assert not live.look()
    assert (freed(live), live.running, live.known) == (8, 0, 1)
    assert live.sums is not None
    whole = snoopie.load(recording.path)
    assert live.sums.totals["errors"].sum() == 4
    found = calls.by_call(live.sums.totals, live.sums.times, live.sums.label, ["call"])
    pd.testing.assert_frame_equal(whole.by_call(), found)
    found = calls.by_error(live.sums.errors, live.sums.label)
    pd.testing.assert_frame_equal(whole.by_error(), found)
    live.close()


def test_only_blocks_of_calls_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Recording(tmp_path / "t.zst", os.getpid())
    recording.write(len(recording.pieces))
    read = 0
    real = os.pread

    def pread(file: int, size: int, offset: int) -> bytes:
        nonlocal read
        read += size
        return real(file, size, offset)

    monkeypatch.setattr(os, "pread", pread)
    live = Live([recording.path])
    live.look()
    first = read
    live.look()
    assert freed(live) == 8
    assert read == first < recording.path.stat().st_size
    live.close()


def test_a_dead_process_ends_it(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    recording = Recording(tmp_path / "t.zst", child)
    recording.write(len(recording.pieces) - recording.footer - 1)
    live = Live([recording.path])
    live.look()
    assert not live.look()
    assert freed(live) == 8
    live.close()


def test_processes_come_into_a_folder(tmp_path: Path) -> None:
    live = Live([tmp_path])
    assert live.look() and live.known == 0
    first = Recording(tmp_path / "b.zst", os.getpid(), gpus=[0])
    first.write(len(first.pieces) - first.footer)
    assert live.look()
    second = Recording(tmp_path / "a.zst", os.getpid(), gpus=[1, 0])
    second.write(len(second.pieces))
    assert live.look()
    assert (freed(live), live.known, live.running) == (16, 2, 1)
    assert live.sums is not None
    # GPU 0 of the second is another than that of the first.
    assert sorted(live.sums.totals["gpu"].unique()) == [0, 1]
    first.write(len(first.pieces))
    assert not live.look()
    live.close()


def test_damage_is_told(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "t.zst", os.getpid())
    damaged = bytearray(recording.pieces)
    damaged[recording.header + 60] ^= 1
    recording.pieces = bytes(damaged)
    recording.write(len(recording.pieces))
    with pytest.raises(CorruptError, match="checksum"):
        Live([recording.path]).look()
    (tmp_path / "other.zst").write_bytes(b"something else that is long enough to be read as an entry" * 2)
    with pytest.raises(NotATraceError, match="not a Snoopie trace"):
        Live([tmp_path / "other.zst"]).look()
    with pytest.raises(NotATraceError, match="no file"):
        Live([tmp_path / "nothing.zst"]).look()


@pytest.fixture
def growing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trace to which each pause of the command adds."""
    recording = Recording(tmp_path / "t.zst", os.getpid())
    ends = iter([recording.header, 3 * len(recording.pieces) // 4, len(recording.pieces), len(recording.pieces)])
    recording.write(0)

    def pause(seconds: float) -> None:
        assert seconds == 0.5
        recording.write(next(ends))

    monkeypatch.setattr("snoopie.cli.calls.time.sleep", pause)
    return recording.path


def test_live_prints_until_the_end(growing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "calls", "--live", "0.5", "--by", "call", growing)
    assert (status, err) == (0, f"Next: snoopie calls {growing}\n")
    parts = [part.splitlines() for part in out.rstrip().split("\n\n")]
    assert [part[0].split("  ", 1)[1] for part in parts] == [
        "0 processes, 0 running", "1 process, 1 running", "1 process, 1 running", "1 process, 0 running",
    ]  # fmt: skip
    assert parts[0][1] == parts[1][1] == "no driver call yet"
    assert parts[-1][2].split()[:3] == ["cuMemFree_v2", "8", "4"]
    assert "\033" not in out


def test_live_json_is_an_object_a_line(growing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "calls", "--json", "--live", "0.5", growing)
    told = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [one["running"] for one in told] == [1, 1, 0]
    assert told[-1]["rows"][0]["calls"] == 8


def test_live_redraws_on_a_terminal(
    growing: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snoopie.cli.calls.is_terminal", lambda stream: True)
    monkeypatch.setenv("LINES", "3")
    _, out, _ = run(capsys, "calls", "--live", "0.5", growing)
    screens = out.split("\033[H\033[J")[1:]
    assert len(screens) == 4
    assert all(len(screen.splitlines()) <= 2 for screen in screens)


def test_an_interrupt_ends_it(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("snoopie.cli.calls.time.sleep", interrupt)
    monkeypatch.setattr("snoopie.trace.growing.Growing.ended", False)
    status, out, _ = run(capsys, "calls", "--live", "--", path)
    assert status == 0
    assert "36 calls, 1 failed" in out


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "nan"])
def test_live_wants_seconds(path: Path, capsys: pytest.CaptureFixture[str], seconds: str) -> None:
    with pytest.raises(SystemExit) as error:
        cli.main(["calls", str(path), f"--live={seconds}"])
    assert error.value.code == 2
    assert "seconds" in capsys.readouterr().err


def test_live_is_not_for_a_cluster(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "calls", "--live", "1", "--scheduler", "tcp://head:8786", path)
    assert status == 2
    assert "--live reads the traces itself" in err
