"""Copies that the host started → how much they moved, by ends, kind and call.

As for counts: ``summarise(block, keys)`` → a small table, and ``merge(tables, keys)``, which is associative. Sums are
64-bit integers, exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from snoopie.analysis import sums
from snoopie.analysis.traffic.reading import Reading, ends
from snoopie.errors import UsageError
from snoopie.joined.amounts import Copied
from snoopie.joined.gpus import UNKNOWN

# What `single` can put first: the most bytes, the longest call, the earliest.
Order = Literal["bytes", "host_ns", "start"]
ORDERS: tuple[Order, ...] = ("bytes", "host_ns", "start")
# Number of copies, bytes, and nanoseconds that host threads spent in the calls.
VALUES = ("copies", "bytes", "host_ns")
# The ends of a copy in the words of the flow: a source is also a line of code.
_ENDS = {"source": "from", "destination": "to"}


def counted(copies: pd.DataFrame) -> pd.DataFrame:
    """The copies with VALUES: each is one, and took its thread from the start to the end of the call."""
    spent = (copies["end"] - copies["start"]).clip(lower=0)
    return copies.reset_index(drop=True).assign(copies=np.int64(1), host_ns=spent.to_numpy())


def summarise(block: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The sums of VALUES for each combination of the keys: one row each, keys first."""
    return sums.by(block, keys, VALUES)


def merge(tables: Iterable[pd.DataFrame], keys: Sequence[str]) -> pd.DataFrame:
    """Adds up what `summarise` made of several blocks; the order does not matter for the sums."""
    return summarise(pd.concat(list(tables), ignore_index=True), keys)


def by_copy(copies: pd.DataFrame, label: Callable[[int], str]) -> pd.DataFrame:
    """from, to (labels), kind, call, VALUES; most bytes first."""
    keys = ["from", "to", "kind", "call"]
    table = summarise(counted(copies).rename(columns=_ENDS), keys)
    table = table.sort_values(["bytes", *keys], ascending=[False, *[True] * len(keys)], ignore_index=True)
    for end in ("from", "to"):
        table[end] = pd.Series([label(place) for place in table[end]], dtype="str")
    return table


def directed(copies: pd.DataFrame, reading: Reading, *keys: str) -> pd.DataFrame:
    """The sums of VALUES for each pair of places: columns keys, issuer, owner ("issued") or from, to ("flow").

    Data flows source → destination. As issued, a copy belongs to its issuer and to the end that is not the issuer; if
    neither end is, it counts once for each, so the sums can exceed those of the copies.
    """
    first, second = ends(reading)
    table = counted(copies)
    if reading == "flow":
        return summarise(table.rename(columns=_ENDS), [*keys, first, second])
    own_source, own_destination = (table[end] == table["issuer"] for end in ("source", "destination"))
    same = table["source"] == table["destination"]
    into = table[~own_destination | own_source].rename(columns={"destination": second})
    out = table[~own_source & ~same].rename(columns={"source": second})
    every = [*keys, first, second]
    return merge([summarise(into, every), summarise(out, every)], every)


def single(copies: pd.DataFrame, label: Callable[[int], str], order: Order, limit: int, origin: int) -> pd.DataFrame:
    """The first copies in that order: copy process from to issuer (labels) kind call bytes stream thread began
    (ns after ``origin``) host_ns (time in the call)."""
    if order not in ORDERS:
        raise UsageError(f"copies cannot be ordered by {order!r}", f"use one of {', '.join(ORDERS)}")
    table = counted(copies).assign(copy=copies.index).rename(columns=_ENDS)
    table["began"] = table["start"] - origin
    table = table.sort_values([order, "copy"], ascending=[order == "start", True], ignore_index=True).head(limit)
    for end in ("from", "to", "issuer"):
        table[end] = pd.Series([label(place) for place in table[end]], dtype="str")
    columns = "copy process from to issuer kind call bytes stream thread began host_ns"
    return table[columns.split()]


def copied(copies: pd.DataFrame) -> Copied:
    """What they amount to."""
    unknown = (copies[["source", "destination"]] == UNKNOWN).any(axis=1)
    return Copied(len(copies), int(copies["bytes"].sum()), int(unknown.sum()))
