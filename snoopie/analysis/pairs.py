"""Who moved how much to whom: by instructions of kernels, by copies that the host started, or by both."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from snoopie.analysis import copies as _copies
from snoopie.analysis import traffic as _traffic
from snoopie.analysis.reading import INITIATED, Initiated, Reading
from snoopie.analysis.traffic import VALUES, Value
from snoopie.errors import UsageError
from snoopie.trace.merge import Tables

Label = Callable[[int], str]


def directed(traffic: pd.DataFrame, copies: pd.DataFrame, reading: Reading, initiated: Initiated) -> pd.DataFrame:
    """One row a pair of places (issuer, owner or from, to), most bytes first.

    ``device``: `traffic.VALUES`. ``host``: copies, bytes, host_ns. ``both``: bytes, and of these device_bytes and
    host_bytes.
    """
    if initiated not in INITIATED:
        raise UsageError(f"there is no side {initiated!r} that initiates", "use 'device', 'host' or 'both'")
    if initiated == "device":
        pairs = _traffic.directed(traffic, reading)
    elif initiated == "host":
        pairs = _copies.directed(copies, reading)
    else:
        pairs = _added(_traffic.directed(traffic, reading), _copies.directed(copies, reading))
    first, second = pairs.columns[:2]
    return pairs.sort_values(["bytes", first, second], ascending=[False, True, True], ignore_index=True)


def _added(device: pd.DataFrame, host: pd.DataFrame) -> pd.DataFrame:
    ends = list(device.columns[:2])
    sides = ["device_bytes", "host_bytes"]
    parts = [
        part[[*ends, "bytes"]].rename(columns={"bytes": side}) for part, side in zip((device, host), sides, strict=True)
    ]
    # Sums of 64-bit integers: a join would go through floats where one side lacks a pair.
    parts = [part.assign(**{other: np.int64(0)}) for part, other in zip(parts, reversed(sides), strict=True)]
    table = pd.concat([part[[*ends, *sides]] for part in parts], ignore_index=True)
    table = table.groupby(ends, sort=False)[sides].sum().reset_index()
    table.insert(2, "bytes", table["device_bytes"] + table["host_bytes"])
    return table


def by_pair(pairs: pd.DataFrame, label: Label) -> pd.DataFrame:
    """`directed` with labels instead of places; of the device's side with wire_efficiency."""
    table = pairs.copy()
    if "wire_bytes" in table:
        table["wire_efficiency"] = _traffic.efficiency(table)
    for key in table.columns[:2]:
        table[key] = pd.Series([label(place) for place in table[key]], dtype="str")
    return table


def nodes(tables: Tables, traffic: pd.DataFrame, initiated: Initiated) -> list[int]:
    """All GPUs, and of host, unknown and multicast objects those that the trace has traffic with."""
    present: set[int] = set()
    if initiated != "host":
        present |= set(traffic["owner"].unique().tolist())
    if initiated != "device":
        for end in ("source", "destination", "issuer"):
            present |= set(tables.copies[end].unique().tolist())
    return [*range(len(tables.gpus)), *sorted((place for place in present if place < 0), reverse=True)]


def matrix(pairs: pd.DataFrame, places: Sequence[int], value: Value, label: Label) -> pd.DataFrame:
    """A square over the places, zeros included: rows issuer or from, columns owner or to; int64, labels "GPU 0", …"""
    if value not in VALUES:
        raise UsageError(f"there is no value {value!r}", f"use one of {', '.join(VALUES)}")
    if value not in pairs:
        raise UsageError(
            f"copies that the host started have no {value}, only bytes", "ask for bytes, or for initiated='device'"
        )
    first, second = pairs.columns[:2]
    labels = [label(place) for place in places]
    at = {place: row for row, place in enumerate(places)}
    cells = np.zeros((len(places), len(places)), np.int64)
    for row, column, amount in zip(pairs[first], pairs[second], pairs[value], strict=True):
        cells[at[row], at[column]] = amount
    return pd.DataFrame(cells, pd.Index(labels, name=first), pd.Index(labels, name=second))
