"""The counts with what they amount to, and how many launches each launch stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.joined.sums import check_sums

if TYPE_CHECKING:
    from snoopie.joined.tables import Tables

COUNT_VALUES = ("accesses", "lanes", "wire_units", "bytes", "wire_bytes")


def all_counts(tables: Tables) -> pd.DataFrame:
    """The rows of counts of all sites, measured or not. Refuses sums that no machine can reach."""
    columns = tables.columns
    launches, sites = columns.joined("counts", "launch"), columns.joined("counts", "site")
    width, unit = tables.widths(sites), tables.wire_unit_of(sites)
    values = {name: columns.raw("counts", name) for name in ("accesses", "lanes", "wire_units")}
    wide = values["lanes"].astype(np.float64) * width
    amounts = [*values.values(), wide, values["wire_units"].astype(np.float64) * unit]
    check_sums("counts", tables.sources, amounts)
    return pd.DataFrame(
        {
            "launch": launches,
            "site": sites,
            "issuer": tables.launches["gpu"].to_numpy()[tables.launch_places.of(launches)],
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
