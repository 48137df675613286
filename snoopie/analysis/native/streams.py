"""Which streams of two recordings are the same: those with the most launches in common.

Streams have other numbers in every run. A handle of the exact recording can be that of several streams, one after
another, which the clean one numbers anew: what a stream lacks may be in others that nothing else lacks.

Streams that run the same kernels in the same shapes equally often are told apart only by which of them was used first,
which is said.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

# Pairs of streams that are compared at most; streams that are alike have all of their pairs.
MOST_PAIRS = 1 << 20


def pair(exact: pd.DataFrame, clean: pd.DataFrame) -> tuple[dict[int, list[int]], set[int]]:
    """stream → streams, and the streams of ``exact`` that others are as like.

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
    every_stream = _continued(tables[0], tables[1], found)
    return every_stream, _alike(pairs, every_stream)


def _continued(exact: pd.DataFrame, clean: pd.DataFrame, found: dict[int, int]) -> dict[int, list[int]]:
    """With the streams that go on where one ended: all that they run is lacking there, and in no other stream."""
    every = {stream: [other] for stream, other in found.items()}
    ran, lacking = _by_stream(clean), _by_stream(exact)
    rest = ran.keys() - found.values()
    if len(rest) * len(lacking) > MOST_PAIRS:
        return every
    for stream, other in found.items():
        _take(lacking[stream], ran[other])
    for other in [stream for stream in ran if stream in rest]:
        fits = [one for one, keys in lacking.items() if all(keys.get(key, 0) >= n for key, n in ran[other].items())]
        if len(fits) == 1:
            _take(lacking[fits[0]], ran[other])
            every.setdefault(fits[0], []).append(other)
    return every


def _by_stream(table: pd.DataFrame) -> dict[int, dict[int, int]]:
    """stream → key → launches, in the order of the streams' first launches."""
    found: dict[int, dict[int, int]] = {}
    for stream, key, launches in zip(*(table[name].tolist() for name in ("stream", "key", "launches")), strict=True):
        found.setdefault(stream, {})[key] = launches
    return found


def _take(lacking: dict[int, int], ran: dict[int, int]) -> None:
    for key, launches in ran.items():
        lacking[key] = lacking.get(key, 0) - launches


def _alike(pairs: pd.DataFrame, found: dict[int, list[int]]) -> set[int]:
    """Streams that could as well be another's."""
    own = [other in found.get(stream, ()) for stream, other in zip(pairs["stream"], pairs["stream_clean"], strict=True)]
    mine = np.array(own, np.bool_)
    chosen = pairs[mine].groupby("stream")["likeness"].max()
    others = pairs[~mine]
    as_like = np.isclose(others["likeness"], others["stream"].map(chosen))
    return set(others.loc[as_like, "stream"].tolist())
