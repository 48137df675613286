"""What a trace does not show, in plain sentences. An empty list: nothing was lost."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from snoopie.analysis.traffic.counts import settled
from snoopie.joined.gpus import UNKNOWN
from snoopie.joined.tables import Tables
from snoopie.trace.tables import Process
from snoopie.words import units

# Of opcodes that were not measured, the sentence names this many.
_KINDS = 5
# What they do, by the beginning of the opcode; anything else is new.
_DOING = (
    (("TEX", "TLD", "TXD"), "texture reads"),
    (("SULD", "SUST", "SUATOM", "SURED"), "surface accesses"),
    (("UBLK",), "bulk copies that cannot be followed"),
    (("UTMA",), "tensor copies that cannot be followed"),
)
_NOT_MEASURED = [
    *("site", "kernel", "file", "line", "offset", "opcode", "operation", "width", "sass"),
    *("accesses", "lanes"),
]
_OTHER = "unknown instructions"
# Notices of the collector on what is in no count; others are on records, stacks or memory.
_UNCOUNTED = re.compile(r"not measured|in no count|cannot be measured|could not be (measured|instrumented|attributed)")


def losses(tables: Tables, moved: pd.DataFrame, unmeasured: pd.DataFrame) -> list[str]:
    """Sentences on all that is missing from a trace, the gravest first.

    ``moved`` has the accesses by site and owner, ``unmeasured`` those of sites that were not measured.
    """
    sentences: list[str] = []
    for source in tables.sources:
        if source.problem is not None:
            sentences.append(f"{source.problem.problem}; only what comes before is shown.")
    sentences += _from_totals(sum_totals(tables), _dropped(tables))
    sentences += _from_tables(tables, moved, unmeasured)
    for source in tables.sources:
        sentences += _from_settings(source.header.settings)
        sentences += _differences(source)
    sentences += [_sentence(str(text)) for text in tables.notices["text"]]
    # Processes of one run say the same of themselves: once is enough.
    return list(dict.fromkeys(sentences))


def sum_totals(tables: Tables) -> dict[str, int]:
    """The totals of the footers, summed over the processes that have one."""
    result: dict[str, int] = {}
    for source in tables.sources:
        for key, value in (source.footer.totals if source.footer else {}).items():
            result[key] = result.get(key, 0) + value
    return result


def _dropped(tables: Tables) -> int:
    # Without a footer the last block still says how many had been dropped by then.
    return sum(
        max(source.dropped, source.footer.totals.get("records_dropped", 0) if source.footer else 0)
        for source in tables.sources
    )


def _from_totals(totals: Mapping[str, int], dropped: int) -> list[str]:
    sentences = []
    if lost := totals.get("launches_lost", 0):
        whose = "its" if lost == 1 else "their"
        sentences.append(f"{_things(lost, 'launch', 'launches')} could not be measured: {whose} traffic is missing.")
    outside = [
        _things(totals.get(f"{what}_outside", 0), *words)
        for what, words in (("launches", ("launch", "launches")), ("copies", ("copy", "copies")))
        if totals.get(f"{what}_outside", 0)
    ]
    if outside:
        sentences.append(f"{' and '.join(outside)} outside of what was to be recorded: in no amount.")
    if dropped:
        sentences.append(
            f"{_things(dropped, 'record was', 'records were')} dropped because the ring was full: single accesses are"
            f" missing, but the counts are exact."
        )
    if errors := totals.get("errors", 0):
        sentences.append(f"The collector had {_things(errors, 'error', 'errors')} while writing or in driver calls.")
    return sentences


def _from_tables(tables: Tables, moved: pd.DataFrame, unmeasured: pd.DataFrame) -> list[str]:
    sentences = _sampled(tables.sampling)
    sentences += unmeasured_in_words(not_measured(tables.sites, unmeasured))
    sentences += unknown_owners_in_words(moved)
    sentences += unknown_ends_in_words(tables.copied.unknown)
    sentences += unknown_widths_in_words(tables, moved)
    # Where lines were switched off, the settings say so.
    attributed = [source.header.settings.get("code_attribution", True) is not False for source in tables.sources]
    functions = tables.functions[np.array(attributed, np.bool_)[tables.functions["process"].to_numpy()]]
    functions = functions[functions.index.isin(tables.sites["function"])]
    if bare := int((~functions["has_lines"]).sum()):
        sentences.append(
            f"{bare} of {_things(len(functions), 'function has', 'functions have')} no source lines: "
            "compile with -lineinfo to see them; NVIDIA's libraries come without."
        )
    return sentences


def unknown_owners_in_words(moved: pd.DataFrame) -> list[str]:
    """A sentence on accesses of which it is not known what they touched; ``moved`` has accesses by owner."""
    unknown = int(settled(moved, ["owner"]).pipe(lambda sums: sums.loc[sums["owner"] == UNKNOWN, "accesses"]).sum())
    return [f"{_things(unknown, 'access', 'accesses')} touched memory with an unknown owner."] if unknown else []


def unknown_ends_in_words(unknown: int) -> list[str]:
    """A sentence on so many copies that are from or to memory of which the owner is not known."""
    return [f"{_things(unknown, 'copy has', 'copies have')} an end in memory with an unknown owner."] if unknown else []


def unknown_widths_in_words(tables: Tables, moved: pd.DataFrame) -> list[str]:
    """A sentence on accesses whose bytes are not known; ``moved`` has accesses by site."""
    sums = settled(moved, ["site"])
    shapeless = int(sums.loc[tables.widths(sums["site"].to_numpy()) == 0, "accesses"].sum())
    if not shapeless:
        return []
    return [f"{_things(shapeless, 'access has', 'accesses have')} an unknown width: their bytes are counted as 0."]


def _sampled(sampling: pd.DataFrame) -> list[str]:
    sentences = []
    some = sampling[sampling["measured"] > 0]
    launches, measured = int(some["launches"].sum()), int(some["measured"].sum())
    if launches > measured:
        ratio = launches / measured
        n = f"{ratio:.3g}" if ratio < 100 else f"{ratio:.0f}"
        sentences.append(
            f"1 launch in {n} was measured ({units.count(measured)} of {units.count(launches)}): amounts are "
            "estimates, scaled by the number of launches."
        )
    if missed := int(sampling.loc[sampling["measured"] == 0, "launches"].sum()):
        sentences.append(
            f"Amounts exclude {_things(missed, 'launch', 'launches')} of kernels that were never measured."
        )
    return sentences


def gaps(
    tables: Tables,
    kernels: Collection[str] | None,
    processes: Collection[int] | None,
    accesses: bool,
    launches: bool,
    *,
    all_measured: bool = False,
) -> list[str]:
    """Sentences on why counts of some kernels and processes (None: of all) may not be all there were.

    ``accesses``, ``launches``: whether these are asked for; else it is about copies. ``all_measured``: the settings
    left out none of the kernels. What single instructions and owners lack is not among the sentences.
    """
    asked = [source for number, source in enumerate(tables.sources) if processes is None or number in processes]
    sentences = [f"{source.problem.problem}." for source in asked if source.problem is not None]
    for source in asked:
        totals = source.footer.totals if source.footer else {}
        counted = accesses or launches
        missed = ("launches_lost", "launches_outside") if counted else ("copies_outside",)
        sentences += _from_totals({name: totals.get(name, 0) for name in ("errors", *missed)}, 0)
        if not counted:
            continue
        sentences += _filtered(source.header.settings, all_measured, accesses)
        sentences += _differences(source) if accesses else []
        if accesses and (tool := source.header.tool.get("imported_from")) and not source.count_accesses:
            sentences.append(f"Process {source.header.pid} was imported from {tool}, which recorded no accesses.")
    if accesses or launches:
        sampling = tables.sampling
        if kernels is not None:
            sampling = sampling[sampling["kernel"].isin(list(kernels))]
        if processes is not None:
            sampling = sampling[sampling["process"].isin(list(processes))]
        sentences += _sampled(sampling if accesses else sampling[sampling["measured"] == 0])
        notices = tables.notices if processes is None else tables.notices[tables.notices["process"].isin(processes)]
        sentences += [_sentence(str(text)) for text in notices["text"] if _UNCOUNTED.search(str(text))]
    return list(dict.fromkeys(sentences))


def host_left_out(tables: Tables, processes: Collection[int] | None) -> list[str]:
    """A sentence where accesses to the host's memory were not to be measured."""
    off = any(
        source.header.settings.get("host_memory", True) is False
        for number, source in enumerate(tables.sources)
        if processes is None or number in processes
    )
    return ["Accesses to the host's memory were not measured."] if off else []


def _filtered(settings: Mapping[str, Any], all_measured: bool, accesses: bool) -> list[str]:
    kernels, blocks = settings.get("kernels", "all"), settings.get("blocks", "all")
    sentences = []
    if kernels != "all" and not all_measured:
        sentences.append(f"Only some kernels were measured: those selected by {kernels!r}.")
    if blocks != "all" and accesses:
        sentences.append(f"Only some thread blocks were measured: those selected by {blocks!r}.")
    return sentences


def _from_settings(settings: Mapping[str, Any]) -> list[str]:
    sentences = []
    sample = settings.get("sample_size", 1)
    if sample == 0:
        sentences.append("No single accesses were recorded (sample size 0): this trace has counts only.")
    elif isinstance(sample, int) and sample != 1:
        sentences.append(f"Records are a sample of about 1 in {sample} accesses. The counts are exact.")
    sentences += _filtered(settings, False, True)
    sentences += _windows(settings)
    if settings.get("code_attribution", True) is False:
        sentences.append("Source lines were switched off for this recording.")
    return sentences


def _windows(settings: Mapping[str, Any]) -> list[str]:
    """When was recorded, where that was not all the time."""
    given = [
        f"{name.replace('_', ' ')} {settings[name]}" + unit
        for name, unit in (
            ("capture_range", ""),
            ("launch_skip", ""),
            ("launch_count", ""),
            ("delay", " s"),
            ("duration", " s"),
        )
        if settings.get(name)
    ]
    return [f"Only a part of the program was recorded: {', '.join(given)}."] if given else []


def _differences(source: Process) -> list[str]:
    """What the footer promises and the tables do not hold; there is none unless the collector has a fault."""
    totals = source.footer.totals if source.footer else {}
    pid = source.header.pid
    held = {"records_written": source.record_rows, "accesses": source.count_accesses}
    return [
        f"The footer reports {totals[name]} {name.split('_')[0]}, but the trace of process {pid} holds {number}."
        for name, number in held.items()
        if totals.get(name, number) != number
    ]


def _sentence(notice: str) -> str:
    """A notice. Those of the collector are like its lines on a terminal, without a capital and a full stop."""
    text = " ".join(notice.split())
    return text if text.endswith(".") else f"{text[:1].upper()}{text[1:]}."


def _things(number: int, one: str, many: str) -> str:
    return f"{units.count(number)} {one if number == 1 else many}"


def not_measured(sites: pd.DataFrame, counts: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``sites`` that were not measured: site, kernel (the function that holds it), file, line, …

    With accesses and lanes, the sums over ``counts``: how often it ran, most often first.
    """
    table = sites[~sites["measured"]].reset_index().assign(accesses=np.int64(0), lanes=np.int64(0))
    if table.empty:
        return table[_NOT_MEASURED]
    ran = settled(counts, ["site"], ["accesses", "lanes"]).set_index("site").reindex(table["site"], fill_value=0)
    for value in ("accesses", "lanes"):
        table[value] = ran[value].to_numpy()
    return table.sort_values(["accesses", "site"], ascending=[False, True], ignore_index=True)[_NOT_MEASURED]


def that_ran(unmeasured: pd.DataFrame) -> pd.DataFrame:
    """The rows of `not_measured` whose instructions ran: what they moved is missing."""
    ran: pd.DataFrame = unmeasured[unmeasured["accesses"] > 0]
    return ran


def that_did_not_run(unmeasured: pd.DataFrame) -> str:
    """A sentence on the other rows, of which a library can have thousands; "" where there are none."""
    ran = int((unmeasured["accesses"] > 0).sum())
    idle = len(unmeasured) - ran
    if not idle:
        return ""
    which = (
        "more"
        if ran
        else "instruction that cannot be measured"
        if idle == 1
        else "instructions that cannot be measured"
    )
    return f"{idle:,} {which} did not run in any launch with probes."


def in_words(unmeasured: pd.DataFrame) -> pd.DataFrame:
    """The rows of `not_measured` by what they do: uncounted sites accesses lanes, most often run first.

    ``uncounted`` is in plain words.
    """
    opcodes = unmeasured["opcode"].astype("str")
    named = unmeasured.assign(
        uncounted=pd.Series([_doing(opcode) for opcode in opcodes], unmeasured.index, dtype="str"), sites=1
    )
    table = named.groupby("uncounted", sort=False)[["sites", "accesses", "lanes"]].sum().reset_index()
    return table.sort_values(["accesses", "uncounted"], ascending=[False, True], ignore_index=True)


def _doing(opcode: str) -> str:
    return next((words for starts, words in _DOING if opcode.startswith(starts)), _OTHER)


def unmeasured_in_words(sites: pd.DataFrame) -> list[str]:
    """A sentence on the rows of `not_measured` whose instructions ran."""
    sentences = []
    ran = that_ran(sites)
    if len(ran):
        kinds = list(dict.fromkeys(opcode.split(".")[0] for opcode in ran["opcode"]))
        named = ", ".join(kinds[:_KINDS]) + (", …" if kinds[_KINDS:] else "")
        which, what = ("a kind", "it moved") if len(ran) == 1 else ("kinds", "they moved")
        sentences.append(
            f"{_things(len(ran), 'instruction', 'instructions')} of {which} that cannot be measured ({named}) ran "
            f"{_things(int(ran['accesses'].sum()), 'time', 'times')}: what {what} is not in this trace; "
            "not_measured() names them."
        )
    return sentences
