"""A program that behaves as nvdisasm does."""

from __future__ import annotations

import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "nvbit_tool/tests/disassemble/nvdisasm.c"


def compile_stand_in(program: Path, *options: str) -> None:
    subprocess.run(["g++", "-x", "c", "-Wall", "-Wextra", *options, SOURCE, "-o", program], check=True)
