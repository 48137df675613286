"""snoopie hang asks processes that answer with the collector's own code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.collector import COLLECTOR
from tests.support.command import run

SOURCES = ["src/hang/report.cpp", "src/hang/server.cpp", "src/trace/json.cpp", "src/base/files.cpp"]
Start = Callable[..., int]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("g++") is None:
        pytest.fail("install g++: the integration tests build what answers snoopie hang")
    made = tmp_path_factory.mktemp("hang") / "program"
    command = ["g++", "-std=c++17", "-O1", "-Isrc", "-o", made, "tests/hang/program.cpp", *SOURCES, "-lpthread"]
    subprocess.run(command, cwd=COLLECTOR, check=True)
    return made


@pytest.fixture
def start(program: Path) -> Iterator[Start]:
    """Starts a process; returns its number as soon as it listens."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: object) -> int:
        process = subprocess.Popen(
            [program, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.read(1) == b"\n"
        return process.pid

    yield start
    for process in started:
        process.communicate(timeout=60)


def test_who_waits_for_whom(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    pids = [start(0, 41, "AllReduce", "stores"), start(1, 42, "AllReduce")]
    # Processes that this one has started.
    status, out, _ = run(capsys, "hang", os.getpid())
    assert status == 0
    assert out.splitlines() == [
        f"rank 0, process {pids[0]} (ring)",
        "  kernel ring on GPU 0, under way for 1 min 30 s",
        "    carries out AllReduce of 1,024 float32: call 41 of rank 0 of 2 on communicator 0xfeed",
        "    wait: 2 warps of 1 block (first: 0) at ring.cu:7, the longest for 1 min 1 s",
        "      for 0x7f0000000040 of GPU 0: allocation 5 of 4 KiB, at offset 0x40",
        "      no store to it is known so far",
        f"rank 1, process {pids[1]} (ring)",
        "  kernel ring on GPU 1, under way for 1 min 30 s",
        "    carries out AllReduce of 1,024 float32: call 42 of rank 1 of 2 on communicator 0xfeed",
        "    wait: 2 warps of 1 block (first: 0) at ring.cu:7, the longest for 1 min 1 s",
        "      for 0x7f0000000040 of GPU 1: allocation 5 of 4 KiB, at offset 0x40",
        "      stored to other memory of GPU 1 so far, too: ring.cu:9 on GPU 0 of rank 0",
        "",
        "Between the processes",
        f"  communicator 0xfeed: rank 0 (process {pids[0]}) has made 41 calls, the last AllReduce of 1,024 float32; "
        "rank 1 has made 42",
    ]


def test_one_process(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    start(0, 41, "AllReduce")
    pid = start(1, 41, "Broadcast")
    _, out, _ = run(capsys, "hang", "--json", pid)
    told = json.loads(out)
    assert [process["pid"] for process in told["processes"]] == [pid]
    assert told["remarks"] == []
    _, out, _ = run(capsys, "hang", "--json", os.getpid())
    assert json.loads(out)["remarks"] == [
        "communicator 0xfeed, call 41: the ranks' collectives differ: rank 0: AllReduce of 1,024 float32; rank 1: "
        "Broadcast of 1,024 float32"
    ]


def test_nobody_listens(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "hang", os.getpid())
    assert status == 1
    assert err.startswith(f"snoopie: process {os.getpid()} and what was started by it does not run under the collector")
    assert len(err.splitlines()) == 1
