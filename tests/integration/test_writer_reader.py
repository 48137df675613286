"""What the collector's writer writes, the reader reads: every table, cut files, flipped bits, several processes."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import snoopie
from snoopie.trace.container import Container

Write = Callable[[str], Path]

START = 1790000000000000000
MEMORY = [0x7F0000000000, 0x7F0000200000]


def test_every_table(write: Write) -> None:
    trace = snoopie.load(write("small"))
    assert trace.complete
    assert trace.gpus["name"].tolist() == ["NVIDIA H200"] * 2
    assert trace.gpus["nvlinks"].tolist() == [18, 18]
    assert trace.processes.loc[0, "program"] == "ring"
    assert trace.settings == [
        {
            "kernels": "all",
            "sample_size": 1,
            "launch_sample": 1,
            "code_attribution": True,
            "source": True,
            "output": "/home/u/snoopie-ring.4711.zst",
            "blocks": "all",
            "host_memory": True,
            "code_context": True,
            "object_attribution": True,
            "probes": "live",
            "waits": "off",
            "packing": 16,
            "calls": "summary",
            "times": "measured",
            "capture_range": "",
            "launch_skip": 0,
            "launch_count": 0,
            "delay": 0,
            "duration": 0,
        }
    ]
    assert trace.totals["launches_seen"] == 5
    assert trace.totals["copies"] == len(trace.copies)
    assert trace.totals["copy_bytes"] == trace.copies.bytes.sum()

    functions = trace.functions
    assert functions["name"].tolist() == ["put(float*, int)", "bump(int*)"]
    assert functions["has_lines"].tolist() == [True, False]
    sites = trace.sites
    assert sites["operation"].tolist() == ["load", "store", "load", "load", "reduction"]
    assert sites["measured"].tolist() == [True, True, True, False, True]
    assert sites["wire_unit"].tolist() == [32, 16, 32, 32, 16]
    assert sites["offset"].tolist() == [0x70, 0x90, 0xB0, 0xD0, 0x50]
    assert sites["line"].tolist() == [11, 7, 14, 15, 0]
    assert trace.line_chain(int(sites["line_id"].iloc[1])) == [
        ("/home/u/store.h", 7, "store"),
        ("/home/u/ring.cu", 12, ""),
    ]

    launches = trace.launches
    assert launches["kernel"].tolist() == ["put(float*, int)", "bump(int*)"] * 2
    assert launches["gpu"].tolist() == [0, 0, 1, 1]
    assert launches["time"].tolist() == [START + 100 * (i + 1) for i in range(4)]

    counts = trace.counts
    assert counts["issuer"].tolist() == [0] * 4 + [1] * 4
    assert counts["owner"].tolist() == [1] * 4 + [0] * 4
    assert counts["object"].tolist() == [2, 0, 0, 0, 1, 0, 0, 0]
    assert counts["lanes"].tolist() == [32, 32, 64, 3] * 2
    assert counts["bytes"].tolist() == [128, 128, 1024, 12] * 2
    # What is written moves in units of 16 bytes, what is read in those of 32.
    assert counts["wire_units"].tolist() == [8, 8, 32, 2] * 2
    assert counts["wire_bytes"].tolist() == [128, 128, 1024, 32] * 2
    assert trace.by_launch()["bytes"].tolist() == [256 + 1024] * 2 + [12] * 2
    # Of ten launches of put on GPU 0 one was measured, in which it ran twice; on GPU 1 it ran twice as well.
    assert trace.estimated
    assert trace.not_measured()[["opcode", "accesses", "lanes"]].to_numpy(dtype=object).tolist() == [
        ["UTMALDG.2D", 22, 22]
    ]

    assert trace.objects["address"].tolist() == [*MEMORY, 0x7F4000000000]
    assert trace.objects["freed"].tolist() == [START + 1000, 0, 0]
    assert trace.objects["kind"].tolist() == ["device", "device", "multicast"]
    assert trace.label(trace.objects["owner"].iloc[2]) == "multicast 0 (GPU 0, GPU 1)"
    assert trace.notices["text"].tolist() == ["GPU 1 learned of an allocation too late: accesses to it may be missing"]


def test_stacks(write: Write) -> None:
    trace = snoopie.load(write("small"))
    assert trace.objects[["thread", "freed_by", "call", "stack"]].to_numpy(dtype=object).tolist() == [
        [4711, 4712, "cuMemAlloc_v2", 1],
        [4711, 0, "cuMemAlloc_v2", 2],
        [0, 0, "", 0],
    ]
    assert trace.launches["stack"].tolist() == [2, 0, 2, 0]
    assert trace.copies["stack"].tolist() == [3, 0]
    assert trace.modules.to_numpy(dtype=object).tolist() == [[0, "/home/u/ring", "ab01"], [0, "/usr/lib/libx.so", ""]]
    assert trace.stack(3).drop(columns="code").to_numpy(dtype=object).tolist() == [
        [3, 0, "libx.so+0x2000", "", 0, "/usr/lib/libx.so", False],
        [2, 0, "store(float*)", "/home/u/store.h", 7, "/home/u/ring", False],
        [2, 1, "main", "/home/u/ring.cu", 20, "/home/u/ring", False],
        [1, 0, "Ring.step", "/home/u/ring.py", 12, "", True],
    ]
    assert trace.stack(3)["code"].tolist() == ["", "", "store(x);", "ring.step(x)"]
    assert trace.stack_label(trace.copies["stack"]).tolist() == ["store.h:7 store", ""]


def test_frees_after_the_program_began_to_exit(write: Write) -> None:
    trace = snoopie.load(write("exiting"))
    assert trace.complete
    assert trace.processes[["exit_ns", "end_ns"]].to_numpy().tolist() == [[START + 1900, START + 2000]]
    assert trace.objects["freed"].tolist() == [START + 1000, START + 1950, 0]
    assert trace.totals == snoopie.load(write("small")).totals


def test_crash_while_the_program_exits(writer: Path, tmp_path: Path) -> None:
    path = tmp_path / "crashing.zst"
    ended = subprocess.run([str(writer), "crashing", str(path)], timeout=60)
    assert ended.returncode != 0
    trace = snoopie.load(path)
    assert trace.complete
    assert trace.objects["freed"].tolist() == [START + 1000, START + 1950, 0]


def test_copies(write: Write) -> None:
    trace = snoopie.load(write("small"))
    copies = trace.copies
    assert copies["source_address"].tolist() == [0x5000, MEMORY[0]]
    assert copies["destination_address"].tolist() == MEMORY
    assert copies["end"].tolist() == [START + 40, START + 55]
    assert trace.by_copy().to_numpy(dtype=object).tolist() == [
        ["host", "GPU 0", "linear", "cuMemcpyHtoDAsync_v2", 1, 4096, 10],
        ["GPU 0", "GPU 1", "graph", "cuGraphLaunch", 1, 512, 5],
    ]


def test_spans(write: Write) -> None:
    trace = snoopie.load(write("small"))
    assert trace.spans.to_numpy().tolist() == [
        [launch, START + 100 * launch + 20, START + 100 * launch + 90] for launch in (1, 2, 4)
    ]


def test_waits(write: Write) -> None:
    trace = snoopie.load(write("small"))
    columns = [
        "launch",
        "issuer",
        "block",
        "owner",
        "address",
        "waits",
        "given_up",
        "polls",
        "waited",
        "longest",
        "held",
    ]
    assert trace.waits[columns].to_numpy().tolist() == [[3, 1, 1, 1, MEMORY[1] + 128, 2, 0, 90, 2100, 2000, 2050]]
    # GPU 0's first two records, of which the second begins there.
    stores = ["known_by", "issuer", "file", "line", "accesses"]
    assert trace.awaited_stores()[stores].to_numpy(dtype=object).tolist() == [
        ["address", "GPU 0", "/home/u/store.h", 7, 1]
    ]


def test_moves(write: Write) -> None:
    trace = snoopie.load(write("small"))
    columns = ["launch", "issuer", "block", "blocks", "accesses", "first", "last"]
    assert trace.moves[columns].to_numpy().tolist() == [[3, 1, 1, 1, 3, 6900, 9900]]


def test_collectives(write: Write) -> None:
    trace = snoopie.load(write("small"))
    assert trace.processes.loc[0, "rank"] == 0
    assert trace.launches["group"].tolist() == [0, 1, 0, 1]
    assert trace.collectives["rank"].tolist() == [0, 1]
    assert trace.collectives["peer"].tolist() == [-1, -1]
    assert trace.collectives["communicator"].tolist() == ["0xfeedfacecafebeef"] * 2
    columns = ["operation", "reduction", "type", "calls", "launches", "call_bytes", "bytes"]
    assert trace.by_collective()[columns].to_numpy(dtype=object).tolist() == [
        ["AllReduce", "sum", "float32", 2, 2, 2048, 24]
    ]


def test_nothing_is_missed(write: Write) -> None:
    """What the footer tells is what the tables hold."""
    assert [sentence for sentence in snoopie.load(write("small")).losses() if "footer" in sentence] == []


def test_lane_accesses(write: Write) -> None:
    lanes = snoopie.load(write("small")).lane_accesses()
    assert len(lanes) == 2 * (2 * 32 + 3 + 1)
    for issuer in (0, 1):
        mine = lanes[lanes["issuer"] == issuer]
        stores = mine[mine["width"].eq(4) & mine["mask"].eq(0xFFFFFFFF)] if "mask" in mine else mine.iloc[:64]
        target = MEMORY[1 - issuer]
        assert sorted(stores["address"]) == [target + 4 * i for i in range(64)]
        scattered = mine[mine["time"] == 6000]
        bulk = mine[mine["time"] == 5500]
        assert bulk[["lane", "address", "width", "warp"]].to_numpy(dtype=object).tolist() == [
            [2, target + 256, 1024, 2]
        ]
        assert scattered["lane"].tolist() == [0, 1, 3]
        assert scattered["address"].tolist() == [target, target + 4, target + 64]


def test_sms(write: Write) -> None:
    records = snoopie.load(write("small")).records
    assert (
        records[records["shape"] == "strided"].sort_values(["issuer", "time"])["multiprocessor"].tolist()
        == [99, 100] * 2
    )
    assert set(records.loc[records["shape"] == "bulk", "multiprocessor"]) == {100}
    # The fixture does not say where these ran.
    assert set(records.loc[records["shape"] == "scattered", "multiprocessor"]) == {-1}


def test_wire_bounds(write: Write) -> None:
    """A bulk copy of 1024 bytes, read once; what stores and reductions write moves always."""
    trace = snoopie.load(write("small"))
    view = trace.select(launches=trace.launches.index)
    assert view.wire_bounds("flow").to_numpy(dtype=object).tolist() == [
        [source, destination, 1312.0, 1312, True] for source, destination in (("GPU 0", "GPU 1"), ("GPU 1", "GPU 0"))
    ]


def test_many_blocks(write: Write) -> None:
    trace = snoopie.load(write("blocks"))
    assert len(trace.records) == 200004
    assert int(trace.records["lanes"].sum()) == 200000 * 32 + 6 + 2
    assert int(trace.records["bytes"].sum()) == 200000 * 128 + 24 + 2048
    assert trace.totals["records_written"] == 200004


def test_matrix(write: Write) -> None:
    trace = snoopie.load(write("small"))
    assert trace.matrix().to_numpy().tolist() == [[0, 10 * (256 + 1024) + 12], [1292, 0]]
    assert trace.select(launches=trace.launches.index).matrix().to_numpy().tolist() == [[0, 1292], [1292, 0]]


def test_nothing_recorded(write: Write) -> None:
    trace = snoopie.load(write("empty"))
    assert trace.complete
    assert len(trace.counts) == 0
    assert int(trace.matrix().to_numpy().sum()) == 0


def test_killed_process(write: Write) -> None:
    path = write("killed")
    with pytest.raises(snoopie.TruncatedError):
        snoopie.load(path)
    trace = snoopie.load(path, allow_truncated=True)
    assert not trace.complete
    # The writer had a second for everything.
    assert trace.counts["lanes"].tolist() == [32, 32, 64, 3] * 2
    assert trace.copies["bytes"].tolist() == [4096, 512]


def test_standard_tool_decodes_the_file(write: Write) -> None:
    if shutil.which("zstd") is None:
        pytest.fail("install zstd: it decodes the whole file as docs/trace-format.md promises")
    text = subprocess.run(["zstd", "-dc", str(write("small"))], check=True, capture_output=True).stdout
    assert text.startswith(b'{"format":"snoopie"')
    assert b"REDG.E.ADD.STRONG.GPU" in text


def totals(trace: snoopie.Trace) -> tuple[int, int, int]:
    """What must never be wrong: sums that a damaged block would change."""
    return int(trace.counts["lanes"].sum()), len(trace.records), len(trace.sites)


def places(whole: bytes) -> list[int]:
    """Where a file is damaged: each byte of both ends, where entries are, and some between."""
    between = random.Random(1).sample(range(len(whole)), 200)
    return sorted({*between, *range(100), *range(len(whole) - 100, len(whole))})


def test_cut(write: Write, tmp_path: Path) -> None:
    whole = write("small").read_bytes()
    full = totals(snoopie.load(write("small")))
    cut = tmp_path / "cut.zst"
    for size in places(whole):
        cut.write_bytes(whole[:size])
        with pytest.raises(snoopie.SnoopieError):
            snoopie.load(cut)
        try:
            part = totals(snoopie.load(cut, allow_truncated=True))
        except snoopie.SnoopieError:
            continue
        assert all(some <= every for some, every in zip(part, full, strict=True)), size


def test_flipped_bits(write: Write, tmp_path: Path) -> None:
    whole = write("small").read_bytes()
    full = totals(snoopie.load(write("small")))
    damaged = tmp_path / "damaged.zst"
    choose = random.Random(1)
    for position in places(whole):
        bits = bytearray(whole)
        bits[position] ^= 1 << choose.randrange(8)
        damaged.write_bytes(bits)
        with pytest.raises(snoopie.SnoopieError):
            snoopie.load(damaged)
        try:
            part = totals(snoopie.load(damaged, allow_truncated=True))
        except snoopie.SnoopieError:
            continue
        assert all(some <= every for some, every in zip(part, full, strict=True)), position


def test_driver_calls(write: Write) -> None:
    trace = snoopie.load(write("small"))
    columns = ["call", "calls", "errors", "host_ns", "min_ns", "max_ns", "p50_ns", "bytes"]
    assert trace.by_call()[columns].to_numpy(dtype=object).tolist() == [
        ["cuLaunchKernel", 4, 0, 9000, 1000, 4000, 2048, 0],
        ["cuMemcpyDtoH_v2", 2, 0, 1000, 500, 500, 500, 8192],
        ["cuMemAlloc_v2", 2, 1, 100, 40, 60, 60, 4096],
    ]
    assert trace.by_launched_kernel("gpu")[["kernel", "gpu", "launches"]].to_numpy(dtype=object).tolist() == [
        ["put(float*, int)", "GPU 0", 4]
    ]
    assert trace.by_direction("thread")[["direction", "thread", "bytes"]].to_numpy(dtype=object).tolist() == [
        ["device to host", 4712, 8192]
    ]
    assert trace.by_error().to_numpy(dtype=object).tolist() == [["cuMemAlloc_v2", 2, "CUDA_ERROR_OUT_OF_MEMORY", 1]]
    assert trace.calls["start"].tolist() == [START + 1000, START + 1600]
    assert trace.calls["code"].tolist() == [0, 2]
    assert trace.call_totals["time"].max() == START + 2000


def test_source_files(write: Write) -> None:
    path = write("sourced")
    trace = snoopie.load(path)
    assert trace.settings[0]["source"] is True
    files = trace.source_files.set_index("file")
    text = "// put\n__global__ void put(float* x) { store(x); }\n"
    # Of the file that is there no line was reached.
    assert (path.parent / "sourced.zst.local.cu").exists() and f"{path}.local.cu" not in files.index
    assert not Path(f"{path}.gone.cu").exists()
    assert trace.source(f"{path}.gone.cu") == trace.source(f"{path}.twin.cu") == text
    assert trace.source(f"{path}.odd.cu") == "// \\xe9t\\xe9\né\n"
    assert files["kept"].to_dict() == {
        f"{path}.twin.cu": True, f"{path}.gone.cu": True, f"{path}.odd.cu": True,
        f"{path}.large.cu": False, f"{path}.never.cu": False,
    }  # fmt: skip
    assert files["bytes"].tolist() == [len(text), len(text), 10, (1 << 20) + 1, 0]
    (block,) = [block for block in Container.open(path).blocks if block.table == trace.schema["source_files"]["id"]]
    assert Container.open(path).decode(block).count(b"__global__") == 1


def test_the_run(write: Write) -> None:
    assert snoopie.load(write("small")).runs["run_id"].tolist() == ["slurm-77.0"]
