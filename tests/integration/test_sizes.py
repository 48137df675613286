"""What a recorded access costs in a trace: real accesses of the samples, written again by the collector's writer."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import snoopie
from snoopie.trace.tables import Process

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
# write_fixture.cpp says what GivenAccess is.
COLUMNS = {
    "launch": "<u4", "site": "<u4", "issuer": "u1", "owner": "u1", "mask": "<u4",
    "time": "<u8", "block": "<u8", "warp": "u1", "base": "<u8", "stride": "<i8",
}  # fmt: skip
# The entry before a block.
ENTRY = 56

Give = Callable[[pd.DataFrame], Path]


@pytest.fixture
def give(writer: Path, tmp_path: Path) -> Give:
    """give(records) → a trace with these accesses, by the collector's writer."""

    def given(records: pd.DataFrame) -> Path:
        rows = records[list(COLUMNS)].to_records(index=False, column_dtypes=COLUMNS)
        path = tmp_path / "given.zst"
        subprocess.run([str(writer), "given", str(path)], input=rows.tobytes(), check=True, timeout=60)
        return path

    return given


def sizes(path: Path) -> tuple[int, int]:
    """Bytes of the blocks that only recorded accesses need, before and after compression."""
    process = Process.open(path)
    ids = {table.id for table in process.header.tables.values() if table.name in ("patterns", "records")}
    blocks = [block for block in process.blocks if block.table in ids]
    return sum(block.raw_size for block in blocks), sum(block.size + ENTRY for block in blocks)


def in_order(records: pd.DataFrame) -> pd.DataFrame:
    return records[list(COLUMNS)].sort_values(list(COLUMNS), ignore_index=True)


@pytest.mark.parametrize("name", ["ring", "jacobi"])
def test_a_coalesced_access(give: Give, name: str) -> None:
    records = snoopie.load(SAMPLES / f"{name}-4gpu.zst").records
    path = give(records)
    # Nothing is lost, and nothing changes but the order.
    pd.testing.assert_frame_equal(in_order(snoopie.load(path).records), in_order(records))
    raw, stored = sizes(path)
    assert raw / len(records) <= 24
    assert stored / records["lanes"].sum() <= 0.2


def test_values_that_are_far_apart(give: Give) -> None:
    """Times, thread blocks and addresses of all sizes, and patterns of which no two are the same."""
    choose = np.random.default_rng(4)
    count = 3000
    records = pd.DataFrame(
        {
            "launch": choose.integers(1, 20, count, np.uint32),
            "site": choose.integers(1, 20, count, np.uint32),
            "issuer": choose.integers(0, 4, count, np.uint8),
            "owner": choose.choice(np.array([0, 1, 2, 3, 254, 255], np.uint8), count),
            "mask": choose.integers(0, 1 << 32, count, np.uint32),
            "time": choose.integers(0, 1 << 63, count, np.uint64) >> choose.integers(0, 63, count, np.uint64),
            "block": choose.integers(0, 1 << 63, count, np.uint64) >> choose.integers(0, 63, count, np.uint64),
            "warp": choose.integers(0, 32, count, np.uint8),
            "base": choose.integers(0, 1 << 64, count, np.uint64),
            "stride": choose.integers(-(1 << 63), 1 << 63, count, np.int64),
        }
    )
    given = in_order(records.assign(owner=records["owner"].astype(int).replace({254: -1, 255: -2})))
    pd.testing.assert_frame_equal(in_order(snoopie.load(give(records)).records), given, check_dtype=False)
