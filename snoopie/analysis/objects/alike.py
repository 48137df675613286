"""Allocations that are one array of the program: every rank makes its own at the same place, or one process makes one
for each GPU, and whoever maps the memory of others sees each of them once more."""

from __future__ import annotations

import re

import pandas as pd

from snoopie.analysis.traffic import counts
from snoopie.words import units

# What has none of these in common is not the same array.
_MADE = ["kind", "call", "name", "source"]
_NAMED = 3
_GPU = re.compile(r"GPU (\d+)")


def arrays(objects: pd.DataFrame, names: pd.Series[str], sources: pd.Series[str]) -> pd.DataFrame:
    """object → array (the first object of it), name (its variable, else who allocated it, counted where that is of
    several arrays). ``names`` and ``sources``: of each object, in the order of ``objects``.

    The n-th that a process makes at a place, of memory of one owner, is taken for the n-th of each other process and
    owner: ranks run the same program. What has neither a name nor a source stands alone.
    """
    table = pd.DataFrame(
        {
            "object": objects.index.to_numpy(),
            **{name: objects[name].astype("str").to_numpy() for name in ("kind", "call")},
            **{name: objects[name].to_numpy() for name in ("process", "owner")},
            "name": names.to_numpy(),
            "source": sources.to_numpy(),
        }
    )
    table["number"] = table.groupby([*_MADE, "process", "owner"], sort=False).cumcount()
    array = table.groupby([*_MADE, "number"], sort=False)["object"].transform("min")
    called = table["name"].where(table["name"] != "", table["source"])
    table["array"] = array.where(called != "", table["object"])
    several = table.groupby(called)["array"].transform("nunique") > 1
    place = table.groupby(called)["array"].rank("dense").astype("int64")
    counted = called + " (" + place.astype("str") + ")"
    table["name"] = called.where((called == "") | ~several, counted)
    return table.set_index("object")[["array", "name"]]


def merged(table: pd.DataFrame, arrays: pd.DataFrame) -> pd.DataFrame:
    """A table of objects with one row an array: that of its busiest object, with ``allocations`` (how many the array
    is), the owners of all, the largest size, and sums. What other GPUs touched most comes first."""
    table = table.sort_values("bytes", ascending=False, kind="stable")
    own = arrays.reindex(table["object"].to_numpy())
    array = own["array"].fillna(0).astype("int64").to_numpy()
    groups = table.assign(array=array, called=own["name"].fillna("").to_numpy()).groupby("array", sort=False)
    first = groups.first()
    sums = [*counts.VALUES, *(name for name in ("copied_in", "copied_out") if name in table)]
    whole = first.assign(
        name=first["called"],
        allocations=arrays["array"].value_counts().reindex(first.index, fill_value=1),
        owner=groups["owner"].agg(_joined),
        size=groups["size"].max(),
        allocated=groups["allocated"].min(),
        # 0 is never, which is later than any time.
        freed=groups["freed"].max().where(groups["freed"].min() > 0, 0),
        exact=groups["exact"].all(),
        **{name: groups[name].sum() for name in sums},
    )
    whole["wire_efficiency"] = counts.efficiency(whole)
    columns = [str(name) for name in table.columns]
    ranked = whole.sort_values("bytes", ascending=False, kind="stable").reset_index(drop=True)
    return ranked[["object", "allocations", *columns[1:]]]


def _joined(labels: pd.Series[str]) -> str:
    """Some owners: "GPUs 0–3", or the first of many and how many more."""
    every = sorted(set(labels))
    gpus = [_GPU.fullmatch(label) for label in every]
    if len(every) > 1 and all(gpus):
        return f"GPUs {units.numbers(int(found[1]) for found in gpus if found)}"
    more = len(every) - _NAMED
    return ", ".join(every[:_NAMED] if more > 1 else every) + (f" and {more} more" if more > 1 else "")
