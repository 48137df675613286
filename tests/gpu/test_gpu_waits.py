"""Waits that are known: who waited where, for whom and how long, and what is said of a wait that never ends."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from gpu_nccl import settings
from gpu_runs import LIBRARY_TIMEOUT, Runner, build, ranks_command, start, traced_environment
from gpu_traffic import APPS, HOST

from snoopie import Trace
from tests.support.ports import free_port

MS = 10**6
LONG = 400
# Instrumentation and two trips over a link are microseconds; what is far shorter than LONG is none of the delay.
TENTH, SHORT = 0.1, LONG * MS / 4


def line_of(text: str, program: str = "waits") -> int:
    """The number of the line that ends so."""
    (number,) = (
        number
        for number, line in enumerate((APPS / f"{program}.cu").read_text().splitlines(), 1)
        if line.endswith(text)
    )
    return number


def waits(trace: Trace, gpu: int, line: str) -> list[dict[str, Any]]:
    """The rows of `waits` of a GPU at a line."""
    table = trace.waits.assign(line=trace.sites.line[trace.waits.site].to_numpy())
    return table[(table.issuer == gpu) & (table.line == line_of(line))].to_dict("records")


def waited(trace: Trace) -> list[dict[str, Any]]:
    """The lines that waited, and not only moved."""
    table = trace.by_wait()
    return table[table["waits"] > 0].to_dict("records")


@pytest.mark.parametrize("sample", ["1", "0"])
def test_a_ring_in_which_one_is_late(runner: Runner, pair: tuple[str, ...], sample: str) -> None:
    trace = runner.traced("waits", "ring", LONG, visible=pair, WAITS="on", SAMPLE_SIZE=sample).trace
    (late,) = waits(trace, 1, "// waits: turn")
    assert late["longest"] == pytest.approx(LONG * MS, rel=TENTH)
    assert late["owner"] == 1
    assert late["given_up"] == 0
    assert late["waited"] >= late["longest"]
    assert late["polls"] > 100
    assert late["object"] > 0
    assert trace.objects.owner[late["object"]] == 1
    # The third token; the first two came at their time, or when this kernel began.
    assert late["last"] - late["first"] >= late["longest"]
    (row,) = waited(trace.select(issuers=1))
    assert (row["line"], row["awaited"]) == (line_of("// waits: turn"), "GPU 0")
    assert row["stored_by"] == f"waits.cu:{line_of('// remote: pass')}"
    assert row["known_by"] == ("address" if sample == "1" else "object")


def test_a_producer_that_is_slow_in_one_block(runner: Runner, pair: tuple[str, ...]) -> None:
    trace = runner.traced("waits", "block", LONG, visible=pair, WAITS="on").trace
    longest = {row["block"]: row["longest"] for row in waits(trace, 1, "// waits: product")}
    assert longest.pop(5) == pytest.approx(LONG * MS, rel=TENTH)
    assert all(time < SHORT for time in longest.values())
    (first, *_) = trace.select(issuers=1).by_wait("block").to_dict("records")
    assert (first["first_block"], first["blocks"], first["awaited"]) == (5, 1, "GPU 0")


def test_a_kernel_that_waits_for_the_host(runner: Runner, few: tuple[str, ...]) -> None:
    trace = runner.traced("waits", "host", LONG, visible=few[:1], WAITS="on").trace
    (late,) = waits(trace, 0, "// waits: answer")
    # From when it asked: the host answers so much later than it has seen that.
    assert LONG * MS <= late["longest"] < 2 * LONG * MS
    assert (late["owner"], late["given_up"]) == (HOST, 0)
    assert late["polls"] > 100
    (row,) = waited(trace)
    assert row["line"] == line_of("// waits: answer")


@pytest.mark.parametrize("sample", ["1", "0"])
def test_a_line_that_moves_and_one_that_waits(runner: Runner, few: tuple[str, ...], sample: str) -> None:
    trace = runner.traced("waits", "move", LONG, visible=few[:1], WAITS="on", SAMPLE_SIZE=sample).trace
    at = trace.moves.assign(line=trace.sites.line[trace.moves.site].to_numpy())
    moves = at[at.line == line_of("// remote: move")].set_index("block").sort_index()
    assert moves.index.tolist() == list(range(8))
    assert set(moves.blocks) == {1}
    assert moves.accesses.tolist() == [3] * 8
    assert moves.accesses.sum() == trace.counts[trace.counts.site.isin(moves.site)].accesses.sum()
    took = (moves["last"] - moves["first"]).to_dict()
    assert took[5] == pytest.approx(LONG * MS, rel=TENTH)
    assert LONG * MS <= took[2] < 2 * LONG * MS
    assert all(took[block] < SHORT for block in (0, 1, 3, 4, 6, 7))
    # By the clock of one GPU: the wait lies between the accesses.
    (wait,) = waits(trace, 0, "// waits: between")
    assert (wait["block"], wait["blocks"], wait["given_up"]) == (2, 1, 0)
    assert moves["first"][2] <= wait["first"] < wait["last"] <= moves["last"][2]
    assert wait["held"] == wait["waited"] == wait["longest"]
    polls = at[at.line == line_of("// waits: between")]
    # What is polled is the host's: each look is an access, also the last.
    assert polls.accesses.tolist() == [wait["polls"] + 1]
    blocks = trace.by_wait("block").set_index("first_block")
    assert LONG * MS <= blocks.held[2] < 2 * LONG * MS
    assert blocks.moving[2] < SHORT
    assert blocks.moving[5] == pytest.approx(LONG * MS, rel=TENTH)
    lines = trace.by_wait().set_index("line")
    assert lines.moving[line_of("// remote: move")] == pytest.approx(LONG * MS, rel=TENTH)
    assert lines.moving[line_of("// waits: between")] < SHORT
    assert (lines.owner == "host").all()
    (launch,) = trace.moves.launch.unique()
    moved, span = trace.moves_by_launch().loc[launch], trace.timeline().loc[launch]
    assert span.start <= moved.start < moved.end <= span.end
    assert moved.line == line_of("// remote: move")


def test_without_the_setting_there_are_none(runner: Runner, pair: tuple[str, ...]) -> None:
    trace = runner.traced("waits", "ring", LONG, visible=pair).trace
    assert trace.waits.empty
    assert trace.moves.empty
    assert set(trace.launches.code) <= {"full", "partial"}


def test_a_store_that_never_comes(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    run = start([build("waits"), "never"], folder, traced_environment(pair, WAITS="on", PATIENCE="3", STALL="exit"))
    assert run.status == 3, run.stderr
    assert f"1 warp waits at waits.cu:{line_of('// waits: turn')}, the longest for" in run.stderr
    assert " of GPU 1 (allocation " in run.stderr
    assert f"stored there so far: waits.cu:{line_of('// remote: pass')} on GPU 0" in run.stderr
    (never,) = waits(run.trace, 1, "// waits: turn")
    assert never["given_up"] == 1
    assert never["longest"] > 2 * 10**9


def test_a_running_program_can_be_asked(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    env = traced_environment(pair, WAITS="on")
    with running([[build("waits"), "never"]], folder, [env]) as pids:
        told = asked(pids, lambda report: any(wait["milliseconds"] > 1000 for wait in of_gpu(report, 1)))
    (report,) = told["processes"]
    (wait,) = of_gpu(report, 1)
    assert wait["place"] == f"waits.cu:{line_of('// waits: turn')}"
    assert (wait["owner"], wait["warps"], wait["offset"]) == (1, 1, 0)
    assert [(store["place"], store["gpu"]) for store in wait["stores"]] == [
        (f"waits.cu:{line_of('// remote: pass')}", 0)
    ]
    # GPU 0 has kept the token and ended.
    assert of_gpu(report, 0) == []


@pytest.mark.timeout(3 * LIBRARY_TIMEOUT)
def test_a_collective_that_a_rank_does_not_call(machine: None, pair: tuple[str, ...], folder: Path) -> None:
    command = ranks_command("nccl_late")
    env = traced_environment(pair, **settings("Simple", WAITS="on"))
    port = free_port()
    places = [{"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "MASTER_PORT": port} for rank in (0, 1)]
    environments = [env | {name: str(value) for name, value in place.items()} for place in places]
    with running([command, command], folder, environments) as pids:
        told = asked(pids, lambda report: any(wait["milliseconds"] > 1000 for wait in of_gpu(report, 0)))
    first = next(process for process in told["processes"] if process["ranks"]["RANK"] == "0")
    (kernel,) = first["kernels"]
    assert kernel["kernel"].startswith("ncclDevKernel_AllReduce")
    (call,) = kernel["collectives"]
    assert (call["operation"], call["sequence"], call["rank"], call["ranks"]) == ("AllReduce", 2, 0, 2)
    (remark,) = told["remarks"]
    assert "rank 1 (process " in remark
    assert "has made 1 calls, the last AllReduce of 65,536 float32; rank 0 has made 2" in remark


def of_gpu(report: Mapping[str, Any], gpu: int) -> list[dict[str, Any]]:
    """What the kernels of a GPU wait for."""
    return [wait for kernel in report["kernels"] if kernel["gpu"] == gpu for wait in kernel["waits"]]


@contextlib.contextmanager
def running(
    commands: Sequence[Sequence[object]], folder: Path, environments: Sequence[Mapping[str, str]]
) -> Iterator[list[int]]:
    """Programs that do not end by themselves."""
    processes = [
        subprocess.Popen(
            [str(word) for word in command], cwd=folder, env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for command, env in zip(commands, environments, strict=True)
    ]  # fmt: skip
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def asked(pids: Sequence[int], until: Any) -> dict[str, Any]:
    """What snoopie hang says as soon as one of the processes says what is waited for."""
    end = time.monotonic() + LIBRARY_TIMEOUT
    command = [sys.executable, "-m", "snoopie", "hang", "--json", *map(str, pids)]
    said = ""
    while time.monotonic() < end:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        said = done.stdout or done.stderr
        if done.returncode == 0:
            told: dict[str, Any] = json.loads(done.stdout)
            if len(told["processes"]) == len(pids) and any(until(report) for report in told["processes"]):
                return told
        time.sleep(0.2)
    pytest.fail(said)
