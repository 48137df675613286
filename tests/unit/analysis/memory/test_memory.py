"""Where the memory went: usage, watermark, leaks, what the driver says; and `snoopie memory`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

import snoopie
from snoopie import cli
from snoopie.analysis.memory import curve as _curve
from snoopie.analysis.memory import usage as _usage
from snoopie.errors import SnoopieError, UsageError
from tests.support.encoder import HOST, START_NS, TraceBuilder

KIB, MIB = 1 << 10, 1 << 20


def load(tmp_path: Path, *builders: TraceBuilder, footer: bool = True) -> snoopie.Trace:
    for number, builder in enumerate(builders):
        builder.write(tmp_path / f"{number}.zst", footer=footer)
    return snoopie.load(tmp_path, allow_truncated=not footer)


def plain(table: pd.DataFrame, *columns: str) -> list[list[Any]]:
    return table[list(columns)].to_numpy(dtype=object).tolist()


@pytest.fixture
def builder() -> TraceBuilder:
    """GPU 0: 100 … 600, with a peak of 600 at 30; the host: 50."""
    built = TraceBuilder(2)
    built.allocation("device", 100, 0, 10, 90, call="cuMemAlloc_v2")
    built.allocation("device", 200, 0, 20, 40, call="cuMemAlloc_v2")
    built.allocation("pool", 300, 0, 30, 35, call="cuMemAllocAsync")
    built.allocation("host", 50, HOST, 15, 95, call="cuMemHostAlloc")
    # 40: one goes and another of the same size comes at the same moment.
    built.allocation("device", 200, 0, 40, 50, call="cuMemAlloc_v2")
    return built


# usage


def test_usage_is_running_totals_by_device_and_kind(builder: TraceBuilder, tmp_path: Path) -> None:
    usage = load(tmp_path, builder).memory_usage()
    own = usage[usage["device"] == "GPU 0"].assign(time=usage["time"] - START_NS)
    assert plain(own, "kind", "time", "bytes", "objects") == [
        ["device", 10, 100, 1],
        ["device", 20, 300, 2],
        ["pool", 30, 300, 1],
        ["pool", 35, 0, 0],
        ["device", 40, 300, 2],
        ["device", 50, 100, 1],
        ["device", 90, 0, 0],
    ]
    assert plain(usage[usage["device"] == "host"], "kind", "bytes") == [["host", 50], ["host", 0]]
    assert usage["time"].is_monotonic_increasing


def test_curve_of_all_that_counts(builder: TraceBuilder, tmp_path: Path) -> None:
    trace = load(tmp_path, builder)
    curve = trace.memory_curve("GPU 0")
    assert curve.assign(time=curve["time"] - START_NS).to_numpy().tolist() == [
        [10, 100, 0],
        [20, 300, 0],
        [30, 300, 300],
        [35, 300, 0],
        [40, 300, 0],
        [50, 100, 0],
        [90, 0, 0],
        [2_000_000_000, 0, 0],
    ]
    assert list(curve.columns) == ["time", "device", "pool"]
    # All devices and processes together: the host's 50 too.
    every = trace.memory_curve()
    assert every[["device", "pool", "host"]].sum(axis=1).max() == 650
    few = trace.memory_curve("GPU 0", points=2)
    assert (few["time"] - START_NS).tolist() == [10, 30, 40, 2_000_000_000]


def test_few_points_keep_the_peak() -> None:
    size = np.random.default_rng(1).integers(0, 1000, 100_000)
    size[54_321] = 5000
    usage = pd.DataFrame({"kind": "device", "time": np.arange(len(size)), "bytes": size})
    curve = _curve.curve(usage, len(size), 500)
    assert len(curve) <= 502
    assert curve.loc[curve["device"].idxmax()].tolist() == [54_321, 5000]
    assert (curve["device"] == size[np.minimum(curve["time"], len(size) - 1)]).all()
    assert _curve.highest(np.array([3, 3, 1, 2, 9, 9]), 2).tolist() == [0, 4, 5]


def test_kinds_without_a_colour_of_their_own_are_one(tmp_path: Path) -> None:
    usage = pd.DataFrame({"kind": ["x", "y", "x"], "time": [1, 2, 3], "bytes": [10, 5, 0]})
    assert _curve.curve(usage, 4, 10).to_numpy().tolist() == [[1, 10], [2, 15], [3, 5], [4, 5]]


def test_few_samples_of_each_device(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    for moment in range(100):
        builder.memory_use(0, moment, 1000 - moment)
        builder.memory_use(1, moment, moment)
    trace = load(tmp_path, builder)
    assert len(trace.memory_agreement()) == 200
    few = trace.memory_agreement(points=2)
    assert plain(few.assign(time=few["time"] - START_NS), "device", "time", "used", "used_change") == [
        ["GPU 0", 0, 1000, 0],
        ["GPU 0", 50, 950, -50],
        ["GPU 0", 99, 901, -99],
        ["GPU 1", 0, 0, 0],
        ["GPU 1", 49, 49, 49],
        ["GPU 1", 99, 99, 99],
    ]


def test_by_kind(builder: TraceBuilder, tmp_path: Path) -> None:
    builder.allocation("device", 7, 1, 60)
    table = load(tmp_path, builder).memory_by_kind()
    assert plain(table.assign(peak_time=table["peak_time"] - START_NS), *table.columns) == [
        [0, "GPU 0", "device", True, 300, 20, 0, 0],
        [0, "GPU 0", "pool", True, 300, 30, 0, 0],
        [0, "GPU 1", "device", True, 7, 60, 7, 1],
        [0, "host", "host", True, 50, 15, 0, 0],
    ]


def test_parts_of_a_table_add_up(builder: TraceBuilder, tmp_path: Path) -> None:
    objects = _usage.live_times(load(tmp_path, builder).objects, [0])
    whole = _usage.summarise(objects)
    parts = [_usage.summarise(objects.iloc[rows]) for rows in (slice(0, 1), slice(1, 3), slice(3, None))]
    one = _usage.merge([_usage.merge(parts[:2]), parts[2]])
    other = _usage.merge([parts[0], _usage.merge(parts[1:])])
    pd.testing.assert_frame_equal(one, other)
    keys = [name for name in whole.columns if name not in ("bytes", "objects")]
    pd.testing.assert_frame_equal(one, whole.groupby(keys)[["bytes", "objects"]].sum().reset_index())


def test_memory_mapped_twice_counts_once(tmp_path: Path) -> None:
    builder = TraceBuilder(1)
    physical = builder.allocation("physical", 64, 0, 10, 50)
    for start in (20, 25):
        builder.allocation("mapping", 64, 0, start, 40, address=0x7000_0000 + start, inside=physical)
    trace = load(tmp_path, builder)
    assert plain(_usage.peaks(trace._memory_changes), "bytes", "objects") == [[64, 1]]
    usage = trace.memory_usage()
    mapped = usage[usage["kind"] == "mapping"]
    assert mapped["bytes"].max() == 128
    assert not mapped["counted"].any()


def test_mappings_count_where_physical_memory_is_not_known(tmp_path: Path) -> None:
    builder = TraceBuilder(1)
    builder.header["object_kinds"] = builder.header["object_kinds"][:10]
    builder.allocation("mapping", 64, 0, 10)
    trace = load(tmp_path, builder)
    assert trace.memory_usage()["counted"].tolist() == [True]
    assert plain(trace.leaks(), "state", "bytes") == [["never freed", 64]]


def test_clock_that_was_set_back(tmp_path: Path) -> None:
    builder = TraceBuilder(1)
    builder.allocation("device", 64, 0, 50, 20)
    assert load(tmp_path, builder).memory_usage()["bytes"].tolist() == [0]


# watermark


def test_watermark_is_the_live_set_at_the_peak(builder: TraceBuilder, tmp_path: Path) -> None:
    table = load(tmp_path, builder).memory_watermark()
    assert plain(table.assign(time=table["time"] - START_NS), "device", "time", "peak", "call", "objects", "bytes") == [
        ["GPU 0", 30, 600, "cuMemAllocAsync", 1, 300],
        ["GPU 0", 30, 600, "cuMemAlloc_v2", 2, 300],
        ["host", 15, 50, "cuMemHostAlloc", 1, 50],
    ]


def test_processes_and_devices_are_summed_only_when_asked(tmp_path: Path) -> None:
    builders = [TraceBuilder(2, pid=pid) for pid in (1, 2)]
    for builder, (start, end) in zip(builders, ((10, 20), (15, 30)), strict=True):
        builder.allocation("device", 100, 0, start, end)
        builder.allocation("device", 30, 1, start, end)
    trace = load(tmp_path, *builders)
    each = trace.memory_watermark()
    assert sorted(plain(each, "process", "device", "peak")) == [
        [0, "GPU 0", 100],
        [0, "GPU 1", 30],
        [1, "GPU 0", 100],
        [1, "GPU 1", 30],
    ]
    total = trace.memory_watermark(total=True)
    assert plain(total.assign(time=total["time"] - START_NS), "process", "device", "time", "peak", "bytes") == [
        [_usage.ALL, "all", 15, 260, 260]
    ]
    uuid = trace.gpus["uuid"][1]
    for device in (1, "1", "GPU 1", uuid):
        assert plain(trace.memory_watermark(device, 1), "process", "device", "peak") == [[1, "GPU 1", 30]]
    assert plain(trace.memory_watermark(1, total=True), "peak") == [[60]]


def test_what_is_not_there(builder: TraceBuilder, tmp_path: Path) -> None:
    trace = load(tmp_path, builder)
    with pytest.raises(UsageError, match="there is no device 7; the trace has 0 "):
        trace.leaks(device=7)
    with pytest.raises(UsageError, match="there is no process 3; the trace has 0"):
        trace.memory_usage(process=3)


# leaks


def test_leaks(tmp_path: Path) -> None:
    builder = TraceBuilder(1)
    builder.exit_ns = START_NS + 100
    leak = builder.allocation("device", 10, 0, 1, call="cuMemAlloc_v2")
    builder.allocation("device", 5, 0, 2, call="cuMemAlloc_v2")
    builder.allocation("device", 20, 0, 3, 99, freed_by=4712)  # by another thread
    builder.allocation("device", 30, 0, 4, 100)
    builder.allocation("device", 40, 0, 5, 50, by=1)
    builder.allocation("device", 50, 0, 6, 200, by=1)  # the process ended, and with it its context
    builder.allocation("graph", 60, 0, 7)
    builder.allocation("mapping", 70, 0, 8)
    builder.memory_use(0, 10, 1000, 900, 900)
    builder.memory_use(0, 20, 1000, 64, 32)
    trace = load(tmp_path, builder)
    assert plain(trace.leaks(), "state", "kind", "objects", "bytes") == [
        ["never freed", "device", 1, 50],
        ["never freed", "device", 2, 15],
        ["freed at exit", "device", 1, 30],
        ["ended with its context", "device", 1, 40],
        ["held by a graph", "graph", 1, 60],
        ["held by a pool", "pool", 0, 32],
    ]
    assert trace.objects["freed"][leak] == 0


def test_leaks_are_by_stack(tmp_path: Path) -> None:
    builder = TraceBuilder(1)
    module = builder.add("modules", path=builder.string("/home/u/app"))
    for line in (7, 9):
        frame = builder.add("frames", module=module, address=line)
        stack = builder.add("stacks", frame=frame)
        names = {"function": builder.string("forget()"), "file": builder.string("/home/u/app.cu")}
        builder.add("symbols", frame=frame, line=line, **names)
        for _ in range(line):
            builder.allocation("device", 1, 0, 10, stack=stack)
    builder.allocation("device", 1, 0, 10)
    trace = load(tmp_path, builder)
    by_stack = [["app.cu:9 forget", 9], ["app.cu:7 forget", 7], ["", 1]]
    assert plain(trace.leaks(), "source", "objects") == by_stack
    assert plain(trace.memory_watermark(), "source", "bytes") == by_stack


def test_module_statics_are_no_leaks(tmp_path: Path) -> None:
    builder = TraceBuilder(1)
    builder.header["object_kinds"] = [*builder.header["object_kinds"], "device static"]
    builder.add("objects", bytes=8, kind=12, time=START_NS)
    assert plain(load(tmp_path, builder).leaks(), "state", "bytes") == [["module static", 8]]


def test_of_a_killed_process_nothing_is_said(builder: TraceBuilder, tmp_path: Path) -> None:
    builder.allocation("device", 7, 0, 99)
    builder.allocation("graph", 8, 0, 99)
    trace = load(tmp_path, builder, footer=False)
    assert plain(trace.leaks(), "state", "bytes") == [
        ["not known: the trace is incomplete", 7],
        ["held by a graph", 8],
    ]


def test_no_memory_at_all(tmp_path: Path) -> None:
    trace = load(tmp_path, TraceBuilder(1))
    for table in (trace.memory_usage(), trace.memory_watermark(), trace.leaks(), trace.memory_agreement()):
        assert len(table) == 0
    assert len(trace.memory_watermark(total=True)) == 0


# what the driver says


def test_agreement(tmp_path: Path) -> None:
    builders = [TraceBuilder(1, pid=pid) for pid in (1, 2)]
    for builder in builders:
        builder.allocation("device", 100, 0, 10, 30)
        for moment, used in ((5, 1000), (10, 1200), (40, 1000)):
            builder.memory_use(0, moment, used, own=used // 2)
    table = load(tmp_path, *builders).memory_agreement(process=1)
    assert plain(table, "process", "used", "used_change", "own", "allocated_by_process", "allocated_by_all") == [
        [1, 1000, 0, 500, 0, 0],
        [1, 1200, 200, 600, 100, 200],
        [1, 1000, 0, 500, 0, 0],
    ]


def test_used_memory_that_is_not_known(tmp_path: Path) -> None:
    builder = TraceBuilder(1)
    builder.memory_use(0, 5, -1)
    assert plain(load(tmp_path, builder).memory_agreement(), "used", "used_change") == [[-1, 0]]


# the command


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = cli.main(["memory", *(str(word) for word in words)])
    done = capsys.readouterr()
    return status, done.out, done.err


@pytest.fixture
def path(builder: TraceBuilder, tmp_path: Path) -> Path:
    builder.allocation("device", 3 * KIB, 1, 12, call="cuMemAlloc_v2")
    builder.memory_use(0, 0, 4096)
    builder.memory_use(0, 60, 8192)
    return builder.write(tmp_path / "trace.zst")


def test_summary_has_all_three(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, path)
    assert status == 0
    lines = out.splitlines()
    assert lines[0].startswith("Memory by kind")
    assert any(line.startswith("Memory in use as reported by the driver") for line in lines)
    assert "Peak of GPU 0: 600 B after 30 ns" in lines
    assert "Never freed: 3 KiB" in lines
    assert err.splitlines()[-1] == f"Next: snoopie memory {path} --plot memory.png"


def test_one_part(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, path, "--leaks", "--owner", "0")
    assert out == "No leaks: every allocation was freed, or lives until the program's end by design\n"
    _, out, _ = run(capsys, path, "--watermark", "--total")
    assert out.startswith("Peak of all processes and devices: 3.6 KiB after 30 ns\n")


def test_json_has_exact_numbers(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, path, "--json", "--total")
    assert status == 0
    told = json.loads(out)
    assert told["complete"] is True
    assert told["leaks"] == [
        {
            "process": 0,
            "device": "GPU 1",
            "state": "never freed",
            "stack": 0,
            "source": "",
            "call": "cuMemAlloc_v2",
            "kind": "device",
            "bytes": 3 * KIB,
            "objects": 1,
        }
    ]
    assert {row["process"] for row in told["watermark"]} == {None}
    assert [row["bytes"] for row in told["usage"] if row["device"] == "host"] == [50, 0]
    assert [row["used_change"] for row in told["agreement"]] == [0, 4096]


def test_incomplete_trace_says_so(builder: TraceBuilder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder.allocation("device", 7, 0, 99)
    cut = builder.write(tmp_path / "cut.zst", footer=False)
    status, out, err = run(capsys, cut, "--leaks", "--allow-truncated")
    assert status == 0
    assert "Not known: the trace is incomplete: 7 B" in out.splitlines()
    assert "may have been freed later" in err


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_picture(path: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / f"memory.{suffix}"
    status, _, err = run(capsys, path, "--plot", picture)
    assert status == 0
    assert err.splitlines()[-1] == f"wrote {picture}"
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert picture.read_bytes().startswith(start)
    assert run(capsys, path, "--plot", picture)[0] == 1  # never overwritten
    assert run(capsys, path, "--plot", picture, "--force", "--total")[0] == 0
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_picture_shows_the_colours_of_the_kinds(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "memory.png"
    run(capsys, path, "--plot", picture, "--owner", "1")
    pixels = matplotlib.image.imread(picture)[:, :, :3]
    blue = (pixels[:, :, 2] > pixels[:, :, 0] + 0.3).mean()
    assert blue > 0.2  # of one device, all of which is of one kind


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--plot", "memory.txt"], "a picture cannot be written as memory.txt"),
        (["--plot", "/dev/null/memory.png"], "cannot be written"),
        (["--nvidia-smi", "log"], "--nvidia-smi is for the picture"),
        (["--owner", "GPU-1"], "there is no place GPU-1"),
        (["--process", "2"], "there is no process 2"),
        (["--csv"], "CSV and Markdown have one list; add --usage, --watermark or --leaks"),
    ],
)
def test_wrong_usage(path: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, path, *words)
    assert status in (1, 2)
    assert out == ""
    assert sentence in err
    assert len(err.splitlines()) == 1


def log(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


@pytest.fixture
def utc() -> Iterator[None]:
    """The time zone of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("utc")
def test_nvidia_smi_is_drawn_and_told(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moments = pd.to_datetime([START_NS, START_NS + 10**9]).strftime("%Y/%m/%d %H:%M:%S.000")
    file = tmp_path / "smi.csv"
    file.write_text(log(f"{moments[0]}, 0, 100", f"{moments[0]}, 1, 7", f"{moments[1]}, 0, 300"))
    status, out, _ = run(capsys, path, "--usage", "--json", "--nvidia-smi", file)
    assert status == 0
    rows = [(row["device"], row["time"] - START_NS, row["used"]) for row in json.loads(out)["nvidia_smi"]]
    assert rows == [("GPU 0", 0, 100 * MIB), ("GPU 1", 0, 7 * MIB), ("GPU 0", 10**9, 300 * MIB)]
    assert run(capsys, path, "--nvidia-smi", file, "--plot", tmp_path / "both.png")[0] == 0
    file.write_text(log("2020/01/01 00:00:00.000, 0, 100"))
    status, _, err = run(capsys, path, "--nvidia-smi", file, "--json")
    assert status == 2
    assert "was not recorded while the program ran" in err


def test_log_that_does_not_say_which_gpu(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "smi.csv"
    file.write_text(log("2026/11/21 14:03:07.123, 100"))
    trace = snoopie.load(path)
    with pytest.raises(UsageError, match="does not say which GPU"):
        trace.nvidia_smi(file)
    assert plain(trace.nvidia_smi(file, "GPU 1"), "device", "used") == [["GPU 1", 100 * MIB]]
    # Nor is it told where the rows are of several: one asks for each within a millisecond or two.
    header, moment = "timestamp, utilization.gpu [%], memory.used [MiB]", "2026/11/21 14:03:07"
    file.write_text(log(header, f"{moment}.123, 11 %, 100 MiB", f"{moment}.124, 11 %, 4 MiB"))
    with pytest.raises(UsageError, match="rows of several GPUs and does not say which"):
        trace.nvidia_smi(file, "GPU 1")
    file.write_text(log("2026/11/21 14:03:07, 100", "2026/11/21 14:03:07, 200"))
    assert trace.nvidia_smi(file, "GPU 1")["used"].tolist() == [100 * MIB, 200 * MIB]
    file.write_text(log("2026/11/21 14:03:07.123, GPU-ffffffff-0000-0000-0000-000000000000, 100"))
    with pytest.raises(UsageError, match="no row of these GPUs"):
        trace.nvidia_smi(file)
    with pytest.raises(SnoopieError, match="cannot be read"):
        trace.nvidia_smi(tmp_path / "nothing.csv")


def test_log_that_names_places_on_the_pci_bus(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "smi.csv"
    trace = snoopie.load(path)
    rows = ["2026/11/21 14:03:07.123, 00000000:1C:00.0, 100", "2026/11/21 14:03:07.123, 00000000:3B:00.0, 9"]
    file.write_text(log(*rows))
    assert plain(trace.nvidia_smi(file), "device", "used") == [["GPU 1", 100 * MIB]]
    file.write_text(log(rows[1]))
    with pytest.raises(UsageError, match="no row of these GPUs"):
        trace.nvidia_smi(file)
