"""Random call stacks of places whose owners are known, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.support.call_stacks import Program

APP, TORCH, DRIVER = "/home/u/app", "/opt/lib/libtorch_cpu.so", "/usr/lib/libcuda.so.1"
# How much a place is the user's own: of the program with a line, of no library, of none of CUDA's, of CUDA.
OWN, UNFILED, LIBRARY, CUDA = 3, 2, 1, 0


@dataclass
class Place:
    """A function at a level of a frame; ``label`` is what it is called, "" of one without a name."""

    rank: int
    module: str
    function: str
    file: str
    line: int
    label: str


PLACES = (
    Place(OWN, "", "step", "/home/u/app.py", 12, "app.py:12 step"),
    Place(OWN, "", "<module>", "/home/u/train.py", 3, "train.py:3 <module>"),
    Place(OWN, APP, "void n::halo<int>(int)", "/home/u/main.cu", 7, "main.cu:7 n::halo<int>"),
    Place(UNFILED, APP, "launch_all(int)", "", 0, "launch_all"),
    Place(UNFILED, APP, "", "", 0, ""),
    Place(LIBRARY, "", "forward", "/usr/lib/python3.11/site-packages/torch/nn.py", 9, "nn.py:9 forward"),
    Place(LIBRARY, TORCH, "at::add(int)", "", 0, "at::add"),
    Place(CUDA, APP, "cudaLaunchKernel", "", 0, "cudaLaunchKernel"),
    Place(CUDA, DRIVER, "cuLaunchKernel", "", 0, "cuLaunchKernel"),
)


@dataclass
class Stacks:
    """``program`` writes them; frames by their number, with the places of their levels; stacks, innermost first."""

    program: Program = field(default_factory=Program)
    frames: dict[int, tuple[int, list[Place]]] = field(default_factory=dict)
    stacks: dict[int, list[int]] = field(default_factory=dict)


def make(seed: int) -> Stacks:
    """Some stacks, of which some share their outer frames, and some have a frame more than once."""
    random = Random(seed)
    found = Stacks()
    for _ in range(random.randint(1, 6)):
        inner = random.choice(PLACES)
        # Functions that are inlined into one another are of one module.
        alike = [place for place in PLACES if place.module == inner.module and place.function]
        levels = [inner, *random.sample(alike, random.randint(0, len(alike)))] if inner.function else [inner]
        named = [(place.function, place.file, place.line) for place in levels if place.function]
        number = found.program.frame(inner.module, *named)
        found.frames[number] = 0x1000 * number if inner.module else 0, levels
    for _ in range(random.randint(0, 8)):
        frame, caller = random.choice(list(found.frames)), random.choice([0, *found.stacks])
        stack = found.program.builder.add("stacks", frame=frame, caller=caller)
        found.stacks[stack] = [frame, *found.stacks.get(caller, [])]
    return found


def rows(known: Stacks, stack: int) -> list[tuple[object, ...]]:
    """frame level function file line module python of each place of a stack."""
    found: list[tuple[object, ...]] = []
    for frame in known.stacks.get(stack, []):
        address, levels = known.frames[frame]
        for level, place in enumerate(levels):
            function = place.function or nameless(place, address)
            found.append((frame, level, function, place.file, place.line, place.module, not place.module))
    return found


def nameless(place: Place, address: int) -> str:
    """What a function without a name is called."""
    return f"{place.module.split('/')[-1]}+{hex(address)}"


def label(known: Stacks, stack: int) -> str:
    """The innermost of the places that are most the user's own; "" for no stack."""
    every = [
        (place, *known.frames[frame][:1]) for frame in known.stacks.get(stack, []) for place in known.frames[frame][1]
    ]
    for rank in (OWN, UNFILED, LIBRARY, CUDA):
        for place, address in every:
            if place.rank == rank:
                return place.label or nameless(place, address)
    return ""
