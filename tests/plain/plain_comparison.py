"""What plain loops make of two random runs: how much an amount was in the one and in the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.plain import plain_traffic
from tests.plain.plain_run import Run
from tests.plain.plain_source import kernel_of, with_launches
from tests.plain.plain_traffic import Row

Compared = dict[Any, dict[str, Any]]


def compared(a: Mapping[Any, int], b: Mapping[Any, int]) -> Compared:
    """a, b, change, ratio and only of each name that one of them has."""
    return {
        name: {
            "a": a.get(name, 0),
            "b": b.get(name, 0),
            "change": b.get(name, 0) - a.get(name, 0),
            "ratio": b.get(name, 0) / a[name] if a.get(name) else None,
            "only": "" if name in a and name in b else "A" if name in a else "B",
        }
        for name in {*a, *b}
    }


def pairs(run: Run, reading: str, initiated: str, value: str) -> dict[tuple[str, str], int]:
    """A value by pair of places, by their labels."""
    rows = plain_traffic.pairs(run, reading, initiated)
    return {(run.label(one), run.label(other)): row[value] for (one, other), row in rows.items()}


def kernels(run: Run, value: str) -> dict[str, int]:
    """A value by kernel."""
    return {name: row[value] for name, row in with_launches(run.traffic, kernel_of).items()}


def objects(run: Run) -> dict[tuple[str, str], int]:
    """How many objects are of an owner and a kind, of those that something touched; by the run's rows."""
    touched = {row.object for row in run.traffic if row.object}
    found: dict[tuple[str, str], int] = {}
    for number in touched:
        owner, kind = run.objects[number]
        key = run.label(owner), kind
        found[key] = found.get(key, 0) + 1
    return found


def places(one: Run, other: Run, initiated: str) -> list[str]:
    """The labels of the places of both: GPUs by number, host, unknown, multicast objects; of one number A's first."""
    every = [(place, run.label(place)) for run in (one, other) for place in plain_traffic.places(run, initiated)]
    return list(dict.fromkeys(label for _, label in sorted(every, key=lambda row: (row[0] < 0, abs(row[0])))))


def summary(a: Run, b: Run) -> dict[str, Row]:
    """a, b, change and ratio of each sum."""
    one, other = (plain_traffic.summary(run) for run in (a, b))
    return {
        name: {
            "a": one[name],
            "b": other[name],
            "change": other[name] - one[name],
            "ratio": other[name] / one[name] if one[name] else None,
        }
        for name in one
        if name not in ("measured", "gpus", "records", "wire_efficiency")
    }
