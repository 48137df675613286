"""The counts with what they amount to, and how many launches each launch stands for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.joined.columns import JoinedColumns
from snoopie.joined.limits import check_sums
from snoopie.trace.tables import Ints

COUNT_VALUES = ("accesses", "lanes", "wire_units", "bytes", "wire_bytes")


def all_counts(
    columns: JoinedColumns,
    width_of: Callable[[Ints], Ints],
    wire_unit_of: Callable[[Ints], Ints],
    issuer_of: Callable[[Ints], Ints],
) -> pd.DataFrame:
    """The rows of counts of all sites, measured or not. Refuses sums that no machine can reach.

    ``width_of`` has the widths of sites, ``wire_unit_of`` the units in which links carry what they move, ``issuer_of``
    the GPUs of launches.
    """
    columns = columns.read("counts", ("launch", "site", "owner", "accesses", "lanes", "wire_units", "object"))
    launches, sites = columns.joined("counts", "launch"), columns.joined("counts", "site")
    width, unit = width_of(sites), wire_unit_of(sites)
    values = {name: columns.raw("counts", name) for name in ("accesses", "lanes", "wire_units")}
    wide = values["lanes"].astype(np.float64) * width
    amounts = [*values.values(), wide, values["wire_units"].astype(np.float64) * unit]
    check_sums("counts", columns.sources, [amounts])
    return pd.DataFrame(
        {
            "launch": launches,
            "site": sites,
            "issuer": issuer_of(launches),
            "owner": columns.joined("counts", "owner"),
            "process": columns.process("counts"),
            **values,
            "bytes": values["lanes"] * width,
            "wire_bytes": values["wire_units"] * unit,
            "object": columns.joined("counts", "object"),
        }
    )


def launch_weights(launches: pd.DataFrame, sampling: pd.DataFrame) -> NDArray[np.float64]:
    """For each row of ``launches``, how many launches it stands for."""
    keys = ["function", "gpu"]
    sums = sampling[sampling["measured"] > 0].groupby(keys)[["launches", "measured"]].sum()
    rows = sums.index.get_indexer(pd.MultiIndex.from_frame(launches[keys]))
    # The last is for kernels of which all launches were measured, whose row is -1.
    weights = np.append((sums["launches"] / sums["measured"]).to_numpy(np.float64), 1.0)
    found: NDArray[np.float64] = weights[rows]
    return found
