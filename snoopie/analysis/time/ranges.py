"""What was called within ranges that the program named: NVTX ranges and regions.

A pushed range holds the calls of its thread, a started one those of all threads of its process, from its start until
before its end. All is linear but for sorting, whatever overlaps what: calls and the ends of ranges are sorted together,
so that a range is a run of neighbouring calls, and what they moved is a difference of two sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.traffic.counts import VALUES, efficiency, summarise
from snoopie.trace.tables import Ints

THREAD, PROCESS = "thread", "process"
_NEVER = np.iinfo(np.int64).max
_LONGEST = 1 << 61
_KEY = ["range", "domain", "of"]


@dataclass(frozen=True, slots=True)
class _Runs:
    """``order``: rows of calls, by thread (or process) and time; ``first`` and ``last`` of each range: its places
    there."""

    order: Ints
    first: Ints
    last: Ints


def _runs(ranges: pd.DataFrame, calls: pd.DataFrame, time: str, line: Sequence[str]) -> _Runs:
    """Where in the calls of its line each range begins, and where the first call after it is."""
    opens = _moments(ranges["start"])
    closes = np.where(_moments(ranges["end"]) > 0, _moments(ranges["end"]), _NEVER)
    made = _moments(calls[time])
    times = np.concatenate([closes, opens, made])
    # At one moment a range ends before another begins, and the call comes after both.
    kind = np.repeat([0, 1, 2], [len(ranges), len(ranges), len(calls)])
    columns = [ranges[name].to_numpy(np.int64) for name in line], [calls[name].to_numpy(np.int64) for name in line]
    keys = [np.concatenate([of_range, of_range, of_call]) for of_range, of_call in zip(*columns, strict=True)]
    order = np.lexsort([kind, times, *reversed(keys)])
    is_call = kind[order] == 2
    before = np.empty(len(order), np.int64)
    before[order] = np.cumsum(is_call) - is_call
    last, first = before[: len(ranges)], before[len(ranges) : 2 * len(ranges)]
    # What ends before it begins holds nothing.
    return _Runs(order[is_call] - 2 * len(ranges), first, np.maximum(first, last))


def _each(ranges: pd.DataFrame, calls: pd.DataFrame, time: str) -> list[tuple[NDArray[np.bool_], _Runs]]:
    """For those of a thread, and those of a process: which rows they are, and their runs."""
    pushed = ranges["pushed"].to_numpy(np.bool_)
    return [
        (pushed, _runs(ranges[pushed], calls, time, ["process", "thread"])),
        (~pushed, _runs(ranges[~pushed], calls, time, ["process"])),
    ]


def inside(ranges: pd.DataFrame, calls: pd.DataFrame, time: str) -> NDArray[np.bool_]:
    """Which rows of a table with process, thread and a column of times were called within any of the ranges."""
    found = np.zeros(len(calls), np.bool_)
    for _, runs in _each(ranges, calls, time):
        depth = np.zeros(len(calls) + 1, np.int64)
        np.add.at(depth, runs.first, 1)
        np.add.at(depth, runs.last, -1)
        found[runs.order[np.cumsum(depth[:-1]) > 0]] = True
    # What has no time is in none.
    return found & (_moments(calls[time]) > 0)


def by_range(
    ranges: pd.DataFrame, launches: pd.DataFrame, traffic: pd.DataFrame, copies: pd.DataFrame, until: int
) -> pd.DataFrame:
    """range domain of (thread or process) times duration (ns) launches measured, VALUES, wire_efficiency, copies,
    copy_bytes: most bytes first, then longest; what is in no range has the range "" and, of, "".

    ``launches`` can have the column weight. A range that did not end is ``until`` then.
    """
    moved = summarise(traffic, ["launch"]).set_index("launch").reindex(launches.index, fill_value=0)
    one = np.ones(len(launches), np.int64)
    weight = launches["weight"].to_numpy() if "weight" in launches else one
    of_launches: dict[str, NDArray[Any]] = {"launches": weight, "measured": one}
    of_launches |= {name: moved[name].to_numpy() * weight for name in VALUES}
    of_copies = {"copies": np.ones(len(copies), np.int64), "copy_bytes": copies["bytes"].to_numpy(np.int64)}
    named = pd.DataFrame(
        {
            "range": ranges["name"].astype("str"),
            "domain": ranges["domain"].astype("str"),
            "of": pd.Series(np.where(ranges["pushed"], THREAD, PROCESS), ranges.index, dtype="str"),
            "times": np.int64(1),
            "duration": _durations(ranges, until).astype(np.float64),
        }
    )
    key: Ints = named.groupby(_KEY, sort=False).ngroup().to_numpy().astype(np.int64)
    table = named.groupby(_KEY, sort=False)[["times", "duration"]].sum().reset_index()
    # Exact up to 100 days; what a file claims beyond any time must not turn negative.
    table["duration"] = table["duration"].clip(upper=_LONGEST).astype(np.int64)
    outside: dict[str, Any] = {"range": "", "domain": "", "of": "", "times": 0, "duration": 0}
    for amounts, calls, time in ((of_launches, launches, "time"), (of_copies, copies, "start")):
        for name, (within, without) in _sums(ranges, key, len(table), calls, time, amounts).items():
            table[name] = within
            outside[name] = without
    if outside["launches"] or outside["copies"]:
        table = pd.concat([table, pd.DataFrame([outside])], ignore_index=True)
    numbers = ["launches", "measured", *VALUES, "copies", "copy_bytes"]
    table[numbers] = table[numbers].round().astype(np.int64)
    table["wire_efficiency"] = efficiency(table)
    order = ["times", "duration", "launches", "measured", *VALUES, "wire_efficiency", "copies", "copy_bytes"]
    return table[[*_KEY, *order]].sort_values(
        ["bytes", "copy_bytes", "duration", *_KEY], ascending=[False, False, False, True, True, True], ignore_index=True
    )


def _sums(
    ranges: pd.DataFrame, key: Ints, keys: int, calls: pd.DataFrame, time: str, amounts: Mapping[str, NDArray[Any]]
) -> dict[str, tuple[NDArray[Any], Any]]:
    """Of each amount the sum by key, and that of what is in no range. A call counts once, however often its key is
    open."""
    result = {name: np.zeros(keys, values.dtype) for name, values in amounts.items()}
    for rows, runs in _each(ranges, calls, time):
        table = pd.DataFrame({"key": key[rows], "first": runs.first, "last": runs.last})
        table = table.sort_values(["key", "first"], kind="stable", ignore_index=True)
        counted = table.groupby("key")["last"].cummax().groupby(table["key"]).shift(fill_value=0).to_numpy()
        first = np.maximum(table["first"].to_numpy(), counted)
        last = np.maximum(table["last"].to_numpy(), first)
        for name, values in amounts.items():
            before = np.concatenate([np.zeros(1, values.dtype), np.cumsum(values[runs.order])])
            np.add.at(result[name], table["key"].to_numpy(), before[last] - before[first])
    rest = ~inside(ranges, calls, time)
    return {name: (result[name], values[rest].sum()) for name, values in amounts.items()}


def _durations(ranges: pd.DataFrame, until: int) -> Ints:
    start, end = _moments(ranges["start"]), _moments(ranges["end"])
    lasted: Ints = np.maximum(np.where(end > 0, end, until) - start, 0)
    return lasted


def _moments(column: pd.Series[int]) -> Ints:
    return column.to_numpy().astype(np.int64)
