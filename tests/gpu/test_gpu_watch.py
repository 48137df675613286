"""calls, watched from outside without the collector: what the program says that it called is what the watch saw.

Needs root, a kernel with BTF and uprobes, and watch/snoopie_watch: built here, or elsewhere and taken as it is.
"""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
from gpu_calls import launched, launches, made, recorded
from gpu_runs import Run, Runner

import snoopie
from snoopie.trace.lacks import Lack
from tests.support import watched
from tests.support.watched import Watch

# Another number than in other tests: by it the program is known.
ROUNDS = 100


@pytest.fixture(scope="module")
def run(runner: Runner, few: tuple[str, ...], alone: None, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The program on two GPUs, if there are so many, with its trace by the watch."""
    watched.be_ready()
    everything, own = tmp_path_factory.mktemp("watched"), tmp_path_factory.mktemp("own")
    watch = Watch("--all", "-o", f"{everything}/")
    native = runner.native("calls", ROUNDS, visible=few)
    said = watch.end()
    assert "were lost" not in said
    # Others may use the driver too, also by the same program.
    (path,) = (path for path in everything.glob("calls.*.zst") if command(path).endswith(f" {ROUNDS}"))
    shutil.copy(path, own)
    return dataclasses.replace(native, folder=own)


def command(path: Path) -> str:
    return str(snoopie.load(path).processes["command"].item())


def test_calls_bytes_and_directions_are_exact(run: Run) -> None:
    assert recorded(run) == made(run)
    assert run.trace.lacks(Lack.ACCESSES)


def test_every_launch_is_counted_for_its_kernel(run: Run) -> None:
    assert launches(run) == launched(run)
    assert len(run.trace.launches) == int(run.trace.by_launched_kernel()["launches"].sum())


def test_all_memory_of_the_program_was_seen_to_be_freed(run: Run) -> None:
    leaks = run.trace.leaks()
    assert leaks[(leaks["state"] == "never freed") & (leaks["call"] == "cuMemAlloc_v2")].empty
