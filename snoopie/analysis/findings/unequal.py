"""A rank that moves far more than the others."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from snoopie.analysis.findings.facts import Facts
from snoopie.analysis.findings.finding import Evidence, Finding, Rule
from snoopie.analysis.findings.thresholds import LEAST_CROSSED, UNEQUAL, in_words
from snoopie.analysis.traffic import counts
from snoopie.joined.gpus import HOST, UNKNOWN
from snoopie.words import units

_NOT_A_GPU = (HOST, UNKNOWN)


def _find(facts: Facts) -> Iterator[Finding]:
    by_process = len(facts.tables.sources) > 1
    moved = _moved(facts, "process" if by_process else "issuer")
    total = int(moved.sum())
    if len(moved) < 2:
        return
    for worker, amount in moved.items():
        bytes, number = int(amount), int(str(worker))
        others = (total - bytes) / (len(moved) - 1)
        ratio = bytes / others if others else float("inf")
        if not (LEAST_CROSSED.crossed(bytes) and UNEQUAL.crossed(ratio)):
            continue
        name = _called(facts, number) if by_process else facts.label(number)
        far = f"{in_words(ratio, 'times')} the {units.bytes(others)}" if others else "and none"
        yield Finding(
            title=f"{name} moves {units.bytes(bytes)} between GPUs, {far} of the others on average",
            numbers={
                UNEQUAL.number: ratio,
                LEAST_CROSSED.number: bytes,
                "bytes of the others, on average": others,
            },
            bytes=bytes,
            # What is beyond the mean of all.
            spared=bytes - total // len(moved),
            share=bytes / total,
            evidence=Evidence("communication", {"initiated": "both"}),
            issuer="" if by_process else name,
            process=number if by_process else -1,
        )


def _moved(facts: Facts, worker: str) -> pd.Series:
    """Bytes that each process, or GPU, that did any work moved between GPUs: wire bytes of kernels, and copies."""
    sites, launches = facts.tables.sites, facts.tables.launches
    at_gpus = facts.by_site[~facts.by_site["owner"].isin(_NOT_A_GPU)]
    rows = facts.tables.site_places.of(at_gpus["site"].to_numpy())
    device = at_gpus.assign(process=sites["process"].to_numpy()[rows])
    copies = facts.copies[~facts.copies[["source", "destination"]].isin(_NOT_A_GPU).any(axis=1)]
    parts = [
        counts.settled(device, [worker], ["wire_bytes"]).set_index(worker)["wire_bytes"],
        copies.groupby(worker)["bytes"].sum(),
    ]
    working = set(launches["gpu" if worker == "issuer" else "process"]) | set(facts.copies[worker])
    summed = pd.concat(parts).groupby(level=0).sum()
    of_workers: pd.Series = summed.reindex(sorted(place for place in working if place >= 0), fill_value=0)
    return of_workers


def _called(facts: Facts, process: int) -> str:
    rank = int(facts.tables.processes["rank"][process])
    return f"Rank {rank}" if rank >= 0 else f"Process {process}"


RULE = Rule(
    name="unequal-ranks",
    title="One rank that moves far more than the others",
    about=(
        "One process (in a run of a single process: one GPU) issues far more traffic between GPUs than the others that "
        "launched kernels or copied anything, by wire bytes of kernels and bytes of copies. Copies to and from the "
        "host are left out."
    ),
    thresholds=(UNEQUAL, LEAST_CROSSED),
    remedy=(
        "Divide the communication evenly, or let each rank fetch its own part instead of having one rank send to all."
    ),
    basis="counts",
    find=_find,
    compares=True,
)
