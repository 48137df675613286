"""How fast data moved while kernels or copies ran that moved it, and how much of the links' capacity that is.

Only what has times on the GPU counts. What moves between two places at the same time shares that time: busy is when at
least one launch or copy ran that moved something that way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.time import timeline as _timeline
from snoopie.analysis.traffic.reading import Initiated, checked

# Whose traffic is put together: of two places in one direction, or of a GPU with all others.
Over = Literal["pair", "gpu"]

_COLUMNS = ["from", "to", "wire_bytes", "start", "end"]
# Bytes a second in each direction of one NVLink, by compute capability. From NVIDIA's white papers: Pascal P100
# (NVLink 1: 4 links, 80 GB/s a direction), Volta V100 (2: 6, 150), Turing TU102 (2: 2, 50), Ampere A100 (3: 12, 300)
# and GA102 (3: 4, 56.25), Hopper H100 (4: 18, 450), Blackwell B200 and B300 (5: 18, 900).
_LINK = {60: 20e9, 70: 25e9, 75: 25e9, 80: 25e9, 86: 14.0625e9, 90: 25e9, 100: 50e9, 103: 50e9}


def capacities(gpus: pd.DataFrame) -> NDArray[np.float64]:
    """Bytes a second that the NVLinks of each GPU carry together in one direction; NaN where it has none, or where
    their number or generation is not known."""
    link = np.array([_LINK.get(int(sm), np.nan) for sm in gpus["sm"]], np.float64)
    number = gpus["nvlinks"].to_numpy(np.float64)
    return np.where(number > 0, number * link, np.nan)


def moved(traffic: pd.DataFrame, copies: pd.DataFrame, when: pd.DataFrame, initiated: Initiated) -> pd.DataFrame:
    """from, to, wire_bytes, start, end (ns) of each launch, which all have times in ``when``, and of each copy."""
    checked(initiated)
    parts = []
    if initiated != "host":
        of_launches = _timeline.by_launch(traffic, "flow")
        rows = when.index.get_indexer(pd.Index(of_launches["launch"]))
        parts.append(
            of_launches.assign(start=when["start"].to_numpy()[rows], end=when["end"].to_numpy()[rows])[_COLUMNS]
        )
    if initiated != "device":
        start = _timeline.moments(copies["start"])
        end = np.maximum(start, _timeline.moments(copies["end"]))
        names = {"source": "from", "destination": "to", "bytes": "wire_bytes"}
        parts.append(copies.assign(start=start, end=end).rename(columns=names)[_COLUMNS])
    return pd.concat(parts, ignore_index=True)


def by_pair(moved: pd.DataFrame, gpus: pd.DataFrame, links: pd.DataFrame) -> pd.DataFrame:
    """from, to, wire_bytes, busy (ns), rate, capacity (bytes a second), capacity_share; most bytes first.

    ``moved`` has from, to, wire_bytes, start and end (ns) of each launch or copy. The capacity is what the links of the
    two GPUs carry at most, as if all led to the other or to a switch; NaN between others, and where ``links`` say that
    they reach each other by other ways.
    """
    table = _rates(moved, ["from", "to"])
    return _shared(table, of_pairs(table[["from", "to"]], gpus, links))


def of_pairs(pairs: pd.DataFrame, gpus: pd.DataFrame, links: pd.DataFrame) -> NDArray[np.float64]:
    """Bytes a second that the links between two places carry in one direction at most, of each row of ``pairs``."""
    of_gpu = capacities(gpus)
    sides = [pairs[side].to_numpy(np.int64) for side in pairs.columns[:2]]
    apart = {tuple(pair) for pair in links.loc[~links["native_atomics"], ["issuer", "owner"]].itertuples(index=False)}
    linked = [(one, other) not in apart and (other, one) not in apart for one, other in zip(*sides, strict=True)]
    return np.where(linked, np.minimum(*(_at(of_gpu, side) for side in sides)), np.nan)


def by_gpu(moved: pd.DataFrame, gpus: pd.DataFrame) -> pd.DataFrame:
    """gpu, direction (out, in), wire_bytes, busy, rate, capacity, capacity_share: as `by_pair`, between GPUs."""
    between = moved[(moved["from"] >= 0) & (moved["to"] >= 0)]
    parts = [
        between.rename(columns={end: "gpu"}).assign(direction=direction)[
            ["gpu", "direction", "wire_bytes", "start", "end"]
        ]
        for end, direction in (("from", "out"), ("to", "in"))
    ]
    table = _rates(pd.concat(parts, ignore_index=True).astype({"direction": "str"}), ["gpu", "direction"])
    return _shared(table, _at(capacities(gpus), table["gpu"].to_numpy(np.int64)))


def _rates(moved: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """keys, wire_bytes, busy (ns), rate (bytes a second, NaN without any time), most bytes first."""
    table = moved.sort_values([*keys, "start"], ignore_index=True)
    group = table.groupby(list(keys), sort=False)
    before = group["end"].cummax().groupby([table[key] for key in keys], sort=False).shift(1, fill_value=-1)
    table["busy"] = (table["end"] - np.maximum(table["start"], before)).clip(lower=0)
    sums = table.groupby(list(keys), sort=False)[["wire_bytes", "busy"]].sum().reset_index()
    sums["rate"] = 1e9 * sums["wire_bytes"] / sums["busy"].where(sums["busy"] > 0)
    return sums.sort_values(["wire_bytes", *keys], ascending=[False, *[True] * len(keys)], ignore_index=True)


def _at(of_gpu: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The capacities of places; NaN of what is no GPU."""
    known = np.full(len(places), np.nan)
    known[places >= 0] = of_gpu[places[places >= 0]]
    return known


def _shared(table: pd.DataFrame, capacity: NDArray[np.float64]) -> pd.DataFrame:
    return table.assign(capacity=capacity, capacity_share=table["rate"] / capacity)
