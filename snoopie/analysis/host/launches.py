"""Launches one by one, and by the calls that made them. Times are nanoseconds of host time; nothing is scaled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.traffic import counts as _counts
from snoopie.errors import UsageError

Order = Literal["bytes", "ran", "start"]
ORDERS: tuple[Order, ...] = ("bytes", "ran", "start")
_SUMS = ["bytes", "accesses", "wire_bytes"]
_COLUMNS = (
    "launch kernel issuer process rank stream thread grid block shared_memory began ran bytes accesses wire_efficiency "
    "group stack"
)


def single(
    launches: pd.DataFrame,
    when: pd.DataFrame,
    traffic: pd.DataFrame,
    ranks: pd.Series[int],
    label: Callable[[int], str],
    order: Order,
    limit: int,
    origin: int,
) -> pd.DataFrame:
    """The first launches in that order: _COLUMNS, see `Trace.single_launches`. ``when`` is the `timeline.timeline`, and
    they began so long after ``origin``."""
    if order not in ORDERS:
        raise UsageError(f"launches cannot be ordered by {order!r}", f"use one of {', '.join(ORDERS)}")
    sums = _of_launches(launches, traffic)
    begun, ended = when["start"].to_numpy(), when["end"].to_numpy()
    ran = np.where(when["spanned"].to_numpy(), ended - begun, -1)
    key = {"bytes": -sums["bytes"].to_numpy(), "ran": -ran, "start": begun}[order]
    first = np.lexsort((launches.index.to_numpy(), key))[:limit]
    table = launches.iloc[first].reset_index()
    table = table.assign(
        issuer=pd.Series([label(int(place)) for place in table["gpu"]], dtype="str"),
        rank=ranks.reindex(table["process"].to_numpy()).to_numpy(),
        grid=_shapes(table, "grid"),
        block=_shapes(table, "block"),
        began=(begun - origin)[first],
        ran=ran[first],
        **{name: sums[name].to_numpy()[first] for name in _SUMS},
    )
    table["wire_efficiency"] = _counts.efficiency(table)
    return table[_COLUMNS.split()]


def by_stack(launches: pd.DataFrame, traffic: pd.DataFrame) -> pd.DataFrame:
    """stack launches bytes accesses: of the launches of each call stack, most bytes first."""
    sums = _of_launches(launches, traffic)
    sums = sums.assign(launches=1, stack=launches["stack"].to_numpy())
    table = sums.groupby("stack")[["launches", "bytes", "accesses"]].sum().reset_index()
    return table.sort_values(["bytes", "launches", "stack"], ascending=[False, False, True], ignore_index=True)


def _of_launches(launches: pd.DataFrame, traffic: pd.DataFrame) -> pd.DataFrame:
    """What each launch moved, in their order; ``traffic`` has launch and the sums, weighted or not."""
    sums = traffic.groupby("launch")[_SUMS].sum()
    return sums.reindex(launches.index, fill_value=0).reset_index(drop=True)


def _shapes(table: pd.DataFrame, what: str) -> pd.Series[str]:
    """ "4", "4 × 2", "4 × 2 × 3"; "" where it is not known."""
    sizes: Iterable[NDArray[np.int64]] = table[[f"{what}_{axis}" for axis in "xyz"]].to_numpy()
    return pd.Series([_shape(size.tolist()) for size in sizes], dtype="str")


def _shape(size: list[int]) -> str:
    while len(size) > 1 and size[-1] <= 1:
        size = size[:-1]
    return " × ".join(map(str, size)) if size[0] else ""
