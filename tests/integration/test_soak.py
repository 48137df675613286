"""The whole collector under a program that makes the same calls again and again: it grows with none of them.

The program is nvbit_tool/tests/driver/soak.cpp. Each of its rounds launches, allocates, maps, copies, instantiates a
graph, and has a stream and a thread come and go. docs/trust.md has the figures of a run of many more rounds.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import snoopie
from tests.support import host_driver

ROUNDS = 600
MEASURED, ACCESSES = 9, 8  # of a round, whose tenth launch fails
# Bytes that the heap differs by from one look to the next, by what waits to be written and what the compressor keeps:
# over 12,000 rounds it was between 2.6 and 3.7 MB, whichever round it was.
NOISE = 3 << 19
CELLS = 2048  # of a context, for values of launches
# What hang reports know of an object; a round stores to two that are new. At most 4 MiB of it is kept.
OF_OBJECT = 96


@dataclass
class Before:
    """What the program does before its rounds."""

    launches: int
    accesses: int


@dataclass
class Held:
    """What the process holds after a quarter of its rounds: bytes of its heap, descriptors, and bytes of its trace."""

    heap: int
    descriptors: int
    trace: int


def run(path: Path, **settings: str) -> list[str]:
    """What the program says on stderr, which its calls left as it was."""
    done = subprocess.run(
        [host_driver.built()],
        env={
            "PATH": os.environ["PATH"],
            "ASAN_OPTIONS": "detect_leaks=0",
            "SNOOPIE_OUTPUT": str(path),
            "SAMPLE_SIZE": "0",
            "SOURCE": "0",
            **settings,
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 7, done.stderr
    assert [line for line in done.stdout.splitlines() if not re.fullmatch(r"\w+ \d+|after .*: 0 mode 0", line)] == []
    return done.stderr.splitlines()


def soak(path: Path, **settings: str) -> list[Held]:
    lines = [line.split()[1:] for line in run(path, SOAK=str(ROUNDS), **settings) if line.startswith("soak: ")]
    assert [int(rounds) for rounds, *_ in lines] == [ROUNDS, 2 * ROUNDS, 3 * ROUNDS, 4 * ROUNDS]
    return [Held(*map(int, (heap, descriptors, trace))) for _, heap, _, descriptors, trace in lines]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Before:
    """Of the program without rounds, which test_driver_faults.py checks one by one."""
    path = tmp_path_factory.mktemp("before") / "before.zst"
    run(path)
    trace = snoopie.load(path)
    return Before(trace.totals["launches_measured"], trace.summary()["accesses"])


@pytest.mark.parametrize(("objects", "new"), [("1", 2), ("0", 0)])
def test_nothing_grows_with_calls_but_the_trace(tmp_path: Path, before: Before, objects: str, new: int) -> None:
    path = tmp_path / "soak.zst"
    first, *others = soak(path, DATA_OBJECT_ATTRIBUTION=objects, CODE_CONTEXT="1")
    assert min(held.heap for held in others) - first.heap < NOISE + 3 * ROUNDS * new * OF_OBJECT
    assert {held.descriptors for held in others} == {first.descriptors}
    # Equal rounds take equal room, but for how many blocks their rows come in. Of what is written with all of the
    # rounds before, the last quarter has more than twice as much as the second.
    grown = [after.trace - before.trace for before, after in zip([first, *others], others, strict=False)]
    assert max(grown) < 2 * min(grown)

    trace = snoopie.load(path)
    assert trace.totals["launches_measured"] == before.launches + MEASURED * 4 * ROUNDS
    assert trace.totals["launches_lost"] == 0
    assert trace.totals["errors"] == 0, trace.notices["text"].tolist()
    assert trace.summary()["accesses"] == before.accesses + ACCESSES * 4 * ROUNDS
    # Streams and graphs that are gone have left their cells to others.
    assert not [text for text in trace.notices["text"] if "told apart" in text]


def test_events_of_streams_and_graphs_that_are_gone_serve_again(tmp_path: Path) -> None:
    """Fewer than one is made for each. A launch under way has two, and one is behind what had a cell, of which a
    context has 2,048."""
    together = 1000
    rounds = 2 * 2 * together + CELLS + 1000
    said = run(tmp_path / "gone.zst", COME_AND_GO=str(rounds), TOGETHER=str(together))
    (made,) = [int(line.split()[1]) for line in said if line.startswith("events: ")]
    assert CELLS / 2 < made < rounds


@pytest.mark.parametrize(("warps", "settings"), [(1, {"WAITS": "on"}), (70, {})])
def test_launches_wait_for_counts_of_those_that_have_ended(
    tmp_path: Path, before: Before, warps: int, settings: dict[str, str]
) -> None:
    """Rather than go without: there are slots for 4,096 launches, and 4,090 of each round end together. With banks of
    counters, others have one bank."""
    path = tmp_path / "flood.zst"
    run(path, FLOOD=str(warps), **settings)
    trace = snoopie.load(path)
    assert trace.totals["launches_lost"] == 0
    assert trace.totals["launches_measured"] == before.launches + 4 * 4090
    assert trace.summary()["accesses"] == before.accesses + 4 * 4090 * warps


def ahead(path: Path, end: str) -> tuple[snoopie.Trace, int, int]:
    """5,000 launches, of which none ends by itself, where there are slots for 4,096: the trace; how often and for how
    many seconds one waited, by the program's clock."""
    lines = run(path, AHEAD=end, WAITS="on")
    found = next(filter(None, (re.match(r"ahead: waited (\d+) times, (\d+) s", line) for line in lines)))
    return snoopie.load(path), int(found[1]), int(found[2])


def test_launches_wait_for_launches_under_way(tmp_path: Path, before: Before) -> None:
    trace, waits, _ = ahead(tmp_path / "ahead.zst", "once one waits")
    assert waits > 0
    assert trace.totals["launches_lost"] == 0
    assert trace.totals["launches_measured"] == before.launches + 5000


def test_launches_do_not_wait_for_ever(tmp_path: Path, before: Before) -> None:
    """Those under way may wait for them. One goes without counters then, and others do so at once."""
    trace, waits, seconds = ahead(tmp_path / "ahead.zst", "never")
    lost = trace.totals["launches_lost"]
    assert lost > 100 * waits
    said = trace.notices["text"].str.extract(r"launches waited ([0-9]+)\.[0-9] s in all").dropna()[0].tolist()
    assert seconds > 0
    assert [int(one) > 0 for one in said] == [True]
    assert trace.totals["launches_measured"] == before.launches + 5000 - lost
    assert [text for text in trace.notices["text"] if "had all counters in use" in text]


def test_times_of_launches_that_are_not_measured(tmp_path: Path, before: Before) -> None:
    """They are taken when the launches have ended, of 4,090 together in each of four rounds."""
    path = tmp_path / "timed.zst"
    run(path, FLOOD="1", KERNEL_NAME="none_such", TIMES="all")
    trace = snoopie.load(path)
    assert trace.totals["errors"] == 0
    assert trace.totals["launches_measured"] == 0
    timed = trace.unmeasured_launches
    # Nodes of graphs, of which the program launches three, have no times.
    assert len(timed) == trace.totals["launches_seen"] - 3 == before.launches + 4 * 4090 - 3
    assert (timed["end"] >= timed["start"]).all()
    assert not [text for text in trace.notices["text"] if "timed" in text]
