"""Random runs of several processes whose rows are known: code, launches, what they moved, copies, links.

Ids and places are those that the processes have together: ids of a process come after those of the ones before it, GPUs
are numbered as they first appear.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random

from snoopie.api.trace import Trace
from tests.plain.drawing import loaded
from tests.support.encoder import COPY_KINDS, HOST, START_NS, UNKNOWN, TraceBuilder

OPCODES = {"load": "LDG.E", "store": "STG.E", "atomic": "ATOMG.E.ADD", "reduction": "REDG.E.ADD"}
# Kernels and functions by the library that they are of.
KERNELS = {
    "step<float, 2>(float*)": "program",
    "void n::halo<int>(int)": "program",
    "my_nccl_like(int)": "program",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)": "NCCL",
    "void barrier_on_stream_kernel(int)": "NVSHMEM",
}
CALLED = {"helper(int)": "program", "runRing_LL(int)": "program", "void nvshmemi_p<float>(float*)": "NVSHMEM"}
INLINED = {"": "program", "shifted": "program", "nvshmem_float_p": "NVSHMEM", "ncclLoad": "NCCL"}
TOOLKIT = "/usr/local/cuda/include/sm_32.hpp"
FILES = ("/src/a.cu", "/src/b.cu", "/src/deep/down/c.cu", "/src/deep/down/../d.cu", "lib/./e.cuh", "../up/f.cu")
PLACES = {HOST: -1, UNKNOWN: -2}


@dataclass
class Launch:
    """A measured launch, and how many launches it stands for."""

    id: int
    process: int
    kernel: str
    gpu: int
    stack: int
    group: int
    stands_for: Fraction = Fraction(1)


@dataclass
class Site:
    """An instruction. ``file`` and ``line`` are those that stand for it; ``function`` is what holds it."""

    id: int
    process: int
    function: str
    offset: int
    opcode: str
    operation: str
    width: int
    unit: int
    sass: str
    measured: bool
    line_id: int
    file: str
    line: int


@dataclass
class Moved:
    """What the accesses of an instruction in a launch amount to, to memory of one place, or one object of it."""

    launch: Launch
    site: Site
    owner: int
    accesses: int
    lanes: int
    units: int
    object: int = 0

    @property
    def amounts(self) -> tuple[int, int, int, int, int]:
        """accesses, lanes, wire units, bytes, wire bytes"""
        return self.accesses, self.lanes, self.units, self.lanes * self.site.width, self.units * self.site.unit


@dataclass
class Copied:
    """A copy that the host started."""

    process: int
    source: int
    destination: int
    bytes: int
    issuer: int
    kind: str
    call: str
    took: int
    stack: int


@dataclass
class Line:
    """A source line, and the one that it was inlined at (0: at none)."""

    file: str
    line: int
    function: str
    inlined_at: int = 0


@dataclass
class Instruction:
    """What processes of a run have in common: an instruction with its lines, the outermost first."""

    function: str
    offset: int
    operation: str
    width: int
    measured: bool
    lines: list[Line]


@dataclass
class Run:
    """``builders`` write the processes; the rest is what is in them, in words."""

    builders: list[TraceBuilder] = field(default_factory=list)
    # The GPUs' numbers in their UUIDs, by place; the labels of multicast objects.
    gpus: list[int] = field(default_factory=list)
    sets: dict[int, str] = field(default_factory=dict)
    lines: dict[int, Line] = field(default_factory=dict)
    sites: dict[int, Site] = field(default_factory=dict)
    launches: dict[int, Launch] = field(default_factory=dict)
    moved: list[Moved] = field(default_factory=list)
    copies: list[Copied] = field(default_factory=list)
    # Stack → the label of its only frame.
    stacks: dict[int, str] = field(default_factory=dict)
    # (issuer, owner) → access, native atomics
    links: dict[tuple[int, int], tuple[bool, bool]] = field(default_factory=dict)
    # Of objects: owner, kind.
    objects: dict[int, tuple[int, str]] = field(default_factory=dict)
    # Process, kernel, GPU, launches, how many of these were measured.
    sampling: list[tuple[int, str, int, int, int]] = field(default_factory=list)

    def label(self, place: int) -> str:
        """The name of a place."""
        if place <= -3:
            return self.sets[place]
        return {-1: "host", -2: "unknown"}.get(place, f"GPU {place}")

    @property
    def sampled(self) -> bool:
        """Whether some launches stand for others."""
        return any(0 < measured < launches for *_, launches, measured in self.sampling)

    @property
    def traffic(self) -> list[Moved]:
        """What is known of the measured instructions."""
        return [row for row in self.moved if row.site.measured]

    def load(self, seed: int) -> Trace:
        """The trace of all processes, with few rows in a block for odd seeds."""
        return loaded(self.builders, seed, all_runs=True)


def make(seed: int) -> Run:
    """A run of one to three processes on some of the same GPUs. Every third has kernels that were sampled."""
    random = Random(seed)
    run = Run()
    # Of two builds of a function, other instructions are at the same place.
    program = [_instruction(random, 16 * (place // 3)) for place in range(random.randint(1, 12))]
    for process in range(random.randint(1, 3)):
        _Process(run, process, random).fill(program, sampled=seed % 3 == 0)
    return run


def _instruction(random: Random, offset: int) -> Instruction:
    """Some have no line, of some the line is inlined at others, or in the toolkit's headers."""
    lines = [
        Line(random.choice((*FILES, TOOLKIT)), random.randint(1, 3), random.choice(list(INLINED)))
        for _ in range(random.randint(0, 3))
    ]
    operation, width = random.choice(list(OPCODES)), random.choice((0, 1, 4, 8, 16, 32))
    function = random.choice([*list(KERNELS)[:3], *KERNELS, *CALLED])
    return Instruction(function, offset, operation, width, random.random() < 0.85, lines[: random.randint(0, 3)])


class _Process:
    """Adds one process to a run."""

    def __init__(self, run: Run, process: int, random: Random) -> None:
        self.run, self.process, self.random = run, process, random
        numbers = random.sample(range(5), random.randint(2, 4))
        ranks = {"RANK": str(process)}
        self.trace = TraceBuilder(numbers, pid=100 + process, ranks=ranks)
        run.gpus += [number for number in numbers if number not in run.gpus]
        # The process' own codes of owners → places.
        self.places = {own: run.gpus.index(number) for own, number in enumerate(numbers)} | PLACES
        self.own = range(len(numbers))
        self.before = {name: self._last(name) for name in ("lines", "sites", "launches", "objects", "stacks")}
        self.groups = sum(max((row["group"] for row in done.rows["launches"]), default=0) for done in run.builders)
        run.builders.append(self.trace)

    def _last(self, table: str) -> int:
        return sum(len(done.rows[table]) for done in self.run.builders)

    def fill(self, program: list[Instruction], *, sampled: bool) -> None:
        self._links()
        self._sets()
        stacks = self._stacks()
        functions = self._functions()
        sites = self._sites(program, functions)
        launches = self._launches(functions, stacks)
        if sampled:
            self._sample(functions, launches)
        objects = self._objects()
        # What stands for others is scaled in 64-bit floats, which hold smaller numbers exactly.
        bits = 20 if sampled else 40
        for launch in launches:
            for site in self.random.sample(sites, self.random.randint(0, len(sites))):
                for owner, held in self.random.sample(objects, min(2, len(objects))):
                    if self.places[owner] != launch.gpu:
                        self._count(launch, site, owner, held, bits)
        for _ in range(self.random.randint(0, 9)):
            self._copy(stacks)

    def _links(self) -> None:
        known = []
        for link in self.trace.header["links"]:
            if self.random.random() < 0.7:
                access, atomics = self.random.random() < 0.8, self.random.random() < 0.5
                known.append(link | {"access": access, "native_atomics": atomics})
                pair = self.places[link["issuer"]], self.places[link["owner"]]
                self.run.links.setdefault(pair, (access, atomics))
        self.trace.header["links"] = known

    def _sets(self) -> None:
        for owner in range(64, 64 + self.random.randint(0, 2)):
            members = self.random.sample(self.own, self.random.randint(1, len(self.own)))
            self.trace.set(owner, *members)
            place = -3 - len(self.run.sets)
            self.places[owner] = place
            names = ", ".join(f"GPU {gpu}" for gpu in sorted(self.places[member] for member in members))
            self.run.sets[place] = f"multicast {-3 - place} ({names})"

    def _stacks(self) -> list[int]:
        """Stacks of one frame, each of a line of the program; 0 is none."""
        module = self.trace.add("modules", path=self.trace.string("/home/u/app"))
        made = [0]
        for line in range(1, self.random.randint(1, 3)):
            frame = self.trace.add("frames", module=module, address=line)
            named = {"function": self.trace.string("main"), "file": self.trace.string("/home/u/main.cu")}
            self.trace.add("symbols", frame=frame, level=0, line=line, **named)
            made.append(self.trace.add("stacks", frame=frame))
            self.run.stacks[made[-1] + self.before["stacks"]] = f"main.cu:{line} main"
        return made

    def _functions(self) -> dict[str, int]:
        kernels = self.random.sample(list(KERNELS), self.random.randint(1, 4))
        called = self.random.sample(list(CALLED), self.random.randint(0, 3))
        return {name: self.trace.function(name, kernel=name in KERNELS) for name in [*kernels, *called]}

    def _line(self, chain: list[Line]) -> int:
        """A line with those that it is inlined at, given from the outermost on; 0 for none."""
        inner = 0
        for line in chain:
            at = inner and inner + self.before["lines"]
            inner = self.trace.line(line.file, line.line, line.function, inner)
            self.run.lines[inner + self.before["lines"]] = replace(line, inlined_at=at)
        return inner

    def _sites(self, program: list[Instruction], functions: dict[str, int]) -> list[Site]:
        made = []
        for code in program:
            if code.function not in functions or self.random.random() < 0.2:
                continue
            line = self._line(code.lines)
            unit = 32 if code.operation == "load" or code.width > 16 else 16
            opcode = OPCODES[code.operation]
            number = self.trace.site(
                functions[code.function], opcode, code.operation, code.width, wire_unit=unit, line=line,
                offset=code.offset, measured=code.measured,
            )  # fmt: skip
            line_id = line and line + self.before["lines"]
            file, standing = own_line(self.run.lines, line_id)
            site = Site(
                number + self.before["sites"], self.process, code.function, code.offset, opcode, code.operation,
                code.width, unit, f"{opcode} R4, [R2.64]", code.measured, line_id, file, standing,
            )  # fmt: skip
            self.run.sites[site.id] = site
            made.append(site)
        return made

    def _launches(self, functions: dict[str, int], stacks: list[int]) -> list[Launch]:
        made = []
        for kernel in [name for name in functions if name in KERNELS]:
            for _ in range(self.random.randint(0, 4)):
                own, stack = self.random.choice(self.own), self.random.choice(stacks)
                group = self.random.choice((0, 0, 0, 1))
                number = self.trace.launch(functions[kernel], own, stack=stack, group=group)
                launch = Launch(
                    number + self.before["launches"], self.process, kernel, self.places[own],
                    stack and stack + self.before["stacks"], group and group + self.groups,
                )  # fmt: skip
                self.run.launches[launch.id] = launch
                made.append(launch)
        return made

    def _sample(self, functions: dict[str, int], launches: list[Launch]) -> None:
        """Has launches stand for others of their kernel on their GPU, by a number that a float holds exactly."""
        for kernel in [name for name in functions if name in KERNELS]:
            for own in self.own:
                some = [row for row in launches if (row.kernel, row.gpu) == (kernel, self.places[own])]
                if len(some) not in (0, 1, 2, 4) or self.random.random() < 0.3:
                    continue
                every = len(some) + self.random.randint(0, 9)
                self.trace.add("sampling", function=functions[kernel], gpu=own, launches=every, measured=len(some))
                self.run.sampling.append((self.process, kernel, self.places[own], every, len(some)))
                for launch in some:
                    launch.stands_for = Fraction(every, len(some))

    def _objects(self) -> list[tuple[int, int]]:
        """Owners (the process' codes), and objects of theirs that counts may name, 0 for none."""
        owners = [place for place in self.places if place != UNKNOWN or self.random.random() < 0.5]
        named = [(owner, 0) for owner in owners]
        for place in range(self.random.randint(0, 4)):
            owner, kind = self.random.choice(self.own), self.random.choice(("device", "symmetric"))
            own = self.trace.allocation(kind, 4096, owner, 0, address=(1 << 40) + (place << 21))
            named.append((owner, own))
            self.run.objects[own + self.before["objects"]] = self.places[owner], kind
        return named

    def _count(self, launch: Launch, site: Site, owner: int, held: int, bits: int) -> None:
        accesses = self.random.randint(1, 1 << self.random.randint(0, bits))
        lanes = accesses * self.random.randint(1, 32)
        units = self.random.choice((0, accesses, self.random.randint(0, lanes)))
        self.trace.rows["counts"].append(
            {
                "launch": launch.id - self.before["launches"], "site": site.id - self.before["sites"], "owner": owner,
                "accesses": accesses, "lanes": lanes, "wire_units": units, "object": held,
            }
        )  # fmt: skip
        held = held and held + self.before["objects"]
        self.run.moved.append(Moved(launch, site, self.places[owner], accesses, lanes, units, held))

    def _copy(self, stacks: list[int]) -> None:
        source, destination = self.random.sample(list(self.places), 2)
        size, took = self.random.randint(0, 1 << self.random.randint(0, 45)), self.random.choice((-5, 0, 7, 10**9))
        issuer, stack = self.random.choice([*self.own, UNKNOWN]), self.random.choice(stacks)
        kind, call = self.random.choice(COPY_KINDS), self.random.choice(("cuMemcpyAsync", "cuMemcpyPeer"))
        start = START_NS + self.random.randrange(10**9)
        self.trace.copy(
            source, destination, size, gpu=issuer, call=call, kind=kind, start=start, end=start + took, stack=stack
        )
        # A clock that was set back makes no time negative.
        self.run.copies.append(
            Copied(
                self.process, self.places[source], self.places[destination], size, self.places[issuer], kind, call,
                max(took, 0), stack and stack + self.before["stacks"],
            )
        )  # fmt: skip


def chain(lines: dict[int, Line], line_id: int) -> list[Line]:
    """A line and those that it was inlined at, outward."""
    found = []
    while line_id:
        found.append(lines[line_id])
        line_id = lines[line_id].inlined_at
    return found


def own_line(lines: dict[int, Line], line_id: int) -> tuple[str, int]:
    """The innermost line outside the toolkit's headers; the innermost of all where all are in them."""
    every = chain(lines, line_id)
    for line in [*(one for one in every if one.file != TOOLKIT), *every]:
        return line.file, line.line
    return "", 0
