"""The traffic by kernel, line, operation and pair at once: what the page adds up again for each filter.

What is too much for a file is added up, never dropped: sums of the page are those of the trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.api.trace import Trace
from snoopie.report.interactive.limits import Limits
from snoopie.trace.schema import OPERATIONS

AMOUNTS = ("bytes", "wire_bytes", "accesses")
_KEYS = ("kernel", "line", "operation", "issuer", "owner")
_MARGINS = {"kernel": ["kernel"], "line": ["line"], "pair": ["operation", "issuer", "owner"]}


@dataclass(frozen=True)
class Cells:
    """``table``: kernel line operation issuer owner, as numbers of the lists (one more is all others), and AMOUNTS.

    ``left``: how many of each the trace has beyond those lists; ``together``: of how many rows of the trace the table
    says neither kernel nor line. Where there are such, ``margins`` has the whole sums by kernel, by line and by pair.
    """

    places: list[str]
    gpus: list[bool]  # of places
    kernels: list[str]
    lines: list[tuple[str, int]]
    table: pd.DataFrame
    left: dict[str, int]
    together: int
    margins: dict[str, pd.DataFrame]


def cells(trace: Trace, limits: Limits) -> Cells:
    """The cells of a trace."""
    moved = trace.by("kernel", "file", "line", "operation", "issuer", "owner")
    places = _places(trace, moved, limits.places)
    kernels = _first(moved, ["kernel"], limits.kernels)
    lines = _first(moved, ["file", "line"], limits.lines)
    table = moved[list(AMOUNTS)].assign(
        kernel=_numbers(kernels, moved["kernel"]),
        line=_numbers(lines, pd.MultiIndex.from_frame(moved[["file", "line"]])),
        operation=pd.Index(OPERATIONS).get_indexer(pd.Index(moved["operation"])),
        issuer=_numbers(places, moved["issuer"]),
        owner=_numbers(places, moved["owner"]),
    )
    # Most bytes first: what comes late is little.
    rest = np.arange(len(table)) >= limits.cells
    margins = {name: _sums(table, keys) for name, keys in _MARGINS.items()} if rest.any() else {}
    table.loc[rest, ["kernel", "line"]] = [len(kernels), len(lines)]
    return Cells(
        [str(place) for place in places],
        places.isin(trace.gpus["label"]).tolist(),
        [str(kernel) for kernel in kernels],
        [(str(file), int(line)) for file, line in lines],
        _sums(table, _KEYS),
        {
            "places": len(set(moved["issuer"]) | set(moved["owner"])) - int(places.isin(_ends(moved)).sum()),
            "kernels": moved["kernel"].nunique() - len(kernels),
            "lines": len(moved[["file", "line"]].drop_duplicates()) - len(lines),
        },
        int(rest.sum()),
        margins,
    )


def columns(table: pd.DataFrame) -> dict[str, list[int]]:
    """A table for JSON."""
    return {str(name): table[name].tolist() for name in table.columns}


def _sums(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    return table.groupby(list(keys), sort=False)[list(AMOUNTS)].sum().reset_index()


def _places(trace: Trace, moved: pd.DataFrame, most: int) -> pd.Index[Any]:
    """All that a matrix shows in its order, or, where these are too many, those with most traffic."""
    used = set(_ends(moved))
    known = trace.places
    shown = (known["kind"] == "gpu") | known["label"].isin(used)
    every: pd.Index[Any] = pd.Index(known.loc[shown, "label"], name="issuer")
    if len(every) <= most:
        return every
    ends = pd.concat([moved.set_index(end)["bytes"] for end in ("issuer", "owner")])
    sums = ends.groupby(level=0).sum().reindex(every, fill_value=0)
    largest = set(sums.sort_values(ascending=False, kind="stable").index[:most])
    return every[[label in largest for label in every]]


def _ends(moved: pd.DataFrame) -> list[str]:
    return [*moved["issuer"].unique(), *moved["owner"].unique()]


def _first(moved: pd.DataFrame, keys: Sequence[str], most: int) -> pd.Index[Any]:
    """Those with most bytes, among equals in their own order."""
    sums = moved.groupby(list(keys) if len(keys) > 1 else keys[0])["bytes"].sum()
    return sums.sort_values(ascending=False, kind="stable").index[:most]


def _numbers(of: pd.Index[Any], values: Any) -> NDArray[np.int64]:
    """The place of each value in an index; behind its end for what is not in it."""
    found = of.get_indexer(pd.Index(values))
    return np.where(found < 0, len(of), found).astype(np.int64)
