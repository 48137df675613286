"""What a trace lacks of what happened, as sentences: what nsys cannot record, was not told to, or did not say."""

from __future__ import annotations

from dataclasses import dataclass, field

from snoopie.importers.nsys import calls, gpu_work, memory
from snoopie.importers.nsys.export import Export
from snoopie.importers.nsys.report import Report
from snoopie.words import units


@dataclass(slots=True)
class Counted:
    """Numbers of what an import came across; pairs are of a number and of bytes or nanoseconds."""

    invalid: int = 0
    homeless: int = 0
    lost_frees: int = 0
    unsaid: int = 0
    copies: int = 0
    inside: tuple[int, int] = (0, 0)
    sets: tuple[int, int] = (0, 0)
    graphs: tuple[int, int] = (0, 0)
    collectives: int = 0
    unsized: int = 0
    nameless: int = 0
    sends: int = 0
    stacks: bool = False
    doubtful: bool = False
    invented: bool = False
    ambiguous: bool = False
    incomplete: list[str] = field(default_factory=list)


def lacks(export: Export, report: Report, counted: Counted) -> list[str]:
    """The sentences, what can be mended by recording or exporting again first."""
    return [*_recorded(export, counted), *_said(report, counted), *_oddities(counted)]


def _recorded(export: Export, counted: Counted) -> list[str]:
    sentences = [
        "Nsight Systems does not record which memory kernels access: the traffic of their loads and stores is not in "
        "this trace."
    ]
    sentences += [f"Nsight Systems reported: {text}" for text in counted.incomplete]
    if not export.has(calls.TABLE):
        sentences.append(
            "The report has no CUDA calls, so nothing says who allocated, launched or copied: record it with nsys "
            "profile --trace=cuda."
        )
    elif counted.doubtful:
        sentences.append(
            "The report's call stacks name other calls than those that they are said to be of: they were left out."
        )
    elif not counted.stacks:
        sentences.append(
            "The report has no call stacks: record it with nsys profile --cudabacktrace=all (it needs CPU sampling, "
            "--sample=process-tree)."
        )
    if not export.has(memory.TABLE):
        sentences.append(
            "The report has no allocations: record it with nsys profile --trace=cuda --cuda-memory-usage=true."
        )
    if export.has(gpu_work.GRAPHS):
        number, spent = counted.graphs
        ran = f" ({units.plural(number, 'launch', 'launches')}, {units.duration(spent)} on GPUs)" if number else ""
        sentences.append(
            f"The report has CUDA graphs only as a whole{ran}, not their kernels and copies: record it with nsys "
            "profile --cuda-graph-trace=node."
        )
    if counted.unsized:
        sentences.append(
            f"Of {units.plural(counted.unsized, 'call', 'calls')} of NCCL the report does not say how many bytes they "
            "moved: export it with nsys export --include-blobs true; NCCL says it from version 2.19 on."
        )
    return sentences


def _said(report: Report, counted: Counted) -> list[str]:
    sentences = []
    if not report.dated:
        sentences.append(
            "The report does not say when it began (newer versions of nsys do): times count from the start of its "
            "session."
        )
    if counted.invented:
        sentences.append(
            "The report lacks the UUID of a GPU (newer versions of nsys record it): it is named by host and number, "
            "and is not recognised in other traces."
        )
    if counted.ambiguous:
        sentences.append("The report has several GPUs of one number: those have no name here.")
    if counted.unsaid:
        sentences.append(
            f"Of {units.plural(counted.unsaid, 'call', 'calls')} the report does not say what they returned: failures "
            "among them are not known."
        )
    return sentences


def _oddities(counted: Counted) -> list[str]:
    sentences = []
    for (number, amount), one, many in (
        (counted.inside, "copy within one GPU's or the host's memory", "copies within one GPU's or the host's memory"),
        (counted.sets, "memset", "memsets"),
    ):
        if number:
            what = one if number == 1 else many
            sentences.append(f"{number} {what} ({_exactly(amount)}) crossed no link: only the calls have them.")
    if counted.collectives:
        sentences.append(
            "NCCL's calls have neither element type nor count"
            + (f", and {counted.nameless} of them not their rank" if counted.nameless else "")
            + ". Which GPUs exchanged what in a collective is not known."
        )
    if counted.sends:
        sentences.append(
            f"{units.plural(counted.sends, 'send', 'sends')} of NCCL stand among the copies, with the times of the "
            "calls."
        )
    if counted.lost_frees:
        what = "free is of an allocation" if counted.lost_frees == 1 else "frees are of allocations"
        sentences.append(f"{counted.lost_frees} {what} made before the report began.")
    if counted.homeless:
        sentences.append(f"{units.plural(counted.homeless, 'kernel', 'kernels')} of an unknown GPU were left out.")
    if counted.invalid:
        what = (
            "1 invalid row of the report was"
            if counted.invalid == 1
            else f"{counted.invalid} invalid rows of the report were"
        )
        sentences.append(f"{what} skipped.")
    if counted.copies:
        sentences.append("Copies have their times on the GPU, as Nsight Systems measured them, not those of the calls.")
    return sentences


def _exactly(amount: int) -> str:
    return units.bytes(amount) if amount < 1024 else f"{units.bytes(amount)}, {amount:,} bytes"
