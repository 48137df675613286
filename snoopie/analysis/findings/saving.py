"""How much time a finding's remedy could save at most: what the links need at least for the bytes that it spares them.

That does not depend on when things ran. Whether the program gets faster by it depends on what it does meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from snoopie.analysis.findings.facts import PLACE, Facts
from snoopie.analysis.findings.finding import Finding
from snoopie.analysis.time import bandwidth, least
from snoopie.analysis.traffic import counts


def times(facts: Facts, found: Sequence[Finding]) -> list[float]:
    """ns of each finding; NaN where the links' rate is not known, or what is spared does not cross them."""
    if not found:
        return []
    a_byte = _of_places(facts) if any(finding.site for finding in found) else {}
    capacity = bandwidth.capacities(facts.tables.gpus)
    known = capacity[~np.isnan(capacity)]
    # What is not of a line crosses the links of a GPU alone.
    alone = 1e9 / float(known.min()) if len(known) else float("nan")
    return [
        finding.spared * (a_byte.get(_place(facts, finding), float("nan")) if finding.site else alone)
        if finding.spared > 0
        else float("nan")
        for finding in found
    ]


def _of_places(facts: Facts) -> dict[tuple[object, ...], float]:
    """PLACE → ns that the links need at least for each wire byte of it: its traffic may cross several at once."""
    flow = counts.directed(facts.by_site, "flow", *PLACE)
    table = least.times(flow, PLACE, facts.tables.gpus, facts.tables.links)
    each = (table["least_time"] / table["wire_bytes"].where(table["wire_bytes"] > 0)).tolist()
    return dict(zip(table[PLACE].itertuples(index=False, name=None), each, strict=True))


def _place(facts: Facts, finding: Finding) -> tuple[object, ...]:
    own = facts.by_site[facts.by_site["site"] == finding.site]
    return tuple(own[PLACE].iloc[0].tolist())
