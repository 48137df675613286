"""Traces by the real writer: nvbit_tool/tests/write_fixture.cpp says what is in each kind."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.stand_in import compile_stand_in
from tests.support.watched import nothing_left, program, watch_built

__all__ = ["nothing_left", "program", "watch_built", "write", "writer"]

COLLECTOR = Path(__file__).resolve().parents[2] / "nvbit_tool"


def make(target: str, name: str) -> None:
    """Builds a part of the collector. Fails where that is not possible, and says what it needs."""
    missing = [tool for tool in ("make", "g++") if shutil.which(tool) is None]
    if missing:
        pytest.fail(f"install {' and '.join(missing)}: the integration tests build {name}")
    built = subprocess.run(["make", "-C", str(COLLECTOR), target], capture_output=True, text=True)
    if built.returncode != 0:
        pytest.fail(f"{name} does not build (zstd.h is in Debian's libzstd-dev):\n{built.stderr}")


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
