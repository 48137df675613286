"""What streams are called."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import snoopie
from snoopie.analysis.host import streams
from tests.support.encoder import HOST, START_NS, TraceBuilder

ADDRESS = 0x55D0C8A7B000


def names(*rows: tuple[int, int, int]) -> list[tuple[int, int, str]]:
    """Of rows of process, stream and time."""
    table = pd.DataFrame(rows, columns=["process", "stream", "time"]).astype({"stream": np.uint64})
    return list(streams.names([table]).itertuples(index=False, name=None))


def test_addresses_are_numbered_as_they_were_used() -> None:
    assert names((0, ADDRESS + 64, 5), (0, ADDRESS, 9), (0, ADDRESS, 3), (1, ADDRESS, 7)) == [
        (0, ADDRESS, "stream 1"),
        (0, ADDRESS + 64, "stream 2"),
        (1, ADDRESS, "stream 1"),
    ]


def test_the_drivers_own_and_those_that_are_numbers() -> None:
    assert names((0, 0, 1), (0, 1, 2), (0, 2, 3), (0, 7, 4), (0, (1 << 64) - 1, 5)) == [
        (0, 0, "default stream"),
        (0, 1, "default stream"),
        (0, 2, "default streams of threads"),
        (0, 7, "stream 7"),
        (0, (1 << 64) - 1, "stream 1"),
    ]


def test_no_two_have_one_name() -> None:
    found = names((0, 3, 1), (0, 4, 2), *((0, ADDRESS + number, 9 + number) for number in range(5)))
    assert [name for _, _, name in found] == [f"stream {number}" for number in (3, 4, 1, 2, 5, 6, 7)]


def test_those_of_launches_copies_and_collectives(tmp_path: Path) -> None:
    trace = TraceBuilder(1)
    trace.copy(HOST, 0, 64, gpu=0, stream=ADDRESS, start=START_NS + 50, end=START_NS + 60)
    trace.launch(trace.function("k()"), 0, time=START_NS + 10, stream=ADDRESS + 64)
    trace.collective(1, "AllReduce", 8, gpu=0, stream=ADDRESS + 128, start=START_NS + 30, end=START_NS + 40)
    table = snoopie.load(trace.write(tmp_path / "t.zst")).stream_names()
    assert table["stream"].tolist() == [ADDRESS + 64, ADDRESS + 128, ADDRESS]
    assert table["name"].tolist() == ["stream 1", "stream 2", "stream 3"]
