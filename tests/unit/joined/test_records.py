"""The lanes of recorded accesses."""

from __future__ import annotations

import numpy as np

from snoopie.joined.records import lanes_of, lowest_lane


def test_lanes_of_masks() -> None:
    masks = np.array([0, 1, 0xFFFFFFFF, 0x80000000, 0b1010_0000], np.uint32)
    assert lanes_of(masks).tolist() == [0, 1, 32, 1, 2]
    assert lowest_lane(masks).tolist() == [0, 0, 0, 31, 5]
    single = np.array([1 << lane for lane in range(32)], np.uint32)
    assert lowest_lane(single).tolist() == list(range(32))
