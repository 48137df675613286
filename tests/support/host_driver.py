"""The whole collector in a program on a driver of the host: nvbit_tool/tests/driver."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import pytest

COLLECTOR = Path(__file__).resolve().parents[2] / "nvbit_tool"
NVBIT = Path(os.environ.get("NVBIT_PATH") or "/opt/nvbit/core")


def built() -> Path:
    """The program; the test is skipped where NVBit's headers are not there."""
    if not (NVBIT / "nvbit.h").is_file():
        pytest.skip(f"no NVBit in {NVBIT} (NVBIT_PATH names another place)")
    with (COLLECTOR / "Makefile").open() as lock:
        # Workers that test side by side: one builds, and none runs what the linker is still writing.
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = subprocess.run(
            ["make", "-C", str(COLLECTOR), "-j2", "whole", f"NVBIT_PATH={NVBIT}"], capture_output=True, text=True
        )
    if made.returncode != 0:
        pytest.fail(f"the collector does not build on the driver of the tests:\n{made.stderr}")
    return COLLECTOR / "build" / "tests" / "whole"
