"""NCCL calls, with the traffic of the kernels that carried them out.

What belongs together is a *unit*: the calls of one group on one GPU, and the kernels of that group there. A kernel
can carry out several calls; its traffic is the unit's and is never divided among them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from snoopie.analysis.traffic.counts import VALUES, efficiency, settled

SIGNATURE = ["operation", "reduction", "type", "communicator"]
# Calls of one rank and another, not of all.
BETWEEN_TWO = ("Send", "Recv")
_UNIT = ["group", "issuer"]


@dataclass(slots=True)
class _Calls:
    """The calls of a unit: for each column of SIGNATURE its values, and how often."""

    # NaN where that of one is not known.
    size: float = 0
    texts: tuple[Counter[str], ...] = field(default_factory=lambda: tuple(Counter() for _ in SIGNATURE))

    def signature(self) -> tuple[str, ...]:
        operations, *others = self.texts
        counted = (f"{times} × {name}" if times > 1 else name for name, times in sorted(operations.items()))
        return " + ".join(counted), *(", ".join(sorted(filter(None, texts))) for texts in others)


def by_collective(traffic: pd.DataFrame, launches: pd.DataFrame, collectives: pd.DataFrame) -> pd.DataFrame:
    """SIGNATURE, calls, launches, call_bytes, VALUES, wire_efficiency; one row a signature, most bytes first.

    A unit of several calls has them all in its signature: "2 × AllReduce", "Recv + Send"; what they differ in is
    joined by ", ". Launches of a group whose calls the trace does not have are in a row with the operation "".
    call_bytes are NaN where the size of one of the calls is not known.
    ``launches`` can have the column weight.
    """
    launches = launches[launches["group"] > 0].rename(columns={"gpu": "issuer"})
    units = _units(collectives, launches)
    rows = pd.MultiIndex.from_frame(units[_UNIT]).get_indexer(pd.MultiIndex.from_frame(launches[_UNIT]))
    unit_of = pd.Series(rows, launches.index, dtype="int64")
    carried = traffic[traffic["launch"].isin(unit_of.index)]
    sums = settled(carried.assign(unit=unit_of.loc[carried["launch"]].to_numpy()), ["unit"]).set_index("unit")
    numbers = settled(launches.assign(unit=unit_of, launches=1), ["unit"], ["launches"]).set_index("unit")
    units["launches"] = numbers["launches"].reindex(units.index, fill_value=0)
    units[list(VALUES)] = sums[list(VALUES)].reindex(units.index, fill_value=0)
    values = ["calls", "launches", "call_bytes", *VALUES]
    table = units.groupby(SIGNATURE, sort=False)[values].sum(skipna=False).reset_index()
    table["wire_efficiency"] = efficiency(table)
    return table.sort_values(["bytes", *SIGNATURE], ascending=[False, *[True] * len(SIGNATURE)], ignore_index=True)


def behind(
    collectives: pd.DataFrame, signature: Sequence[str], label: Callable[[int], str], limit: int, origin: int
) -> pd.DataFrame:
    """The earliest calls in the row of `by_collective` with this signature: collective process issuer (label)
    operation reduction type count bytes (both -1 where not known) peer communicator rank ranks stream thread began (ns
    after ``origin``) host_ns (time in the call) group."""
    units, unit_of = _called(collectives)
    wanted = {unit for unit, calls in units.items() if calls.signature() == tuple(signature)}
    # A list without any rows would choose columns.
    own = np.array([unit in wanted for unit in unit_of], np.bool_)
    table = collectives[own].sort_values("start", kind="stable").head(limit)
    table = table.reset_index()
    table["host_ns"] = (table["end"] - table["start"]).clip(lower=0)
    table["began"] = table["start"] - origin
    table["issuer"] = pd.Series([label(place) for place in table["issuer"]], dtype="str")
    columns = (
        "collective process issuer operation reduction type count bytes peer communicator rank ranks stream thread"
    )
    return table[[*columns.split(), "began", "host_ns", "group"]]


def _called(collectives: pd.DataFrame) -> tuple[dict[tuple[int, int], _Calls], list[tuple[int, int]]]:
    """The units by group and issuer, and the unit of each call."""
    units: dict[tuple[int, int], _Calls] = {}
    unit_of: list[tuple[int, int]] = []
    columns = ["group", "issuer", "bytes", *SIGNATURE]
    rows: Iterable[tuple[int, int, int, *tuple[str, ...]]] = zip(*(collectives[name] for name in columns), strict=True)
    for number, (group, issuer, size, *texts) in enumerate(rows, start=1):
        # A call that says nothing of its group is alone in one that no launch has.
        unit_of.append((group or -number, issuer))
        calls = units.setdefault(unit_of[-1], _Calls())
        calls.size += size if size >= 0 else math.nan
        for counter, text in zip(calls.texts, texts, strict=True):
            counter[text] += 1
    return units, unit_of


def _units(collectives: pd.DataFrame, launches: pd.DataFrame) -> pd.DataFrame:
    """One row a unit: _UNIT, SIGNATURE, calls, call_bytes; also for units of which there are only launches."""
    units, _ = _called(collectives)
    for group, issuer in zip(launches["group"], launches["issuer"], strict=True):
        units.setdefault((group, issuer), _Calls())
    table = pd.DataFrame(list(units), columns=_UNIT, dtype=np.int64)
    signatures = [calls.signature() for calls in units.values()]
    for place, name in enumerate(SIGNATURE):
        table[name] = pd.Series([texts[place] for texts in signatures], dtype="str")
    table["calls"] = np.array([calls.texts[0].total() for calls in units.values()], np.int64)
    sizes = [calls.size for calls in units.values()]
    table["call_bytes"] = np.array(sizes, np.float64 if any(map(math.isnan, sizes)) else np.int64)
    return table
