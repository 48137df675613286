"""The samples hold what their README says, by arithmetic, and their sources are those of tests/gpu/apps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import snoopie
from snoopie.analysis.names import short_name

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
GPUS = 4


@pytest.mark.parametrize("name", ["ring", "jacobi"])
def test_whole_and_recorded_from_this_source(name: str) -> None:
    trace = snoopie.load(SAMPLES / f"{name}-4gpu.zst")
    assert trace.complete
    assert trace.losses() == []
    assert trace.processes.loc[0, "version"] == snoopie.__version__
    assert (SAMPLES / f"{name}.cu").read_text() == (ROOT / "tests" / "gpu" / "apps" / f"{name}.cu").read_text()
    assert trace.gpus["name"].tolist() == ["NVIDIA H200"] * GPUS
    assert (trace.gpus["nvlinks"] == 18).all()
    # Every access has its record, and lies in memory of its owner.
    assert len(trace.records) == trace.counts["accesses"].sum()
    lanes = trace.lane_accesses()
    assert len(lanes) == trace.counts["lanes"].sum()
    for owner, objects in trace.objects.groupby("owner"):
        addresses = lanes.loc[lanes["owner"] == owner, "address"].to_numpy()
        starts = objects["address"].to_numpy()
        ends = starts + objects["bytes"].to_numpy().astype(starts.dtype)
        inside = (addresses[:, None] >= starts) & (addresses[:, None] < ends)
        assert inside.any(axis=1).all()


def marked(name: str, marker: str) -> int:
    """The number of the line with this marker."""
    lines = (SAMPLES / f"{name}.cu").read_text().splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if line.endswith(f"// remote: {marker}"))
    return number


def test_ring() -> None:
    trace = snoopie.load(SAMPLES / "ring-4gpu.zst")
    table = trace.by_line().set_index("line")
    expected = {"put": (24576, 3145728, 98304), "get": (6144, 3145728, 98304), "bump": (96, 12288, 96)}
    for kernel, values in expected.items():
        row = table.loc[marked("ring", kernel)]
        assert (row["accesses"], row["bytes"], row["sectors"]) == values
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


def test_jacobi() -> None:
    trace = snoopie.load(SAMPLES / "jacobi-4gpu.zst")
    table = trace.by_line().set_index("line")
    for marker in ("up", "down"):
        row = table.loc[marked("jacobi", marker)]
        assert (row["accesses"], row["bytes"], row["sectors"]) == (7680, 982560, 30720)
    assert len(table) == 2
    distance = np.abs(np.subtract.outer(np.arange(GPUS), np.arange(GPUS)))
    assert (trace.matrix().to_numpy() == np.where(distance == 1, 327520, 0)).all()
