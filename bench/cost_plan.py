"""What the bench of the kernels' cost measures: programs × columns, and the targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Program:
    """One program of kernels/ or, in Python, of training/. A launch of `ring` and of a Jacobi is one iteration on its
    GPUs, one of training is a step."""

    name: str
    what: str
    command: tuple[str, ...]
    """Executable or script, and arguments before the common ones."""
    launches: int = 1
    """In a repetition."""
    sampled_launches: int = 100
    """The same where one launch in 100 is instrumented."""
    local: bool = False
    """It touches memory of its own GPU only, and can do without another."""
    controlled: bool = True
    """The control is within reach: not for a library of hundreds of functions, which it disassembles one by one."""
    gpus: int | None = 2
    """How many it is given; None: all that are visible."""
    columns: tuple[str, ...] = ()
    """Only these, where a program takes long or answers one question. Empty: all that need not be named."""

    @property
    def script(self) -> bool:
        """In Python."""
        return self.command[0].endswith(".py")


# Of the programs that are like other people's: enough for their targets.
_WITH_CONTROL = ("native", "loaded", "control", "counts", "records")
_LIBRARY = ("native", "loaded", "counts", "records")

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
        Program("ring", "put, get and bump of the sample, 2^22 words, both GPUs", ("ring",), launches=10),
        Program(
            "jacobi",
            "the sample's sweep, 8192 × 2048 words per GPU, which stores its boundary rows to its neighbours",
            ("jacobi", "store"),
            launches=100,
        ),
        Program(
            "jacobi_copy",
            "the same; `cudaMemcpyPeerAsync` copies the boundary rows, and no kernel leaves its GPU",
            ("jacobi", "copy"),
            launches=100,
            columns=_WITH_CONTROL,
        ),
        Program(
            "jacobi_reference",
            "the same on GPU 0 alone, in a program that has run it on all",
            ("jacobi", "reference"),
            launches=100,
            columns=_WITH_CONTROL,
        ),
        Program(
            "managed",
            "the stencil in managed memory, 20 launches in a row",
            ("stencil", "managed"),
            launches=20,
            columns=_WITH_CONTROL,
        ),
        Program(
            "stencil_graph",
            "the stencil, each launch the replay of a CUDA graph",
            ("stencil", "graph"),
            local=True,
            columns=("native", "counts", "records"),
        ),
        Program("launches", "one warp with one reduction on the peer", ("launches",), 2000, sampled_launches=2000),
        Program(
            "launch_calls",
            "the same, 200 in a row, without waiting for their end: what a launch takes the host",
            ("launches", "calls"),
            launches=200,
            columns=("native", "loaded", "timed", "counts", "untimed"),
        ),
        Program("all_reduce", "NCCL, 4 MiB of floats, two GPUs in one process", ("all_reduce",), controlled=False),
        Program(
            "all_reduce_graph",
            "the same, each launch the replay of a CUDA graph on each GPU",
            ("all_reduce", "graph"),
            columns=_LIBRARY,
        ),
        Program("all_reduce_4", "the same, four GPUs in one process", ("all_reduce",), gpus=4, columns=_LIBRARY),
        Program(
            "fsdp",
            "a training step of PyTorch, sharded by FSDP, one process per GPU, all GPUs",
            ("steps.py", "fsdp"),
            launches=5,
            gpus=None,
            columns=("native", "clean", "nvbit", "loaded", "counts", "counts_nccl"),
        ),
        Program(
            "ddp",
            "the same with DDP, and compiled by `torch.compile` in each process anew",
            ("steps.py", "ddp"),
            launches=5,
            gpus=None,
            columns=("native", "loaded", "counts"),
        ),
    )
}


@dataclass(frozen=True)
class Column:
    """One way to run a program."""

    name: str
    heading: str
    tool: Literal["", "control", "collector", "times"] = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False
    """With one visible GPU, and so without a foreign mapping; for local programs only."""
    sampled: bool = False
    """It instruments one launch in 100: a repetition has enough of them."""
    named: bool = False
    """Only for the programs that name it."""

    @property
    def instruments(self) -> bool:
        return self.tool == "collector" and self.settings["KERNEL_NAME"] == "all" and not self.alone

    def runs(self, program: Program) -> bool:
        if program.columns or self.named:
            return self.name in program.columns
        return (program.local or not self.alone) and (program.controlled or self.tool != "control")


def _collector(name: str, heading: str, *, sampled: bool = False, named: bool = False, **settings: str) -> Column:
    return Column(name, heading, "collector", {"KERNEL_NAME": "all"} | settings, sampled=sampled, named=named)


COLUMNS = {
    column.name: column
    for column in (
        Column("native", "native"),
        Column("loaded", "tool loaded", "collector", {"KERNEL_NAME": "none_such"}),
        Column("timed", "tool loaded + times", "collector", {"KERNEL_NAME": "none_such", "TIMES": "all"}, named=True),
        Column("nvbit", "NVBit alone", "control", {"CONTROL": "idle"}, named=True),
        Column("clean", "clean recording", "times", named=True),
        Column("control", "control", "control"),
        _collector("counts", "counts", SAMPLE_SIZE="0"),
        _collector("untimed", "counts without times", named=True, SAMPLE_SIZE="0", TIMES="off"),
        _collector("counts_nccl", "counts of NCCL", named=True, KERNEL_NAME="nccl", SAMPLE_SIZE="0"),
        _collector("waits", "counts + waits", SAMPLE_SIZE="0", WAITS="on"),
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
    """A bound on what one column costs beyond another."""

    program: str
    column: str
    base: str
    bound: float
    kind: Literal["kernel", "launch", "ahead", "process", "cold", "warm"] = "kernel"
    """kernel: ratio of the kernel times; launch: by how many µs they are longer; ahead: how far the ratio is below the
    predecessor's. process: ratio of the times of whole processes. cold, warm: by how many seconds a whole process takes
    longer, when nothing was in its cache of disassembly and when it was, whatever column it is of."""

    @property
    def text(self) -> str:
        column, base = COLUMNS[self.column].heading, COLUMNS[self.base].heading
        match self.kind:
            case "kernel":
                return f"{self.program}: {column} / {base}"
            case "launch":
                return f"{self.program}: {column} beyond {base}"
            case "ahead":
                return f"{self.program}: {column}, against the predecessor"
            case "process":
                return f"{self.program}, whole process: {column} / {base}"
            case _:
                return f"{self.program}, whole process: instrumented, {self.kind}, beyond {base}"

    def met(self, measured: float) -> bool:
        return measured >= self.bound if self.kind == "ahead" else measured <= self.bound


_LOCAL = tuple(program.name for program in PROGRAMS.values() if program.local and not program.columns)

TARGETS = (
    *(Target(name, "alone", "alone_native", 1.02) for name in _LOCAL),
    *(Target(name, "loaded", "native", 1.02) for name in (*_LOCAL, "store", "put", "get", "ring", "jacobi")),
    Target("fill", "counts", "control", 1.05),
    Target("stencil", "counts", "control", 0.5),
    Target("gemm", "counts", "control", 0.6),
    Target("put", "counts", "control", 1.15),
    Target("store", "counts", "control", 1.15),
    *(Target(name, "counts", "native", 1.05) for name in (*_LOCAL, "stencil_graph")),
    Target("jacobi", "counts", "native", 1.15),
    Target("jacobi_copy", "counts", "native", 1.1),
    Target("jacobi_reference", "counts", "native", 1.1),
    Target("put", "counts", "native", 3.5),
    Target("managed", "records", "counts", 1.5),
    Target("all_reduce", "counts", "native", 8),
    Target("all_reduce_4", "counts", "native", 15),
    Target("all_reduce_4", "counts", "native", 3, "cold"),
    Target("all_reduce_4", "counts", "native", 1.5, "warm"),
    Target("fsdp", "counts", "native", 1.6),
    Target("fsdp", "counts_nccl", "native", 1.6),
    Target("fsdp", "loaded", "native", 1.1),
    Target("fsdp", "clean", "native", 1.05),
    Target("ddp", "counts", "native", 3),
    Target("ddp", "counts", "native", 1.5, "process"),
    Target("launch_calls", "timed", "loaded", 3, "launch"),
    Target("launch_calls", "counts", "untimed", 3, "launch"),
    Target("jacobi", "launches_100", "native", 1.2),
    Target("put", "records", "native", 6, "ahead"),
    Target("stencil", "records", "native", 15, "ahead"),
)
