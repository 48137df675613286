"""What a trace lacks of what happened, as sentences: what nsys cannot record, was not told to, or did not say."""

from __future__ import annotations

from dataclasses import dataclass, field

from snoopie.importers.nsys.report import Report
from snoopie.importers.words import without_accesses
from snoopie.words import units


@dataclass(slots=True)
class Counted:
    """Numbers of what an import came across; pairs are of a number and of bytes or nanoseconds."""

    calls: int = 0
    allocations: int = 0
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

    def add(self, more: Counted) -> None:
        """Takes in the numbers of another part."""
        for name in ("calls", "homeless", "unsaid", "copies"):
            setattr(self, name, getattr(self, name) + getattr(more, name))
        for name in ("inside", "sets", "graphs"):
            one, other = getattr(self, name), getattr(more, name)
            setattr(self, name, (one[0] + other[0], one[1] + other[1]))
        self.stacks |= more.stacks


def lacks(report: Report, counted: Counted, process: int | None) -> list[str]:
    """The sentences, what can be mended by recording or exporting again first.

    Numbers are said to be those of a ``process``, if that is not the only one.
    """
    whose = "" if process is None else f"Process {process}: "
    return [
        *_recorded(report, counted),
        *_said(report, counted),
        *(whose + text for text in _numbers(counted)),
        *(["Copies have their times on the GPU, as Nsight Systems measured them."] if counted.copies else []),
    ]


def _recorded(report: Report, counted: Counted) -> list[str]:
    sentences = [without_accesses("Nsight Systems")]
    sentences += [f"Nsight Systems reported: {text}" for text in counted.incomplete]
    # A table that is there may have no rows: not every export leaves those out.
    if not counted.calls:
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
    if not counted.allocations and not report.memory_recorded:
        sentences.append(
            "The report has no allocations: record it with nsys profile --trace=cuda --cuda-memory-usage=true."
        )
    if counted.graphs[0]:
        sentences.append(
            "The report has CUDA graphs only as a whole, not their kernels and copies: record it with nsys profile "
            "--cuda-graph-trace=node."
        )
    if counted.unsized:
        sentences.append(
            "The report does not say how many bytes all calls of NCCL moved: export it with nsys export "
            "--include-blobs true; NCCL says it from version 2.19 on."
        )
    if counted.collectives:
        sentences.append(
            "NCCL's calls have neither element type nor count. Which GPUs exchanged what in a collective is not known."
        )
    if counted.sends:
        sentences.append("What NCCL sent stands among the copies, with the times of the calls.")
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
    return sentences


def _numbers(counted: Counted) -> list[str]:
    launched, spent = counted.graphs
    copies, copied = counted.inside
    sets, written = counted.sets
    plural = units.plural
    sentences = [
        (launched, f"{plural(launched, 'graph', 'graphs')} launched as a whole, {units.duration(spent)} on GPUs."),
        (counted.unsized, f"{plural(counted.unsized, 'call', 'calls')} of NCCL with unknown bytes."),
        (counted.nameless, f"{plural(counted.nameless, 'call', 'calls')} of NCCL by an unknown rank."),
        (counted.unsaid, f"{plural(counted.unsaid, 'call', 'calls')} whose results, and so failures, are not known."),
        (
            copies,
            f"{plural(copies, 'copy', 'copies')} within one GPU's or the host's memory ({_exactly(copied)}) crossed "
            "no link: only the calls have them.",
        ),
        (sets, f"{plural(sets, 'memset', 'memsets')} ({_exactly(written)}) crossed no link: only the calls have them."),
        (
            counted.lost_frees,
            f"{plural(counted.lost_frees, 'free is of an allocation', 'frees are of allocations')} made before the "
            "report began.",
        ),
        (counted.homeless, f"{plural(counted.homeless, 'kernel', 'kernels')} of an unknown GPU left out."),
        (counted.invalid, f"{plural(counted.invalid, 'row', 'rows')} of the report made no sense and were left out."),
    ]
    return [text for number, text in sentences if number]


def _exactly(amount: int) -> str:
    return units.bytes(amount) if amount < 1024 else f"{units.bytes(amount)}, {amount:,} bytes"
