"""What the collector holds after a long time:  python bench/soak.py [--minutes N] [--also NAME=COMMAND]

Training steps of FSDP run under the collector for so long, all kernels measured, and beside them a program of yours, if
there is one, such as nccl-tests' `all_reduce_perf -N 0`, each on half of this machine's GPUs, or on all if there are
fewer than four. At the same time each runs without Snoopie on the same GPUs: what grows there too is the program's own.
Meanwhile is noted what their processes hold: memory, descriptors, threads, memory of the GPUs, the size of the traces.
Afterwards `snoopie check` reads the traces, and the times of launches are held against the host's. A program that has
not ended by itself is ended by SIGTERM. Needs PyTorch. Writes its section of docs/trust.md where --out names it, else
it is printed. The exit status is 1 where a program or a trace was wrong.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

import cost  # noqa: E402
import cost_report  # noqa: E402

import snoopie  # noqa: E402
from tests.support import processes  # noqa: E402

BEGIN, END = "<!-- by bench/soak.py -->", "<!-- end of bench/soak.py -->"
EVERY = 10
"""Seconds from one look to the next."""
STEPS = 20
PATIENCE = 120
"""Seconds that a program has to end after its time."""
MOMENTS = (0.05, 0.25, 0.5, 0.75, 1.0)
"""Of the run, what is printed of it."""
TENTHS = 10
RIGHT = "right"
MIB = 1 << 20
SETTINGS = {"KERNEL_NAME": "all", "SAMPLE_SIZE": "1000"}
SECTION = """Written by `python bench/soak.py` on {date}: {machine}.

{held}
{ends}
{clocks}
"""

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Held:
    """By all processes of a program, so many seconds after it began."""

    seconds: float
    resident: int
    """Bytes; a page that two processes share counts twice."""
    descriptors: int
    threads: int
    on_gpus: int
    """By all that runs on its GPUs; 0 where nvidia-smi does not say."""
    traces: int
    """Bytes."""


@dataclass(frozen=True)
class Program:
    name: str
    command: list[str]
    gpus: tuple[str, ...]
    collected: bool = True
    """Whether it runs under the collector."""
    ends: bool = False
    """Whether it was told when to end."""


@dataclass
class Run:
    program: Program
    traces: Path
    output: Path
    process: subprocess.Popen[bytes]
    held: list[Held] = field(default_factory=list)
    status: int | None = None
    verdict: str = RIGHT
    """Of `snoopie check` on its traces, if there are any: RIGHT, or what is not."""


def shares(gpus: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The GPUs of two programs: half of them each, or all where a half would have no other GPU to reach."""
    half = len(gpus) // 2
    return (gpus[:half], gpus[half:]) if half > 1 else (gpus, gpus)


# --- while they run ---


def family(root: int) -> list[int]:
    """A process and all that it started."""
    children: dict[int, list[int]] = {}
    for process, words in processes.stats():
        children.setdefault(int(words[1]), []).append(process)
    found = [root]
    for process in found:
        found += children.get(process, [])
    return found


def status(process: int) -> Mapping[str, str]:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return {name: value for name, _, value in (line.partition(":") for line in lines)}


def on_gpus() -> dict[str, int]:
    """Bytes in use on each, by its number."""
    return {number: int(used.removesuffix(" MiB")) * MIB for number, used in cost.of_gpus("index", "memory.used")}


def look(run: Run, seconds: float, used: Mapping[str, int]) -> Held:
    resident = descriptors = threads = 0
    for process in family(run.process.pid):
        # It may have ended since it was listed.
        with suppress(OSError):
            said = status(process)
            resident += int(said.get("VmRSS", "0 kB").split()[0]) << 10
            threads += int(said["Threads"])
            descriptors += len(os.listdir(f"/proc/{process}/fd"))
    written = sum(trace.stat().st_size for trace in run.traces.iterdir())
    return Held(seconds, resident, descriptors, threads, sum(used.get(gpu, 0) for gpu in run.program.gpus), written)


def start(program: Program, folder: Path) -> Run:
    traces = folder / program.name
    traces.mkdir()
    output = folder / f"{program.name}.txt"
    environment = cost.environment() | {"CUDA_VISIBLE_DEVICES": ",".join(program.gpus)}
    if program.collected:
        own = {"LD_PRELOAD": str(cost.collector()), "SNOOPIE_OUTPUT": str(traces / "%p.zst"), **SETTINGS}
        environment |= own
    with output.open("wb") as file:
        process = subprocess.Popen(
            program.command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )
    return Run(program, traces, output, process)


def soak(programs: Sequence[Program], minutes: float, folder: Path) -> list[Run]:
    """Runs them at the same time, to their end."""
    runs = [start(program, folder) for program in programs]
    began = time.monotonic()
    try:
        while any(run.process.poll() is None for run in runs) and time.monotonic() - began < 60 * minutes:
            time.sleep(EVERY)
            used = on_gpus()
            for run in runs:
                if run.process.poll() is None:
                    run.held.append(look(run, time.monotonic() - began, used))
        for run in runs:
            if not run.program.ends and run.process.poll() is None:
                os.killpg(run.process.pid, signal.SIGTERM)
        for run in runs:
            run.status = run.process.wait(PATIENCE)
    finally:
        for run in runs:
            with suppress(ProcessLookupError):
                os.killpg(run.process.pid, signal.SIGKILL)
    return runs


# --- afterwards ---


def least_waits(called: Times, began: Times) -> list[int]:
    """Of each tenth of the launches, in the order in which they were called: ns from a call to where its kernel began,
    where these were least. A clock that drifts has it grow, or fall below zero."""
    order = np.argsort(called, kind="stable")
    waits = (began - called)[order]
    return [int(part.min()) for part in np.array_split(waits, TENTHS) if len(part)]


def slack(groups: Times, called: Times, began: Times, ended: Times) -> Iterator[tuple[int, int]]:
    """Of each group of steps, from the host's before the first to the host's after the last: ns before its first kernel
    began, and after its last had ended. Below zero the GPU's times are wrong by so much."""
    order = np.argsort(called, kind="stable")
    called, began, ended = called[order], began[order], ended[order]
    for first, last in groups:
        of = slice(*np.searchsorted(called, (first, last)))
        if len(began[of]):
            yield int(began[of].min() - first), int(last - ended[of].max())


def launches(trace: snoopie.Trace) -> tuple[Times, Times, Times]:
    """When they were called, began and ended."""
    spans = trace.spans
    called = trace.launches["time"].reindex(spans["launch"])
    return called.to_numpy(np.int64), spans["start"].to_numpy(np.int64), spans["end"].to_numpy(np.int64)


def microseconds(least: int, most: int) -> str:
    return f"{least / 1e3:.1f} to {most / 1e3:.1f} µs"


def about_clocks(run: Run) -> list[list[str]]:
    """Of each process that measured launches: what its times say of the clocks."""
    figures = cost.last_object(run.output.read_text(errors="replace")) or {}
    groups = np.array(figures.get("groups", ()), np.int64).reshape(-1, 2)
    found = []
    for path in sorted(run.traces.iterdir()):
        trace = snoopie.load(path, allow_truncated=True)
        called, began, ended = launches(trace)
        if not len(called):
            continue
        waits = least_waits(called, began)
        # Those of rank 0, which another process of the program was not in.
        around = list(slack(groups, called, began, ended)) if trace.processes.pid.iloc[0] == figures.get("pid") else []
        inside = [microseconds(min(side), max(side)) for side in zip(*around, strict=True)] or ["", ""]
        found.append([run.program.name, f"{len(called):,}", microseconds(min(waits), max(waits)), *inside])
    return found


def at(share: float, held: Sequence[Held]) -> Held:
    """What was held at so much of the run."""
    return min(held, key=lambda one: abs(one.seconds - share * held[-1].seconds))


def about_memory(run: Run) -> list[list[str]]:
    rows = []
    for share in MOMENTS:
        held = at(share, run.held)
        on_gpus = f"{held.on_gpus / MIB:,.0f} MiB" if held.on_gpus else "not known"
        sizes = [f"{held.resident / MIB:,.0f} MiB", str(held.descriptors), str(held.threads), on_gpus]
        traces = f"{held.traces / MIB:,.1f} MiB" if run.program.collected else ""
        rows.append([run.program.name, f"{held.seconds / 60:.1f} min", *sizes, traces])
    return rows


def predicted(held: Sequence[Held]) -> float:
    """The size of the traces at the end, as their growth in the second quarter lets expect it."""
    early, later, last = (at(share, held) for share in (0.25, 0.5, 1))
    a_second = (later.traces - early.traces) / (later.seconds - early.seconds)
    return later.traces + a_second * (last.seconds - later.seconds)


def check(traces: Path) -> str:
    command = [sys.executable, "-m", "snoopie", "check", "--allow-truncated", str(traces)]
    checked = subprocess.run(command, capture_output=True, text=True)
    return RIGHT if checked.returncode == 0 else (checked.stdout + checked.stderr).strip().splitlines()[-1]


def about_end(run: Run) -> list[str]:
    trace = snoopie.load(run.traces, allow_truncated=True)
    found, totals = trace.summary(), trace.totals
    kinds = {"launches": "launches_lost", "records": "records_dropped", "errors": "errors"}
    lost = ", ".join(f"{totals[name]:,} {kind}" for kind, name in kinds.items() if totals.get(name)) or "nothing"
    # Said at the end, which a program that was killed does not come to.
    if not trace.complete:
        lost = "not said"
    grown = run.held[-1].traces / predicted(run.held)
    ended = "SIGTERM" if run.status == -signal.SIGTERM else f"status {run.status}"
    numbers = [f"{number:,}" for number in (len(trace.launches), found["accesses"], found["records"])]
    return [run.program.name, ended, *numbers, lost, f"{grown:.3f}", run.verdict]


def section(runs: Sequence[Run], machine: str, date: str) -> str:
    collected = [run for run in runs if run.program.collected]
    held = cost_report.table(
        ["program", "after", "memory", "descriptors", "threads", "on its GPUs", "traces"],
        itertools.chain.from_iterable(map(about_memory, runs)),
    )
    ends = cost_report.table(
        ["program", "ended by", "launches measured", "accesses", "records", "lost", "size ÷ predicted", "check"],
        map(about_end, collected),
    )
    clocks = cost_report.table(
        [
            "process of",
            "launches",
            "call to beginning, least of a tenth",
            "steps' beginning to kernels",
            "kernels to end",
        ],
        itertools.chain.from_iterable(map(about_clocks, collected)),
    )
    return SECTION.format(date=date, machine=machine, held=held, ends=ends, clocks=clocks)


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--also", metavar="NAME=COMMAND", help="a program that runs beside it")
    parser.add_argument("--out", type=Path, help="document whose section is written")
    options = parser.parse_args()
    gpus = tuple(cost.visible_gpus())
    training = [sys.executable, str(cost.SCRIPTS / "minutes.py"), str(options.minutes), str(STEPS)]
    first, second = shares(gpus) if options.also else (gpus, gpus)
    collected = [Program("fsdp", training, first, ends=True)]
    if options.also:
        name, _, command = options.also.partition("=")
        collected.append(Program(name, shlex.split(command), second))
    programs = [
        program
        for one in collected
        for program in (one, replace(one, name=f"{one.name}, without Snoopie", collected=False))
    ]
    with tempfile.TemporaryDirectory(prefix="snoopie-soak-") as folder:
        runs = soak(programs, options.minutes, Path(folder))
        for run in runs:
            if run.program.collected:
                run.verdict = check(run.traces)
            said = run.output.read_text(errors="replace").splitlines()
            words = [line for line in said if not line.startswith("{")]
            cost.say("\n".join([f"{run.program.name} ended with status {run.status}:", *words[-20:]]))
        text = section(runs, cost.describe(cost.machine()), datetime.date.today().isoformat())
    if options.out:
        options.out.write_text(cost_report.with_section(options.out.read_text(), text, (BEGIN, END)))
    print(text)
    return int(any(run.status not in (0, -signal.SIGTERM) or run.verdict != RIGHT for run in runs))


if __name__ == "__main__":
    sys.exit(main())
