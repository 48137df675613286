"""Columns of tables for people: how the amounts in a column of some name are said, and what stands above it."""

from __future__ import annotations

from collections.abc import Callable

from snoopie.words import units

AMOUNTS: dict[str, Callable[[float], str]] = {
    **dict.fromkeys(("accesses", "lanes", "launches", "copies", "calls", "errors"), "{:,}".format),
    **dict.fromkeys(("bytes", "call_bytes", "size", "copied_in", "copied_out", "wire_bytes", "memory"), units.bytes),
    **dict.fromkeys(("host_ns", "mean_ns", "min_ns", "max_ns", "p50_ns", "p90_ns", "p99_ns"), units.duration),
    **dict.fromkeys(("total_us", "average_us", "least_us", "most_us"), "{:,.3f}".format),
    **dict.fromkeys(("share", "wire_efficiency"), units.percent),
    "bandwidth": units.bandwidth,
    # Of a comparison, as text already.
    **dict.fromkeys(("A", "B", "change", "ratio"), str),
}

_HEADINGS = {
    "wire_bytes": "wire bytes",
    "wire_efficiency": "efficiency",
    "call_bytes": "call bytes",
    "copied_in": "copied in",
    "copied_out": "copied out",
    "host_ns": "host time",
    "mean_ns": "mean",
    "min_ns": "shortest",
    "max_ns": "longest",
    "p50_ns": "50 % within",
    "p90_ns": "90 % within",
    "p99_ns": "99 % within",
    "local_rank": "local rank",
    "total_us": "time (us)",
    "average_us": "avg",
    "least_us": "min",
    "most_us": "max",
}


def heading(name: str) -> str:
    """What stands above a column."""
    return _HEADINGS.get(name, name.replace("_", " "))
