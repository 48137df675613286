"""Traces by the real writer: nvbit_tool/tests/write_fixture.cpp says what is in each kind."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support.collector import COLLECTOR, make
from tests.support.stand_in import compile_stand_in
from tests.support.watched import nothing_left, program, watch_built

__all__ = ["nothing_left", "program", "watch_built", "write", "writer"]

# Their programs have a libcuda.so.1, and a watch of all programs is one of other tests' too.
WATCHED = {
    "test_build.py",
    "test_preload.py",
    "test_times.py",
    "test_traced_returns.py",
    "test_watch.py",
    "test_watch_metrics.py",
}


class OneAfterAnother(LoadScopeScheduling):  # type: ignore[misc]
    """With several workers, the tests of a file run in one, and so do those of all files of WATCHED."""

    def _split_scope(self, nodeid: str) -> str:
        file = Path(nodeid.partition("::")[0]).name
        return "watched" if file in WATCHED else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneAfterAnother:
    return OneAfterAnother(config, log)


@pytest.fixture(scope="session")
def writer() -> Path:
    """The program that writes traces with the collector's own writer."""
    make("fixture", "the collector's writer")
    return COLLECTOR / "build" / "write_fixture"


@pytest.fixture(scope="session")
def write(writer: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """write(kind) → the path of such a trace."""
    folder = tmp_path_factory.mktemp("written")

    def write_kind(kind: str) -> Path:
        path = folder / f"{kind}.zst"
        if not path.exists():
            subprocess.run([str(writer), kind, str(path)], check=True, timeout=60)
        return path

    return write_kind


@pytest.fixture(scope="session")
def disassemble() -> Path:
    """The program that stands in for nvdisasm."""
    make("disassemble", "nvbit_tool/disassemble")
    return COLLECTOR / "disassemble"


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that behaves as nvdisasm does."""
    program = tmp_path_factory.mktemp("stand_in") / "nvdisasm"
    compile_stand_in(program)
    return program


@pytest.fixture(scope="session")
def nvtx_headers() -> Path:
    """The folder that has nvtx3/nvToolsExt.h."""
    nvcc = shutil.which("nvcc")
    toolkits = [
        os.environ.get("CUDA_HOME", ""),
        str(Path(nvcc).resolve().parents[1]) if nvcc else "",
        "/usr/local/cuda",
    ]
    there = (Path(toolkit, "include") for toolkit in toolkits if toolkit)
    found = next((folder for folder in there if (folder / "nvtx3" / "nvToolsExt.h").is_file()), None)
    if found is None:
        pytest.skip("no CUDA toolkit with NVTX's headers is here")
    return found


@pytest.fixture(scope="session")
def nccl_programs(nvtx_headers: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The commands of tests/nvtx/nccl_program.c, linked with tests/nvtx/ranged_nccl.c and opening it."""
    if not (nvtx_headers / "nvtx3" / "nvToolsExtPayload.h").is_file():
        pytest.skip("the CUDA toolkit's NVTX has no payloads")
    sources, made = COLLECTOR / "tests" / "nvtx", tmp_path_factory.mktemp("ranged")
    library = made / "libnccl.so.2"

    def compile(target: Path, source: str, *options: str) -> None:
        command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-isystem", str(nvtx_headers), "-fPIC"]
        words = [*command, str(sources / source), "-o", str(target), *options, "-lpthread", "-ldl"]
        done = subprocess.run(words, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")

    compile(library, "ranged_nccl.c", "-shared", "-Wl,-soname,libnccl.so.2")
    compile(made / "linked", "nccl_program.c", "-DLINKED", str(library), f"-Wl,-rpath,{made}")
    compile(made / "opened", "nccl_program.c")
    return {kind: [str(made / kind), str(library)] for kind in ("linked", "opened")}
