"""What users preload, without a driver, and between stand-ins for driver and collector: nvbit_tool/tests/preload."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.collector import make

ROOT = Path(__file__).resolve().parents[2] / "nvbit_tool"
LIBRARY, COLLECTOR, ANOTHER = "mem_multigpu.so", "libsnoopie_collector.so", "another.so"
OPENED = "collector: opened as {}"
# The driver cannot be asked any more by what was made before cuInit, but the collector is there until after that.
WHOLE = [
    "collector: beside a preloaded library",
    OPENED,
    "driver: begins",
    "collector: hears main",
    "collector: hears late",
    "collector: finishes",
    "collector: looks for what was freed",
    "driver: ends",
    "driver: too late for early",
    "collector: destroyed",
    "collector: closes",
]


@pytest.fixture(scope="session")
def built() -> Path:
    make("preload", "what is preloaded")
    return ROOT / "build" / "tests" / "preload"


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Path:
    """A folder with the library and the stand-ins, to take things away from."""
    for name in (LIBRARY, COLLECTOR, ANOTHER, "linked", "opened"):
        shutil.copy2(built / name, tmp_path)
    shutil.copytree(built / "driver", tmp_path / "driver", symlinks=True)
    return tmp_path


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(place: Path) -> Run:
    """run(command …, driver=True, VARIABLE=…): with the library preloaded."""

    def run_it(*words: str | Path, driver: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": str(place / LIBRARY), **variables}
        if driver:
            environment["LD_LIBRARY_PATH"] = str(place / "driver")
        return subprocess.run(words, env=environment, cwd=place, capture_output=True, text=True, timeout=60)

    return run_it


def lines(done: subprocess.CompletedProcess[str], status: int = 7) -> list[str]:
    assert (done.returncode, done.stderr) == (status, ""), done
    return done.stdout.splitlines()


def whole(place: Path) -> list[str]:
    return [line.format(place / COLLECTOR) for line in WHOLE]


# --- Without a driver, and without CUDA ---


def test_without_a_driver_a_program_is_what_it_is(place: Path, run: Run) -> None:
    assert lines(run("sh", "-c", "echo out; echo $((6 * 7)); exit 3", driver=False), 3) == ["out", "42"]
    # One that looks for the driver, and does without.
    assert lines(run(place / "opened", driver=False), 5) == ["program: no driver"]


def test_a_script_with_twenty_children(run: Run) -> None:
    script = 'for i in $(seq 20); do /bin/echo $i; done; env | grep -c "^LD_PRELOAD="; exit 4'
    for driver in (False, True):
        assert lines(run("sh", "-c", script, driver=driver), 4) == [*map(str, range(1, 21)), "1"]


def test_without_cuda_neither_driver_nor_collector_is_loaded(run: Run) -> None:
    mapped = lines(run("cat", "/proc/self/maps"), 0)
    assert any(LIBRARY in line for line in mapped)
    assert not [line for line in mapped if COLLECTOR in line or "libcuda" in line]


def test_a_launcher_without_a_driver_starts_a_program_that_has_one(place: Path, run: Run) -> None:
    elsewhere = f"LD_LIBRARY_PATH={place / 'driver'} exec {place / 'linked'}"
    assert lines(run("sh", "-c", f"true; sh -c '{elsewhere}'", driver=False)) == whole(place)


def test_what_is_preloaded_needs_little(built: Path) -> None:
    listed = subprocess.run(["objdump", "-p", str(built / LIBRARY)], check=True, capture_output=True, text=True).stdout
    needed = {line.split()[1] for line in listed.splitlines() if "NEEDED" in line}
    assert needed <= {"libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


# --- With a driver ---


@pytest.mark.parametrize("program", ["linked", "opened"])
def test_the_driver_opens_the_collector_which_ends_last(place: Path, run: Run, program: str) -> None:
    assert lines(run(place / program)) == whole(place)


def test_what_was_printed_before_is_not_lost(place: Path, run: Run) -> None:
    assert lines(run(place / "linked", "prints", THREADS="1")) == ["program: prints", *whole(place)]


def test_a_driver_that_registers_its_end_before_it_opens_the_collector(place: Path, run: Run) -> None:
    assert lines(run(place / "opened", REGISTERS="early")) == whole(place)


def test_by_a_link_from_elsewhere(place: Path, run: Run) -> None:
    (place / "links").mkdir()
    (place / "links" / LIBRARY).symlink_to(place / LIBRARY)
    assert lines(run(place / "linked", LD_PRELOAD=str(place / "links" / LIBRARY))) == whole(place)


def test_a_child_that_begins_with_cuda_after_a_fork(place: Path, run: Run) -> None:
    assert lines(run(place / "opened", "fork")) == whole(place)


def test_children_of_a_program_that_uses_cuda(place: Path, run: Run) -> None:
    # The parent has its collector's name in the environment; the child's is opened in the same order as its own.
    said = lines(run(place / "opened", "children", f"echo child; {place / 'linked'} >child.txt; test $? = 7"))
    assert [line for line in said if line != "child"] == whole(place)
    assert (place / "child.txt").read_text().splitlines() == whole(place)


def test_preloaded_together_with_the_collector(place: Path, run: Run) -> None:
    # As one library, the way back where the driver should not call.
    for words in ((LIBRARY, COLLECTOR), (COLLECTOR, LIBRARY)):
        both = " ".join(str(place / name) for name in words)
        said = lines(run(place / "linked", LD_PRELOAD=both))
        assert sorted(said) == sorted(whole(place))
        assert said[-2:] == ["collector: destroyed", "collector: closes"]


def test_named_to_the_driver_without_being_preloaded(place: Path, run: Run) -> None:
    for name in (LIBRARY, COLLECTOR):
        said = lines(run(place / "linked", LD_PRELOAD="", CUDA_INJECTION64_PATH=str(place / name)))
        assert "collector: beside nothing" in said
        assert OPENED.format(place / COLLECTOR) in said
        assert {"collector: hears main", "collector: hears late", "collector: closes"} <= {*said}


# As nsys does.
@pytest.mark.parametrize("program", ["linked", "opened"])
def test_another_tool_that_the_driver_is_told_to_take(place: Path, run: Run, program: str) -> None:
    done = run(place / program, CUDA_INJECTION64_PATH="/nowhere/other.so")
    assert (done.returncode, done.stdout.splitlines()) == (
        7,
        ["driver: begins", "driver: ends", "driver: too late for early"],
    )
    (line,) = done.stderr.splitlines()
    assert line.startswith("snoopie: nothing is recorded, because the driver takes one tool, and CUDA_INJECTION64_PATH")
    assert "/nowhere/other.so" in line
    # Of what does without the driver nobody expects a trace.
    assert lines(run("sh", "-c", "true; /bin/echo out", CUDA_INJECTION64_PATH="/nowhere/other.so"), 0) == ["out"]


@pytest.mark.parametrize("program", ["linked", "opened"])
@pytest.mark.parametrize("answer", [0, 12, 39, 35])
def test_a_profiler_in_the_program_that_is_refused(place: Path, run: Run, program: str, answer: int) -> None:
    done = run(place / program, "profiles", CUPTI=str(answer))
    assert (done.returncode, done.stdout.count(f"program: CUPTI answers {answer} {answer}\n")) == (7, 2)
    assert "although none was opened" not in done.stdout
    said = done.stderr.splitlines()
    assert len(said) == (answer in (12, 39)), said
    assert all(line.startswith("snoopie: the program's own profiler, which uses CUPTI, is refused") for line in said)
    # It is another tool that stands in its way where this one is not there.
    (place / COLLECTOR).unlink()
    assert "CUPTI" not in run(place / program, "profiles", CUPTI="39").stderr


# It may be in front of ours, or behind it.
@pytest.mark.parametrize("program", ["linked", "opened"])
@pytest.mark.parametrize("order", [(LIBRARY, ANOTHER), (ANOTHER, LIBRARY)])
def test_beside_another_tool_that_is_preloaded(place: Path, run: Run, order: tuple[str, str], program: str) -> None:
    both = " ".join(str(place / name) for name in order)
    said = lines(run(place / program, LD_PRELOAD=both))
    of_the_other = [line for line in said if line.startswith("another tool: ")]
    assert [line for line in said if line not in of_the_other] == whole(place)
    assert len(of_the_other) == (program == "opened")


def test_a_collector_that_cannot_be_opened_is_said_by_what_uses_cuda(place: Path, run: Run) -> None:
    (place / COLLECTOR).unlink()
    assert lines(run("sh", "-c", "true; /bin/echo out"), 0) == ["out"]
    for program in ("linked", "opened"):
        done = run(place / program)
        assert (done.returncode, done.stdout.splitlines()[0]) == (7, "driver: begins")
        (line,) = done.stderr.splitlines()
        assert line.startswith("snoopie: nothing is recorded, because the collector cannot be opened: ")
        assert str(place / COLLECTOR) in line
