"""The samples hold what their README says, by arithmetic, and their sources are those of tests/gpu/apps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import snoopie
from snoopie.words.names import short_name
from tests.support.command import run

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
APPS = ROOT / "tests" / "gpu" / "apps"
GPUS = 4
MEGABYTE = 1_000_000

# Sample → the program beside it.
PROGRAMS = {
    "ring-4gpu.zst": "ring.cu",
    "jacobi-4gpu.zst": "jacobi.cu",
    "jacobi-2gpu.zst": "jacobi.cu",
    "allreduce-4gpu": "allreduce.py",
    "halo-4gpu": "halo.cu",
    "findings-2gpu.zst": "findings.cu",
}
# Recorded on another machine than the others.
ON_H100 = ["findings-2gpu.zst"]
SEVERAL_PROCESSES = ["allreduce-4gpu", "halo-4gpu"]


@pytest.mark.parametrize(("sample", "program"), PROGRAMS.items())
def test_whole_and_recorded_from_this_source(sample: str, program: str) -> None:
    path = SAMPLES / sample
    trace = snoopie.load(path)
    assert trace.complete
    assert (trace.processes["version"] == snoopie.__version__).all()
    folder = path if path.is_dir() else path.parent
    assert (folder / program).read_text() == (APPS / program).read_text()
    assert sum(file.stat().st_size for file in trace.paths) < 2 * MEGABYTE
    name = "NVIDIA H100 80GB HBM3" if sample in ON_H100 else "NVIDIA H200"
    assert trace.gpus["name"].tolist() == [name] * (2 if "-2gpu" in sample else GPUS)
    assert (trace.gpus["nvlinks"] == 18).all()
    assert trace.totals["records_dropped"] == 0


def test_check_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    samples = sorted(SAMPLES.glob("**/*.zst"))
    status, out, _ = run(capsys, "check", *samples, "--json")
    files = json.loads(out)["files"]
    assert [file["path"] for file in files] == [str(sample) for sample in samples]
    assert all(file["complete"] and not file["suspicious"] and not file["wrong"] for file in files)
    assert status == 0


@pytest.mark.parametrize("name", ["ring", "jacobi"])
def test_every_access_has_its_record_in_memory_of_its_owner(name: str) -> None:
    trace = snoopie.load(SAMPLES / f"{name}-4gpu.zst")
    assert trace.losses() == []
    assert len(trace.records) == trace.counts["accesses"].sum()
    lanes = trace.lane_accesses()
    assert len(lanes) == trace.counts["lanes"].sum()
    for owner, objects in trace.objects.groupby("owner"):
        addresses = lanes.loc[lanes["owner"] == owner, "address"].to_numpy()
        starts = objects["address"].to_numpy()
        ends = starts + objects["bytes"].to_numpy().astype(starts.dtype)
        inside = (addresses[:, None] >= starts) & (addresses[:, None] < ends)
        assert inside.any(axis=1).all()


def test_host_side() -> None:
    trace = snoopie.load(SAMPLES / "jacobi-2gpu.zst")
    assert trace.losses() == []
    assert trace.matrix().to_numpy().tolist() == [[0, 163680], [163680, 0]]
    assert len(trace.launches) == len(trace.spans) == 42
    objects = trace.by_object()
    assert (len(objects), objects["size"].sum()) == (9, 67174368)
    assert (objects["freed"] > objects["allocated"]).all()
    assert trace.leaks().empty
    assert objects.loc[objects["bytes"] > 0, "name"].str.contains("grid").all()
    # Each call is an event, and their sums say the same.
    assert len(trace.calls) == trace.by_call()["calls"].sum()
    assert trace.stack(int(trace.launches["stack"].iloc[0]))["function"].str.startswith("solve(").any()


@pytest.mark.parametrize("sample", sorted(PROGRAMS.keys() - {"findings-2gpu.zst"}))
def test_counted_in_sectors(sample: str) -> None:
    """As every trace of the third version of the format, whatever the operation."""
    trace = snoopie.load(SAMPLES / sample)
    assert (trace.sites["wire_unit"] == 32).all()
    assert {"store", "reduction"} & set(trace.by_operation()["operation"])
    assert (trace.counts["wire_bytes"] == 32 * trace.counts["wire_units"]).all()


def marked(source: str, marker: str) -> int:
    """The number of the line with this marker."""
    lines = (SAMPLES / source).read_text().splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if line.endswith(f"// remote: {marker}"))
    return number


def test_ring() -> None:
    trace = snoopie.load(SAMPLES / "ring-4gpu.zst")
    table = trace.by_line().set_index("line")
    expected = {"put": (24576, 3145728, 98304), "get": (6144, 3145728, 98304), "bump": (96, 12288, 96)}
    for kernel, values in expected.items():
        row = table.loc[marked("ring.cu", kernel)]
        assert (row["accesses"], row["bytes"], row["wire_units"]) == values
        assert short_name(row["kernel"]) == kernel
    assert len(table) == len(expected)
    matrix = np.zeros((GPUS, GPUS), int)
    for issuer in range(GPUS):
        matrix[issuer, (issuer + 1) % GPUS] = 1575936
    assert (trace.matrix().to_numpy() == matrix).all()
    assert trace.by_operation().set_index("operation")["accesses"].to_dict() == {
        "store": 24576,
        "load": 6144,
        "reduction": 96,
    }


def test_findings() -> None:
    trace = snoopie.load(SAMPLES / "findings-2gpu.zst")
    assert trace.losses() == []
    assert len(trace.records) == trace.counts["accesses"].sum()
    table = trace.by_line().set_index("line")
    expected = {
        "add": (4096, 524288, 524288),
        "put_apart": (2048, 262144, 1048576),
        "get_apart": (2048, 262144, 2097152),
        "get_again": (16384, 2097152, 2097152),
        "put": (16384, 2097152, 2097152),
        "get": (32768, 4194304, 4194304),
    }
    lines = {kernel: marked("findings.cu", kernel) for kernel in expected}
    assert set(table.index) == set(lines.values())
    for kernel, values in expected.items():
        row = table.loc[lines[kernel]]
        assert (row["accesses"], row["bytes"], row["wire_bytes"]) == values
    assert trace.matrix().to_numpy().tolist() == [[0, 786432, 2097152], [4456448, 0, 2097152], [0, 0, 0]]
    assert (len(trace.copies), trace.copies["bytes"].sum()) == (10, 20971520)


def test_jacobi() -> None:
    trace = snoopie.load(SAMPLES / "jacobi-4gpu.zst")
    table = trace.by_line().set_index("line")
    for marker in ("up", "down"):
        row = table.loc[marked("jacobi.cu", marker)]
        assert (row["accesses"], row["bytes"], row["wire_units"]) == (7680, 982560, 30720)
    assert len(table) == 2
    distance = np.abs(np.subtract.outer(np.arange(GPUS), np.arange(GPUS)))
    assert (trace.matrix().to_numpy() == np.where(distance == 1, 327520, 0)).all()


@pytest.mark.parametrize("name", SEVERAL_PROCESSES)
def test_a_process_a_gpu(name: str) -> None:
    trace = snoopie.load(SAMPLES / name)
    assert sorted(trace.processes["rank"]) == list(range(GPUS))
    assert trace.launches.groupby("process")["gpu"].nunique().tolist() == [1] * GPUS
    # Every access has its record.
    between = trace.select(owners=range(GPUS))
    assert len(between.records) == between.counts["accesses"].sum()


def between_gpus(trace: snoopie.Trace) -> pd.DataFrame:
    """Counts between GPUs; libraries also work in the memory of the host."""
    return trace.counts[trace.counts["owner"] >= 0]


def test_allreduce() -> None:
    trace = snoopie.load(SAMPLES / "allreduce-4gpu")
    # Each rank's calls, and each call's kernel.
    called = trace.collectives.sort_values("start").groupby("rank")["operation"].agg(list)
    assert called.tolist() == [["AllReduce"] * 3 + ["AllGather"]] * GPUS
    assert (trace.collectives["bytes"] == 393216).all()
    operation = trace.collectives.set_index("group")["operation"]
    counts = between_gpus(trace)
    counts = counts.assign(operation=counts["launch"].map(trace.launches["group"]).map(operation))
    sums = counts.groupby("operation")[["accesses", "bytes", "wire_units"]].sum()
    assert sums.T.to_dict("list") == {"AllReduce": [14124, 7080288, 221484], "AllGather": [2356, 1180064, 36916]}

    # One ring: much to the next GPU, a little to the one before.
    matrix = trace.matrix().to_numpy()[:GPUS, :GPUS]
    following = {gpu: int(row.argmax()) for gpu, row in enumerate(matrix)}
    expected = np.zeros((GPUS, GPUS), int)
    for gpu, after in following.items():
        expected[gpu, after] = 2064720
        expected[after, gpu] = 368
    assert (matrix == expected).all()
    around = [0]
    while following[around[-1]] != 0:
        around.append(following[around[-1]])
    assert sorted(around) == list(range(GPUS))


def test_halo() -> None:
    trace = snoopie.load(SAMPLES / "halo-4gpu")
    table = trace.by_line().set_index("line")
    for marker, accesses in (("up", 10240), ("down", 2560)):
        row = table.loc[marked("halo-4gpu/halo.cu", marker)]
        assert (row["accesses"], row["bytes"], row["wire_units"]) == (accesses, 1310720, 40960)
        assert short_name(row["kernel"]) == {"up": "relax", "down": "push"}[marker]
    distance = np.abs(np.subtract.outer(np.arange(GPUS), np.arange(GPUS)))
    matrix = trace.matrix().to_numpy()[:GPUS, :GPUS]
    assert (matrix == np.where(np.isin(distance, [1, GPUS - 1]), 327680, 0)).all()
