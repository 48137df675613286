"""Sums of calls, as the kernel part keeps them → call_totals, call_times and call_errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.trace.writer import DIRECTIONS, TableWriter
from snoopie.watch import results

Rows = NDArray[Any]

_KEY = ["tid", "function", "gpu", "direction"]
_VALUES = ["calls", "errors", "total", "least", "most", "bytes"]
_OTHER, _WITHIN = DIRECTIONS.index("other"), DIRECTIONS.index("device to device")


def refined(sums: pd.DataFrame, copies: pd.DataFrame) -> pd.DataFrame:
    """The sums, where single ``copies`` (tid function gpu direction towards spent failed bytes) say more exactly where
    they went than the call does. What no single copy tells stays as it is, so that sums stay exact."""
    known = copies[copies["towards"] != copies["direction"]]
    if known.empty:
        return sums
    single = known.assign(
        calls=1, errors=known["failed"], total=known["spent"], least=known["spent"], most=known["spent"]
    )
    how = dict.fromkeys(("calls", "errors", "total", "bytes"), "sum") | {"least": "min", "most": "max"}
    taken = single.groupby(_KEY, sort=False).agg(how).reset_index()
    added = single.groupby([*_KEY, "towards"], sort=False).agg(how).reset_index()
    added = added.assign(direction=added["towards"], kernel=0).drop(columns="towards")
    table = sums.merge(taken, on=_KEY, how="left", suffixes=("", "_taken"))
    for name in ("calls", "errors", "total", "bytes"):
        table[name] -= table[f"{name}_taken"].fillna(0).astype(np.int64)
    return pd.concat([table.loc[table["calls"] > 0, sums.columns], added[sums.columns]], ignore_index=True)


def table_of(rows: Rows) -> pd.DataFrame:
    """Rows of sums of one process as a table of whole numbers."""
    table = pd.DataFrame({name: rows[name].astype(np.int64) for name in ("kernel", *_KEY, *_VALUES)})
    # Those between GPUs are by pair, of which this table has no columns.
    how = dict.fromkeys(("calls", "errors", "total", "bytes"), "sum") | {"least": "min", "most": "max"}
    table["direction"] &= 255
    return table.groupby(["kernel", *_KEY], sort=False).agg(how).reset_index()


def write_sums(
    writer: TableWriter,
    table: pd.DataFrame,
    time: int,
    functions: Sequence[str],
    gpu: Callable[[Rows], Rows],
    kernel: Callable[[int], str],
) -> None:
    """Writes call_totals. ``gpu`` makes codes of owners, ``kernel`` names of handles."""
    if table.empty:
        return
    names = {handle: kernel(handle) if handle else "" for handle in table["kernel"].unique().tolist()}
    # Several handles can be of one kernel.
    table = table.assign(named=writer.intern_all(names[handle] for handle in table["kernel"].tolist()))
    how = dict.fromkeys(("calls", "errors", "total", "bytes"), "sum") | {"least": "min", "most": "max"}
    table = table.groupby([*_KEY, "named"], sort=False).agg(how).reset_index()
    calls = writer.intern_all(functions[number] for number in table["function"].tolist())
    values = {name: table[name].to_numpy(np.int64) for name in _VALUES}
    writer.write(
        "call_totals", time=time, call=calls, kernel=table["named"].to_numpy(), thread=table["tid"].to_numpy(),
        gpu=gpu(table["gpu"].to_numpy()), direction=table["direction"].to_numpy(), **values,
    )  # fmt: skip


def write_times(writer: TableWriter, rows: Rows, functions: Sequence[str], gpu: Callable[[Rows], Rows]) -> None:
    """Writes call_times."""
    place, log2 = np.nonzero(rows["calls"])
    if len(place):
        writer.write(
            "call_times", call=writer.intern_all(functions[number] for number in rows["function"][place].tolist()),
            thread=rows["tid"][place], gpu=gpu(rows["gpu"][place].astype(np.int64)), log2=log2,
            calls=rows["calls"][place, log2],
        )  # fmt: skip


def write_errors(writer: TableWriter, rows: Rows, functions: Sequence[str], gpu: Callable[[Rows], Rows]) -> None:
    """Writes call_errors."""
    if len(rows):
        writer.write(
            "call_errors", call=writer.intern_all(functions[number] for number in rows["function"].tolist()),
            thread=rows["tid"], gpu=gpu(rows["gpu"].astype(np.int64)), code=rows["code"],
            name=writer.intern_all(results.name(code) for code in rows["code"].tolist()), calls=rows["calls"],
        )  # fmt: skip
