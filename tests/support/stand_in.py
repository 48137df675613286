"""nvdisasm, a program that behaves as it does, and what they are given."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "nvbit_tool/tests/disassemble/nvdisasm.c"


def compile_stand_in(program: Path, *options: str) -> None:
    subprocess.run(["g++", "-x", "c", "-Wall", "-Wextra", *options, SOURCE, "-o", program], check=True)


def real_nvdisasm() -> str | None:
    return shutil.which(os.environ.get("SNOOPIE_NVDISASM") or "nvdisasm")


class Inputs:
    """Makes a new file for every function, as NVBit does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = 0

    def input(self, content: str | bytes) -> str:
        self.files += 1
        path = self.folder / f"code_{self.files}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)
