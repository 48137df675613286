"""An exact and a clean recording of one program: what a test says of each, by ranks and streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.encoder import START_NS, TraceBuilder

FILE = "/home/u/app/app.cu"
SECTORS = 1 << 20  # of a launch that moves data: 32 MiB
LACKS = ["allocations", "driver calls", "which memory kernels access"]


@dataclass(frozen=True)
class Launch:
    """A kernel, and what its launch looks like; ``moves``: it stores to the other GPU. ``ran``: ns without probes."""

    kernel: str
    grid: int = 4
    block: int = 128
    moves: bool = False
    ran: int = 1_000_000
    group: int = 0


@dataclass
class Rank:
    """The launches of each stream, in their order; the streams' launches begin one after another."""

    streams: Sequence[Sequence[Launch]]
    gpu: int = 0
    rank: int = -1
    ranks: int = 1
    late: int = 0  # ns, of all its native times
    collectives: Sequence[int] = ()
    handles: Mapping[int, int] = field(default_factory=dict)

    def header(self) -> dict[str, str]:
        if self.rank < 0:
            return {}
        return {"RANK": str(self.rank), "LOCAL_RANK": str(self.rank), "WORLD_SIZE": str(self.ranks)}

    def in_turns(self) -> Iterable[tuple[int, Launch]]:
        """Launches of the streams in turn, as one thread makes them."""
        for place in range(max(map(len, self.streams), default=0)):
            for number, stream in enumerate(self.streams):
                if place < len(stream):
                    yield number, stream[place]


def write_exact(folder: Path, ranks: Sequence[Rank], *, run: str = "") -> Path:
    """Traces of the collector in a folder of their own."""
    folder.mkdir(exist_ok=True)
    for rank in ranks:
        builder = TraceBuilder(2, pid=100 + max(rank.rank, 0), ranks=rank.header())
        if run:
            builder.header["process"]["run"] = {"id": run, "of": "run"}
        functions: dict[str, tuple[int, int]] = {}
        for stream, launch in rank.in_turns():
            if launch.kernel not in functions:
                function = builder.function(f"{launch.kernel}(int*)", f"_Z{launch.kernel}Pi")
                line = builder.line(FILE, 10 + len(functions))
                functions[launch.kernel] = function, builder.site(function, "STG.E", "store", 4, line=line)
            function, site = functions[launch.kernel]
            number = builder.launch(
                function, rank.gpu, stream=0x7F00_0000 + 64 * stream, grid_x=launch.grid, block_x=launch.block,
                group=launch.group,
            )  # fmt: skip
            # Instrumented: ten times as long.
            start = START_NS + 20_000_000 * number
            builder.add("spans", launch=number, start=start, end=start + 10 * launch.ran)
            if launch.moves:
                builder.count(number, site, 1 - rank.gpu, SECTORS // 4, 8 * SECTORS, SECTORS)
        for group in rank.collectives:
            builder.collective(group, "AllReduce", 1024, gpu=rank.gpu, rank=rank.rank, ranks=rank.ranks)
        builder.write(folder / f"exact{max(rank.rank, 0)}.zst")
    return folder


def write_clean(
    folder: Path, ranks: Sequence[Rank], *, run: str = "", mangled: bool = True, tool: str = "CUPTI", split: int = 0
) -> Path:
    """Clean recordings in a folder: streams have other numbers, and times are those without probes.

    ``split``: after so many launches of a stream the next ones are in a new stream.
    """
    folder.mkdir(exist_ok=True)
    for rank in ranks:
        builder = TraceBuilder(
            2, pid=200 + max(rank.rank, 0), ranks=rank.header(), settings={"copy_times": "device", "output": "t.zst"}
        )
        builder.header["tool"] |= {"imported_from": tool, "lacks": LACKS}
        builder.header["process"]["start_ns"] = START_NS - 60_000_000_000
        if run:
            builder.header["process"]["run"] = {"id": run, "of": "run"}
        functions: dict[str, int] = {}
        clock = dict.fromkeys(range(len(rank.streams)), START_NS - 50_000_000_000 + rank.late)
        made = dict.fromkeys(clock, 0)
        for stream, launch in rank.in_turns():
            if launch.kernel not in functions:
                functions[launch.kernel] = builder.add(
                    "functions",
                    name=builder.string(f"{launch.kernel}(int *)"),
                    mangled=builder.string(f"_Z{launch.kernel}Pi") if mangled else 0,
                    kernel=1,
                )
            start = clock[stream]
            clock[stream] = start + launch.ran + 5_000
            handle = rank.handles.get(stream, 7 + stream) + (100 * (made[stream] // split) if split else 0)
            made[stream] += 1
            number = builder.launch(
                functions[launch.kernel], rank.gpu, stream=handle, grid_x=launch.grid,
                block_x=launch.block, time=start - 10_000,
            )  # fmt: skip
            builder.add("spans", launch=number, start=start, end=start + launch.ran)
        builder.write(folder / f"times{max(rank.rank, 0)}.zst")
    return folder
