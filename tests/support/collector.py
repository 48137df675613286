"""Parts of the collector that tests build, as its own Makefile does."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

COLLECTOR = Path(__file__).resolve().parents[2] / "nvbit_tool"
SOURCES = COLLECTOR / "src"


def make(target: str, name: str, *words: str) -> None:
    """Builds ``target``, called ``name`` in what the test fails with where that is not possible."""
    missing = [tool for tool in ("make", "g++") if shutil.which(tool) is None]
    if missing:
        pytest.fail(f"install {' and '.join(missing)}: the tests build {name}")
    with (COLLECTOR / "Makefile").open() as lock:
        # Workers that test side by side: one builds, and none runs what the linker is still writing.
        fcntl.flock(lock, fcntl.LOCK_EX)
        built = subprocess.run(["make", "-C", str(COLLECTOR), target, *words], capture_output=True, text=True)
    if built.returncode != 0:
        pytest.fail(f"{name} does not build (zstd.h is in Debian's libzstd-dev):\n{built.stderr}")


def library_with(sources: Sequence[str], nvbit: str, wrapped: tuple[str, ...], folder: Path) -> str:
    """A library in ``folder`` of ``sources`` of the collector's and of ``nvbit``, the text of one that plays NVBit.

    The linker sends its calls of the functions ``wrapped`` to the collector's.
    """
    if shutil.which("g++") is None:
        pytest.fail("install g++: the integration tests build parts of the collector")
    (folder / "stand_in.cpp").write_text(nvbit)
    target = str(folder / "tool.so")
    wraps = ",".join(f"--wrap={name}" for name in wrapped)
    options = ["-std=c++17", "-shared", "-fPIC", "-I", str(SOURCES), f"-Wl,{wraps}", "-o", target]
    files = [*(str(SOURCES / source) for source in sources), str(folder / "stand_in.cpp")]
    built = subprocess.run(["g++", *options, *files], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return target
