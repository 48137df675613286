"""turns, ended by signals at random moments, eight at once: what each trace has is whole launches, in their order.

SNOOPIE_KILLS=40 has each signal end forty programs instead of eight.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest
from gpu_runs import Runner, build, traced_environment
from gpu_traffic import Far, across

import snoopie
from snoopie import Trace

AT_ONCE, LONGEST, PATIENCE = 8, 8.0, 240.0
KILLS = int(os.environ.get("SNOOPIE_KILLS", AT_ONCE))
WARPS, LANES = 32, 1024


def accesses(launch: int) -> dict[str, tuple[int, int]]:
    """Of a launch of turns with one thread, as the top of turns.cu says."""
    made = {"load": launch % 3 == 0, "store": launch // 8 % 4 == 0}
    return {operation: (WARPS, LANES) for operation, far in made.items() if far}


def check(trace: Trace, owner: int) -> int:
    """Fails unless it has what the first launches made, and nothing else. Returns of how many it has."""
    counts = across(trace, owner)
    found: dict[int, dict[str, tuple[int, int]]] = {}
    for row in counts.itertuples():
        found.setdefault(int(row.launch), {})[row.operation] = (int(row.accesses), int(row.lanes))
    order = {launch: place for place, launch in enumerate(sorted(trace.launches.index))}
    by_place = {order[launch]: table for launch, table in found.items()}
    last = max(by_place, default=-1)
    assert by_place == {place: expected for place in range(last + 1) if (expected := accesses(place))}
    return last + 1


def limit() -> None:
    """In the child: no core files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT", "SIGSEGV", "SIGABRT"])
def test_a_program_that_is_ended_at_any_moment(runner: Runner, far: Far, tmp_path: Path, name: str) -> None:
    runner.native("turns", 1, 100, visible=far.visible)
    command = [str(build("turns")), "1", str(1 << 20)]
    number = signal.Signals[name]
    moments = random.Random(name)
    counted, longest, done = 0, LONGEST, 0
    # Where other tests keep the machine busy, no program may get to its first launch so soon: then some live longer.
    while done < KILLS or (counted == 0 and longest < PATIENCE):
        if done >= KILLS:
            longest *= 2
        ends: list[tuple[float, subprocess.Popen[bytes], Path]] = []
        for kill in range(done, done + AT_ONCE):
            folder = tmp_path / str(kill)
            folder.mkdir()
            process = subprocess.Popen(
                command, cwd=folder, env=traced_environment(far.visible), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit,
            )  # fmt: skip
            ends.append((time.monotonic() + moments.uniform(0, longest), process, folder))
        for moment, process, folder in sorted(ends, key=lambda end: end[0]):
            time.sleep(max(0.0, moment - time.monotonic()))
            process.send_signal(number)
            assert process.wait(60) == -number
            for path in folder.glob("*.zst"):
                if path.stat().st_size:
                    counted += check(snoopie.load(path, allow_truncated=True), far.owner)
        done += AT_ONCE
    assert counted > 0
