"""What snoopie build asks for before it compiles, with stand-ins for compilers and NVBit."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import snoopie
from snoopie.cli import build, making, places
from snoopie.cli.checks import requirements
from snoopie.cli.checks.row import Row, State
from snoopie.errors import SnoopieError
from tests.support.command import run

# As nvcc: it knows two architectures, and needs no compiler.
NVCC = """
case "$*" in
*--version*) echo "Cuda compilation tools, release 13.0, V13.0.88" ;;
*--list-gpu-code*) echo sm_90; echo sm_100 ;;
*--dryrun*code=sm_90*|*--dryrun*code=sm_100*|"--dryrun -c x.cu") echo "#$ TOP=/nowhere" ;;
*--dryrun*) echo "nvcc fatal   : Unsupported gpu architecture" >&2; exit 1 ;;
esac
"""
# As g++: it finds every header and library.
CXX = 'case "$*" in *--version*) echo "g++ (Debian 12.2.0-14) 12.2.0" ;; esac; cat >/dev/null'


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine of which nothing is known but a shell and its tools."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "sed", "head", "tail", "sort", "tr", "grep", "uname", "cat", "echo"):
        (programs / name).symlink_to(shutil.which(name) or "/bin/false")
    for name in [name for name in os.environ if name.startswith(("CUDA", "SNOOPIE", "NV")) or name == "CXX"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("snoopie.cli.tool.toolkit_folders", lambda environment: iter([tmp_path / "toolkit" / "bin"]))
    yield tmp_path


def program(path: Path, code: str) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)
    return path


def whole_machine(folder: Path) -> Path:
    """Everything that a build needs; returns NVBit's folder."""
    program(folder / "bin" / "make", "echo GNU Make 4.3")
    program(folder / "bin" / "g++", CXX)
    program(folder / "bin" / "nvcc", NVCC)
    nvbit = folder / "nvbit" / "core"
    nvbit.mkdir(parents=True)
    (nvbit / "nvbit.h").write_text('#define NVBIT_VERSION "1.7.7.1"\n')
    (nvbit / "libnvbit.a").touch()
    return nvbit


def lacking(rows: list[Row]) -> list[str]:
    return [row.name for row in rows if row.state is State.PROBLEM]


def test_everything_that_is_missing_is_said_at_once(capsys: pytest.CaptureFixture[str], machine: Path) -> None:
    status, out, err = run(capsys, "build", "--nvbit", machine / "nowhere")
    assert (status, out) == (1, "")
    problems = [line.removeprefix("snoopie: ").partition("; ")[0] for line in err.splitlines()]
    assert problems == [
        "no GPU was found here to build for",
        "make is not on PATH",
        "g++ is not on PATH",
        *(["zstd.h is not in /usr/include"] if not Path("/usr/include/zstd.h").exists() else []),
        f"nvcc is neither on PATH nor at {machine}/toolkit/bin/nvcc",
        f"NVBit's nvbit.h and libnvbit.a are not in {machine / 'nowhere'}",
    ]
    assert all("; " in line for line in err.splitlines()), "each with its remedy"


def test_nothing_is_missing(machine: Path) -> None:
    rows = requirements.requirements(whole_machine(machine), ("90", "100"), os.environ)
    assert [(row.name, row.state) for row in rows] == [
        (name, State.OK)
        for name in ("make", "C++ compiler", "zstd", "nvcc", "architectures", "libcudart", "NVBit")
    ]  # fmt: skip
    assert rows[4].found == "90 100"
    assert rows[-1].found == f"1.7.7.1 in {machine}/nvbit/core"


def test_an_architecture_that_nvcc_does_not_know(machine: Path) -> None:
    rows = requirements.requirements(whole_machine(machine), ("70", "90", "52"), os.environ)
    assert lacking(rows) == ["architectures"]
    (row,) = (row for row in rows if row.state is State.PROBLEM)
    assert row.found == "nvcc 13.0 cannot compile for 70 52"
    assert row.remedy.startswith("name some of 90 100 or all")


def test_a_compiler_that_nvcc_refuses(machine: Path) -> None:
    nvbit = whole_machine(machine)
    refusal = "In file included from x.h:1:\n/usr/include/host_config.h:1: error: unsupported GNU version!"
    program(machine / "bin" / "nvcc", f'case "$*" in *-ccbin*) echo "{refusal}" >&2; exit 1;; esac;{NVCC}')
    rows = requirements.requirements(nvbit, ("90",), os.environ)
    assert lacking(rows) == ["nvcc"]
    (row,) = (row for row in rows if row.state is State.PROBLEM)
    assert row.found.startswith("nvcc does not work with g++: ")
    assert "unsupported GNU version!" in row.found


def test_libraries_and_headers_that_the_compiler_does_not_find(machine: Path) -> None:
    nvbit = whole_machine(machine)
    program(machine / "bin" / "g++", 'case "$(cat) $*" in *zstd.h*|*-l:libcudart_static.a*) exit 1 ;; esac')
    assert lacking(requirements.requirements(nvbit, ("90",), os.environ)) == ["zstd", "libcudart"]
    # Without the archive a build is possible, and what it makes needs the shared library.
    program(machine / "bin" / "g++", 'case "$(cat) $*" in *-l:libzstd.a*) exit 1 ;; esac')
    rows = requirements.requirements(nvbit, ("90",), os.environ)
    assert [(row.name, row.state) for row in rows if row.state is not State.OK] == [("zstd", State.WARNING)]


def test_an_nvbit_of_another_release(machine: Path) -> None:
    nvbit = whole_machine(machine)
    (nvbit / "nvbit.h").write_text('#define NVBIT_VERSION "1.5"\n')
    row = requirements.requirements(nvbit, ("90",), os.environ)[-1]
    assert (row.state, row.remedy) == (State.WARNING, "Snoopie is tested with 1.7.7.1")


def test_where_nvbit_is(machine: Path) -> None:
    core = whole_machine(machine)
    assert requirements.nvbit_folder(str(core), {}) == core
    assert requirements.nvbit_folder(str(core.parent), {}) == core
    assert requirements.nvbit_folder(None, {"NVBIT_PATH": str(core)}) == core
    assert requirements.nvbit_folder("/named", {"NVBIT_PATH": str(core)}) == Path("/named")


def test_which_nvcc(machine: Path) -> None:
    on_path = program(machine / "bin" / "nvcc", "")
    of_home = program(machine / "home" / "bin" / "nvcc", "")
    path = {"PATH": str(machine / "bin")}
    assert requirements.nvcc({"PATH": "/nowhere"}) == str(machine / "toolkit" / "bin" / "nvcc")
    assert requirements.nvcc(path) == str(on_path)
    assert requirements.nvcc({**path, "CUDA_HOME": str(of_home.parents[1])}) == str(of_home)
    assert requirements.nvcc({**path, "CUDA_HOME": str(machine)}) == str(on_path)
    assert requirements.nvcc({**path, "NVCC": "/named/nvcc"}) == "/named/nvcc"


def test_the_rows_of_the_script() -> None:
    text = "make\tok\t4.3\t\nnoise\nzstd\tproblem\tno zstd.h\tinstall it\nx\tgood\ty\tz\n"
    assert requirements.parse(text) == [
        Row("make", State.OK, "4.3"),
        Row("zstd", State.PROBLEM, "no zstd.h", "install it"),
    ]


def test_the_gpus_of_the_machine(machine: Path) -> None:
    program(
        machine / "bin" / "nvidia-smi", "printf '%s\\n' '0, H200, 9.0, [N/A], Default' '1, B200, 10.0, [N/A], Default'"
    )
    assert build._of_this_machine(os.environ) == ("90", "100")


def test_a_build_that_fails_shows_its_end(capsys: pytest.CaptureFixture[str], machine: Path) -> None:
    nvbit = whole_machine(machine)
    program(
        machine / "bin" / "make",
        'case "$*" in *--version*) echo GNU Make 4.3;; *) echo "g++ -c x"; echo "x.cpp:1: error"; exit 2;; esac',
    )
    status, out, err = run(capsys, "build", "--nvbit", nvbit, "--arch", "sm_90")
    folder = places.built(os.environ)
    assert (status, out) == (1, "")
    assert err.splitlines()[-2:] == [
        "x.cpp:1: error",
        f"snoopie: the collector does not build: the last lines above say why; all of them are in {folder}/build.log",
    ]
    assert (folder / "build.log").read_text() == "g++ -c x\nx.cpp:1: error\n"


# As make: it notes what it was told, and makes a library.
MAKE = """
case "$*" in *--version*) echo GNU Make 4.3; exit ;; esac
for word; do case $word in OUT=*) out=${word#OUT=} ;; esac; done
printf '%s\\n' "$@" >$out/words
printf 'snoopie collector {"version": "VERSION", "cuda": "", "nvbit": "", "arches": "90"}\\0' >$out/mem_multigpu.so
"""


def test_make_is_told_what_was_chosen(
    capsys: pytest.CaptureFixture[str], machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvbit = whole_machine(machine)
    program(machine / "bin" / "make", MAKE.replace("VERSION", snoopie.__version__))
    folder = places.built(os.environ)
    words = ["build", "--nvbit", nvbit.parent, "--arch", "9.0,sm_100", "--jobs", "3"]
    monkeypatch.setattr(places, "collectors", lambda environment: iter([folder / places.LIBRARY]))
    status, out, err = run(capsys, *words)
    assert (status, err.splitlines()[-1]) == (0, "Next: snoopie run -- ./app")
    assert out.startswith(f"built {folder}/mem_multigpu.so for 90 100 in ")
    assert (folder / "words").read_text().splitlines() == [
        "--no-print-directory",
        "-C",
        str(places.sources()),
        "-j3",
        f"NVBIT_PATH={nvbit}",
        f"NVCC={machine}/bin/nvcc",
        "ARCH=90 100",
        f"BUILD={folder}/build",
        f"OUT={folder}",
        "all",
    ]
    # Of two, a run takes the other one: it is said, and how to take this one.
    monkeypatch.setenv("SNOOPIE_TOOL", str(folder / "words"))
    status, _, err = run(capsys, *words)
    assert (status, err.splitlines()[-1]) == (0, f"Next: snoopie run --tool {folder}/mem_multigpu.so -- ./app")
    assert f"note that `snoopie run` takes {folder}/words" in err


def test_a_folder_that_cannot_be_used(
    capsys: pytest.CaptureFixture[str], machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvbit = whole_machine(machine)
    monkeypatch.setenv("XDG_DATA_HOME", str(machine / "my data"))
    status, _, err = run(capsys, "build", "--nvbit", nvbit, "--arch", "90")
    assert status == 1
    assert "has a letter that make cannot take; set XDG_DATA_HOME" in err
    (machine / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(machine / "file"))
    status, _, err = run(capsys, "build", "--nvbit", nvbit, "--arch", "90")
    assert status == 1
    assert "cannot be made: Not a directory; set XDG_DATA_HOME" in err


def test_two_builds_do_not_meet(machine: Path) -> None:
    refused = pytest.raises(SnoopieError, match="another snoopie build works in")
    with making._alone_in(machine), refused, making._alone_in(machine):
        pytest.fail("both were let in")
    with making._alone_in(machine):
        pass


def test_other_sources_of_the_same_version_are_built_anew(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources, folder = machine / "sources", machine / "folder"
    (sources / "src").mkdir(parents=True)
    (sources / "Makefile").write_text("all:\n")
    (sources / "src" / "x.cpp").write_text("one")
    monkeypatch.setattr(places, "sources", lambda: sources)
    (folder / "build").mkdir(parents=True)
    making._forget_other_sources(folder)
    assert not (folder / "build").exists()
    (folder / "build").mkdir()
    making._forget_other_sources(folder)
    assert (folder / "build").exists()
    (sources / "src" / "x.cpp").write_text("two")
    making._forget_other_sources(folder)
    assert not (folder / "build").exists()
