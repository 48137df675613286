"""The length of a matrix's rows, guessed from what was touched of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import snoopie
from snoopie.analysis.objects import pitch

SAMPLES = Path(__file__).resolve().parents[4] / "sample_traces"
ROW = 4096


def guess(pieces: list[tuple[int, int]], size: int = 64 * ROW) -> int:
    starts, ends = (np.array(side, np.int64) for side in zip(*pieces, strict=True)) if pieces else ([], [])
    return pitch.guess(np.array(starts, np.int64), np.array(ends, np.int64), size)


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([(row * ROW, row * ROW + 4) for row in range(64)], id="column"),
        pytest.param([(row * ROW + 800, row * ROW + 1600) for row in range(7, 30)], id="tile"),
        pytest.param(
            [(row * ROW + column, row * ROW + column + 4) for row in range(64) for column in (256, 3000)], id="columns"
        ),
        pytest.param([(0, ROW), (63 * ROW, 64 * ROW)], id="whole rows"),
        pytest.param([(4, ROW - 4), (62 * ROW + 4, 63 * ROW - 4)], id="all but the border"),
        pytest.param([(64 * 4 + at, 64 * 4 + at + 4) for at in range(0, 64 * ROW - 256, ROW)][::-1], id="in any order"),
    ],
)
def test_rows_are_seen(pieces: list[tuple[int, int]]) -> None:
    assert guess(pieces) == ROW


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([], id="nothing"),
        pytest.param([(0, 64 * ROW)], id="all of it"),
        pytest.param([(8 * at, 8 * at + 4) for at in range(100)], id="every other element"),
        pytest.param([(3, 10), (91, 207), (1000, 1001)], id="no pattern"),
    ],
)
def test_where_nothing_tells_there_is_no_guess(pieces: list[tuple[int, int]]) -> None:
    assert guess(pieces) == 0


def test_a_grid_whose_border_no_other_gpu_touches() -> None:
    """The rows of jacobi.cu have 4094 inner elements of 4096, of 4 bytes."""
    trace = snoopie.load(SAMPLES / "jacobi-4gpu.zst")
    assert trace.row_length(int(trace.by_object(merged=True)["object"][0])) == 4096 * 4
