"""shards.py: JAX compiles, loads, unloads and launches on many threads, while kernels reach other GPUs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from gpu_runs import LIBRARY_TIMEOUT, environment, no_contradiction, require, start, traced_environment
from gpu_traffic import APPS, between_gpus, nothing_dropped

pytestmark = pytest.mark.timeout(3 * LIBRARY_TIMEOUT)

N, ROUNDS = 1 << 18, 4
# JAX takes most of a GPU's memory at its start otherwise, and the collector needs some.
MEMORY = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def test_sums_over_gpus(pair: tuple[str, ...], tmp_path: Path) -> None:
    require("shards.py")
    command = [sys.executable, APPS / "shards.py", N, ROUNDS]
    (tmp_path / "native").mkdir()
    (tmp_path / "traced").mkdir()
    native = start(command, tmp_path / "native", environment(pair, **MEMORY), LIBRARY_TIMEOUT)
    if native.status and ("jaxlib" in native.stderr or "Unknown backend" in native.stderr):
        pytest.skip(native.stderr.splitlines()[-1])
    assert (native.status, native.stdout) == (0, "PASS\n"), native.stderr
    run = start(command, tmp_path / "traced", traced_environment(pair, **MEMORY), LIBRARY_TIMEOUT)
    assert (run.status, run.stdout) == (native.status, native.stdout), run.stderr
    no_contradiction(run)
    nothing_dropped(run.trace)
    traffic = between_gpus(run.trace)
    # Whichever way it is summed, each GPU needs the other's half at least.
    for issuer in (0, 1):
        assert traffic[traffic.issuer == issuer].bytes.sum() >= ROUNDS * 4 * N / 2
