"""Pairs of GPUs between which data flows one way."""

from __future__ import annotations

from collections.abc import Iterator

from snoopie.analysis.findings.facts import Facts
from snoopie.analysis.findings.finding import Evidence, Finding, Rule
from snoopie.analysis.findings.thresholds import LEAST_CROSSED, LEAST_CROSSED_SHARE, ONE_SIDED, ONE_SIDED_PAIRS
from snoopie.words import units


def _find(facts: Facts) -> Iterator[Finding]:
    flows = {(start, end): amount for start, end, amount in facts.crossed.to_numpy().tolist()}
    total = sum(flows.values())
    least = max(LEAST_CROSSED.limit, LEAST_CROSSED_SHARE.limit * total)
    pairs = {(min(pair), max(pair)) for pair, amount in flows.items() if amount >= least}
    one_sided = []
    for one, other in sorted(pairs):
        there, back = flows.get((one, other), 0), flows.get((other, one), 0)
        start, end = (one, other) if there >= back else (other, one)
        there, back = max(there, back), min(there, back)
        if ONE_SIDED.crossed(there / max(back, 1)):
            one_sided.append((start, end, there, back))
    part = len(one_sided) / max(len(pairs), 1)
    if len(pairs) > 1 and not ONE_SIDED_PAIRS.crossed(part):
        return
    for start, end, there, back in one_sided:
        first, second = facts.label(start), facts.label(end)
        yield Finding(
            title=(
                f"Data flows one way between {first} and {second}: {units.bytes(there)} to {second}, "
                f"{units.bytes(back) if back else 'nothing'} back"
            ),
            numbers={
                ONE_SIDED.number: there / back if back else float("inf"),
                LEAST_CROSSED.number: there,
                "bytes back": back,
                "pairs": len(pairs),
                ONE_SIDED_PAIRS.number: part,
                LEAST_CROSSED_SHARE.number: there / total,
            },
            bytes=there,
            # The other half can go back at the same time.
            spared=(there - back) // 2,
            share=there / total,
            evidence=Evidence("communication", {"reading": "flow", "initiated": "both"}),
            issuer=first,
            owner=second,
        )


RULE = Rule(
    name="one-sided-pairs",
    title="One-sided pairs",
    about=(
        "Far more data flows one way between two GPUs than back, by wire bytes of kernels and copies together, "
        "regardless of the issuer, while most other pairs are balanced. NVLink carries the same amount in each "
        "direction at the same time, so half of this pair's bandwidth stays unused."
    ),
    thresholds=(ONE_SIDED, ONE_SIDED_PAIRS, LEAST_CROSSED, LEAST_CROSSED_SHARE),
    remedy=(
        "Check whether the two GPUs can share the work so that each sends a part, or exchange halves at the same "
        "time. If one GPU feeds the other by design, nothing needs to change."
    ),
    basis="counts",
    find=_find,
    compares=True,
)
