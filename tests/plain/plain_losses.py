"""Random runs of which something was lost, and what that is."""

from __future__ import annotations

from random import Random
from typing import Any

from snoopie.words import units
from tests.plain import plain_traffic
from tests.plain.plain_run import Moved, Run


def add_totals(run: Run, random: Random) -> dict[str, int]:
    """Has the processes say what they lost; the sums."""
    sums: dict[str, int] = {}
    for builder in run.builders:
        for name in ("launches_lost", "launches_outside", "copies_outside", "errors"):
            builder.totals[name] = random.choice((0, 0, 1, random.randint(2, 10**6)))
            sums[name] = sums.get(name, 0) + builder.totals[name]
    return sums


def not_measured(run: Run) -> dict[int, dict[str, Any]]:
    """The instructions that were not measured, by their number, and how often they ran."""
    ran = plain_traffic.sums_by([row for row in run.moved if not row.site.measured], lambda row: row.site.id)
    return {
        site.id: {
            "kernel": site.function, "file": site.file, "line": site.line, "offset": site.offset,
            "opcode": site.opcode, "operation": site.operation, "width": site.width, "sass": site.sass,
            "accesses": ran.get(site.id, {}).get("accesses", 0), "lanes": ran.get(site.id, {}).get("lanes", 0),
        }
        for site in run.sites.values()
        if not site.measured
    }  # fmt: skip


def sentences(run: Run, totals: dict[str, int]) -> dict[str, str]:
    """How a sentence on each loss begins, and on which number; "" where there is none to be said."""
    unmeasured = [row["accesses"] for row in not_measured(run).values() if row["accesses"]]
    unknown = _accesses([row for row in run.traffic if row.owner == -2])
    shapeless = _accesses([row for row in run.traffic if not row.site.width])
    ends = sum(-2 in (copy.source, copy.destination) for copy in run.copies)
    some = [row for row in run.sampling if row[4]]
    every, measured = sum(row[3] for row in some), sum(row[4] for row in some)
    never = sum(row[3] for row in run.sampling if not row[4])
    said = {
        "could not be measured": _things(totals["launches_lost"], "launch", "launches"),
        "outside of what was to be recorded": " and ".join(
            filter(
                None,
                (
                    _things(totals["launches_outside"], "launch", "launches"),
                    _things(totals["copies_outside"], "copy", "copies"),
                ),
            )
        ),
        "while writing or in driver calls": "The collector had " + _things(totals["errors"], "error", "errors"),
        "amounts are estimates": "",
        "that were never measured": "Amounts exclude " + _things(never, "launch", "launches"),
        "that cannot be measured": _things(len(unmeasured), "instruction", "instructions"),
        "touched memory with an unknown owner": _things(unknown, "access", "accesses"),
        "in memory with an unknown owner": _things(ends, "copy", "copies"),
        "an unknown width": _things(shapeless, "access", "accesses"),
    }
    if every > measured:
        said["amounts are estimates"] = f"1 launch in {every / measured:.3g} was measured"
    return {what: "" if begins.endswith(" ") else begins for what, begins in said.items()}


def _accesses(rows: list[Moved]) -> int:
    return int(plain_traffic.sums(rows)["accesses"])


def _things(number: int, one: str, many: str) -> str:
    """So many of something; "" for none."""
    return f"{units.count(number)} {one if number == 1 else many}" if number else ""
