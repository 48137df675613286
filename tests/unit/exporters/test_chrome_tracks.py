"""Where slices of a Chrome timeline lie."""

from __future__ import annotations

import numpy as np

from snoopie.exporters.chrome_tracks import INSTANT, Slices, short
from tests.support.encoder import START_NS


def test_short_slices_end_where_the_next_thing_of_their_line_begins_or_ends() -> None:
    start = START_NS + np.array([1, 10, 5000, 1, 6001])
    others = [Slices(np.array([0]), START_NS + np.array([5900]), START_NS + np.array([6040]))]
    found = short(np.array([0, 0, 0, 1, 0]), start, others)
    assert (found.end - start).tolist() == [9, INSTANT, 900, INSTANT, 39]
