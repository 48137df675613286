"""What a trace says first, in one sentence: which line moves most, between whom, and how well it uses the links."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from snoopie.analysis import sums
from snoopie.analysis.traffic import counts
from snoopie.joined.gpus import HOST
from snoopie.words import units
from snoopie.words.names import brief_name

_VERBS = {
    "store": ("sends", "to"), "reduction": ("sends", "to"), "load": ("fetches", "from"), "atomic": ("updates", "on"),
}  # fmt: skip
# A share that is as good as these is called so.
_HALF = 0.02
_ALL = 0.995
# Of instructions whose width the collector does not know.
_UNKNOWN = "Kernels reached memory outside their GPU, but how many bytes they moved is not known."
# What is less of the most that a GPU issues to one place, flags and the like, has no part in the pattern.
_LEAST = 0.01


def sentence(traffic: pd.DataFrame, gpus: int, copied: int) -> str:
    """``traffic`` has file line kernel issuer owner operation and amounts; ``copied``: what the host's copies moved."""
    every = ["file", "line", "kernel", "operation", "issuer", "owner"]
    table = counts.plain(counts.settled(traffic, every, ["accesses", "bytes", "wire_bytes"]))
    whole = int(table["bytes"].sum())
    if not whole:
        moved = f" The host's copies moved {units.bytes(copied)}." if copied else ""
        reached = table["accesses"].any()
        return f"{_UNKNOWN if reached else 'No kernel reached memory outside its GPU.'}{moved}"
    keys, of_lines = ["kernel"], table[table["line"] > 0]
    if of_lines["bytes"].sum() > whole / 2:
        keys, table = ["file", "line"], of_lines
    of_each = sums.by(table, keys, ["bytes"]).sort_values(["bytes", *keys], ascending=[False, *[True] * len(keys)])
    first = of_each[keys].iloc[0].tolist()
    chosen = table[
        np.logical_and.reduce([table[key].to_numpy() == value for key, value in zip(keys, first, strict=True)])
    ]
    name = f"{str(first[0]).rpartition('/')[2]}:{first[1]}" if len(keys) > 1 else f"Kernel {brief_name(str(first[0]))}"
    by_operation = sums.by(chosen, ["operation"], ["bytes"])
    most = by_operation["operation"][by_operation["bytes"] == by_operation["bytes"].max()].min()
    verb, towards = _VERBS.get(str(most), ("moves", "with"))
    wire = int(chosen["wire_bytes"].sum())
    well = f", {units.percent(int(chosen['bytes'].sum()) / wire)} efficient" if wire else ""
    share = int(of_each["bytes"].iloc[0]) / whole
    return f"{name} {verb} {_part(share)}, {_between(_ends(chosen), gpus, towards)}{well}."


def _ends(traffic: pd.DataFrame) -> dict[int, set[int]]:
    """Of each issuer the owners that it reached with more than a small part of what it moved to one."""
    moved: dict[int, dict[int, int]] = {}
    for issuer, owner, amount in sums.by(traffic, ["issuer", "owner"], ["bytes"]).itertuples(index=False):
        moved.setdefault(int(issuer), {})[int(owner)] = int(amount)
    return {
        issuer: {owner for owner, amount in of_owners.items() if amount >= _LEAST * max(of_owners.values())}
        for issuer, of_owners in moved.items()
    }


def _part(share: float) -> str:
    if share >= _ALL:
        return "all bytes"
    return "half of all bytes" if abs(share - 0.5) < _HALF else f"{units.percent(share)} of all bytes"


def _between(ends: Mapping[int, Collection[int]], gpus: int, towards: str) -> str:
    """Who issued to whom, by issuer the owners: where a pattern has a name, that."""
    who = "each GPU" if len(ends) == gpus > 1 else units.plural(len(ends), "GPU", "GPUs")
    if all(HOST in owners and len(owners) > 1 for owners in ends.values()):
        others = {issuer: {owner for owner in owners if owner != HOST} for issuer, owners in ends.items()}
        return f"{_between(others, gpus, towards)} and the host"
    every = {owner for owners in ends.values() for owner in owners}
    numbers = {len(owners) for owners in ends.values()}
    steps = {(owner - issuer) % gpus for issuer, owners in ends.items() for owner in owners if owner >= 0}
    if every == {HOST}:
        whom = "the host"
    elif min(every) < 0 or len(numbers) > 1:
        whom = f"up to {units.plural(max(numbers), 'place', 'places')}"
    elif numbers == {1}:
        whom = "the next one" if gpus > 2 and (steps == {1} or steps == {gpus - 1}) else "one other"
    elif numbers == {gpus - 1} and gpus > 3:
        whom = "all others"
    elif steps == {1, gpus - 1}:
        whom = "its two neighbours"
    else:
        whom = f"{max(numbers)} others"
    return f"{who} {towards} {whom}"
