"""Host memory through which kernels of one GPU hand data to another that could be reached directly."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from snoopie.analysis.findings.facts import Facts, rows
from snoopie.analysis.findings.finding import Evidence, Finding, Rule
from snoopie.analysis.findings.repeated import covered
from snoopie.analysis.findings.thresholds import LEAST_MOVED_SHARE, LEAST_WIRE
from snoopie.analysis.traffic import counts
from snoopie.joined.gpus import HOST
from snoopie.words import units

_KEYS = ["object", "gpu"]


def _find(facts: Facts) -> Iterator[Finding]:
    at_host = facts.by_site["owner"] == HOST
    # The records are gone through only where something can be found.
    if not LEAST_WIRE.crossed(int(facts.by_site.loc[at_host, "wire_bytes"].sum())):
        return
    written, read = _used(facts)
    both = written.reset_index().merge(read.reset_index(), on="object", suffixes=("_from", "_to"))
    both = both[both["gpu_from"] != both["gpu_to"]]
    both["bytes"] = both[["bytes_from", "bytes_to"]].min(axis=1)
    both = both.sort_values("bytes", ascending=False, kind="stable")
    for number in both["object"].unique().tolist():
        kept = [
            pair
            for pair in rows(both[both["object"] == number])
            if facts.linked(pair["gpu_from"], pair["gpu_to"]) and _shared(facts, pair)
        ]
        bytes = sum(pair["bytes"] for pair in kept)
        total = facts.totals["wire_bytes"] + facts.copied
        if not kept or not (LEAST_WIRE.crossed(bytes) and LEAST_MOVED_SHARE.crossed(bytes / max(total, 1))):
            continue
        first = facts.joined_labels(pair["gpu_from"] for pair in kept)
        second = facts.joined_labels(pair["gpu_to"] for pair in kept)
        yield Finding(
            title=(
                f"{first} and {second} exchange data through host memory: {units.bytes(bytes)} via "
                f"{facts.object_called(number)}"
            ),
            numbers={
                LEAST_WIRE.number: bytes,
                "bytes written": sum({pair["gpu_from"]: pair["bytes_from"] for pair in kept}.values()),
                "bytes read": sum({pair["gpu_to"]: pair["bytes_to"] for pair in kept}.values()),
                LEAST_MOVED_SHARE.number: bytes / total,
            },
            bytes=bytes,
            share=bytes / total,
            evidence=Evidence("objects", {"object": str(number)}),
            issuer=first,
            owner=second,
            object=number,
        )


def _used(facts: Facts) -> tuple[pd.Series, pd.Series]:
    """Wire bytes that each GPU wrote to and read from each object of the host, by kernels and copies; of objects that
    kernels use."""
    divided = facts.divided()
    kernels = divided[(divided["owner"] == HOST) & (divided["object"] > 0)]
    launches, sites = facts.tables.launches["gpu"].to_numpy(), facts.tables.sites["operation"].to_numpy()
    kernels = kernels.assign(
        gpu=launches[facts.tables.launch_places.of(kernels["launch"].to_numpy())],
        operation=sites[facts.tables.site_places.of(kernels["site"].to_numpy())],
    )
    used = []
    for operations, end, other in (
        (["store", "atomic", "reduction"], "destination", "source"),
        (["load", "atomic"], "source", "destination"),
    ):
        device = counts.settled(kernels[kernels["operation"].isin(operations)], _KEYS, ["wire_bytes"])
        copies = facts.copies.assign(object=facts.held(end), gpu=facts.copies[other])
        copies = copies[copies["object"].isin(kernels["object"]) & (copies[end] == HOST) & (copies["gpu"] >= 0)]
        parts = [device.set_index(_KEYS)["wire_bytes"], copies.groupby(_KEYS)["bytes"].sum()]
        used.append(pd.concat(parts).groupby(level=_KEYS).sum().rename("bytes"))
    return used[0], used[1]


def _shared(facts: Facts, pair: dict[str, int]) -> bool:
    """Whether what was recorded of two GPUs' accesses has bytes that the one wrote and the other read; True where too
    little was recorded to tell."""
    intervals = facts.recorded().intervals
    own = intervals[intervals["object"] == pair["object"]]
    operation = facts.tables.sites["operation"].to_numpy()[facts.tables.site_places.of(own["site"].to_numpy())]
    written = own[(own["issuer"] == pair["gpu_from"]) & (operation != "load")]
    read = own[(own["issuer"] == pair["gpu_to"]) & (operation != "store") & (operation != "reduction")]
    if written.empty or read.empty:
        return True
    return covered(pd.concat([written, read])) < covered(written) + covered(read)


RULE = Rule(
    name="host-exchange",
    title="Data exchanged through host memory although peer access is possible",
    about=(
        "Kernels on one GPU write to an allocation in host memory that another GPU reads, although the driver reports"
        " that the two GPUs can access each other's memory. One of the two may use copies instead. The bytes are the "
        "smaller of what was written and what was read; where accesses were recorded, the two must have touched the "
        "same bytes. Applies only where the touched allocation is known."
    ),
    thresholds=(LEAST_WIRE, LEAST_MOVED_SHARE),
    remedy="Keep the exchanged data in the memory of one of the two GPUs, preferably the reader's.",
    basis="records",
    find=_find,
)
