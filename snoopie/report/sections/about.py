"""Totals, what the trace lacks, GPUs and processes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from snoopie.analysis.losses import in_shell_words
from snoopie.api.trace import Trace
from snoopie.report.parts import KeyNumbers, Part, Section, Sentences, Text, cut, table
from snoopie.words import units

# Sentences on what a trace lacks, and letters of each: a hostile one can have as many as it likes.
_MOST, _LONGEST = 40, 400


def totals(trace: Trace, _: Sequence[Path]) -> Section:
    amounts = trace.summary()
    about = "≈ " if trace.estimated else ""
    numbers = [
        ("Bytes", about + units.bytes(amounts["bytes"]), "lanes × width: what instructions asked for"),
        ("Wire bytes", about + units.bytes(amounts["wire_bytes"]), "32 bytes for each sector touched"),
        ("Wire efficiency", about + units.percent(amounts["wire_efficiency"]), "bytes / wire bytes"),
        ("Accesses", about + units.count(amounts["accesses"]), "executions of an instruction by a warp"),
        (
            "Launches",
            units.count(amounts["launches"]),
            f"of {units.count(amounts['kernels'])} {'kernel' if amounts['kernels'] == 1 else 'kernels'}",
        ),
        ("GPUs", units.count(amounts["gpus"]), "told apart by UUID"),
        ("Processes", units.count(len(trace.processes)), "one trace each"),
    ]
    if amounts["copies"]:
        copies = f"by {units.count(amounts['copies'])} {'copy' if amounts['copies'] == 1 else 'copies'} of the host"
        numbers.append(("Copied", units.bytes(amounts["copy_bytes"]), copies))
    parts: list[Part] = [KeyNumbers(numbers)]
    if trace.estimated:
        parts.append(Text("≈ Estimates: only some launches were measured, and each stands for others of its kernel."))
    return Section("totals", "What crossed between GPUs", parts)


def losses(trace: Trace, _: Sequence[Path]) -> Section:
    sentences = [in_shell_words(sentence) for sentence in trace.losses()]
    shown = [cut(sentence, _LONGEST) for sentence in sentences[:_MOST]]
    if len(sentences) > _MOST:
        shown.append(f"{len(sentences) - _MOST} more: snoopie info lists them.")
    if not shown:
        return Section(
            "lacks",
            "What this trace lacks",
            [Text("Nothing was lost: every remote access of the selected kernels is counted.")],
        )
    return Section("lacks", "What this trace lacks", [Sentences(shown)])


def machine(trace: Trace, _: Sequence[Path]) -> Section:
    gpus = trace.gpus.assign(
        nvlinks=[str(links) if links >= 0 else "unknown" for links in trace.gpus["nvlinks"]],
        sm=[f"{sm // 10}.{sm % 10}" for sm in trace.gpus["sm"]],
    ).rename(columns={"label": "GPU", "sm": "compute capability", "nvlinks": "NVLinks", "pci": "PCI", "uuid": "UUID"})
    processes = trace.processes.reset_index()
    ranks = [name for name in ("rank", "local_rank") if (processes[name] >= 0).any()]
    for name in ranks:
        processes[name] = [str(number) if number >= 0 else units.NOTHING for number in processes[name]]
    processes["ran"] = [
        units.duration(end - start) if start and end else units.NOTHING
        for start, end in zip(processes["start_ns"], processes["end_ns"], strict=True)
    ]
    for name in ("process", "pid"):
        processes[name] = processes[name].astype("str")
    where = "snoopie info lists them all"
    shown = ["GPU", "name", "compute capability", "memory", "NVLinks", "host", "PCI", "UUID"]
    return Section(
        "machine",
        "GPUs and processes",
        [
            table(gpus, shown, "GPUs", where),
            table(processes, ["process", *ranks, "host", "pid", "ran", "command"], "Processes", where),
        ],
    )
