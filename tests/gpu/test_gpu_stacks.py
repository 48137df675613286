"""Call stacks of allocations, launches and copies: functions and lines, inlined, in threads, stripped, after a fork."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from gpu_runs import Run, Runner, build, environment, start, traced_environment
from gpu_traffic import APPS

if TYPE_CHECKING:
    from pathlib import Path

    from snoopie import Trace

BYTES = 1 << 20
LINES = (APPS / "stacks.cu").read_text().splitlines()
MARKED = {match[1]: number for number, line in enumerate(LINES, 1) if (match := re.search(r"// stack: (\w+)$", line))}


def run_stacks(runner: Runner, pair: tuple[str, ...], folder: Path, **settings: str) -> Run:
    native = runner.native("stacks", visible=pair)
    run = start([build("stacks")], folder, traced_environment(pair, **settings))
    assert (run.status, run.stdout) == (native.status, native.stdout), run.stderr
    return run


@pytest.fixture
def traces(runner: Runner, pair: tuple[str, ...], folder: Path) -> tuple[Trace, Trace]:
    """Of the parent, and of the child that it forked."""
    import snoopie

    run = run_stacks(runner, pair, folder)
    loaded = [snoopie.load(path) for path in run.files]
    child = next(trace for trace in loaded if 7 * BYTES in trace.objects["bytes"].tolist())
    parent = next(trace for trace in loaded if trace is not child)
    return parent, child


def own(trace: Trace, stack: int) -> list[tuple[str, int]]:
    """(function without arguments, line) of a stack's frames in the program's source, innermost first."""
    table = trace.stack(int(stack))
    table = table[table["file"].str.endswith("/stacks.cu")]
    names = [name.partition("(")[0].removeprefix("void ") for name in table["function"]]
    return list(zip(names, table["line"].tolist(), strict=True))


def object_of(trace: Trace, size: int) -> tuple[int, int]:
    """The stack and the thread of the only allocation of so many bytes on GPU 0."""
    objects = trace.objects
    (row,) = objects[(objects["bytes"] == size) & (objects["owner"] == 0) & (objects["kind"] == "device")].index
    return int(objects.at[row, "stack"]), int(objects.at[row, "thread"])


def test_an_inlined_function_is_a_frame(traces: tuple[Trace, Trace]) -> None:
    trace, _ = traces
    stack, _ = object_of(trace, BYTES)
    frames = own(trace, stack)
    assert frames[:2] == [("inlined", MARKED["inlined"]), ("builder", MARKED["builder"])]
    assert frames[-1][0] == "main"
    inner = trace.stack(stack)
    assert inner.loc[inner["function"].str.startswith("inlined"), "code"].str.contains("cudaMalloc").all()


def test_a_recursion_is_whole(traces: tuple[Trace, Trace]) -> None:
    trace, _ = traces
    frames = own(trace, object_of(trace, 3 * BYTES)[0])
    assert frames[:6] == [("recursion", MARKED["deepest"]), *[("recursion", MARKED["recursion"])] * 5]


def test_a_stripped_library_has_its_name_and_place(traces: tuple[Trace, Trace]) -> None:
    trace, _ = traces
    stack, _ = object_of(trace, 6 * BYTES)
    inside = [
        function
        for function, module in trace.stack(stack)[["function", "module"]].itertuples(index=False)
        if module.endswith("/libstripped.so")
    ]
    # The runtime that is linked into it, and `hidden`, have no name; what is exported has.
    assert inside[-1] == "stripped_alloc"
    assert all(re.fullmatch(r"libstripped\.so\+0x[0-9a-f]+", name) for name in inside[:-1])
    assert len(inside) >= 2
    assert own(trace, stack)[0] == ("main", MARKED["stripped"])


def test_threads_and_who_frees(traces: tuple[Trace, Trace]) -> None:
    trace, _ = traces
    (one, first), (other, second) = object_of(trace, 4 * BYTES), object_of(trace, 5 * BYTES)
    assert own(trace, one)[0] == own(trace, other)[0] == ("exchange", MARKED["exchange"])
    assert first != second
    freed = trace.objects.set_index("bytes")["freed_by"]
    assert (freed[4 * BYTES], freed[5 * BYTES]) == (second, first)


def test_launches_and_copies_have_their_callers(traces: tuple[Trace, Trace]) -> None:
    trace, _ = traces
    launches = trace.launches[trace.launches["kernel"].str.startswith("touch")]
    callers = [
        next(frame for frame in own(trace, stack) if frame[0].startswith("launch")) for stack in launches["stack"]
    ]
    assert callers == [("launch_here", MARKED["here"])] * 3 + [("launch_there", MARKED["there"])] * 2
    # The compiler may have unrolled the loops: several places, two lines.
    assert trace.stack_label(launches["stack"]).nunique() == 2
    (copy,) = trace.copies.loc[trace.copies["bytes"] == BYTES, "stack"]
    assert own(trace, copy)[0] == ("copy_over", MARKED["copy"])


def test_a_forked_child_has_its_own_trace(traces: tuple[Trace, Trace]) -> None:
    trace, child = traces
    (row,) = child.objects.loc[child.objects["bytes"] == 7 * BYTES, "stack"]
    assert own(child, row)[0] == ("child_alloc", MARKED["child"])
    assert own(child, row)[-1][0] == "main"
    assert 7 * BYTES not in trace.objects["bytes"].tolist()
    assert trace.processes["pid"].tolist() != child.processes["pid"].tolist()


def test_what_was_never_freed(traces: tuple[Trace, Trace]) -> None:
    for trace, sizes in zip(traces, ([BYTES, 2 * BYTES], [7 * BYTES]), strict=True):
        leaks = trace.leaks()
        kept = leaks[(leaks["state"] == "never freed") & (leaks["kind"] == "device")]
        assert sorted(kept["bytes"].tolist()) == sizes


@pytest.mark.parametrize(
    ("setting", "launches", "objects"), [("CODE_CONTEXT", False, False), ("DATA_OBJECT_ATTRIBUTION", True, False)]
)
def test_they_can_be_left_out(
    runner: Runner, pair: tuple[str, ...], folder: Path, setting: str, launches: bool, objects: bool
) -> None:
    import snoopie

    trace = snoopie.load(run_stacks(runner, pair, folder, **{setting: "0"}).folder)
    assert (trace.launches["stack"] > 0).all() == launches
    assert (trace.copies["stack"] > 0).any() == launches
    assert not (trace.objects["stack"] > 0).any() or objects
    assert len(trace.objects) > 0


def test_without_lines_of_the_host(runner: Runner, pair: tuple[str, ...], folder: Path) -> None:
    """`ring` is compiled without -g: its functions have names and no lines."""
    import snoopie

    run = start([build("ring"), 1000, 1], folder, traced_environment(pair))
    assert (run.status, run.stdout) == (0, start([build("ring"), 1000, 1], folder, environment(pair)).stdout)
    trace = snoopie.load([path for path in run.files if path.suffix == ".zst"])
    table = trace.stack(int(trace.launches["stack"].iloc[0]))
    assert "main" in table["function"].tolist()
    assert (table.loc[table["function"] == "main", "line"] == 0).all()
