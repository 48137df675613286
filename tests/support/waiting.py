"""A run of two GPUs of one process whose waits are known: a flag, a mailbox whose stores were not recorded, and memory
of an unknown allocation.

| waits at        | on    | polls                     | who stores there                                         |
|-----------------|-------|---------------------------|----------------------------------------------------------|
| ring.cu:7       | GPU 1 | `FLAG`, of its own memory | a record: GPU 0, ring.cu:9                               |
| ring.cu:20      | GPU 0 | `BOX` + 8, its own        | counts of the allocation: GPU 1, ring.cu:22 and ring.cu:23 |
| ring.cu:30      | GPU 0 | `NOWHERE`, GPU 1's        | counts of the owner: GPU 0, ring.cu:9                    |

Block 0 of ring.cu:7 waits twice, 1000 and 500 ns, block 3 once, 4000 ns; ring.cu:20 once, 250 ns, and ring.cu:30 once,
100 ns without an end, both in block 0 and the second within the first.

| accesses at            | by           | from … to (ns from START_NS on) | of that it waited                 |
|------------------------|--------------|---------------------------------|-----------------------------------|
| ring.cu:9, twice       | GPU 0, block 0 | 50 … 650                      | 250                               |
| ring.cu:22, once stored | GPU 1, block 0 | 2000                         |                                   |
| ring.cu:22, 3 × loaded | GPU 1, block 0 | 700 … 1900                    | 900 at least: of 100 … 1600 1500  |
| ring.cu:23, twice      | GPU 1, block 3 | 5000 … 6000                   | nothing: it did from 100 to 4100  |
"""

from __future__ import annotations

from pathlib import Path

from tests.support.encoder import START_NS, TraceBuilder

RING_CU = "/home/u/ring/ring.cu"
FLAG, BOX, NOWHERE = 0x7F00_0000_0040, 0x7F10_0000_0000, 0x7F20_0000_0000


def waiting_builder() -> TraceBuilder:
    trace = TraceBuilder(2, settings={"waits": "on"})
    kernel = trace.function("ring(int*, int)")
    lines = {number: trace.line(RING_CU, number) for number in (7, 9, 20, 22, 23, 30)}
    poll, other, last = (
        trace.site(kernel, "LDG.E.STRONG.SYS", "load", 4, line=lines[number]) for number in (7, 20, 30)
    )
    store = trace.site(kernel, "STG.E.STRONG.SYS", "store", 4, wire_unit=16, line=lines[9])
    mails = [
        trace.site(kernel, opcode, operation, 4, wire_unit=16, line=lines[number])
        for number, opcode, operation in ((22, "STG.E", "store"), (23, "REDG.E.ADD", "reduction"))
    ]
    read = trace.site(kernel, "LDG.E", "load", 4, line=lines[22])
    flags = trace.allocation("device", 4096, 1, 10, address=FLAG - 0x40)
    box = trace.allocation("device", 4096, 0, 20, address=BOX)
    first, second = trace.launch(kernel, 0), trace.launch(kernel, 1)
    # A row of lanes, of which the fifth stores to the flag; the one below does not reach it.
    trace.count(first, store, 1, 2, 64, 16)
    trace.rows["counts"][-1]["object"] = flags
    trace.record(first, store, 1, FLAG - 16, 4, time=5000)
    trace.record(first, store, 1, FLAG - 128, 4, time=5000)
    for place, site in enumerate([*mails, read], start=1):
        trace.count(second, site, 0, place, 32 * place, 8 * place)
        trace.rows["counts"][-1]["object"] = box

    for launch, site, block, accesses, start, end in (
        (first, store, 0, 2, 50, 650),
        (second, mails[0], 0, 1, 2000, 2000),
        (second, read, 0, 3, 700, 1900),
        (second, mails[1], 3, 2, 5000, 6000),
    ):
        trace.add(
            "moves", launch=launch, site=site, block=block, blocks=1, accesses=accesses, first=START_NS + start,
            last=START_NS + end,
        )  # fmt: skip

    def wait(launch: int, site: int, address: int, owner: int, waited: int, **row: int) -> None:
        times = {"first": START_NS + 100, "last": START_NS + 100 + waited, "waited": waited, "longest": waited}
        times["held"] = waited
        trace.add(
            "waits", launch=launch, site=site, address=address, owner=owner,
            **({"blocks": 1, "waits": 1, "polls": waited // 10} | times | row),
        )  # fmt: skip

    wait(second, poll, FLAG, 1, 1500, waits=2, longest=1000, object=flags)
    wait(second, poll, FLAG, 1, 4000, block=3, object=flags)
    wait(first, other, BOX + 8, 0, 250, object=box)
    wait(first, last, NOWHERE, 1, 100, given_up=1, held=0)
    return trace


def write_waiting(folder: Path) -> Path:
    return waiting_builder().write(folder / "waiting.zst")


# A ring of four GPUs over time: in each of ROUNDS launches of 700 µs each GPU waits for the one below. GPU 2 is slow:
# GPU 3 waits once, nearly as long as the launch; the others four times, 50 µs each. All poll at sync.cuh:12, from where
# nothing is stored. Clocks of the GPUs are AHEAD of the host's.
ROUNDS, AHEAD, US = 20, 10**9, 1000
ROUND, LONG, BEGUN = 1000 * US, 700 * US, START_NS + 1000 * US
SYNC_CUH = "/home/u/ring/include/sync.cuh"


def round_builder() -> TraceBuilder:
    trace = TraceBuilder(4, settings={"waits": "on"})
    kernel = trace.function("step(int*)")
    poll = trace.site(kernel, "LDG.E.STRONG.SYS", "load", 4, line=trace.line(SYNC_CUH, 12))
    store = trace.site(kernel, "STG.E.STRONG.SYS", "store", 4, wire_unit=16, line=trace.line(RING_CU, 40))
    places = [FLAG + (gpu << 32) for gpu in range(4)]
    flags = [trace.allocation("device", 4096, gpu, 10 + gpu, address=place) for gpu, place in enumerate(places)]
    for number in range(ROUNDS):
        start = BEGUN + number * ROUND
        for gpu in range(4):
            launch = trace.launch(kernel, gpu, time=start - 5 * US, stream=7)
            trace.add("spans", launch=launch, start=start, end=start + LONG)
            above = (gpu + 1) % 4
            trace.count(launch, store, above, 1, 32, 8)
            trace.rows["counts"][-1]["object"] = flags[above]
            trace.record(launch, store, above, places[above], 4, time=start + LONG - 2 * US + AHEAD)
            waits, longest = (1, LONG - 2 * US) if gpu == 3 else (4, 50 * US)
            trace.add(
                "waits", launch=launch, site=poll, address=places[gpu], owner=gpu, object=flags[gpu], blocks=1,
                waits=waits, polls=10, first=start + US + AHEAD, last=start + LONG - US + AHEAD,
                waited=waits * longest, longest=longest, held=waits * longest,
            )  # fmt: skip
    return trace


def write_moving(folder: Path) -> Path:
    """The same with accesses: each GPU stores from 2 µs after its launch begins until 3 µs before it ends, once in
    block 0 and twice in block 1."""
    trace = round_builder()
    for stored in trace.rows["counts"]:
        stored.update(accesses=3)
        start = BEGUN + (stored["launch"] - 1) // 4 * ROUND + AHEAD
        first, last = start + 2 * US, start + LONG - 3 * US
        for block, accesses, begin in ((0, 1, last), (1, 2, first)):
            trace.add(
                "moves", launch=stored["launch"], site=stored["site"], block=block, blocks=1, accesses=accesses,
                first=begin, last=last,
            )  # fmt: skip
    return trace.write(folder / "moving.zst")


def write_round(folder: Path) -> Path:
    return round_builder().write(folder / "round.zst")
