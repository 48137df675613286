"""A GPU whose memory takes far more of the remote accesses than the others'."""

from __future__ import annotations

from collections.abc import Iterator

from snoopie.analysis.findings.facts import Facts
from snoopie.analysis.findings.finding import Evidence, Finding, Rule
from snoopie.analysis.findings.thresholds import HOT, LEAST_CROSSED, LEAST_OWNERS, in_words
from snoopie.analysis.traffic import counts
from snoopie.words import units


def _find(facts: Facts) -> Iterator[Finding]:
    between = facts.by_site[(facts.by_site["owner"] >= 0) & (facts.by_site["issuer"] >= 0)]
    at = counts.settled(between, ["owner"], ["wire_bytes"]).set_index("owner")["wire_bytes"]
    taking_part = set(between["issuer"]) | set(at.index)
    if not LEAST_OWNERS.crossed(len(taking_part)):
        return
    total = int(at.sum())
    for owner, bytes in at.items():
        ratio = bytes * len(taking_part) / max(total, 1)
        if LEAST_CROSSED.crossed(bytes) and HOT.crossed(ratio):
            label = facts.label(int(str(owner)))
            yield Finding(
                title=(
                    f"The memory of {label} takes {units.percent(bytes / total)} of all accesses between GPUs, by wire "
                    f"bytes: {in_words(ratio, 'times')} the mean of {len(taking_part)} GPUs"
                ),
                numbers={
                    HOT.number: ratio,
                    LEAST_CROSSED.number: int(bytes),
                    LEAST_OWNERS.number: len(taking_part),
                },
                bytes=int(bytes),
                # What is beyond the mean.
                spared=int(bytes) - total // len(taking_part),
                share=bytes / total,
                evidence=Evidence("communication", {"value": "wire_bytes"}),
                owner=label,
            )


RULE = Rule(
    name="hot-owner",
    title="Hot owners",
    about=(
        "Most kernel accesses go to the memory of one GPU, so its links become the bottleneck for all. The mean is "
        "over the GPUs that issue accesses to other GPUs or own the memory accessed."
    ),
    thresholds=(HOT, LEAST_OWNERS, LEAST_CROSSED),
    remedy="Spread the data that the other GPUs use over all GPUs, or give each its own copy of read-only data.",
    basis="counts",
    find=_find,
    compares=True,
)
