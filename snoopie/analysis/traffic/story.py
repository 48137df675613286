"""What a trace says first, in one sentence: which line moves most, between whom, and how well it uses the links."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pandas as pd

from snoopie.analysis.traffic import counts
from snoopie.joined.gpus import HOST
from snoopie.words import units
from snoopie.words.names import short_name

_VERBS = {
    "store": ("sends", "to"), "reduction": ("sends", "to"), "load": ("fetches", "from"), "atomic": ("updates", "on"),
}  # fmt: skip
# A share that is as good as these is called so.
_HALF = 0.02
_ALL = 0.995
# What is less of the most that a GPU issues to one place, flags and the like, has no part in the pattern.
_LEAST = 0.01


def sentence(traffic: pd.DataFrame, sites: pd.DataFrame, gpus: int, copied: int) -> str:
    """``traffic`` has site issuer owner operation kernel and amounts; ``copied``: what the host's copies moved."""
    whole = int(traffic["bytes"].sum())
    if not whole:
        moved = f" The host's copies moved {units.bytes(copied)}." if copied else ""
        return f"No kernel reached memory outside its GPU.{moved}"
    own = sites.loc[traffic["site"], ["file", "line"]]
    rows = traffic.reset_index(drop=True).assign(
        file=own["file"].astype("str").to_numpy(),
        line=own["line"].to_numpy(),
        kernel=traffic["kernel"].astype("str").to_numpy(),
    )
    keys = ["file", "line"] if rows.loc[rows["line"] > 0, "bytes"].sum() > whole / 2 else ["kernel"]
    sums = counts.settled(rows, [*keys, "operation", "issuer", "owner"], ["bytes", "wire_bytes"])
    of_each = sums.groupby(keys)["bytes"].sum().sort_values(ascending=False, kind="stable")
    first = of_each.index[0]
    chosen = sums[(sums[keys] == list(first if len(keys) > 1 else [first])).all(axis=1)]
    name = f"{str(first[0]).rpartition('/')[2]}:{first[1]}" if len(keys) > 1 else f"Kernel {short_name(str(first))}"
    by_operation = chosen.groupby("operation")["bytes"].sum()
    verb, towards = _VERBS.get(str(by_operation.idxmax()), ("moves", "with"))
    wire = int(chosen["wire_bytes"].sum())
    well = f", {units.percent(int(chosen['bytes'].sum()) / wire)} efficient" if wire else ""
    by_pair = chosen.groupby(["issuer", "owner"])["bytes"].sum()
    most = by_pair[by_pair >= _LEAST * by_pair.groupby("issuer").transform("max")].reset_index()
    ends = {int(str(issuer)): set(owners) for issuer, owners in most.groupby("issuer")["owner"]}
    share = int(of_each.iloc[0]) / int(of_each.sum())
    return f"{name} {verb} {_part(share)}, {_between(ends, gpus, towards)}{well}."


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
