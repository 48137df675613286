"""The whole collector in a program on a driver of the host: nvbit_tool/tests/driver."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.collector import COLLECTOR, make

NVBIT = Path(os.environ.get("NVBIT_PATH") or "/opt/nvbit/core")


def built() -> Path:
    """The program; the test is skipped where NVBit's headers are not there."""
    if not (NVBIT / "nvbit.h").is_file():
        pytest.skip(f"no NVBit in {NVBIT} (NVBIT_PATH names another place)")
    make("whole", "the collector on the driver of the tests", "-j2", f"NVBIT_PATH={NVBIT}")
    return COLLECTOR / "build" / "tests" / "whole"
