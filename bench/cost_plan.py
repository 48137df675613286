"""What the bench of the kernels' cost measures: programs × columns, and the targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Program:
    """One program of kernels/. A launch of `ring` and `jacobi` is one iteration on all GPUs."""

    name: str
    what: str
    command: tuple[str, ...]
    """Executable, and arguments before the common ones."""
    launches: int = 1
    """In a repetition."""
    sampled_launches: int = 100
    """The same where one launch in 100 is instrumented."""
    local: bool = False
    """It touches memory of its own GPU only, and can do without another."""
    controlled: bool = True
    """The control is within reach: not for a library of hundreds of functions, which it disassembles one by one."""


PROGRAMS = {
    program.name: program
    for program in (
        Program("stencil", "4 loads and a store per lane, 4096 × 4096 words, local", ("stencil",), local=True),
        Program("gemm", "tiled matrix product, 1024 × 1024 words, local", ("gemm",), local=True),
        Program("copy", "a load and a store per lane, 2^24 words, local", ("arrays", "copy"), local=True),
        Program("fill", "a store per lane, 2^24 words, local", ("arrays", "fill"), local=True),
        Program("store", "a 4-byte store to the peer, 2^24 words", ("arrays", "store")),
        Program("put", "a local load and a 4-byte store to the peer, 2^24 words", ("arrays", "put")),
        Program("get", "a 16-byte load from the peer and a local store, 2^24 words", ("arrays", "get")),
        Program("ring", "put, get and bump of the sample, 2^22 words, all GPUs", ("ring",), launches=10),
        Program("jacobi", "the sample's sweep, 8192 × 2048 words per GPU, all GPUs", ("jacobi",), launches=100),
        Program("launches", "one warp with one reduction on the peer", ("launches",), 2000, sampled_launches=2000),
        Program("all_reduce", "NCCL, 2^22 floats, all GPUs in one process", ("all_reduce",), controlled=False),
    )
}


@dataclass(frozen=True)
class Column:
    """One way to run a program."""

    name: str
    heading: str
    tool: Literal["", "control", "collector"] = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False
    """With one visible GPU, and so without a foreign mapping; for local programs only."""
    sampled: bool = False
    """It instruments one launch in 100: a repetition has enough of them."""

    def runs(self, program: Program) -> bool:
        return (program.local or not self.alone) and (program.controlled or self.tool != "control")


def _collector(name: str, heading: str, *, sampled: bool = False, **settings: str) -> Column:
    return Column(name, heading, "collector", {"KERNEL_NAME": "all"} | settings, sampled=sampled)


COLUMNS = {
    column.name: column
    for column in (
        Column("native", "native"),
        Column("loaded", "tool loaded", "collector", {"KERNEL_NAME": "none_such"}),
        Column("control", "control", "control"),
        _collector("counts", "counts", SAMPLE_SIZE="0"),
        _collector("records", "counts + records", SAMPLE_SIZE="1"),
        _collector("records_100", "1/100 records", SAMPLE_SIZE="100"),
        _collector("launches_100", "1/100 launches", SAMPLE_SIZE="1", LAUNCH_SAMPLE="100", sampled=True),
        Column("alone_native", "native, one GPU", alone=True),
        Column("alone", "no foreign mapping", "collector", {"KERNEL_NAME": "all", "SAMPLE_SIZE": "1"}, alone=True),
    )
}

# Slowdown under an NVBit tool of the predecessor's design with everything recorded; see cost_report.SECTION.
PREDECESSOR = {"put": 6.75 / 0.186, "stencil": 19.8 / 0.065}


@dataclass(frozen=True)
class Target:
    """A bound on the ratio of two columns' kernel times, or, `ahead`, on how far it is below the predecessor's."""

    program: str
    column: str
    base: str
    bound: float
    ahead: bool = False

    @property
    def text(self) -> str:
        column, base = COLUMNS[self.column].heading, COLUMNS[self.base].heading
        if self.ahead:
            return f"{self.program}: {column}, against the predecessor"
        return f"{self.program}: {column} / {base}"

    def measured(self, ratio: float) -> float:
        """What is compared with the bound, from the ratio of the two columns' kernel times."""
        return PREDECESSOR[self.program] / ratio if self.ahead else ratio

    def met(self, ratio: float) -> bool:
        value = self.measured(ratio)
        return value >= self.bound if self.ahead else value <= self.bound


_LOCAL = tuple(program.name for program in PROGRAMS.values() if program.local)

TARGETS = (
    *(Target(name, "alone", "alone_native", 1.02) for name in _LOCAL),
    *(Target(name, "loaded", "native", 1.02) for name in (*_LOCAL, "store", "put", "get", "ring", "jacobi")),
    Target("fill", "counts", "control", 1.05),
    Target("stencil", "counts", "control", 0.5),
    Target("gemm", "counts", "control", 0.6),
    Target("put", "counts", "control", 1.15),
    Target("store", "counts", "control", 1.15),
    Target("jacobi", "launches_100", "native", 1.2),
    Target("put", "records", "native", 6, ahead=True),
    Target("stencil", "records", "native", 15, ahead=True),
)
