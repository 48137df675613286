"""Columns → a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from snoopie.trace.tables import Ints


def frame(
    columns: Mapping[str, Sequence[str] | NDArray[Any]], index: str = "", ids: Ints | None = None
) -> pd.DataFrame:
    """A table; with ``ids`` these are its index, named ``index``."""
    data = {
        # With the dtype named, an empty column is one of strings as well.
        name: values if not isinstance(values, Sequence) and values.dtype != object else pd.Series(values, dtype="str")
        for name, values in columns.items()
    }
    # The arrays are nobody else's: a copy of all of them at once would be twice the memory.
    table = pd.DataFrame(data, copy=False)
    if ids is not None:
        table.index = pd.Index(ids, name=index)
    return table
