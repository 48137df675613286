"""Random runs of which something was lost, and what that is."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from snoopie.words import units
from tests.plain import plain_traffic
from tests.plain.plain_run import Moved, Run
from tests.support.encoder import TraceBuilder


def add_totals(run: Run, random: Random) -> dict[str, int]:
    """Has the processes say what they lost; the sums."""
    sums: dict[str, int] = {}
    for builder in run.builders:
        for name in ("launches_lost", "launches_outside", "copies_outside", "errors"):
            builder.totals[name] = random.choice((0, 0, 1, random.randint(2, 10**6)))
            sums[name] = sums.get(name, 0) + builder.totals[name]
    return sums


def add_settings(run: Run, random: Random) -> list[str]:
    """Has each process be recorded in some way, and lose something of its own; how the sentences on that begin."""
    begins: list[str] = []
    dropped, bare, functions = 0, 0, 0
    for builder in run.builders:
        chosen = {name: random.choice(values) for name, values in _SETTINGS.items() if random.random() < 0.3}
        builder.header["settings"] |= chosen
        begins += [text for name, say in _SAID.items() if (text := say(chosen.get(name)))]
        parts = [f"{name.replace('_', ' ')} {chosen[name]}{unit}" for name, unit in _PARTS.items() if chosen.get(name)]
        begins += [f"Only a part of the program was recorded: {', '.join(parts)}."] if parts else []
        builder.dropped = random.choice((0, 0, 1, 7000))
        # The last block may have been written before the end.
        builder.totals["records_dropped"] = builder.dropped + random.choice((0, 0, 5))
        dropped += builder.totals["records_dropped"]
        if random.random() < 0.3:
            text, said = random.choice(_NOTICES)
            builder.notice(text)
            begins.append(said)
        begins += _promised(builder, random)
        held = [row for row in builder.rows["functions"] if row["sites"]]
        for row in builder.rows["functions"]:
            row["has_lines"] = int(random.random() < 0.7)
        if chosen.get("code_attribution") is not False:
            functions, bare = functions + len(held), bare + sum(not row["has_lines"] for row in held)
    if dropped:
        begins.append(f"{_things(dropped, 'record was', 'records were')} dropped")
    if bare:
        begins.append(f"{bare} of {_things(functions, 'function has', 'functions have')} no source lines")
    # Processes of one run say the same of themselves: once is enough.
    return list(dict.fromkeys(begins))


def _promised(builder: TraceBuilder, random: Random) -> list[str]:
    """Has a footer promise what is not there."""
    begins = []
    held = {"records_written": 0, "accesses": sum(row["accesses"] for row in builder.rows["counts"])}
    for name, number in held.items():
        if random.random() < 0.2:
            builder.totals[name] = max(number + random.randint(-1, 2), 0)
            if builder.totals[name] != number:
                begins.append(
                    f"The footer reports {builder.totals[name]} {name.split('_')[0]}, but the trace of process "
                    f"{builder.header['process']['pid']} holds {number}."
                )
    return begins


_SETTINGS: dict[str, tuple[Any, ...]] = {
    "sample_size": (0, 1, 8), "kernels": ("all", "halo*"), "blocks": ("all", "0-3"), "code_attribution": (True, False),
    "capture_range": ("", "step"), "launch_skip": (0, 3), "launch_count": (0, 9), "delay": (0, 2), "duration": (0, 1.5),
}  # fmt: skip
_SOME = ("halo*", "0-3")
_SAID: dict[str, Callable[[Any], str]] = {
    "sample_size": lambda size: (
        "" if size in (None, 1) else f"Records are a sample of about 1 in {size}" if size else "No single accesses were"
    ),
    "kernels": lambda text: f"Only some kernels were measured: those selected by '{text}'" * (text in _SOME),
    "blocks": lambda text: f"Only some thread blocks were measured: those selected by '{text}'" * (text in _SOME),
    "code_attribution": lambda on: "Source lines were switched off" if on is False else "",
}
# A part of the time, with the unit of each.
_PARTS = {"capture_range": "", "launch_skip": "", "launch_count": "", "delay": " s", "duration": " s"}
_NOTICES = (
    ("stacks were  not kept", "Stacks were not kept."), ("An allocation was odd.", "An allocation was odd."),
    ("names\nwere cut", "Names were cut."),
)  # fmt: skip


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
