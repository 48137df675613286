"""Which objects are one array of the program, and what of them comes together, as plain loops tell it."""

from __future__ import annotations

from typing import Any

from tests.plain.plain_objects import Objects, Thing
from tests.plain.plain_shares import VALUES

SUMS = (*VALUES, "copied_in", "copied_out")


def name_of(thing: Thing) -> str:
    """The name of the variable that an object is, or that its line keeps it in."""
    return thing.name or thing.caller.variable


def arrays(known: Objects) -> dict[int, tuple[int, str]]:
    """object → the first object of the same array, and what that is called."""
    made: dict[tuple[object, ...], int] = {}
    first: dict[tuple[object, ...], int] = {}
    array: dict[int, int] = {}
    for thing in known.things:
        name, source = name_of(thing), thing.caller.label
        place = thing.kind, thing.call, name, source
        own = *place, thing.process, thing.owner
        made[own] = made.get(own, 0) + 1
        nth = (*place, made[own]) if name or source else (thing.number,)
        array[thing.number] = first.setdefault(nth, thing.number)
    called = {thing.number: name_of(thing) or thing.caller.label for thing in known.things}
    found = {}
    for number, one in array.items():
        # Several arrays of one name are counted.
        same = sorted({array[other] for other in array if called[other] == called[number]})
        several = called[number] and len(same) > 1
        found[number] = one, f"{called[number]} ({same.index(one) + 1})" if several else called[number]
    return found


def merged(known: Objects, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of ``by_object(merged=True)``, in no order, made of those of ``by_object()`` in theirs."""
    of = arrays(known)
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(of[row["object"]][0] if row["object"] else 0, []).append(row)
    found = []
    for array, own in groups.items():
        most = max(row["bytes"] for row in own)
        busiest = next(row for row in own if row["bytes"] == most)
        found.append(
            {
                **busiest,
                "name": of[array][1] if array else "",
                "allocations": sum(one == array for one, _ in of.values()) if array else 1,
                "owner": owners({row["owner"] for row in own}),
                "size": max(row["size"] for row in own),
                "allocated": min(row["allocated"] for row in own),
                # As a whole it lives until the last is freed, and for ever if one is not.
                "freed": max(row["freed"] for row in own) if all(row["freed"] for row in own) else 0,
                "exact": all(row["exact"] for row in own),
                **{name: sum(row[name] for row in own) for name in SUMS},
            }
        )
    return found


def owners(labels: set[str]) -> str:
    """At most three GPUs and the host, in words."""
    if len(labels) > 1 and "host" not in labels:
        return {
            ("GPU 0", "GPU 1"): "GPUs 0–1",
            ("GPU 0", "GPU 2"): "GPUs 0, 2",
            ("GPU 1", "GPU 2"): "GPUs 1–2",
            ("GPU 0", "GPU 1", "GPU 2"): "GPUs 0–2",
        }[tuple(sorted(labels))]
    # With the host they are one by one; of four, two are not named.
    names = sorted(labels)
    return ", ".join(names[:3]) + " and 1 more" if len(names) == 5 else ", ".join(names)
