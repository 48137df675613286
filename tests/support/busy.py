"""A program of one process and two GPUs whose times are known: kernels, copies, NCCL, driver calls, memory.

Times are after AT. On GPU 0, `step` runs 100 times on stream 7, 80 µs every 100 µs, and stores 4096 bytes on GPU 1
each time; 4000 times `tick` runs on stream 8, 200 ns every 500 ns from 2 ms on. On GPU 1, `reduce` runs 40 times on
stream 9, 150 µs every 250 µs, and stores 2048 bytes on GPU 0. There are 10 copies of 1 MiB to GPU 0, 5 calls of NCCL,
and a driver call for each launch of `step`, the last of which fails. Thread 4712 allocates: 64 MiB on GPU 0 that stay,
32 MiB there from 2 ms to 6 ms, which is the peak, 16 MiB from a pool on GPU 1 from 1 ms to 11 ms, 8 MiB on the host.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.encoder import DIRECTIONS, HOST, START_NS, TraceBuilder

START = 1_000_000
AT = START_NS + START
US, MS, MIB = 1000, 1_000_000, 1 << 20
MAIN, WORKER = 4711, 4712
STEP, TICK, REDUCE = "step(float*, int)", "tick()", "void reduce<4>(float const*)"


def busy_builder() -> TraceBuilder:
    """The trace."""
    trace = TraceBuilder(2)
    trace.exit_ns = AT + 12 * MS
    _kernels(trace)
    for number in range(10):
        start = AT + number * MS
        trace.copy(HOST, 0, MIB, gpu=0, call="cuMemcpyHtoDAsync_v2", stream=7, start=start, end=start + 60 * US)
    for number in range(5):
        start = AT + 2 * number * MS
        trace.collective(number + 1, "AllReduce", 1024, gpu=1, stream=9, start=start, end=start + 20 * US)
    _calls(trace)
    _memory(trace)
    return trace


def write_busy(folder: Path) -> Path:
    """The trace in a folder; returns its path."""
    return busy_builder().write(folder / "busy.zst")


def _kernels(trace: TraceBuilder) -> None:
    for name, gpu, stream, count, first, every, length, accesses in (
        (STEP, 0, 7, 100, 0, 100 * US, 80 * US, 32),
        (TICK, 0, 8, 4000, 2 * MS, 500, 200, 0),
        (REDUCE, 1, 9, 40, 0, 250 * US, 150 * US, 16),
    ):
        kernel = trace.function(name)
        store = trace.site(kernel, "STG.E", "store", 4)
        for number in range(count):
            start = AT + first + number * every
            launch = trace.launch(kernel, gpu, time=start - 5 * US, stream=stream, thread=MAIN)
            trace.add("spans", launch=launch, start=start, end=start + length)
            if accesses:
                trace.count(launch, store, 1 - gpu, accesses, 32 * accesses, 4 * accesses)


def _calls(trace: TraceBuilder) -> None:
    made = [("cuLaunchKernel", MAIN, 0, 100 * US, 6 * US, 100), ("cuMemAlloc_v2", WORKER, 50 * US, 2 * MS, 90 * US, 2)]
    for call, thread, first, every, length, count in made:
        key = {"call": trace.string(call), "thread": thread, "gpu": 0}
        named = {"kernel": trace.string(STEP if thread == MAIN else "")}
        for number in range(count):
            start = AT - 7 * US + first + number * every
            failed = call == "cuLaunchKernel" and number == count - 1
            trace.add("calls", **key, **named, start=start, end=start + length, code=700 if failed else 0)
        failed_calls = int(thread == MAIN)
        trace.add(
            "call_totals", **key, **named, time=START_NS + 20 * MS, calls=count, errors=failed_calls,
            total=count * length, least=length, most=length,
        )  # fmt: skip
        trace.add("call_times", **key, log2=length.bit_length() - 1, calls=count)
        if failed_calls:
            name = trace.string("CUDA_ERROR_ILLEGAL_ADDRESS")
            trace.add("call_errors", **key, code=700, name=name, calls=1)
    key = {"call": trace.string("cuMemcpyHtoD_v2"), "thread": MAIN, "gpu": 0}
    trace.add(
        "call_totals", **key, direction=DIRECTIONS.index("host to device"), time=START_NS + 20 * MS, calls=10, total=MS,
        least=60 * US, most=300 * US, bytes=10 * MIB,
    )  # fmt: skip


def _memory(trace: TraceBuilder) -> None:
    module = trace.add("modules", path=trace.string("/home/u/busy"))
    stack = 0
    stacks = []
    for number, function in enumerate(("main", "Model::Model(int)", "cudaMalloc"), 1):
        frame = trace.add("frames", module=module, address=0x1000 * number)
        own = {"file": trace.string("/home/u/busy.cu"), "line": 10 * number} if number < 3 else {}
        trace.add("symbols", frame=frame, function=trace.string(function), **own)
        stack = trace.add("stacks", frame=frame, caller=stack)
        stacks.append(stack)
    for kind, size, owner, start, end, call in (
        ("device", 64, 0, 0, None, "cuMemAlloc_v2"),
        ("device", 32, 0, 2 * MS, 6 * MS, "cuMemAlloc_v2"),
        ("pool", 16, 1, MS, 11 * MS, "cuMemAllocAsync"),
        ("host", 8, HOST, MS // 2, 13 * MS, "cuMemHostAlloc"),
    ):
        until = None if end is None else START + end
        trace.allocation(kind, size * MIB, owner, START + start, until, call=call, thread=WORKER, stack=stacks[-1])
    for number in range(12):
        gone = 0 if 2 <= number < 6 else 32
        trace.memory_use(0, START + number * MS + US, (600 - gone) * MIB)
