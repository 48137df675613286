"""Which streams of two recordings are the same: those with the most launches in common.

Streams have other numbers in every run. Those that run the same kernels in the same shapes equally often are told apart
only by which of them was used first, which is said.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

# Pairs of streams that are compared at most; streams that are alike have all of their pairs.
MOST_PAIRS = 1 << 20


def pair(exact: pd.DataFrame, clean: pd.DataFrame) -> tuple[dict[int, int], set[int]]:
    """stream → stream, and the streams of ``exact`` that others are as like.

    Both tables have stream and key of each launch, in the order of their launching.
    """
    both = (exact, clean)
    tables = [table.groupby(["stream", "key"], sort=False).size().reset_index(name="launches") for table in both]
    per_key = [table.groupby("key").size() for table in tables]
    if int(per_key[0].mul(per_key[1], fill_value=0).sum()) > MOST_PAIRS:
        return {}, set()
    common = tables[0].merge(tables[1], on="key", suffixes=("", "_clean"))
    common["launches"] = common[["launches", "launches_clean"]].min(axis=1)
    pairs = common.groupby(["stream", "stream_clean"], sort=False)["launches"].sum().reset_index()
    sizes = [table.groupby("stream")["launches"].sum() for table in tables]
    every = pairs["stream"].map(sizes[0]) + pairs["stream_clean"].map(sizes[1]) - pairs["launches"]
    first = [pd.Series(range(table["stream"].nunique()), table["stream"].drop_duplicates()) for table in both]
    pairs["likeness"] = pairs["launches"] / every
    pairs["apart"] = (pairs["stream"].map(first[0]) - pairs["stream_clean"].map(first[1])).abs()
    pairs["first"] = pairs["stream"].map(first[0])
    order = pairs.sort_values(["likeness", "launches", "apart", "first"], ascending=[False, False, True, True])
    found: dict[int, int] = {}
    taken: set[int] = set()
    for stream, other in zip(order["stream"].tolist(), order["stream_clean"].tolist(), strict=True):
        if stream not in found and other not in taken:
            found[stream] = other
            taken.add(other)
    return found, _alike(pairs, found)


def _alike(pairs: pd.DataFrame, found: dict[int, int]) -> set[int]:
    """Streams that could as well be another's."""
    chosen = pairs[pairs["stream"].map(found) == pairs["stream_clean"]].set_index("stream")["likeness"]
    others = pairs[pairs["stream"].map(found) != pairs["stream_clean"]]
    as_like = np.isclose(others["likeness"], others["stream"].map(chosen))
    return set(others.loc[as_like, "stream"].tolist())
