"""What the collector is built with, as nvbit_tool/requirements finds it: the Makefile asks that, too."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from snoopie.cli import places, tool
from snoopie.cli.checks.programs import says
from snoopie.cli.checks.row import Row, State

NVBIT = "/opt/nvbit/core"
_ALL = ("make", "c++", "zstd", "nvcc", "arch", "cudart", "nvbit")


def nvcc(environment: Mapping[str, str]) -> str:
    """The compiler: as named, the toolkit's that is named, on PATH, or where the toolkit is installed by default."""
    if named := environment.get("NVCC"):
        return named
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        compiler = Path(environment.get(variable) or "/", "bin", "nvcc")
        if os.access(compiler, os.X_OK) and environment.get(variable):
            return str(compiler)
    *_, default = tool.toolkit_folders(environment)
    return str(tool.find_program("nvcc", environment) or default / "nvcc")


def nvbit_folder(named: str | None, environment: Mapping[str, str]) -> Path:
    """NVBit's folder with headers and library: as named, from NVBIT_PATH, or where the README unpacks it.

    The folder that NVBit's archive makes, in which that one is called core, is understood, too.
    """
    folder = Path(named or environment.get("NVBIT_PATH") or NVBIT).expanduser().absolute()
    return folder / "core" if (folder / "core" / "nvbit.h").is_file() else folder


def requirements(nvbit: Path, arches: Sequence[str], environment: Mapping[str, str]) -> list[Row]:
    """A row for each thing that a build needs."""
    own = {"NVCC": nvcc(environment), "NVBIT_PATH": str(nvbit), "ARCHES": " ".join(arches)}
    text = says(["sh", str(places.sources() / "requirements"), *_ALL], {**environment, **own})
    return parse(text or "")


def parse(text: str) -> list[Row]:
    """The rows of the script's output."""
    rows = []
    for line in text.splitlines():
        cells = line.split("\t")
        if len(cells) == 4 and cells[1] in set(State):
            rows.append(Row(cells[0], State(cells[1]), *cells[2:]))
    return rows
