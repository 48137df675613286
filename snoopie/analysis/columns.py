"""Columns of tables for people: how the amounts in a column of some name are said, and what stands above it."""

from __future__ import annotations

from collections.abc import Callable

from snoopie.analysis import units

AMOUNTS: dict[str, Callable[[float], str]] = {
    "accesses": lambda value: f"{value:,}",
    "lanes": lambda value: f"{value:,}",
    "launches": lambda value: f"{value:,}",
    "copies": lambda value: f"{value:,}",
    "calls": lambda value: f"{value:,}",
    "bytes": units.bytes,
    "call_bytes": units.bytes,
    "size": units.bytes,
    "copied_in": units.bytes,
    "copied_out": units.bytes,
    "errors": lambda value: f"{value:,}",
    "host_ns": units.duration,
    "mean_ns": units.duration,
    "min_ns": units.duration,
    "max_ns": units.duration,
    "p50_ns": units.duration,
    "p90_ns": units.duration,
    "p99_ns": units.duration,
    "bandwidth": units.bandwidth,
    "total_us": lambda value: f"{value:,.3f}",
    "average_us": lambda value: f"{value:,.3f}",
    "least_us": lambda value: f"{value:,.3f}",
    "most_us": lambda value: f"{value:,.3f}",
    "wire_bytes": units.bytes,
    "memory": units.bytes,
    "share": units.percent,
    "wire_efficiency": units.percent,
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
