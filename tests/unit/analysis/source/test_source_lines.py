"""What one line did: the kernels that ran it, the allocations that it touched, the calls that launched it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import snoopie
from tests.support import ring
from tests.support.encoder import TraceBuilder

FILE = "/home/u/app/step.cu"


def rows(table: pd.DataFrame, *columns: str) -> list[list[object]]:
    return table[list(columns)].to_numpy(dtype=object).tolist()


def test_kernels_of_a_line(ring_path: Path) -> None:
    trace = snoopie.load(ring_path)
    kernels = trace.line_kernels(ring.RING_CU, 18)
    assert rows(kernels, "kernel", "launches", "measured", "accesses", "bytes") == [[ring.BUMP, 3, 3, 48, 192]]
    assert trace.line_kernels(ring.RING_CU, 7).empty


def test_objects_of_a_line(ring_path: Path) -> None:
    trace = snoopie.load(ring_path)
    # Each GPU stores 16 × 512 bytes into the allocation of its neighbour; the three others take tickets on GPU 0.
    assert rows(
        trace.line_objects(ring.RING_CU, 6), "object", "owner", "kind", "size", "accesses", "bytes", "exact"
    ) == [[number + 1, f"GPU {number}", "device", 1 << 21, 16, 8192, True] for number in range(4)]
    assert rows(trace.line_objects(ring.RING_CU, 18), "object", "accesses", "lanes", "bytes") == [[1, 48, 48, 192]]
    one = trace.select(issuers="GPU 3").line_objects(ring.RING_CU, 6)
    assert rows(one, "object", "bytes") == [[1, 8192]]
    assert trace.line_objects(ring.RING_CU, 7).empty
    assert trace.line_objects("", 0).empty


def test_objects_of_all_lines_are_those_of_the_trace(ring_path: Path) -> None:
    trace = snoopie.load(ring_path)
    lines = trace.by_line()[["file", "line"]].itertuples(index=False)
    every = pd.concat([trace.line_objects(file, line) for file, line in lines])
    pd.testing.assert_series_equal(
        every.groupby("object")["bytes"].sum(), trace.by_object().set_index("object")["bytes"].sort_index()
    )


def launched(trace: TraceBuilder) -> tuple[int, int]:
    """Two stacks, of main.cu:9 and of main.cu:12, each through the runtime."""
    runtime = trace.add("frames", module=trace.add("modules", path=trace.string("/usr/lib/libcudart.so.13")), address=1)
    program = trace.add("modules", path=trace.string("/home/u/app/app"))
    stacks = []
    for number in (9, 12):
        frame = trace.add("frames", module=program, address=number)
        text = {"function": trace.string("main"), "file": trace.string("/home/u/app/main.cu")}
        trace.add("symbols", frame=frame, line=number, **text)
        stacks.append(trace.add("stacks", frame=runtime, caller=trace.add("stacks", frame=frame, caller=0)))
    return stacks[0], stacks[1]


def test_calls_that_launched_a_line(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    first, second = launched(trace)
    step, other = trace.function("step(int)"), trace.function("other(int)")
    line = trace.line(FILE, 3)
    sites = {kernel: trace.site(kernel, "STG.E", "store", 4, line=line) for kernel in (step, other)}
    beside = trace.site(step, "STG.E", "store", 4, line=trace.line(FILE, 4))
    for kernel, stack, accesses in (
        (step, first, 1),
        (step, first, 2),
        (step, second, 4),
        (other, second, 8),
        (step, 0, 16),
    ):
        launch = trace.launch(kernel, 0, stack=stack)
        trace.count(launch, sites[kernel], 1, accesses, 32 * accesses, 4 * accesses)
    trace.count(1, beside, 1, 100, 3200, 400)
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    columns = ("stack", "source", "kernel", "launches", "measured", "accesses", "bytes", "wire_efficiency")
    assert rows(loaded.line_stacks(FILE, 3), *columns) == [
        [0, "", "step(int)", 1, 1, 16, 2048, 1.0],
        [second, "main.cu:12 main", "other(int)", 1, 1, 8, 1024, 1.0],
        [second, "main.cu:12 main", "step(int)", 1, 1, 4, 512, 1.0],
        [first, "main.cu:9 main", "step(int)", 2, 2, 3, 384, 1.0],
    ]
    assert rows(loaded.line_stacks(FILE, 4), "stack", "bytes") == [[first, 12800]]
    assert rows(loaded.select(kernels="other*").line_stacks(FILE, 3), "bytes") == [[1024]]
    assert loaded.line_stacks(FILE, 5).empty


def test_launches_that_stand_for_others(tmp_path: Path) -> None:
    """Two of eight launches were measured, from different places: each stands for four."""
    trace = TraceBuilder(2)
    first, second = launched(trace)
    step = trace.function("step(int)")
    site = trace.site(step, "STG.E", "store", 4, line=trace.line(FILE, 3))
    for stack in (first, second):
        trace.count(trace.launch(step, 0, stack=stack), site, 1, 1, 32, 4)
    trace.add("sampling", function=step, gpu=0, launches=8, measured=2)
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    columns = ("source", "launches", "measured", "accesses", "bytes")
    assert rows(loaded.line_stacks(FILE, 3), *columns) == [
        ["main.cu:9 main", 4, 1, 4, 512],
        ["main.cu:12 main", 4, 1, 4, 512],
    ]
    assert rows(loaded.line_kernels(FILE, 3), "launches", "measured", "bytes") == [[8, 2, 1024]]


def test_a_trace_without_stacks(tmp_path: Path) -> None:
    trace = snoopie.load(ring.ring_builder().write(tmp_path / "t.zst"))
    assert rows(trace.line_stacks(ring.RING_CU, 6), "stack", "source", "launches", "bytes") == [[0, "", 4, 32768]]
    assert trace.line_objects(ring.RING_CU, 6)["bytes"].sum() == 32768
