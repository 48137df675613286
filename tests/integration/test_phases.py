"""Programs with NVTX ranges, snoopie.h and snoopie.region, under the collector's part of these and its writer.

No GPU: tests/nvtx/recorder.cpp stands for the rest of the collector, and each of its launches moves some bytes. The
program is compiled with NVTX's own headers, where a CUDA toolkit is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import snoopie
from tests.support.collector import COLLECTOR, make

Run = Callable[..., snoopie.Trace]


@pytest.fixture(scope="session")
def recorder() -> Path:
    make("nvtx_recorder", "the recorder of phases")
    return COLLECTOR / "build" / "nvtx_recorder.so"


@pytest.fixture(scope="session")
def program(nvtx_headers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tests/nvtx/scenarios.c, whose argument is the name of one."""
    made = tmp_path_factory.mktemp("nvtx") / "scenarios"
    source = COLLECTOR / "tests" / "nvtx" / "scenarios.c"
    folders = [f"-I{COLLECTOR / 'include'}", "-isystem", str(nvtx_headers)]
    command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", *folders, str(source), "-o", str(made)]
    built = subprocess.run([*command, "-lpthread", "-ldl"], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return made


@pytest.fixture
def run(recorder: Path, program: Path, tmp_path: Path) -> Run:
    """run(scenario, SETTING=value) → its trace."""

    def run_scenario(scenario: str, expected: str | None = None, **settings: str) -> snoopie.Trace:
        path = tmp_path / f"{scenario}.{len(list(tmp_path.iterdir()))}.zst"
        environment = os.environ | {"LD_PRELOAD": str(recorder), "SNOOPIE_OUTPUT": str(path)} | settings
        done = subprocess.run([program, scenario], env=environment, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        if expected is not None:
            assert done.stdout == expected
        return snoopie.load(path)

    return run_scenario


def rows(trace: snoopie.Trace, *columns: str) -> list[list[object]]:
    found: list[list[object]] = trace.by_range()[list(columns)].to_numpy(dtype=object).tolist()
    return found


def test_pushed_ranges(run: Run) -> None:
    # What pop returns: how many are still open; less than 0 where none was.
    trace = run("ranges", "2\n1\n0\n1\n")
    # Bytes are powers of two: sums say which launches are in them.
    assert rows(trace, "range", "of", "times", "launches", "bytes") == [
        ["", "", 0, 1, 8],
        ["step", "thread", 1, 3, 1 + 2 + 4],
        ["halö", "thread", 1, 2, 2 + 4],
        ["inner", "thread", 1, 1, 4],
    ]
    table = trace.ranges.set_index("name")
    assert table["start"]["step"] < table["start"]["halö"] < table["start"]["inner"]
    assert table["end"]["inner"] <= table["end"]["halö"] <= table["end"]["step"]
    assert trace.select(ranges="halö").summary()["bytes"] == 6


def test_domains_registered_strings_and_marks(run: Run) -> None:
    trace = run("domains")
    assert rows(trace, "range", "domain", "bytes") == [["step", "", 7], ["step", "wide", 3], ["registered", "mine", 1]]
    assert trace.select(ranges="step").summary()["bytes"] == 7
    assert trace.select(ranges="step@wide").summary()["bytes"] == 3
    assert trace.marks[["text", "domain"]].to_numpy().tolist() == [["here", ""], ["step", "mine"]]
    assert (trace.marks["thread"] == trace.launches["thread"].iloc[0]).all()


def test_started_ranges_are_of_the_process(run: Run) -> None:
    trace = run("started")
    # Ended by another thread; that of the other thread alone; and one that is open when the program ends.
    assert rows(trace, "range", "of", "launches", "bytes") == [
        ["open to the end", "process", 4, 400 + 500 + 600 + 700],
        ["started", "process", 3, 100 + 400 + 500],
        ["other", "thread", 1, 500],
    ]
    assert trace.ranges.set_index("name")["end"]["open to the end"] == 0


def test_regions_of_c(run: Run, program: Path) -> None:
    assert rows(run("regions"), "range", "launches", "bytes") == [["outer", 2, 8], ["", 1, 7], ["inner", 1, 3]]
    # Without the collector.
    assert subprocess.run([program, "regions"], timeout=60).returncode == 0


def test_more_names_and_nested_ranges_than_are_kept(run: Run) -> None:
    trace = run("many")
    names = trace.ranges["name"]
    assert names.nunique() == (1 << 16) + 1
    assert names.str.len().max() == 256
    # Of 3000 the outer 1024; whichever is popped, the launch is in them.
    deep = trace.by_range().set_index("range")
    assert deep.loc["(more names than are kept)", ["times", "bytes"]].tolist() == [70000 + 1 - (1 << 16) + 1024, 1]


def test_a_forked_child_is_not_recorded(run: Run) -> None:
    assert rows(run("forks"), "range", "times", "bytes") == [["parent", 1, 1]]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # snoopie_record(0) before the launch of 1000 bytes, snoopie_record(1) after it.
        ({}, [1, 2, 2, 1, 2, 2, 100, 10000, 100000]),
        ({"CAPTURE_RANGE": "solve"}, [2, 2, 2, 2]),
        ({"CAPTURE_RANGE": "solve@other"}, []),
        ({"CAPTURE_RANGE": "profiler-api"}, [100, 10000]),
        ({"LAUNCH_SKIP": "7"}, [10000, 100000]),
        ({"LAUNCH_COUNT": "2"}, [1, 2]),
        ({"CAPTURE_RANGE": "solve", "LAUNCH_SKIP": "1", "LAUNCH_COUNT": "2"}, [2, 2]),
        ({"DELAY": "1000"}, []),
        ({"DURATION": "1000"}, [1, 2, 2, 1, 2, 2, 100, 10000, 100000]),
    ],
)
def test_what_is_recorded(run: Run, settings: dict[str, str], expected: list[int]) -> None:
    trace = run("windows", **settings)
    assert trace.by_launch().sort_values("launch")["bytes"].tolist() == expected
    assert trace.totals["launches_seen"] == 10
    assert trace.totals["launches_outside"] == 10 - len(expected)
    said = " ".join(trace.losses())
    assert f"{10 - len(expected)} launch" in said and "outside of what was to be recorded" in said
    for name, value in settings.items():
        assert f"{name.lower().replace('_', ' ')} {value}" in said
    # All the time.
    assert trace.by_range().set_index("range")["times"]["solve"] == 2


def test_ranges_are_cheap(run: Run, program: Path, recorder: Path, tmp_path: Path) -> None:
    environment = os.environ | {"LD_PRELOAD": str(recorder), "SNOOPIE_OUTPUT": str(tmp_path / "cost.zst")}
    done = subprocess.run([program, "cost"], env=environment, capture_output=True, text=True, timeout=60, check=True)
    # Half a microsecond on an idle machine; a busy one is given time.
    assert int(done.stdout) < 20_000


REGIONS = """
import ctypes, threading, snoopie
recorder = ctypes.CDLL(None)
def launch(bytes): recorder.fake_launch(bytes)
with snoopie.region("outer"):
    recorder.fake_context()
    launch(1)
    with snoopie.region("backward", all_threads=True):
        worker = threading.Thread(target=launch, args=(2,))
        worker.start()
        worker.join()
        launch(4)
    snoopie.stop()
    launch(8)
    snoopie.start()
try:
    with snoopie.region("é"):
        launch(16)
        raise KeyError
except KeyError:
    launch(32)
"""


def test_regions_of_python(recorder: Path, tmp_path: Path) -> None:
    path = tmp_path / "python.zst"
    root = str(Path(snoopie.__file__).parents[1])
    environment = os.environ | {"LD_PRELOAD": str(recorder), "SNOOPIE_OUTPUT": str(path), "PYTHONPATH": root}
    subprocess.run([sys.executable, "-c", REGIONS], env=environment, check=True, timeout=60)
    trace = snoopie.load(path)
    assert rows(trace, "range", "of", "launches", "bytes") == [
        ["", "", 1, 32],
        ["é", "thread", 1, 16],
        ["backward", "process", 2, 6],
        ["outer", "thread", 2, 5],
    ]
    assert trace.totals["launches_outside"] == 1


@pytest.mark.parametrize("kind", ["linked", "opened"])
def test_calls_of_nccl(recorder: Path, nccl_programs: dict[str, list[str]], tmp_path: Path, kind: str) -> None:
    """Where this library stands before NCCL, its calls tell all; elsewhere its ranges do, and never both."""
    path = tmp_path / "trace.zst"
    environment = os.environ | {"LD_PRELOAD": str(recorder), "SNOOPIE_OUTPUT": str(path)}
    done = subprocess.run(nccl_programs[kind], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    trace = snoopie.load(path)
    calls = trace.collectives
    columns = ["operation", "bytes", "peer", "reduction", "rank", "ranks", "issuer"]
    assert calls[columns].to_numpy(dtype=object).tolist() == [
        ["AllReduce", 4096, -1, "max", 2, 4, 1],
        ["Send", 32, 3, "", 2, 4, 1],
        ["Recv", 64, 1, "", 2, 4, 1],
        ["AllGather", 1600, -1, "", 2, 4, 1],
        ["Broadcast", 100, 0, "", 2, 4, 1],
    ]
    known = kind == "linked"
    assert set(calls["type"]) == {"float32" if known else ""}
    assert calls["count"].tolist() == ([1024, 8, 16, 100, 25] if known else [-1] * 5)
    # By the ranges it has the id that NCCL gives it.
    (communicator,) = calls["communicator"].unique()
    assert (communicator == "0x5a5a5a5a5a5a5a5a") == (not known)
    reduced, sent, received, *others = calls["group"].tolist()
    assert sent == received
    assert len({reduced, sent, *others}) == 4
    # What was launched while one was carried out is of it.
    assert trace.launches["group"].tolist() == calls["group"].drop_duplicates().tolist()
    # The ranges themselves are there in any case, each ended.
    names = trace.ranges[trace.ranges["domain"] == "NCCL"]["name"].value_counts()
    assert names["ncclCommInitRank"] == names["ncclAllReduce"] == names["ncclGroupEnd"] == 1
    assert (trace.ranges["end"] > 0).all()
