"""What a trace does not show, in plain sentences. An empty list: nothing was lost."""

from __future__ import annotations

from collections.abc import Mapping
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
_OTHER = "unknown instructions"
# Remedies that sentences name in Python, for someone at a shell.
_REMEDIES = {
    "load(…, allow_truncated=True)": "--allow-truncated",
    "load(…, trust=True)": "--trust",
    "not_measured() names them": "snoopie info names them",
}


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


def in_shell_words(sentence: str) -> str:
    """The sentence with the remedies of the command line."""
    for python, shell in _REMEDIES.items():
        sentence = sentence.replace(python, shell)
    return sentence


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
    sentences += _unmeasured(not_measured(tables.sites, unmeasured))
    moved = settled(moved, ["site", "owner"])
    if unknown := int(moved.loc[moved["owner"] == UNKNOWN, "accesses"].sum()):
        sentences.append(f"{_things(unknown, 'access', 'accesses')} touched memory with an unknown owner.")
    if unknown := int((tables.copies[["source", "destination"]] == UNKNOWN).any(axis=1).sum()):
        sentences.append(f"{_things(unknown, 'copy has', 'copies have')} an end in memory with an unknown owner.")
    widths = tables.widths(moved["site"].to_numpy())
    if shapeless := int(moved.loc[widths == 0, "accesses"].sum()):
        sentences.append(
            f"{_things(shapeless, 'access has', 'accesses have')} an unknown width: their bytes are counted as 0."
        )
    # Where lines were switched off, the settings say so.
    attributed = [source.header.settings.get("code_attribution", True) is not False for source in tables.sources]
    functions = tables.functions[np.array(attributed, np.bool_)[tables.functions["process"].to_numpy()]]
    functions = functions[functions.index.isin(tables.sites["function"])]
    if bare := int((~functions["has_lines"]).sum()):
        sentences.append(
            f"{bare} of {_things(len(functions), 'function has', 'functions have')} no source lines: "
            "compile with -lineinfo to see them."
        )
    return sentences


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


def _from_settings(settings: Mapping[str, Any]) -> list[str]:
    sentences = []
    sample = settings.get("sample_size", 1)
    if sample == 0:
        sentences.append("No single accesses were recorded (sample size 0): this trace has counts only.")
    elif isinstance(sample, int) and sample != 1:
        sentences.append(f"Records are a sample of about 1 in {sample} accesses. The counts are exact.")
    kernels = settings.get("kernels", "all")
    if kernels != "all":
        sentences.append(f"Only some kernels were measured: those selected by {kernels!r}.")
    blocks = settings.get("blocks", "all")
    if blocks != "all":
        sentences.append(f"Only some thread blocks were measured: those selected by {blocks!r}.")
    if settings.get("code_attribution", True) is False:
        sentences.append("Source lines were switched off for this recording.")
    return sentences


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
    table = sites[~sites["measured"]].reset_index()
    ran = settled(counts, ["site"], ["accesses", "lanes"]).set_index("site").reindex(table["site"], fill_value=0)
    for value in ("accesses", "lanes"):
        table[value] = ran[value].to_numpy()
    table = table.sort_values(["accesses", "site"], ascending=[False, True], ignore_index=True)
    return table[
        ["site", "kernel", "file", "line", "offset", "opcode", "operation", "width", "sass", "accesses", "lanes"]
    ]


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


def _unmeasured(sites: pd.DataFrame) -> list[str]:
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
