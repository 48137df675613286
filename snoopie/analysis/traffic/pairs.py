"""Who moved how much to whom: by instructions of kernels, by copies that the host started, or by both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from snoopie.analysis import sums
from snoopie.analysis.host import copies as _copies
from snoopie.analysis.traffic import counts as _counts
from snoopie.analysis.traffic.reading import Initiated, Reading, checked, ends
from snoopie.analysis.traffic.values import VALUES, Value
from snoopie.errors import UsageError
from snoopie.joined.gpus import HOST, UNKNOWN
from snoopie.joined.tables import Tables

Label = Callable[[int], str]
# What a cell of a matrix can be: a sum, or the share of wire bytes that was asked for.
Cell = Value | Literal["wire_efficiency"]

# A picture of a square has at most so many places on a side: cells of more are smaller than dots. The square itself has
# at most so many: an eighth of a gibibyte of numbers.
DRAWN, LARGEST = 256, 4096

_FLOW = ("from", "to")
_KINDS = {HOST: "host", UNKNOWN: "unknown"}


def directed(
    traffic: pd.DataFrame, copies: pd.DataFrame, reading: Reading, initiated: Initiated, *keys: str
) -> pd.DataFrame:
    """One row a pair of places (keys, issuer, owner or from, to), most bytes first.

    ``device``: `traffic.VALUES`. ``host``: copies, bytes, host_ns. ``both``: bytes, and of these device_bytes and
    host_bytes.
    """
    checked(initiated)
    if initiated == "device":
        pairs = _counts.directed(traffic, reading, *keys)
    elif initiated == "host":
        pairs = _copies.directed(copies, reading, *keys)
    else:
        sides = _counts.directed(traffic, reading, *keys), _copies.directed(copies, reading, *keys)
        pairs = _added(*sides, [*keys, *ends(reading)])
    order = [*ends(reading), *keys]
    return pairs.sort_values(["bytes", *order], ascending=[False, *[True] * len(order)], ignore_index=True)


def _added(device: pd.DataFrame, host: pd.DataFrame, every: Sequence[str]) -> pd.DataFrame:
    sides = ["device_bytes", "host_bytes"]
    parts = [
        part[[*every, "bytes"]].rename(columns={"bytes": side})
        for part, side in zip((device, host), sides, strict=True)
    ]
    # Sums of 64-bit integers: a join would go through floats where one side lacks a pair.
    parts = [part.assign(**{other: np.int64(0)}) for part, other in zip(parts, reversed(sides), strict=True)]
    table = pd.concat([part[[*every, *sides]] for part in parts], ignore_index=True)
    table = sums.by(table, every, sides)
    table.insert(len(every), "bytes", table["device_bytes"] + table["host_bytes"])
    return table


def by_pair(pairs: pd.DataFrame, label: Label) -> pd.DataFrame:
    """`directed` with labels instead of places; of the device's side with wire_efficiency."""
    table = pairs.copy()
    if "wire_bytes" in table:
        table["wire_efficiency"] = _counts.efficiency(table)
    for key in table.columns.intersection(["issuer", "owner", "from", "to"]):
        table[key] = pd.Series([label(place) for place in table[key]], dtype="str")
    return table


def by_route(pairs: pd.DataFrame) -> pd.DataFrame:
    """from, to (GPU, host, …: what kind of place), bytes, device_bytes, host_bytes, of `directed` as a flow of both
    sides; most bytes first."""
    ends = {end: ["GPU" if place >= 0 else _KINDS.get(place, "multicast") for place in pairs[end]] for end in _FLOW}
    table = pairs.assign(**{end: pd.Series(kinds, pairs.index, dtype="str") for end, kinds in ends.items()})
    of_kinds = sums.by(table, _FLOW, ["bytes", "device_bytes", "host_bytes"])
    return of_kinds.sort_values(["bytes", *_FLOW], ascending=[False, True, True], ignore_index=True)


def nodes(tables: Tables, traffic: pd.DataFrame, initiated: Initiated) -> list[int]:
    """All GPUs, and of host, unknown and multicast objects those that the trace has traffic with."""
    present: set[int] = set()
    if initiated != "host":
        present |= set(traffic["owner"].unique().tolist())
    if initiated != "device":
        for end in ("source", "destination", "issuer"):
            present |= set(tables.copies[end].unique().tolist())
    return [*range(len(tables.gpus)), *sorted((place for place in present if place < 0), reverse=True)]


def by_library(pairs: pd.DataFrame, label: Label) -> pd.DataFrame:
    """`by_pair` of pairs with the key library, which comes after the two ends."""
    table = by_pair(pairs, label)
    table.insert(2, "library", table.pop("library").astype("str"))
    return table


def busiest(pairs: pd.DataFrame, places: Sequence[int], most: int, value: str = "bytes") -> list[int]:
    """The places in their order or, where there are more than ``most``, those with most of a value of `directed`."""
    if len(places) <= most:
        return list(places)
    first, second = pairs.columns[:2]
    known = pairs[value if value in pairs else "bytes"]
    moved = known.groupby(pairs[first]).sum().add(known.groupby(pairs[second]).sum(), fill_value=0)
    kept = set(moved[moved > 0].sort_values(ascending=False, kind="stable").index[:most].tolist())
    return [place for place in places if place in kept]


def among(pairs: pd.DataFrame, places: Sequence[int]) -> pd.DataFrame:
    """The pairs both of whose ends are of these places."""
    first, second = pairs.columns[:2]
    return pairs[pairs[first].isin(places) & pairs[second].isin(places)]


def matrix(pairs: pd.DataFrame, places: Sequence[int], value: Cell, label: Label) -> pd.DataFrame:
    """A square over the places: rows issuer or from, columns owner or to; labels "GPU 0", …

    Sums are int64, zeros included. ``wire_efficiency`` is float64, NaN where nothing went over a wire.
    """
    if value not in (*VALUES, "wire_efficiency"):
        raise UsageError(f"there is no value {value!r}", f"use one of {', '.join(VALUES)}, wire_efficiency")
    if value == "wire_efficiency" and "wire_bytes" in pairs:
        pairs = pairs.assign(wire_efficiency=_counts.efficiency(pairs))
    if value not in pairs:
        raise UsageError(
            f"copies that the host started have no {value}, only bytes", "ask for bytes, or for initiated='device'"
        )
    if len(places) > LARGEST:
        raise UsageError(
            f"a square of {len(places):,} places is too large, and the limit is {LARGEST:,}",
            "ask for by_pair(), or for a part of the trace",
        )
    first, second = pairs.columns[:2]
    labels = [label(place) for place in places]
    at = {place: row for row, place in enumerate(places)}
    square = (len(places), len(places))
    cells = np.full(square, np.nan) if value == "wire_efficiency" else np.zeros(square, np.int64)
    for row, column, amount in zip(pairs[first], pairs[second], pairs[value], strict=True):
        cells[at[row], at[column]] = amount
    return pd.DataFrame(cells, pd.Index(labels, name=first), pd.Index(labels, name=second))
