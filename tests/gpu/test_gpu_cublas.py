"""cuBLAS: what its kernels load from far away is measured, whichever instructions they load it with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from gpu_runs import LIBRARY_TIMEOUT, no_contradiction, require, start, traced_environment
from gpu_traffic import APPS, Far, across, nothing_dropped

pytestmark = pytest.mark.timeout(2 * LIBRARY_TIMEOUT)


# Rows that are multiples of 16 bytes can be copied by tensor maps; others are by LDGSTS, of 8 bytes or 4.
@pytest.mark.parametrize("n", [1024, 1022, 1021])
def test_a_matrix_that_is_far_is_read_once_a_tile(far: Far, tmp_path: Path, n: int) -> None:
    require("gemm.py")
    command = [sys.executable, APPS / "gemm.py", n]
    run = start(command, tmp_path, traced_environment(far.visible, SAMPLE_SIZE="0", CODE_CONTEXT="0"), LIBRARY_TIMEOUT)
    assert run.status == 0, run.stdout + run.stderr
    no_contradiction(run)
    trace = run.trace
    nothing_dropped(trace)
    assert trace.not_measured().accesses.sum() == 0
    kernels = trace.launches.kernel
    crossing = across(trace, far.owner)
    read = crossing[(crossing.issuer == 0) & (crossing.operation == "load")]
    gemm = read[read.launch.map(kernels).str.contains("gemm|cutlass|xmma", case=False)]
    assert gemm.launch.nunique() == 1
    matrix = n * n * 4
    moved = int(gemm.bytes.sum())
    assert moved >= matrix
    assert moved % matrix == 0
