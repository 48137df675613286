"""Single calls → the table of calls and the tables of their sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from snoopie.trace.writer import TraceWriter

Ints = NDArray[np.int64]


def write_call_tables(
    writer: TraceWriter, columns: Mapping[str, ArrayLike], meaning: Callable[[int], str], *, totals: bool = True,
    first: int = 1,
) -> None:  # fmt: skip
    """Writes calls, call_totals (unless ``totals`` is False), call_times and call_errors.

    Many calls can be written part by part: ``first`` is the id of the first of these.

    ``columns`` are call, kernel (strings of the trace), thread, gpu (a code), direction, start, end (host ns), code
    and bytes; ``meaning`` names a code that is not 0.
    """
    table = pd.DataFrame({name: np.asarray(values, np.int64) for name, values in columns.items()})
    if table.empty:
        return
    given = {str(name): table[name].to_numpy() for name in table.columns}
    writer.write("calls", id=np.arange(first, first + len(table)), **given)
    spent = table["end"] - table["start"]
    failed = table["code"] != 0
    table = table.assign(
        calls=1,
        errors=failed.astype(np.int64),
        spent=spent,
        log2=np.frexp(np.maximum(spent, 1).astype(np.float64))[1].astype(np.int64) - 1,
    )
    if totals:
        _write_totals(writer, table.assign(bytes=table["bytes"].where(~failed, 0)))
    times = table.groupby(["call", "thread", "gpu", "log2"], sort=False).agg(calls=("calls", "sum"))
    writer.write("call_times", **_columns(times))
    errors = table[failed].groupby(["call", "thread", "gpu", "code"], sort=False).agg(calls=("calls", "sum"))
    names = writer.intern_all(meaning(int(code)) for code in errors.index.get_level_values("code"))
    writer.write("call_errors", name=names, **_columns(errors))


def _write_totals(writer: TraceWriter, table: pd.DataFrame) -> None:
    sums = table.groupby(["call", "kernel", "thread", "gpu", "direction"], sort=False).agg(
        calls=("calls", "sum"),
        errors=("errors", "sum"),
        total=("spent", "sum"),
        least=("spent", "min"),
        most=("spent", "max"),
        bytes=("bytes", "sum"),
    )
    writer.write("call_totals", time=table["end"].max(), **_columns(sums))


def _columns(table: pd.DataFrame) -> dict[str, Ints]:
    flat = table.reset_index()
    return {str(name): flat[name].to_numpy(np.int64) for name in flat.columns}
