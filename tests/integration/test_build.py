"""From a wheel to a collector that `snoopie run` takes: the wheel is built and installed, and builds the collector.

Needs NVBit (NVBIT_PATH, or /opt/nvbit/core) and nvcc; skipped where they are missing.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from snoopie.cli import tool
from snoopie.cli.checks.requirements import nvcc

ROOT = Path(__file__).resolve().parents[2]
COLLECTOR = ROOT / "nvbit_tool"
NVBIT = Path(os.environ.get("NVBIT_PATH") or "/opt/nvbit/core")
# The word for one that is made again, in what make prints.
COMPILED = re.compile(r" -o \S*/build/(\S+)")


@dataclass
class Installed:
    """A package that was installed from its wheel, and the folder in which it builds."""

    site: Path
    data: Path

    def snoopie(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("SNOOPIE_TOOL", "LD_PRELOAD")}
        environment = kept | {"PYTHONPATH": str(self.site), "XDG_DATA_HOME": str(self.data)} | more
        command = [sys.executable, "-P", "-m", "snoopie.cli", *words]
        return subprocess.run(command, cwd=self.data, env=environment, capture_output=True, text=True, timeout=800)

    def build(self, arches: str) -> list[str]:
        """Builds, and returns the files that were made."""
        built = self.snoopie("build", "--nvbit", str(NVBIT), "--arch", arches)
        assert built.returncode == 0, built.stderr
        return COMPILED.findall(self.folder.joinpath("build.log").read_text())

    @property
    def folder(self) -> Path:
        (folder,) = (self.data / "snoopie").glob("*/*")
        return folder

    @property
    def library(self) -> Path:
        return self.folder / "mem_multigpu.so"

    @property
    def collector(self) -> Path:
        return self.folder / "libsnoopie_collector.so"

    def files(self) -> dict[Path, int]:
        """What was installed, with its dates; Python's own cache aside."""
        return {
            path: path.stat().st_mtime_ns
            for path in self.site.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, installed, and the collector that it has built for architecture 90."""
    if not (NVBIT / "libnvbit.a").is_file():
        pytest.skip(f"no NVBit in {NVBIT} (NVBIT_PATH names another place)")
    if shutil.which(nvcc(os.environ)) is None:
        pytest.skip("no nvcc")
    folder = tmp_path_factory.mktemp("wheel")
    words = ["hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run([sys.executable, "-m", *words], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    made = Installed(folder / "site", folder / "data")
    made.data.mkdir()
    words = ["pip", "install", "--quiet", "--no-deps", "--no-compile", "--target", str(made.site), str(wheel)]
    subprocess.run([sys.executable, "-m", *words], check=True, capture_output=True)
    before = made.files()
    assert "probe/probe.cu.o" in made.build("sm_90")
    assert made.files() == before, "a build writes nothing where the package is"
    return made


def symbols(library: Path, *options: str) -> list[tuple[str, str]]:
    """Type and name of each symbol in the dynamic table."""
    listed = subprocess.run(["nm", "-D", *options, str(library)], check=True, capture_output=True, text=True).stdout
    return [(words[-2], words[-1].partition("@")[0]) for words in map(str.split, listed.splitlines())]


def test_run_takes_what_build_made(installed: Installed, tmp_path: Path) -> None:
    for name in tool.DISASSEMBLERS:
        (tmp_path / name).symlink_to("/bin/true")
    path = f"{os.environ['PATH']}{os.pathsep}{tmp_path}"
    rows = json.loads(installed.snoopie("doctor", "--json", PATH=path).stdout)["rows"]
    (row,) = (row for row in rows if row["name"] == "collector")
    assert row["found"].startswith(f"{installed.library}: ")
    assert row["found"].endswith(" for 90")
    # The program creates no context; whether there is a driver is all the same to it.
    done = installed.snoopie("run", "--", "/bin/true", PATH=path)
    assert "snoopie: no trace was written" in done.stderr
    assert done.returncode == 0


def test_only_what_depends_on_a_change_is_made_again(installed: Installed) -> None:
    assert installed.build("9.0") == []
    again = {"preload/identity.cpp.o", "launches/code_words.fatbin", "launches/code_words.cpp.o"}
    assert {*installed.build("80,90")} == again | {"probe/probe.cu.o", "probe/nvbit_hooks.cu.o"}
    assert b'"arches": "80 90"}' in installed.library.read_bytes()


def test_it_exports_its_own_and_nothing_else(installed: Installed) -> None:
    preloaded = exported(installed.library, COLLECTOR / "src" / "preload" / "exports.map")
    for name in (
        "__cxa_atexit",
        "dlsym",
        "InitializeInjection",
        "InitializeInjectionNvtx2",
        "InitializeInjectionNvtxExtension",
        "ncclAllReduce",
        "nvrtcCreateProgram",
        "snoopie_collector_push",
    ):
        assert ("T", name) in preloaded
    assert ("T", "nvbit_at_cuda_event") in exported(installed.collector, COLLECTOR / "src" / "exports.map")


def exported(library: Path, declared: Path) -> list[tuple[str, str]]:
    """What a library exports, which is declared and cannot take the place of the program's own."""
    patterns = re.search(r"global: (.*);", declared.read_text())
    assert patterns is not None
    names = patterns[1].split("; ")
    found = symbols(library, "--defined-only")
    assert [name for _, name in found if not any(fnmatch.fnmatch(name, pattern) for pattern in names)] == []
    # Neither weak nor unique, as symbols of zstd or libstdc++ can be; the one of data is the interface of the two.
    assert {kind for kind, name in found if name != "snoopie_preload"} == {"T"}
    return found


def needed(library: Path) -> set[str]:
    dynamic = subprocess.run(["objdump", "-p", str(library)], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"NEEDED\s+(\S+)", dynamic))


def test_it_needs_neither_zstd_nor_libstdcxx(installed: Installed) -> None:
    for archive in ("libzstd.a", "libstdc++.a"):
        asked = subprocess.run(["g++", f"-print-file-name={archive}"], capture_output=True, text=True)
        if "/" not in asked.stdout:
            pytest.skip(f"g++ has no {archive}")
    everywhere = {
        "libgcc_s.so.1", "libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0",
        "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
    }  # fmt: skip
    assert needed(installed.library) <= everywhere
    assert needed(installed.collector) <= everywhere | {"libcuda.so.1"}
    # What else it wants, the loader finds: with a driver's library that has the functions' names.
    functions = {name for _, name in symbols(installed.collector, "--undefined-only") if re.match(r"cu[A-Z]", name)}
    stub = installed.data / "stub"
    stub.mkdir(exist_ok=True)
    source = "".join(f"void {name}(void) {{}}\n" for name in sorted(functions))
    compile_it = [
        "gcc",
        "-x",
        "c",
        "-shared",
        "-fPIC",
        "-o",
        str(stub / "libcuda.so.1"),
        "-Wl,-soname,libcuda.so.1",
        "-",
    ]
    subprocess.run(compile_it, input=source, text=True, check=True)
    loaded = subprocess.run(
        ["ldd", "-r", str(installed.collector)],
        env={**os.environ, "LD_LIBRARY_PATH": str(stub)},
        capture_output=True,
        text=True,
    )
    assert "undefined symbol" not in loaded.stdout + loaded.stderr
    assert "not found" not in loaded.stdout + loaded.stderr


def test_make_says_what_is_missing_before_it_compiles(tmp_path: Path) -> None:
    for program in ("make", "g++"):
        if shutil.which(program) is None:
            pytest.fail(f"install {program}")
    words = ["make", "-C", str(COLLECTOR), f"BUILD={tmp_path}/build", f"OUT={tmp_path}", f"NVBIT_PATH={tmp_path}"]
    done = subprocess.run([*words, "NVCC=/nowhere/nvcc"], capture_output=True, text=True)
    assert done.returncode != 0
    said = done.stderr.splitlines()
    assert said[0].startswith("nvcc is neither on PATH nor at /nowhere/nvcc; install the CUDA toolkit, or ")
    assert said[1].startswith(f"NVBit's nvbit.h and libnvbit.a are not in {tmp_path}; unpack NVIDIA's NVBit ")
    assert "the collector cannot be built before that" in said[2]
    assert not list(tmp_path.iterdir()), "nothing was compiled"
