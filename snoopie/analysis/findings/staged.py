"""Copies from one GPU to the host's memory, and from there to another GPU that could be reached directly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from snoopie.analysis.findings.facts import Facts, rows
from snoopie.analysis.findings.finding import Evidence, Finding, Rule
from snoopie.analysis.findings.thresholds import LEAST_COPIED, LEAST_COPIED_SHARE
from snoopie.joined.gpus import HOST
from snoopie.words import units


def _find(facts: Facts) -> Iterator[Finding]:
    passed_on = _passed_on(facts.copies)
    for pair in rows(passed_on[["from", "to"]].drop_duplicates()):
        start, end = pair["from"], pair["to"]
        some = passed_on[(passed_on["from"] == start) & (passed_on["to"] == end)]
        bytes = int(some["bytes"].sum())
        share = bytes / max(facts.copied, 1)
        if not (LEAST_COPIED.crossed(bytes) and LEAST_COPIED_SHARE.crossed(share) and facts.linked(start, end)):
            continue
        first, second = facts.label(start), facts.label(end)
        callers = facts.stack_labels(some["stack"])
        by_caller = some["bytes"].groupby(callers.to_numpy(object)).sum()
        caller = str(by_caller.idxmax())
        yield Finding(
            title=(
                f"{units.bytes(bytes)} go from {first} to {second} by way of the host: copied into its memory, and "
                "from the same address on to the other GPU" + (f" (at {caller})" if caller else "")
            ),
            numbers={LEAST_COPIED.number: bytes, "copies": len(some), LEAST_COPIED_SHARE.number: share},
            bytes=bytes,
            share=share,
            evidence=Evidence("copies"),
            issuer=first,
            owner=second,
        )


def _passed_on(copies: pd.DataFrame) -> pd.DataFrame:
    """from to bytes stack of each copy out of the host's memory to another GPU than the one from which the copy before
    it came to that very address. What was copied in counts once for each GPU, up to its size."""
    down = copies[(copies["source"] >= 0) & (copies["destination"] == HOST)]
    up = copies[(copies["source"] == HOST) & (copies["destination"] >= 0)]
    if down.empty or up.empty:
        return pd.DataFrame({"from": [], "to": [], "bytes": [], "stack": []})
    into = pd.DataFrame(
        {
            "process": down["process"],
            "address": down["destination_address"],
            "time": down["end"],
            "from": down["source"],
            "size": down["bytes"],
            "number": np.arange(len(down)),
        }
    )
    out_of = pd.DataFrame(
        {
            "process": up["process"],
            "address": up["source_address"],
            "time": up["start"],
            "to": up["destination"],
            "bytes": up["bytes"],
            "stack": up["stack"],
        }
    )
    # An array has no address.
    into, out_of = into[into["address"] > 0], out_of[out_of["address"] > 0]
    joined = pd.merge_asof(
        out_of.sort_values("time"), into.sort_values("time"), on="time", by=["process", "address"]
    ).dropna(subset="number")
    joined = joined[joined["from"] != joined["to"]].drop_duplicates(["number", "to"])
    return joined.assign(
        **{"from": joined["from"].astype("int64"), "bytes": joined[["bytes", "size"]].min(axis=1).astype("int64")}
    )[["from", "to", "bytes", "stack"]]


RULE = Rule(
    name="staged-copies",
    title="Copies through the host although peer access is possible",
    about=(
        "A copy moves data from one GPU to host memory, and the next copy from that same address moves it to another "
        "GPU, although the driver reports that the two GPUs can access each other's memory. A trace does not show "
        "whether the host changed the data in between. Copies of the same process are matched by their first address;"
        " arrays, which have none, are left out."
    ),
    thresholds=(LEAST_COPIED, LEAST_COPIED_SHARE),
    remedy=(
        "If the host does not change the data, copy directly from GPU to GPU (cudaMemcpyPeerAsync, or cudaMemcpyAsync "
        "with peer access on)."
    ),
    basis="counts",
    find=_find,
)
