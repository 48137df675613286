"""Copies into the memory of one GPU whose data kernels of another then read remotely."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from snoopie.analysis.findings.facts import Facts, rows
from snoopie.analysis.findings.finding import Evidence, Finding, Rule
from snoopie.analysis.findings.thresholds import LEAST_SHARE, LEAST_WIRE, MISPLACED
from snoopie.analysis.traffic import counts
from snoopie.trace.tables import Ints
from snoopie.words import units


def _find(facts: Facts) -> Iterator[Finding]:
    copies = facts.copies.assign(object=facts.held("destination"))
    copies = copies[(copies["object"] > 0) & (copies["destination"] >= 0)]
    loads = facts.by_site.loc[facts.by_site["operation"] == "load", "wire_bytes"]
    # The records are gone through only where something can be found.
    if copies.empty or not LEAST_WIRE.crossed(int(loads.sum())):
        return
    reads = _unchanged(facts, copies)
    amounts = counts.settled(reads, ["object", "owner", "gpu"], ["wire_bytes"])
    copied_in = copies.groupby("object")["bytes"].sum()
    for area in rows(amounts[["object", "owner"]].drop_duplicates()):
        number, owner = area["object"], area["owner"]
        some = amounts[(amounts["object"] == number) & (amounts["owner"] == owner)]
        bytes, copied = int(some["wire_bytes"].sum()), int(copied_in[number])
        share = bytes / max(facts.totals["wire_bytes"], 1)
        # Of several readers each would have its own copy.
        part = bytes / len(some) / copied if copied else 0.0
        if not (LEAST_WIRE.crossed(bytes) and LEAST_SHARE.crossed(share) and MISPLACED.crossed(part)):
            continue
        readers = facts.joined_labels(some["gpu"])
        yield Finding(
            title=(
                f"{units.bytes(copied)} were copied to {facts.label(owner)}, into {facts.object_called(number)}; "
                f"kernels on {readers} then read {units.bytes(bytes)} from it remotely"
            ),
            numbers={
                MISPLACED.number: part,
                LEAST_WIRE.number: bytes,
                "bytes copied in": copied,
                LEAST_SHARE.number: share,
            },
            bytes=bytes,
            spared=bytes,
            share=share,
            evidence=Evidence("objects", {"object": str(number)}),
            issuer=readers,
            owner=facts.label(owner),
            object=number,
        )


def _unchanged(facts: Facts, copies: pd.DataFrame) -> pd.DataFrame:
    """The loads from objects that were copied into, by launches since whose last copy the object's owner has not
    launched anything that could have changed what was copied; with gpu (the reader)."""
    tables = facts.tables
    divided = facts.divided()
    operation = tables.sites["operation"].to_numpy()[tables.site_places.of(divided["site"].to_numpy())]
    reads = divided[(operation == "load") & (divided["owner"] >= 0) & divided["object"].isin(copies["object"])]
    rows = tables.launch_places.of(reads["launch"].to_numpy())
    launched = tables.launches["time"].to_numpy()
    reads = reads.assign(gpu=tables.launches["gpu"].to_numpy()[rows], time=launched[rows])
    kept = np.zeros(len(reads), np.bool_)
    owners = tables.launches["gpu"].to_numpy()
    for (number, owner), places in reads.groupby(["object", "owner"]).indices.items():
        when = reads["time"].to_numpy()[places]
        copied = _last(copies.loc[copies["object"] == number, "start"].to_numpy(), when)
        kept[places] = (copied > 0) & (_last(launched[owners == owner], when) < copied)
    unchanged: pd.DataFrame = reads[kept]
    return unchanged


def _last(times: Ints, before: Ints) -> Ints:
    """The last of some times before each moment, 0 where there is none."""
    ordered = np.concatenate([[0], np.sort(times)])
    found: Ints = ordered[np.searchsorted(ordered, before, "left") - 1]
    return found


RULE = Rule(
    name="misplaced-copies",
    title="Copied data that another GPU's kernels read remotely",
    about=(
        "A copy writes to an allocation on one GPU, and kernels on another GPU then load from it before the owner has"
        " launched a kernel that could have changed it, so they read the copied data. Only measured launches are "
        "known: a kernel that -k leaves out may have changed the data. Applies only where the touched allocation is "
        "known."
    ),
    thresholds=(MISPLACED, LEAST_WIRE, LEAST_SHARE),
    remedy="Copy the data into the memory of the GPU that reads it; if several GPUs read it, give each its own copy.",
    basis="records",
    find=_find,
)
