"""The program's driver calls → how many, how long, what failed, what was launched and copied.

``summarise(block, keys)`` → a small table, and ``merge(tables, keys)``, which is associative; `summarise_times` and
`merge_times` are the same for the histograms of their times, `summarise_errors` and `merge_errors` for those that
failed. Sums are 64-bit integers, exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from snoopie.analysis import sums
from snoopie.analysis.host.copies import ORDERS, Order
from snoopie.errors import UsageError

# What distinguishes a row of sums, besides the call, the kernel and the direction.
KEYS = ("process", "thread", "gpu")
# The share of the calls that took no longer, by column.
PERCENTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99}
# In these directions a call that is not asynchronous returns when the bytes are where they belong.
_WAITED_FOR = ("host to device", "device to host", "host to host")
# In the place of the shortest and longest of calls of which only the sum is known.
_NOT_KNOWN = -1
_SUMS = ("calls", "errors", "total", "bytes")


def summarise(block: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """calls errors total (ns) bytes unsized and untimed (calls whose size, and whose time, is not known), summed, least
    and most (ns), for each combination of the keys: keys first."""
    how = dict.fromkeys((*_SUMS, "unsized", "untimed"), "sum") | {"least": "min", "most": "max"}
    # Of calls whose shortest is said to be above their longest, neither is known; nor is it then of all together.
    unknown = (block["least"] > block["most"]) & (block["calls"] > 0)
    if "unsized" not in block:
        # Only the number of such calls is known, unless their sums say more.
        block = block.assign(
            unsized=block["calls"].where(unknown & (block["bytes"] == 0), 0),
            untimed=block["calls"].where(unknown & (block["total"] == 0), 0),
        )
    if unknown.any():
        block = block.assign(least=block["least"].mask(unknown, _NOT_KNOWN))
    return block.groupby(list(keys), observed=True, sort=False)[list(how)].agg(how).reset_index()


def merge(tables: Iterable[pd.DataFrame], keys: Sequence[str]) -> pd.DataFrame:
    """Joins what `summarise` made of several blocks, in whatever order."""
    return summarise(pd.concat(list(tables), ignore_index=True), keys)


def summarise_times(block: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """How many calls took at least 2^log2 ns and less than twice that: keys, log2, calls."""
    return sums.by(block, [*keys, "log2"], ["calls"])


def merge_times(tables: Iterable[pd.DataFrame], keys: Sequence[str]) -> pd.DataFrame:
    """Joins what `summarise_times` made of several blocks, in whatever order."""
    return summarise_times(pd.concat(list(tables), ignore_index=True), keys)


def summarise_errors(block: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """How many calls returned what: keys, code, name, calls."""
    return sums.by(block, [*keys, "code", "name"], ["calls"])


def merge_errors(tables: Iterable[pd.DataFrame], keys: Sequence[str]) -> pd.DataFrame:
    """Joins what `summarise_errors` made of several blocks, in whatever order."""
    return summarise_errors(pd.concat(list(tables), ignore_index=True), keys)


def by_call(
    totals: pd.DataFrame, times: pd.DataFrame, label: Callable[[int], str], keys: Sequence[str]
) -> pd.DataFrame:
    """keys, calls errors host_ns mean_ns min_ns max_ns, PERCENTILES, bytes unsized; longest in the calls first.

    ``bytes`` are of the calls whose size is known, NaN without any; of ``unsized`` calls it is not. ``host_ns`` and
    ``mean_ns`` are of those whose time is known, ``min_ns`` and ``max_ns`` NaN unless that of each is.
    ``keys`` are some of process, thread, gpu and call. A percentile is a bound: that share of the calls took less, and
    it is less than twice too high. NaN where the histogram is missing.
    """
    table = _timed(summarise(totals, keys))
    for name, values in percentiles(summarise_times(times, keys), table, keys).items():
        table[name] = values
    columns = ["calls", "errors", "host_ns", "mean_ns", "min_ns", "max_ns", *PERCENTILES, "bytes", "unsized"]
    return _labelled(_ranked(table[[*keys, *columns]], keys), label)


def by_kernel(totals: pd.DataFrame, label: Callable[[int], str], keys: Sequence[str] = ()) -> pd.DataFrame:
    """kernel, keys, launches (calls that succeeded) errors host_ns mean_ns min_ns max_ns (of all these calls)."""
    every = ["kernel", *keys]
    table = _timed(summarise(totals[totals["kernel"] != ""], every))
    table["launches"] = table["calls"] - table["errors"]
    columns = ["launches", "errors", "host_ns", "mean_ns", "min_ns", "max_ns"]
    return _labelled(_ranked(table[[*every, *columns]], every), label)


def by_direction(totals: pd.DataFrame, label: Callable[[int], str], keys: Sequence[str] = ()) -> pd.DataFrame:
    """direction, keys, call, asynchronous, calls errors bytes host_ns bandwidth (bytes a second); most bytes first.

    The time in an asynchronous call is not that of the transfer, and no call waits for a copy between GPUs or within
    one: the bandwidth of these is NaN.
    """
    every = ["direction", *keys, "call"]
    table = _timed(summarise(totals[totals["direction"] != ""], every))
    table["asynchronous"] = is_asynchronous(table["call"])
    waited = ~table["asynchronous"] & table["direction"].isin(_WAITED_FOR) & (table["host_ns"] > 0)
    # Bytes over the time of other calls are no rate.
    waited &= (table["unsized"] == 0) & (table["untimed"] == 0)
    table["bandwidth"] = (table["bytes"] / (table["host_ns"].where(waited) / 1e9)).astype("float64")
    columns = [*every, "asynchronous", "calls", "errors", "bytes", "host_ns", "bandwidth"]
    table = table[columns].sort_values(["bytes", *every], ascending=[False, *[True] * len(every)], ignore_index=True)
    return _labelled(table, label)


def by_error(errors: pd.DataFrame, label: Callable[[int], str], keys: Sequence[str] = ()) -> pd.DataFrame:
    """call, keys, returned (a code), name (the driver's, of the code), calls; most calls first."""
    every = ["call", *keys]
    table = summarise_errors(errors, every).rename(columns={"code": "returned"})
    order = ["calls", *every, "returned"]
    return _labelled(table.sort_values(order, ascending=[False, *[True] * (len(order) - 1)], ignore_index=True), label)


def single(
    calls: pd.DataFrame, call: str, label: Callable[[int], str], order: Order, limit: int, origin: int
) -> pd.DataFrame:
    """The first calls of that name, in that order: event process thread gpu (label) kernel direction began (ns after
    ``origin``) host_ns (time in the call) bytes returned (a code)."""
    if order not in ORDERS:
        raise UsageError(f"calls cannot be ordered by {order!r}", f"use one of {', '.join(ORDERS)}")
    table = calls[(calls["call"] == call).to_numpy()].reset_index(names="event").rename(columns={"code": "returned"})
    table = table.assign(began=table["start"] - origin, host_ns=_spent(table))
    table = table.sort_values([order, "event"], ascending=[order == "start", True], ignore_index=True).head(limit)
    columns = "event process thread gpu kernel direction began host_ns bytes returned"
    return _labelled(table[columns.split()], label)


def percentiles(times: pd.DataFrame, table: pd.DataFrame, keys: Sequence[str]) -> dict[str, pd.Series[float]]:
    """PERCENTILES of each row of a table with ``keys`` and max_ns, from what `summarise_times` made with these keys."""
    times = times.sort_values("log2", kind="stable")
    groups = times.groupby(list(keys), observed=True, sort=False)["calls"]
    share = groups.cumsum() / groups.transform("sum")
    found = {}
    for name, wanted in PERCENTILES.items():
        # The first bucket that reaches the share; up to its end, but nothing took longer than the longest.
        reached = times[share >= wanted].groupby(list(keys), observed=True, sort=False)["log2"].min().reset_index()
        ends = table[[*keys, "max_ns"]].merge(reached, on=list(keys), how="left")
        bound = 2.0 ** (ends["log2"].astype("float64") + 1)
        longest = ends["max_ns"].astype("float64")
        found[name] = bound.where(bound.isna() | longest.isna() | (bound < longest), longest)
    return found


def is_asynchronous(calls: pd.Series[str]) -> pd.Series[bool]:
    """Whether a call only hands work over and returns: what the driver calls so, and batches."""
    return calls.str.contains("Async|Batch", regex=True)


def known(table: pd.DataFrame, *, errors: bool, sizes: bool) -> pd.DataFrame:
    """A table of calls without the numbers that were not recorded: NaN instead of 0."""
    lacking = [("errors", errors), ("bytes", sizes), ("bandwidth", sizes)]
    unknown = [name for name, there in lacking if not there and name in table]
    found = table.assign(**dict.fromkeys(unknown, np.nan)) if unknown else table
    return found if sizes or "unsized" not in found else found.assign(unsized=found["calls"])


def shown(table: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """The columns, without ``unsized`` unless the bytes of some row are not those of all its calls."""
    return [name for name in columns if name != "unsized" or (table[name].gt(0) & table["bytes"].notna()).any()]


def checked_keys(keys: Iterable[str]) -> list[str]:
    """The keys, if they are some of KEYS. UsageError otherwise."""
    keys = list(dict.fromkeys(keys))
    for key in keys:
        if key not in KEYS:
            raise UsageError(f"calls cannot be divided by {key!r}", f"use {', '.join(KEYS)}")
    return keys


def _spent(calls: pd.DataFrame) -> pd.Series[Any]:
    """How long single calls took; NaN where the end is not known."""
    spent = (calls["end"] - calls["start"]).clip(lower=0)
    ended = calls["end"] > 0
    return spent if ended.all() else spent.where(ended)


def _timed(table: pd.DataFrame) -> pd.DataFrame:
    renamed = table.rename(columns={"total": "host_ns", "least": "min_ns", "most": "max_ns"})
    unknown = renamed["min_ns"] == _NOT_KNOWN
    if unknown.any():
        known = {name: renamed[name].mask(unknown) for name in ("min_ns", "max_ns")}
        # Without any known duration, or size, the sum of them is not known either.
        for name, lacking in (("host_ns", "untimed"), ("bytes", "unsized")):
            known[name] = renamed[name].mask(unknown & (renamed[lacking] == renamed["calls"]))
        renamed = renamed.assign(**known)
    timed = renamed["calls"] - renamed["untimed"]
    return renamed.assign(mean_ns=renamed["host_ns"] / timed.where(timed > 0))


def _ranked(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    # Ties in the order of the keys: the same trace always gives the same table.
    order = ["host_ns", *keys]
    return table.sort_values(order, ascending=[False, *[True] * len(keys)], ignore_index=True)


def _labelled(table: pd.DataFrame, label: Callable[[int], str]) -> pd.DataFrame:
    if "gpu" not in table:
        return table
    return table.assign(gpu=pd.Series([label(place) for place in table["gpu"]], table.index, dtype="str"))
