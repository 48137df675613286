"""CUPTI, through which `snoopie run --with-times` records: looked for where that recording does."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from snoopie.cli.checks.driver import Driver
from snoopie.cli.checks.programs import says
from snoopie.cli.checks.row import Row, ok, warning

# The first with the records that are read.
_OLDEST = 12
_CACHED = re.compile(r"(libcupti\.so\.\d+) .*=> (\S+)$", re.MULTILINE)


def row(asked: Driver, environment: Mapping[str, str]) -> Row:
    """The newest that the driver serves; a warning where there is none: only --with-times needs it."""
    newest = int(asked.cuda.split(".")[0]) if asked.cuda else _OLDEST
    for major in range(newest, _OLDEST - 1, -1):
        for path in _places(f"libcupti.so.{major}", environment):
            if path.is_file():
                return ok("CUPTI", str(path))
    return warning(
        "CUPTI",
        f"no libcupti.so.{newest} in the CUDA toolkit, LD_LIBRARY_PATH or this Python environment",
        "only --with-times needs it: install the toolkit, or pip install nvidia-cuda-cupti",
    )


def _places(name: str, environment: Mapping[str, str]) -> Iterator[Path]:
    """As in nvbit_tool/src/times/cupti.cpp; the program's Python environment is taken to be this one."""
    homes = [environment[one] for one in ("CUDA_HOME", "CUDA_PATH") if environment.get(one)]
    for home in homes:
        yield from _of_toolkit(Path(home), name)
    for folder in filter(None, environment.get("LD_LIBRARY_PATH", "").split(os.pathsep)):
        yield Path(folder, name)
    cache = says(["ldconfig", "-p"], environment) or says(["/sbin/ldconfig", "-p"], environment) or ""
    yield from (Path(path) for found, path in _CACHED.findall(cache) if found == name)
    yield from _of_toolkit(Path("/usr/local/cuda"), name)
    prefixes = [environment.get("VIRTUAL_ENV"), environment.get("CONDA_PREFIX"), sys.prefix]
    for prefix in filter(None, prefixes):
        yield from sorted(Path(prefix).glob(f"lib/python3*/*-packages/nvidia/*/lib/{name}"))


def _of_toolkit(home: Path, name: str) -> Iterator[Path]:
    for folder in ("extras/CUPTI/lib64", "lib64", "lib"):
        yield home / folder / name
