"""How much time a finding's remedy could save at most: what the links need at least for the bytes that it spares them.

That does not depend on when things ran. Whether the program gets faster by it depends on what it does meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from snoopie.analysis.findings.facts import Facts
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


def _of_places(facts: Facts) -> dict[int, float]:
    """The number of a PLACE → ns that the links need at least for each wire byte of it: its traffic may cross several
    at once."""
    flow = counts.directed(facts.by_site, "flow", "place")
    table = least.times(flow, ["place"], facts.tables.gpus, facts.tables.links)
    each = table["least_time"] / table["wire_bytes"].where(table["wire_bytes"] > 0)
    return dict(zip(table["place"].tolist(), each.tolist(), strict=True))


def _place(facts: Facts, finding: Finding) -> int:
    own = facts.by_site["site"].to_numpy() == finding.site
    return int(facts.by_site["place"].to_numpy()[own][0])
