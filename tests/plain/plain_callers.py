"""Random call stacks, and what they are called: by who called, by their frames, by the variable that is assigned."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.support.encoder import TraceBuilder


@dataclass(frozen=True)
class Frame:
    """A place in the program, ``own`` where its source file is known. Each text is "" where nothing is known."""

    label: str
    spelled: str
    variable: str
    own: bool = False
    runtime: bool = False


@dataclass(frozen=True)
class Caller:
    """A call stack, or none (0)."""

    stack: int = 0
    label: str = ""
    spelled: str = ""
    variable: str = ""


NOBODY = Caller()


def make(builder: TraceBuilder, random: Random, before: int = 0) -> list[Caller]:
    """Some stacks of a process whose traces are joined after others with ``before`` stacks; nobody among them."""
    modules = {
        path: builder.add("modules", path=builder.string(path))
        for path in ("/home/u/app", "/opt/help.so", "/usr/lib/libcudart.so.12")
    }
    frames = [_frame(builder, modules, random, number) for number in range(1, 7)]
    runtime = [number for number, frame in frames if frame.runtime]
    found = [NOBODY]
    for _ in range(random.randint(1, 4)):
        # At most three of them, because a variable is looked for in a few frames only.
        chain = [frames[place] for place in random.sample(range(len(frames)), random.randint(1, 3))]
        if all(frame.runtime for _, frame in chain):
            continue
        if random.random() < 0.5 and runtime:
            chain.insert(0, frames[runtime[0] - 1])
        stack = 0
        for number, _ in reversed(chain):
            stack = builder.add("stacks", frame=number, caller=stack)
        own = [frame for _, frame in chain if frame.own] or [frame for _, frame in chain if not frame.runtime]
        named = [frame.variable for _, frame in chain if frame.variable]
        spelled = " -> ".join(frame.spelled for _, frame in chain)
        found.append(Caller(before + stack, own[0].label, spelled, named[0] if named else ""))
    return found


def _frame(builder: TraceBuilder, modules: dict[str, int], random: Random, number: int) -> tuple[int, Frame]:
    path = random.choice(list(modules))
    frame = builder.add("frames", module=modules[path], address=0x1000 * number)
    if path == "/opt/help.so":
        place = f"help.so+{0x1000 * number:#x}"
        return frame, Frame(place, f"{place}(help.so)", "")
    if path != "/home/u/app":
        builder.add("symbols", frame=frame, function=builder.string("cudaMalloc"))
        return frame, Frame("cudaMalloc", "cudaMalloc(libcudart.so.12)", "", runtime=True)
    functions, variable = [], random.choice(("", "", f"grid{number % 2}"))
    for level in range(random.randint(1, 2)):
        function = f"step{number}_{level}"
        code = f"{variable} = make(n);" if level == 0 and variable else ""
        texts = {"function": function, "file": "/home/u/main.cu", "code": code}
        named = {name: builder.string(text) for name, text in texts.items()}
        builder.add("symbols", frame=frame, level=level, line=number, **named)
        functions.append(f"{function}(app)")
    return frame, Frame(f"main.cu:{number} step{number}_0", " -> ".join(functions), variable, own=True)
