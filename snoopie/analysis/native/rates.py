"""Exact bytes over native time: how fast each kernel, line, pair or launch moved data, and how fast it could have.

Times of launches are added up, also of those that ran at once: a rate is what a launch has on average. The least
possible time is that of the GPU and direction that takes longest, at the full capacity of its NVLinks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from snoopie.analysis import sums as _sums
from snoopie.analysis.time.bandwidth import capacities
from snoopie.analysis.traffic import counts as _counts

VALUES = ["native_launches", "native_time", "native_bytes", "native_rate", "least_time", "link_share"]


def rated(traffic: pd.DataFrame, times: pd.DataFrame, gpus: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """keys, and `VALUES`, most bytes first: of the launches that have native ``times`` (launch | start end), unscaled.

    ``traffic`` has launch, issuer, owner, operation and the keys. ``least_time`` and ``link_share`` are NaN where no
    launch moved anything between GPUs, or the capacity of their links is not known.
    """
    timed = traffic[traffic["launch"].isin(times.index)].drop(columns="weight", errors="ignore")
    by = ["launch", *(key for key in keys if key != "launch")]
    sums = _counts.settled(timed, by)
    spans = (times["end"] - times["start"]).clip(lower=0)
    sums["native_time"] = spans.reindex(sums["launch"]).to_numpy(np.int64)
    sums = sums.merge(_least(timed, gpus, by), on=by, how="left")
    # What has no least time has no share in that of the others.
    sums["limited"] = sums["native_time"].where(sums["least_time"].notna())
    groups = sums.groupby(list(keys), observed=True, sort=False)
    table = groups.agg(
        native_launches=("launch", "nunique"),
        native_time=("native_time", "sum"),
        native_bytes=("bytes", "sum"),
    ).reset_index()
    for name in ("least_time", "limited"):
        table[name] = groups[name].sum(min_count=1).to_numpy(np.float64)
    table["native_rate"] = 1e9 * table["native_bytes"] / table["native_time"].where(table["native_time"] > 0)
    limited = table.pop("limited")
    table["link_share"] = table["least_time"] / limited.where(limited > 0)
    table = _counts.plain(table[[*keys, *VALUES]])
    return table.sort_values(["native_bytes", *keys], ascending=[False, *[True] * len(keys)], ignore_index=True)


def _least(traffic: pd.DataFrame, gpus: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """by, least_time (ns): what the slowest GPU and direction takes for what moved between GPUs."""
    pairs = _counts.summarise(traffic, list(dict.fromkeys([*by, "issuer", "owner", "operation"])), ["wire_bytes"])
    out = pairs[pairs["operation"] != "load"]
    back = pairs[pairs["operation"].isin(["load", "atomic"])]
    flows = pd.concat(
        [
            out.assign(**{"from": out["issuer"], "to": out["owner"]}),
            back.assign(**{"from": back["owner"], "to": back["issuer"]}),
        ],
        ignore_index=True,
    )
    # The host, and what is not known, are not reached over NVLink; a multicast object is, from its writer.
    between = flows[~flows["from"].isin([-1, -2]) & ~flows["to"].isin([-1, -2]) & (flows["from"] != flows["to"])]
    of_gpu = capacities(gpus)
    parts = []
    for end in ("from", "to"):
        part = between[between[end] >= 0]
        of_end = _sums.by(part, [*by, end], ["wire_bytes"])
        of_end["least_time"] = 1e9 * of_end["wire_bytes"] / of_gpu[of_end[end].to_numpy(np.int64)]
        parts.append(of_end[[*by, "least_time"]])
    both = pd.concat(parts, ignore_index=True)
    return both.groupby(list(by), observed=True, sort=False)["least_time"].max().reset_index()
