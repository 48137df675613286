"""opcodes: instructions that compilers choose seldom, and bulk copies, are counted like all others."""

from __future__ import annotations

from collections.abc import Iterator

import gpu_machine
import pytest
from gpu_runs import Runner
from gpu_traffic import Far, Traffic, Where, by_launch, dense, nothing_lost, of_threads, stretch

THREADS = 64
BULKS = [(16, 16), (48, 16), (48, 32), (512, 48), (4096, 0), (4096, 16)]

# Lines of a kernel by name, without the width that ends them.
LOADS = {
    1: ["volatile", "readonly"],
    2: ["volatile", "relaxed"],
    4: ["volatile", "relaxed", "acquire", "mmio", "readonly", "streaming", "uncached", "generic"],
    8: ["volatile", "acquire", "readonly", "generic"],
    16: ["volatile", "relaxed", "acquire", "readonly", "streaming", "uncached", "generic"],
}
STORES = {
    1: ["volatile", "generic"],
    2: ["volatile", "release"],
    4: ["volatile", "relaxed", "release", "mmio", "streaming", "uncached", "generic"],
    8: ["volatile", "generic"],
    16: ["volatile", "release", "streaming", "generic"],
}
ATOMICS = {
    4: [
        *("add_u32", "add_sys", "add_f32", "add_f16x2", "add_bf16x2", "min_s32", "max_u32"),
        *("and", "xor", "inc", "dec", "exchange", "generic", "swap"),
    ],
    8: ["add_u64", "add_f64", "add_v2_f32", "add_v2_f16x2", "max_s64", "or", "exchange", "swap"],
    16: ["add_v4_f32", "add_v4_f16x2", "add_v8_f16", "max_v4_bf16x2", "exchange", "swap"],
}
REDUCTIONS = {
    4: ["add_u32", "add_release", "add_f32", "add_f16x2", "add_bf16x2", "min_s32", "and", "or", "dec"],
    8: ["add_u64", "add_f64", "add_v2_f32", "add_v4_f16", "add_v2_bf16x2", "max_u64", "xor", "float2"],
    16: ["add_v4_f32", "add_v4_f16x2", "add_v8_bf16", "max_v8_f16"],
}


def launch(kernel: str, **lines: Traffic) -> dict[tuple[str, str], Traffic]:
    return {(kernel, line): traffic for line, traffic in lines.items()}


def dense_lines(operation: str, names: dict[int, list[str]]) -> dict[str, Traffic]:
    return {f"{name}_{width}": dense(operation, width, THREADS) for width in names for name in names[width]}


def of_opcodes() -> Iterator[dict[tuple[str, str], Traffic]]:
    """Kernel and line → what the top of opcodes.cu says, in the order of launching.

    Launches that have no access are left out.
    """
    yield launch("loads", **dense_lines("load", LOADS))
    yield launch("stores", **dense_lines("store", STORES))
    yield launch("atomics", **dense_lines("atomic", ATOMICS))
    yield launch("halves", **{f"half {name}": dense(name, 4, THREADS) for name in ("load", "atomic")})
    # The opcode says what an operation is: for these two the compiler takes one that can return a value.
    other = dense_lines("atomic", {4: ["generic", "bfloat162"]})
    yield launch("reductions", **dense_lines("reduction", REDUCTIONS), **other)
    yield launch("guarded", guarded=of_threads("store", 4, [(i, 4 * i) for i in range(32) if i % 3 != 1]))
    yield launch(
        "async",
        **dense_lines("load", {4: ["async"], 8: ["async"], 16: ["async", "past"]}),
        partial=of_threads("load", 16, [(i, 16 * i) for i in range(40)]),
    )
    for size, offset in BULKS:
        yield launch("fetch", fetch=stretch("load", 16, offset, size))
        yield launch("put", put=stretch("store", 16, offset, size))
        yield launch("add", add=stretch("reduction", 16, offset, size))
    yield launch("fetch_each", each=Traffic("load", 16, 32, 32, 32))


def test_every_opcode_is_counted(runner: Runner, far: Far) -> None:
    if gpu_machine.gpus()[0].architecture != 90:
        pytest.skip("which opcodes the compiler takes is known for sm_90")
    trace = runner.traced("opcodes", visible=far.visible).trace
    nothing_lost(trace)
    expected = [{Where(0, far.owner, *of): traffic for of, traffic in table.items()} for table in of_opcodes()]
    assert list(by_launch(trace, "opcodes").values()) == expected


def test_lines_are_those_of_the_program() -> None:
    from gpu_traffic import markers

    counted = {line.split()[0] for table in of_opcodes() for _, line in table}
    assert set(markers("opcodes").values()) - counted == {"nothing", "lines", "bytes"}
    assert counted <= set(markers("opcodes").values())
