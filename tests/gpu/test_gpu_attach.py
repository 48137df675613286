"""attached, to which a watch comes while it runs: what it did since is exact, and the collector counts the same.

Needs what test_gpu_watch.py does.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import pytest
from gpu_machine import gpus
from gpu_runs import Runner, build, environment

import snoopie
from tests.support import watched
from tests.support.watched import Watch

GPUS, ROUNDS, BEFORE = min(2, len(gpus())), 50, 7
KEPT, FREED = 4096, 1000
LATE, SEND = "late(unsigned int*)", "send(unsigned int*, unsigned int)"
# As attached.cu says. Call and direction → calls, errors, bytes.
MADE = {
    ("cuMemAlloc_v2", ""): (3 * GPUS * ROUNDS, GPUS * ROUNDS, GPUS * ROUNDS * (KEPT + FREED)),
    ("cuMemFree_v2", ""): (GPUS * ROUNDS, 0, 0),
    ("cuMemcpyHtoD_v2", "host to device"): (GPUS * ROUNDS, 0, 60 * GPUS * ROUNDS),
    ("cuMemcpyDtoH_v2", "device to host"): (GPUS * ROUNDS, 0, 20 * GPUS * ROUNDS),
}
if GPUS > 1:  # of a GPU that copies to itself, the watch cannot tell
    MADE["cuMemcpyPeer", "peer"] = (GPUS * ROUNDS, 0, 40 * GPUS * ROUNDS)


@pytest.fixture(scope="module", autouse=True)
def ready() -> None:
    watched.be_ready()


class Program:
    """The program, in its middle: what it does before is done."""

    def __init__(self, visible: Sequence[str]) -> None:
        command = [str(build("attached")), str(ROUNDS), str(BEFORE)]
        self.process = subprocess.Popen(
            command, env=environment(visible), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.heard("ready")

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def heard(self, word: str) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if line != word and "attached: " in line:
            pytest.skip(line)
        assert line == word

    def go_on(self, until: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.heard(until)


@pytest.fixture
def program(few: tuple[str, ...]) -> Iterator[Program]:
    with Program(few) as one:
        yield one


def calls(trace: snoopie.Trace) -> dict[tuple[str, str], tuple[int, ...]]:
    """Those of MADE, of whatever GPU: contexts that were made before the watch are of none that it knows."""
    sums = trace.call_totals.groupby(["call", "direction"], observed=True)[["calls", "errors", "bytes"]].sum()
    return {key: tuple(int(number) for number in sums.loc[key]) for key in MADE}


def kernels(trace: snoopie.Trace) -> dict[str, int]:
    table = trace.by_launched_kernel()
    return {str(name): int(number) for name, number in zip(table["kernel"], table["launches"], strict=True)}


def test_what_it_did_since_is_exact_and_it_goes_on_afterwards(program: Program, tmp_path: Path) -> None:
    watch = Watch("--pid", str(program.process.pid), "-o", str(tmp_path / "x.zst"))
    program.go_on("done")
    said = watch.end()
    program.go_on("PASS")
    assert program.process.wait(60) == 0
    trace = snoopie.load(tmp_path / "x.zst")
    assert calls(trace) == MADE
    found = kernels(trace)
    assert sum(found.values()) == 2 * GPUS * ROUNDS
    assert found[LATE] == GPUS * ROUNDS
    # The program asked for the other's name before. It is found in memory, or there is none: never another.
    assert {name for name in found if not name.startswith("(a kernel named before")} <= {LATE, SEND}
    assert "were lost" not in said
    assert len(trace.objects) == 2 * GPUS * ROUNDS


def test_what_a_program_leaves_that_is_killed_while_it_is_watched(program: Program, tmp_path: Path) -> None:
    watch = Watch("--pid", str(program.process.pid), "-o", str(tmp_path / "x.zst"))
    program.go_on("done")
    program.process.kill()
    watch.ended()
    leaks = snoopie.load(tmp_path / "x.zst").leaks()
    leaks = leaks[leaks["state"] == "never freed"]
    found = leaks.groupby("source", observed=True)[["objects", "bytes"]].sum()
    assert {str(name): tuple(row) for name, row in zip(found.index, found.to_numpy().tolist(), strict=True)} == {
        "keep": (GPUS * ROUNDS, GPUS * ROUNDS * KEPT)
    }


def test_the_collector_counts_the_same(runner: Runner, few: tuple[str, ...]) -> None:
    trace = runner.traced("attached", ROUNDS, 0, visible=few).trace
    found = calls(trace)
    # It saw the two allocations that the program begins with.
    number, failed, size = found["cuMemAlloc_v2", ""]
    found["cuMemAlloc_v2", ""] = number - GPUS, failed, size - GPUS * 2 * 256 * 4
    assert found == MADE
    assert kernels(trace) == dict.fromkeys((LATE, SEND), GPUS * ROUNDS)
