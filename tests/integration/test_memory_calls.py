"""What the collector hears of memory beside the driver's calls: NVSHMEM's, and NVML, each with a fake library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.collector import COLLECTOR

NVSHMEM = COLLECTOR / "tests" / "nvshmem"
NVML = COLLECTOR / "tests" / "nvml"
SOURCES = COLLECTOR / "src"
HEAP = 1 << 20  # between the heaps of two PEs of the fake


def compile(folder: Path, target: str, sources: list[Path], *options: str) -> None:
    if shutil.which("g++") is None:
        pytest.fail("install g++: the integration tests build parts of the collector")
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-O1", "-g", "-fPIC", "-I", str(SOURCES), "-o", target]
    links = [f"-L{folder}", f"-Wl,-rpath,{folder}", "-ldl", "-lpthread"]
    done = subprocess.run([*command, *map(str, sources), *options, *links], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.fixture(scope="module")
def nvshmem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with preload (the wrappers and a sink that prints), a fake library, the program with it and alone."""
    folder = tmp_path_factory.mktemp("nvshmem")
    wrappers = [
        SOURCES / "libraries/nvshmem_calls.cpp",
        SOURCES / "libraries/next_function.cpp",
        NVSHMEM / "print_memory.cpp",
    ]
    script = f"-Wl,--version-script={SOURCES / 'preload' / 'exports.map'}"
    compile(folder, "libpreload.so", wrappers, "-shared", script, "-Wl,-z,now")
    compile(folder, "libnvshmem_host.so", [NVSHMEM / "fake_nvshmem.cpp"], "-shared")
    compile(folder, "linked", [NVSHMEM / "program.cpp"], "-Wl,--no-as-needed", "-lnvshmem_host")
    compile(folder, "alone", [NVSHMEM / "program.cpp"])
    return folder


def run(folder: Path, *command: str, preload: bool = True, **variables: str) -> tuple[list[str], str]:
    environment = os.environ | variables
    if preload:
        environment["LD_PRELOAD"] = str(folder / "libpreload.so")
    words = [str(folder / command[0]), *command[1:]]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout.splitlines(), done.stderr


def test_symmetric_allocations_are_told_once_with_every_pe_that_is_reached(nvshmem: Path) -> None:
    lines, errors = run(nvshmem, "linked")
    assert errors == ""
    own = [int(line.split("=")[1], 16) for line in lines if line.startswith("got") and "nil" not in line]
    assert len(own) == 3
    told = [line for line in lines if line.startswith(("allocated", "freed"))]
    allocated = [
        f"allocated own={address:#x} bytes={size} other={address - HEAP:#x}"
        for address, size in zip(own, (1000, 80, 64), strict=True)
    ]
    assert told == [*allocated, f"freed own={own[1]:#x}", f"freed own={own[0]:#x}"]


def test_calls_pass_through(nvshmem: Path) -> None:
    reached = [line for line in run(nvshmem, "linked")[0] if line.startswith("reached")]
    assert reached == [line for line in run(nvshmem, "linked", preload=False)[0] if line.startswith("reached")]


def test_no_nvshmem(nvshmem: Path) -> None:
    lines, errors = run(nvshmem, "alone", "nvshmem_malloc")
    assert lines == ["result=(nil)"]
    assert errors == "snoopie: the program calls nvshmem_malloc, but no loaded library has it: the call does nothing\n"


def test_only_what_allocates_is_replaced(nvshmem: Path) -> None:
    if shutil.which("readelf") is None:
        pytest.fail("install binutils: readelf shows what the wrappers export")
    library = str(nvshmem / "libpreload.so")
    symbols = subprocess.run(["readelf", "-W", "--dyn-syms", library], check=True, capture_output=True, text=True)
    exported = set(re.findall(r"(?:GLOBAL|WEAK) +DEFAULT +\d+ (\w+)$", symbols.stdout, re.MULTILINE))
    assert exported == {"nvshmem_malloc", "nvshmem_calloc", "nvshmem_align", "nvshmem_free"}


@pytest.fixture(scope="module")
def nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program, and folders new and old with fake libraries."""
    folder = tmp_path_factory.mktemp("nvml")
    for kind, options in (("new", []), ("old", ["-DONLY_OLD"])):
        (folder / kind).mkdir()
        compile(folder / kind, "libnvidia-ml.so.1", [NVML / "fake_nvml.cpp"], "-shared", *options)
    compile(folder, "program", [NVML / "program.cpp", SOURCES / "memory/nvml_memory.cpp"])
    return folder


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("new", ["600 222", "-1 -1"]), ("old", ["700 -1", "-1 -1"])],
)
def test_memory_in_use(nvml: Path, kind: str, expected: list[str]) -> None:
    assert run(nvml, "program", preload=False, LD_LIBRARY_PATH=str(nvml / kind))[0] == expected


def test_no_nvml(nvml: Path) -> None:
    lines, _ = run(nvml, "program", preload=False, LD_LIBRARY_PATH=str(nvml))
    if lines != ["no NVML"]:
        pytest.skip("this machine has NVML")
