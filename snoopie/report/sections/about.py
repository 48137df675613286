"""Totals, what the trace lacks, GPUs and processes."""

from __future__ import annotations

from snoopie.api.trace import Trace
from snoopie.report.parts import Folders, KeyNumbers, Part, Section, Sentences, Text, cut, table
from snoopie.trace.lacks import Lack
from snoopie.words import columns, units
from snoopie.words.remedies import in_shell_words

# Sentences on what a trace lacks, and letters of each: a hostile one can have as many as it likes.
_MOST, _LONGEST = 40, 400


def totals(trace: Trace, _: Folders) -> Section:
    amounts = trace.summary()
    about = "≈ " if trace.estimated else ""
    numbers = [
        *(
            (
                columns.heading(name),
                units.UNKNOWN if trace.lacks(Lack.ACCESSES) else about + columns.say(name, amounts[name]),
                columns.meaning(name),
            )
            for name in ("bytes", "wire_bytes", "wire_efficiency", "accesses")
        ),
        (
            "Launches",
            units.count(amounts["launches"]),
            f"of {units.count(amounts['kernels'])} {'kernel' if amounts['kernels'] == 1 else 'kernels'}",
        ),
        ("GPUs", units.count(amounts["gpus"]), "identified by UUID"),
        ("Processes", units.count(len(trace.processes)), "one trace each"),
    ]
    if amounts["copies"]:
        copies = f"by {units.count(amounts['copies'])} {'copy' if amounts['copies'] == 1 else 'copies'} of the host"
        size = units.UNKNOWN if trace.lacks(Lack.COPY_SIZES) else units.bytes(amounts["copy_bytes"])
        numbers.append(("Copied", size, copies))
    parts: list[Part] = [KeyNumbers(numbers)]
    if trace.estimated:
        parts.append(Text("≈ Estimates: only some launches were measured, and each stands for others of its kernel."))
    parts += [Text(sentence) for sentence in trace.about_wire_bytes()]
    return Section("totals", "What crossed between GPUs", parts)


def losses(trace: Trace, _: Folders) -> Section:
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


def machine(trace: Trace, _: Folders) -> Section:
    processes = trace.processes.reset_index()
    ranks = [name for name in ("rank", "local_rank") if (processes[name] >= 0).any()]
    known = (processes["start_ns"] > 0) & (processes["end_ns"] > 0)
    processes["ran"] = (processes["end_ns"] - processes["start_ns"]).where(known, -1)
    where = "snoopie info lists them all"
    shown = ["label", "name", "sm", "memory", "nvlinks", "host", "pci", "uuid"]
    return Section(
        "machine",
        "GPUs and processes",
        [
            table(trace.gpus, shown, "GPUs", where),
            table(processes, ["process", *ranks, "host", "pid", "ran", "command"], "Processes", where),
        ],
    )
