"""What a clean recording costs a training step of FSDP at least:  python bench/attached.py [--processes N] [--rounds N]

CUPTI alone does here what the clean recording has it do, and what it records is thrown away. It is attached to some
steps and detached for the next: two processes differ by more than a recording costs, steps of one process much less.
Each group of steps under CUPTI is set against the native ones before and after it. As many processes run at a time as
the machine has GPUs for. Needs PyTorch and CUPTI. Writes its section of docs/performance.md where --out names it,
else it is printed. The exit status is 1 where a process failed, or where all records cost more than a twentieth of a
step.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

import cost  # noqa: E402
import cost_report  # noqa: E402

BEGIN, END = "<!-- by bench/attached.py -->", "<!-- end of bench/attached.py -->"
MOST = 1.05
STEPS = 4
COPIES, MEMSETS, KERNELS = 1 << 1 | 1 << 22, 1 << 2, 1 << 10
"""CUPTI's kinds of records, one bit each: copies between host and GPU and those between GPUs."""
ALL = str(COPIES | MEMSETS | KERNELS)
KINDS = {
    "all records": ALL,
    "without memsets": str(COPIES | KERNELS),
    "no records, launches heard": "0",
    "nothing": "none",
}
SECTION = """Written by `python bench/attached.py` on {date}: {machine}.

{table}
The target is {target} with all records.
"""


@dataclass(frozen=True)
class Turns:
    """Of one process, or of several together."""

    native_ms: tuple[float, ...]
    """Of a step: the median of each group."""
    times_native: dict[str, tuple[float, ...]]
    """By what CUPTI was to record: how often as long as natively each group of steps took."""

    def share(self, kinds: str) -> float:
        return statistics.median(self.times_native[kinds])

    def error(self, kinds: str) -> float:
        """The standard error of that median, of groups that are distributed normally."""
        values = self.times_native[kinds]
        return math.sqrt(math.pi / 2) * statistics.stdev(values) / math.sqrt(len(values))


def turns(figures: dict[str, Any]) -> Turns:
    """What training/turns.py printed. ValueError, KeyError or TypeError where it is not that."""
    native, attached = figures["native"], figures["attached"]
    found: dict[str, list[float]] = {}
    for (kinds, groups), (before, after) in zip(attached, itertools.pairwise(native), strict=True):
        base = statistics.median(before + after)
        found.setdefault(kinds, []).extend(group / base for group in groups)
    return Turns(
        tuple(statistics.median(groups) / STEPS for groups in native),
        {kinds: tuple(values) for kinds, values in found.items()},
    )


def together(processes: Sequence[Turns]) -> Turns:
    kinds = processes[0].times_native
    return Turns(
        tuple(itertools.chain.from_iterable(one.native_ms for one in processes)),
        {of: tuple(itertools.chain.from_iterable(one.times_native[of] for one in processes)) for of in kinds},
    )


def measure(library: Path, rounds: int, gpus: Sequence[str]) -> Turns:
    """Runs the program once, a rank on each of these GPUs. cost.FailedError."""
    command = [sys.executable, str(cost.SCRIPTS / "turns.py"), str(library), str(rounds), str(STEPS), *KINDS.values()]
    environment = cost.environment() | {"CUDA_VISIBLE_DEVICES": ",".join(gpus)}
    with tempfile.TemporaryDirectory(prefix="snoopie-attached-") as folder:
        ended = cost.run(command, environment, Path(folder))
    figures = cost.last_object(ended.stdout) if ended.returncode == 0 else None
    if figures is None:
        said = cost.last_words(ended) or " ".join(ended.stdout.split()[-60:])
        raise cost.FailedError(f"ended with status {ended.returncode}: {said}")
    return turns(figures)


def all_processes(library: Path, processes: int, rounds: int, ranks: int) -> tuple[list[Turns], int]:
    """So many of that many ranks each, and how many failed."""
    gpus = cost.visible_gpus()
    places = [gpus[begin : begin + ranks] for begin in range(0, len(gpus) - ranks + 1, ranks)]
    found: list[Turns] = []
    failed = 0
    with ThreadPoolExecutor(len(places)) as pool:
        for number in range(0, processes, len(places)):
            started = [pool.submit(measure, library, rounds, place) for place in places[: processes - number]]
            for one in started:
                try:
                    found.append(one.result())
                except (cost.FailedError, subprocess.TimeoutExpired) as error:
                    cost.say(f"{ranks} ranks: {error}")
                    failed += 1
                    continue
                cost.say(f"{ranks} ranks: {found[-1].share(ALL):.3f}")
    return found, failed


def rows(ranks: int, processes: Sequence[Turns]) -> list[list[str]]:
    whole = together(processes)
    step = f"{ranks}, {statistics.median(whole.native_ms):.0f} ms"
    named = []
    for name, kinds in KINDS.items():
        first, _, third = statistics.quantiles(whole.times_native[kinds], n=4)
        shares = [one.share(kinds) for one in processes]
        spread = [f"{first:.3f}–{third:.3f}", f"{min(shares):.3f}–{max(shares):.3f}"]
        groups = f"{len(whole.times_native[kinds]):,} in {len(processes)} processes"
        named.append([step, name, f"{whole.share(kinds):.3f}", f"{whole.error(kinds):.3f}", *spread, groups])
    return named


def section(found: dict[int, list[Turns]], machine: str, date: str) -> str:
    headings = ["ranks, native step", "CUPTI takes", "× native", "standard error", "quartiles", "by process", "groups"]
    table = cost_report.table(
        headings, itertools.chain.from_iterable(rows(ranks, processes) for ranks, processes in found.items())
    )
    return SECTION.format(date=date, machine=machine, table=table, target=MOST)


def built() -> Path:
    cost.make(HERE / "control", "attach.so")
    return HERE / "control" / "attach.so"


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--processes", type=int, default=8, metavar="N", help="for each number of ranks")
    parser.add_argument("--rounds", type=int, default=14, metavar="N")
    parser.add_argument("--out", type=Path, help="document whose section is written")
    options = parser.parse_args()
    library = built()
    found: dict[int, list[Turns]] = {}
    failed = 0
    for ranks in (1, 2):
        if ranks > len(cost.visible_gpus()):
            break
        processes, ended_badly = all_processes(library, options.processes, options.rounds, ranks)
        failed += ended_badly
        if processes:
            found[ranks] = processes
    if not found:
        return 1
    text = section(found, cost.describe(cost.machine()), datetime.date.today().isoformat())
    if options.out:
        options.out.write_text(cost_report.with_section(options.out.read_text(), text, (BEGIN, END)))
    print(text)
    return int(failed > 0 or any(together(processes).share(ALL) > MOST for processes in found.values()))


if __name__ == "__main__":
    sys.exit(main())
