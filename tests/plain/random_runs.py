"""Random runs of one or two processes whose rows are known: launches with and without times, what they and copies
moved, calls, ranges and marks. Few different moments, so that much begins or ends at once, and some last no time.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.plain.plain_over_time import Folds
from tests.plain.plain_runs import HOST, UNKNOWN, Call, Collective, Copy, Count, Launch, Ran, Range, Run, Site
from tests.support.encoder import OPERATIONS, START_NS, TraceBuilder

KERNELS = ("ring(int*)", "sum<float>(float*)", "Über()")
FILES = ("/src/a.cu", "/src/b.cu", "/other/a.cu")
_THREADS = (4711, 4712)


def make(seed: int) -> Run:
    run = Run(Random(seed))
    random = run.random
    every = list(range(random.randint(1, 4)))
    for process in range(random.choice((1, 1, 2))):
        numbers = [0, *random.sample(every[1:], random.randint(0, len(every) - 1))]
        random.shuffle(numbers)
        _process(run, process, numbers)
    return run


def moment(random: Random) -> int:
    """Often one of a few moments, sometimes far from all others."""
    return START_NS + random.choice((random.randrange(8) * 5000, random.randrange(40_000), random.randrange(2_000_000)))


def window(random: Random) -> tuple[int | None, int | None, Folds]:
    """A part of time and what of it is left out, or neither."""
    folds: list[tuple[int, int]] = []
    if random.random() < 0.5:
        edges = sorted({moment(random) for _ in range(random.choice((2, 4, 6)))})
        folds = list(zip(edges[::2], edges[1::2], strict=False))
    first, last = sorted((moment(random), moment(random)))
    return random.choice((None, first)), random.choice((None, last + random.randint(0, 1))), folds


def _process(run: Run, process: int, numbers: list[int]) -> None:
    random = run.random
    builder = TraceBuilder(numbers, pid=100 + process)
    run.builders.append(builder)
    on_gpu, imported = random.random() < 0.5, random.random() < 0.2
    builder.header["settings"] |= {"copy_times": "device"} if on_gpu else {}
    builder.header["tool"] |= {"imported_from": "Another Tool 1"} if imported else {}
    run.imported.append(imported)
    run.sizeless.append(imported and random.random() < 0.5)
    builder.header["tool"] |= {"lacks": ["the sizes of copies"]} if run.sizeless[-1] else {}
    _gpus(run, process, builder)
    places = [*run.places[process], HOST, UNKNOWN]
    run.objects.append([])
    for number in range(random.randint(0, 3)):
        owner = random.randrange(len(numbers))
        made = builder.allocation("device", 4096, owner, 10, address=0x7F00_0000_0000 + number * 4096)
        run.objects[-1].append(run.among_all("objects", process, made))
    # Sometimes no GPU does anything.
    quiet = random.random() < 0.15
    _sites_and_launches(run, process, builder, 0 if quiet else random.randint(0, 7))
    sites = [site for site in run.sites if site.process == process]
    for launch in [launch for launch in run.launches if launch.process == process]:
        for site in random.sample(sites, random.randint(0, min(3, len(sites)))):
            others = [place for place in places if place != launch.gpu]
            for owner in random.sample(others, random.randint(1, min(2, len(others)))):
                accesses = random.choice((0, 1, random.randint(1, 1 << random.randint(1, 30))))
                lanes, units = accesses * random.randint(1, 32), accesses * random.randint(1, 8)
                object_ = random.choice([0, *run.objects[process]])
                builder.count(
                    run.own("launches", process, launch.id), run.own("sites", process, site.id),
                    run.code(process, owner), accesses, lanes, units,
                )  # fmt: skip
                builder.rows["counts"][-1]["object"] = object_ and run.own("objects", process, object_)
                run.counts.append(Count(launch, site, owner, accesses, lanes, units, object_))
    _copies_and_collectives(run, process, builder, on_gpu, 0 if quiet else random.randint(0, 5))
    _of_threads(run, process, builder)
    _others(run, process, builder)


def _gpus(run: Run, process: int, builder: TraceBuilder) -> None:
    """GPUs are told apart by their UUIDs, and stand in the order in which they first appear."""
    random = run.random
    known = {gpu["uuid"]: place for own in run.builders[:-1] for gpu, place in zip(
        own.header["gpus"], run.places[run.builders.index(own)], strict=True
    )}  # fmt: skip
    run.places.append([])
    for gpu in builder.header["gpus"]:
        if gpu["uuid"] not in known:
            known[gpu["uuid"]] = len(run.gpus)
            run.gpus.append((random.choice((60, 80, 86, 90, 90, 100, 0)), random.choice((18, 12, 4, 0, -1))))
        place = known[gpu["uuid"]]
        run.places[-1].append(place)
        gpu["sm"], gpu["nvlinks"] = run.gpus[place]
    for link in builder.header["links"]:
        pair = run.places[-1][link["issuer"]], run.places[-1][link["owner"]]
        if process == 0 and random.random() < 0.2:
            run.apart.add(pair)
        link["native_atomics"] = pair not in run.apart


def _sites_and_launches(run: Run, process: int, builder: TraceBuilder, launches: int) -> None:
    random = run.random
    functions = {name: builder.function(name) for name in random.sample(KERNELS, random.randint(1, 3))}
    for _ in range(random.randint(1, 6)):
        kernel, operation = random.choice(list(functions)), random.choice(OPERATIONS)
        width, unit = random.choice((1, 4, 16)), 32 if operation == "load" else 16
        file, line = random.choice([("", 0), *((file, line) for file in FILES for line in (1, 7))])
        at = builder.line(file, line) if line else 0
        sass = f"OP.{random.randint(0, 3)}"
        made = builder.site(functions[kernel], sass, operation, width, wire_unit=unit, line=at, sass=sass)
        run.sites.append(
            Site(run.among_all("sites", process, made), process, kernel, operation, width, unit, file, line, sass)
        )
    for _ in range(launches):
        kernel, gpu = random.choice(list(functions)), random.randrange(len(run.places[process]))
        stream, thread = random.choice((0, 2, 7, 0x7F00_1000, (1 << 64) - 8)), random.choice(_THREADS)
        called = moment(random)
        shape = random.choice(((128, 1, 1), (32, 4, 1), (1, 1, 128), (0, 0, 0)))
        axes = dict(zip(("block_x", "block_y", "block_z"), shape, strict=True))
        made = builder.launch(functions[kernel], gpu, stream=stream, thread=thread, time=called, **axes)
        spanned = random.random() < 0.75
        start = moment(random)
        end = start + random.choice((0, 1, 5000, random.randrange(30_000)))
        if spanned:
            builder.add("spans", launch=made, start=start, end=end)
        times = (start, end) if spanned else (called, called)
        place = run.places[process][gpu]
        run.launches.append(
            Launch(
                run.among_all("launches", process, made),
                process,
                kernel,
                place,
                stream,
                thread,
                called,
                *times,
                spanned,
                shape,
            )
        )


def _copies_and_collectives(run: Run, process: int, builder: TraceBuilder, on_gpu: bool, copies: int) -> None:
    random = run.random
    places = run.places[process]
    for _ in range(copies):
        source, destination = random.sample([*places, HOST, UNKNOWN, UNKNOWN], 2)
        issuer, size, start = random.choice(places), random.choice((0, 1, random.randrange(1 << 40))), moment(random)
        end = start + random.choice((0, 1, 5000, random.randrange(30_000)))
        stream, thread = random.choice((0, 7, 0x7F00_2000)), random.choice(_THREADS)
        made = builder.copy(
            run.code(process, source), run.code(process, destination), size, gpu=run.code(process, issuer),
            stream=stream, thread=thread, start=start, end=end,
        )  # fmt: skip
        number = run.among_all("copies", process, made)
        sized = not run.sizeless[process]
        run.copies.append(
            Copy(number, process, source, destination, size, issuer, stream, thread, start, end, on_gpu, sized)
        )
    for _ in range(random.randint(0, 3)):
        operation, issuer, count = random.choice(("AllReduce", "Send")), random.choice(places), random.randrange(1000)
        start = moment(random)
        end, stream, thread = start + random.choice((0, 5000)), random.choice((0, 0x7F00_2000)), random.choice(_THREADS)
        made = builder.collective(
            0, operation, count, gpu=run.code(process, issuer), stream=stream, thread=thread, start=start, end=end
        )
        run.collectives.append(
            Collective(
                run.among_all("collectives", process, made),
                process,
                operation,
                4 * count,
                issuer,
                stream,
                thread,
                start,
                end,
            )
        )


def _of_threads(run: Run, process: int, builder: TraceBuilder) -> None:
    random = run.random
    for _ in range(random.randint(0, 7)):
        name, domain, pushed = random.choice(("halo", "step")), random.choice(("", "app")), random.random() < 0.5
        thread, start = random.choice(_THREADS), moment(random)
        end = random.choice((0, start, start + 1, start + random.randrange(100_000)))
        named: dict[str, Any] = {"name": builder.string(name), "domain": builder.string(domain), "pushed": int(pushed)}
        made = builder.add("ranges", thread=thread, start=start, end=end, **named)
        run.ranges.append(
            Range(run.among_all("ranges", process, made), process, name, domain, pushed, thread, start, end)
        )
    for _ in range(random.randint(0, 4)):
        name, place = random.choice(("cuMemAlloc_v2", "cuLaunchKernel")), random.choice([*run.places[process], UNKNOWN])
        size, thread, start = random.randrange(99), random.choice(_THREADS), moment(random)
        end = start + random.choice((0, 1, random.randrange(9000)))
        made = builder.add(
            "calls", call=builder.string(name), gpu=run.code(process, place), bytes=size, thread=thread, start=start,
            end=end,
        )  # fmt: skip
        run.calls.append(Call(run.among_all("calls", process, made), process, name, place, size, thread, start, end))


def _others(run: Run, process: int, builder: TraceBuilder) -> None:
    random = run.random
    for _ in range(random.randint(0, 3)):
        time, text = moment(random), random.choice(("step 1", "step 2", "end"))
        builder.add("marks", time=time, text=builder.string(text), thread=random.choice(_THREADS))
        run.marks.append((process, time, text))
    for _ in range(random.randint(0, 3)):
        gpu, name, start = random.randrange(len(run.places[process])), random.choice(KERNELS), moment(random)
        end = start + random.choice((0, 5000))
        builder.add(
            "unmeasured_launches", kernel=builder.string(name), gpu=gpu, time=start, start=start, end=end, thread=4711
        )
        run.unmeasured.append(Ran(run.places[process][gpu], name, start, end))
    for _ in range(random.randint(0, 2)):
        gpu, name, start = random.randrange(len(run.places[process])), random.choice(("", "wait")), moment(random)
        end = start + random.choice((0, 5000))
        builder.add("barriers", gpu=gpu, start=start, end=end, name=builder.string(name))
        run.barriers.append(Ran(run.places[process][gpu], name, start, end))
