"""The ring, with rows in every table that a trace can have."""

from __future__ import annotations

from tests.support import ring
from tests.support.encoder import DIRECTIONS, HOST, START_NS, TraceBuilder


def everything_builder(pid: int = 4713) -> TraceBuilder:
    """The trace of one process; some numbers need more than 53 bits, some names quotes and line breaks."""
    trace = ring.ring_builder(pid=pid)
    module = trace.add("modules", path=trace.string("/home/u/ring/ring"), build_id=trace.string("c0de"))
    outer = trace.add("frames", module=module, address=0x1234)
    inner = trace.add("frames", module=module, address=0x5678)
    for frame, line in ((outer, 40), (inner, 12)):
        named = {"function": trace.string("main()"), "file": trace.string("/home/u/ring/main.cu")}
        trace.add("symbols", frame=frame, level=0, line=line, code=trace.string('put<<<4, 128>>>(a, "b")'), **named)
    stack = trace.add("stacks", frame=inner, caller=trace.add("stacks", frame=outer))
    trace.rows["launches"][0].update(stack=stack, group=1)
    trace.rows["objects"][1].update(stack=stack, name=trace.string("next"))
    trace.set(64, 0, 2)
    trace.bulk(1, 1, 64, 2**63, 2**40)
    trace.copy(HOST, 1, 2**54 + 1, gpu=1, stream=2**64 - 1, stack=stack)
    trace.collective(1, "AllReduce", 2**53 + 1, gpu=0, reduction="sum")
    trace.function("k<\"a\", 'b'>(int,\n  float) → é")
    trace.add("sampling", function=1, gpu=0, launches=3, measured=1)
    trace.add("spans", launch=1, start=START_NS + 5, end=START_NS + 9)
    shape = dict.fromkeys(("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"), 1)
    trace.add("unmeasured_launches", kernel=trace.string("gemm<float, 2>()"), gpu=1, stream=2**64 - 1, thread=7,
              time=START_NS + 6, start=START_NS + 7, end=START_NS + 8, **shape)  # fmt: skip
    trace.add("barriers", gpu=1, stream=7, start=START_NS + 9, end=START_NS + 11, name=trace.string("acq=sys"))
    trace.add("marks", time=START_NS + 5, text=trace.string('step, "1"'), thread=7, domain=trace.string("mine"))
    for thread, pushed in ((trace.rows["launches"][0]["thread"], 1), (9, 0)):
        named = {"name": trace.string('step, "1"'), "domain": trace.string("mine") * (1 - pushed)}
        trace.add("ranges", thread=thread, start=START_NS, end=(START_NS + 2**33) * pushed, pushed=pushed, **named)
    counted = trace.rows["counts"][0]
    trace.add(
        "waits",
        launch=counted["launch"],
        site=1,
        owner=counted["owner"],
        address=2**47 - 8,
        blocks=1,
        waits=1,
        polls=2**53 + 1,
        first=5,
        last=9,
        waited=4,
        longest=4,
        held=3,
    )
    trace.add("moves", launch=counted["launch"], site=1, block=2**40, blocks=1, accesses=2**53 + 1, first=5, last=9)
    called = {"call": trace.string("cuLaunchKernel"), "thread": 7, "gpu": 0}
    took = {"time": START_NS + 9, "calls": 2, "total": 30, "least": 10, "most": 20}
    trace.add("call_totals", **called, **took, errors=1, kernel=trace.string(ring.PUT))
    copied = called | {"call": trace.string("cuMemcpyHtoD_v2"), "direction": DIRECTIONS.index("host to device")}
    trace.add("call_totals", **copied, **took, bytes=2**53 + 1)
    trace.add("call_times", **called, log2=4, calls=2)
    trace.add("call_errors", **called, code=719, name=trace.string("CUDA_ERROR_LAUNCH_FAILED"), calls=1)
    trace.add("calls", **called, start=START_NS + 1, end=START_NS + 2, code=719)
    trace.memory_use(0, 3, 1 << 40, own=1 << 39)
    text = '// "quoted"\nput<<<4, 128>>>(a, b);\n'
    trace.add("source_files", file=trace.string("/home/u/ring/main.cu"), text=text, bytes=len(text), kept=1)
    trace.notice('a note, with a comma and a "quote"')
    return trace


def long_builder(letters: int = 1_000_000) -> TraceBuilder:
    """The same with so many letters more in each of its strings, by default nearly the most that is read."""
    builder, more = everything_builder(), "x" * letters
    for row in builder.rows["strings"]:
        row["text"] += more
    process = builder.header["process"]
    process |= {"host": "h" + more, "program": "p" + more, "command": ["./c" + more, more]}
    for gpu in builder.header["gpus"]:
        gpu["name"] += more
    return builder
