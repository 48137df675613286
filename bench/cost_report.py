"""Measurements → tables. No running, no files."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cost_plan import COLUMNS, PREDECESSOR, PROGRAMS, TARGETS, Column, Program, Target

NONE = "–"
BEGIN, END = "<!-- by bench/cost.py -->", "<!-- end of bench/cost.py -->"


@dataclass(frozen=True)
class Sample:
    """One process."""

    program: str
    column: str
    kernel: list[float]
    """Time of a launch in µs: the mean of each repetition."""
    first: float
    """ms from the first launch to its end, as the host sees it."""
    start: float
    """s from the start of the process to the end of its first kernel."""
    process: float
    """s from start to end of the process."""
    cold: bool = False
    """Its disassembly was not yet in the cache."""
    trace_bytes: int | None = None
    totals: dict[str, int] = field(default_factory=dict)
    """Of the trace's footer."""


@dataclass
class Results:
    samples: list[Sample] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Program → why it cannot run on this machine."""
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    """(program, column) → what went wrong, in one sentence."""

    def of(self, program: str, column: str) -> list[Sample]:
        return [sample for sample in self.samples if (sample.program, sample.column) == (program, column)]

    def kernel(self, program: str, column: str) -> list[float]:
        """Times of a launch in µs, of all processes."""
        return [time for sample in self.of(program, column) for time in sample.kernel]

    def ratio(self, program: str, column: str, base: str) -> float | None:
        """Of the medians of kernel time; None where one is missing."""
        over, under = self.kernel(program, column), self.kernel(program, base)
        return statistics.median(over) / statistics.median(under) if over and under else None

    def difference(self, program: str, column: str, base: str) -> float | None:
        """The same of a launch in µs, not as a ratio."""
        over, under = self.kernel(program, column), self.kernel(program, base)
        return statistics.median(over) - statistics.median(under) if over and under else None

    def instrumented(self, program: str, *, cold: bool) -> list[Sample]:
        """Processes that the collector instrumented."""
        return [s for s in self.samples if s.program == program and COLUMNS[s.column].instruments and s.cold == cold]

    def measured(self, target: Target) -> float | None:
        """What is compared with the target's bound; None where a measurement is missing."""
        if target.kind in ("kernel", "ahead"):
            ratio = self.ratio(target.program, target.column, target.base)
            return ratio and (PREDECESSOR[target.program] / ratio if target.kind == "ahead" else ratio)
        if target.kind == "launch":
            return self.difference(target.program, target.column, target.base)
        one_column = target.kind == "process"
        over = (
            self.of(target.program, target.column)
            if one_column
            else self.instrumented(target.program, cold=target.kind == "cold")
        )
        under = self.of(target.program, target.base)
        if not over or not under:
            return None
        longer, shorter = (statistics.median(sample.process for sample in samples) for samples in (over, under))
        return longer / shorter if one_column else longer - shorter

    @property
    def programs(self) -> list[Program]:
        return [program for program in PROGRAMS.values() if any(s.program == program.name for s in self.samples)]

    def columns(self, columns: Iterable[Column]) -> list[Column]:
        return [column for column in columns if any(s.column == column.name for s in self.samples)]


# --- cells ---


def number(value: float) -> str:
    """Three significant digits, or all those before the point."""
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:#.3g}".rstrip(".")


def spread(values: Sequence[float]) -> str:
    """Median and, in brackets, least to most."""
    if not values:
        return NONE
    middle = number(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({number(min(values))}–{number(max(values))})"


def times(ratio: float | None) -> str:
    return NONE if ratio is None else f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}"


def size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{number(count) if unit != 'B' else int(count)} {unit}"
        count /= 1024
    return f"{number(count)} GiB"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


# --- tables ---


def _measured_columns(results: Results) -> list[Column]:
    return results.columns(column for column in COLUMNS.values() if not column.alone)


def kernel_times(results: Results) -> str:
    columns = _measured_columns(results)
    return table(
        ["µs per launch", *(column.heading for column in columns)],
        [[p.name, *(spread(results.kernel(p.name, c.name)) for c in columns)] for p in results.programs],
    )


def slowdowns(results: Results) -> str:
    columns = [column for column in _measured_columns(results) if column.name != "native"]
    return table(
        ["× native", *(column.heading for column in columns)],
        [[p.name, *(times(results.ratio(p.name, c.name, "native")) for c in columns)] for p in results.programs],
    )


def without_mapping(results: Results) -> str:
    rows = []
    for program in results.programs:
        if ratio := results.ratio(program.name, "alone", "alone_native"):
            cells = [spread(results.kernel(program.name, column)) for column in ("alone_native", "alone")]
            measured = [sample.totals.get("launches_measured", 0) for sample in results.of(program.name, "alone")]
            rows.append([program.name, *cells, f"{ratio:.3f}", str(max(measured))])
    headings = ["µs per launch", "native, one GPU", "no foreign mapping", "ratio", "launches instrumented"]
    return table(headings, rows) if rows else ""


def program_times(results: Results) -> str:
    columns = _measured_columns(results)
    rows = []
    for program in results.programs:
        of_columns = ([sample.process for sample in results.of(program.name, column.name)] for column in columns)
        rows.append([program.name, *(spread(values) for values in of_columns)])
    return table(["s", *(column.heading for column in columns)], rows)


def starts(results: Results) -> str:
    """Time to the end of the first kernel; instrumented, by whether the disassembly was cached."""

    def start(samples: Sequence[Sample]) -> float | None:
        return statistics.median(sample.start for sample in samples) if samples else None

    rows = []
    for program in results.programs:
        native = start(results.of(program.name, "native"))
        if native is None:
            continue
        others = (
            start(results.of(program.name, "loaded")),
            start(results.of(program.name, "control")),
            start(results.instrumented(program.name, cold=True)),
            start(results.instrumented(program.name, cold=False)),
        )
        more = (NONE if other is None else f"{other - native:+.2f}" for other in others)
        rows.append([program.name, f"{native:.2f}", *more])
    return table(["s", "native", "tool loaded", "control", "instrumented, cold", "instrumented, warm"], rows)


def traces(results: Results) -> str:
    """Of the median process of each cell, by size. Local programs have nothing to write."""
    rows = []
    for program in results.programs:
        if program.local:
            continue
        for column in _measured_columns(results):
            samples = sorted(
                (s for s in results.of(program.name, column.name) if s.trace_bytes is not None),
                key=lambda sample: sample.trace_bytes or 0,
            )
            if not samples or column.name == "loaded":
                continue
            sample = samples[len(samples) // 2]
            written, dropped = (sample.totals.get(name, 0) for name in ("records_written", "records_dropped"))
            totals = (sample.totals.get(name, 0) for name in ("launches_seen", "launches_measured", "accesses"))
            share = f"{dropped / (written + dropped):.1%}" if written + dropped else NONE
            counts = (f"{count:,}" for count in (*totals, written, dropped))
            rows.append([program.name, column.heading, *counts, share, size(sample.trace_bytes or 0)])
    headings = ["", "", "launches", "measured", "remote accesses", "records written", "dropped", "", "trace"]
    return table(headings, rows) if rows else ""


def _target_row(results: Results, target: Target) -> list[str] | None:
    measured = results.measured(target)
    if measured is None:
        return None
    met = "met" if target.met(measured) else "**not met**"
    match target.kind:
        case "cold" | "warm":
            return [target.text, f"{measured:+.2f} s", f"≤ {target.bound:+g} s", met]
        case "launch":
            return [target.text, f"{measured:+.2f} µs", f"≤ {target.bound:+g} µs", met]
        case "ahead":
            return [target.text, f"{measured:.1f}", f"≥ {target.bound:g}", met]
        case _:
            return [target.text, f"{measured:.3f}", f"≤ {target.bound:g}", met]


def targets(results: Results) -> str:
    rows = [row for target in TARGETS if (row := _target_row(results, target))]
    return table(["", "measured", "target", ""], rows) if rows else ""


SECTION = """## On GPUs

Written by `python bench/cost.py` on {date}: {machine}; {processes}.

All tables are from one run of the benchmark. Each figure is a median, with minimum and maximum in brackets if there
are several. **Kernel time** is the GPU time between two events around the launches, divided by the number of launches,
in at least {repetitions} repetitions after a warm-up. For `ring`, `launches`, the Jacobis and training it is host time,
from the first launch to the end of the last; for `launch_calls` until the last call returns. A launch of `ring` or of a
Jacobi is one iteration on its GPUs, one of training is a step. Programs have two GPUs unless they say otherwise.

{programs}
- **native**: without the collector. **tool loaded**: with it, but no kernel is selected (`KERNEL_NAME=none_such`).
  **Tool loaded + times**: the same with `TIMES=all`. **Counts without times**: `SAMPLE_SIZE=0 TIMES=off`.
  **Clean recording**: with `snoopie_times.so` instead, which records times and instruments nothing.
- **control**: another NVBit tool (`bench/control`), which calls an empty function without arguments before each global
  memory access, at the same instructions of the same program. **NVBit alone**: the same tool, which does nothing.
- **counts**: `SAMPLE_SIZE=0`. **counts + waits**: with `WAITS=on`, too. **counts + records**: every access is recorded
  (`SAMPLE_SIZE=1`). **1/100 records**: `SAMPLE_SIZE=100`. **Counts of NCCL**: `KERNEL_NAME=nccl SAMPLE_SIZE=0`. All
  others: `KERNEL_NAME=all`.
- **1/100 launches**: `LAUNCH_SAMPLE=100`, with records of all accesses of these launches; a repetition has at least
  100 launches.
- *Local* programs could reach the other GPU's memory but do not. **No foreign mapping**: they cannot reach it, because
  only one GPU is visible; `KERNEL_NAME=all`.

### Targets

{targets}
"Against the predecessor" compares slowdowns, each relative to its own native time: how many times smaller the slowdown
is here. With everything recorded, an NVBit tool of the predecessor's design took 6.75 ms instead of 0.186 on `put`, and
19.8 ms instead of 0.065 on `stencil`, on two H200s.

### Kernel time

{kernel_times}
{slowdowns}
{without_mapping}
### Start-up and program time

Seconds from the start of the process to the end of its first kernel: native, and the difference with a tool. **Cold**:
the first process that instruments the program, with an empty disassembly cache; **warm**: later ones. Each program has
a cache of its own.

{starts}
Seconds for a whole process, which also creates its data, checks the result and writes the trace. Processes with 1/100
launches make more launches.

{program_times}
### What is written

Launches that the collector saw, launches that it measured, and what it recorded of these, in the median process.

{traces}"""


def section(results: Results, machine: str, date: str) -> str:
    """The section of docs/performance.md."""
    cells = [len(results.of(s.program, s.column)) for s in results.samples]
    least, most = min(cells, default=0), max(cells, default=0)
    processes = (
        f"{least} to {most} processes per cell" if least != most else f"{most} process{'es' * (most != 1)} per cell"
    )
    text = SECTION.format(
        machine=machine,
        date=date,
        processes=processes,
        repetitions=min((len(s.kernel) for s in results.samples), default=0),
        programs=table(["program", ""], [[program.name, program.what] for program in results.programs]),
        targets=targets(results),
        kernel_times=kernel_times(results),
        slowdowns=slowdowns(results),
        without_mapping=without_mapping(results),
        starts=starts(results),
        program_times=program_times(results),
        traces=traces(results),
    )
    if missing := [*results.left_out.values(), *results.failures.values()]:
        text += "\n### Left out\n\n" + "".join(f"- {sentence}\n" for sentence in missing)
    return text


def with_section(document: str, text: str, markers: tuple[str, str] = (BEGIN, END)) -> str:
    """The document with its section between the markers replaced, or added at its end."""
    begin, end = (document.find(marker) for marker in markers)
    marked = f"{markers[0]}\n{text}{markers[1]}\n"
    if begin < 0 or end < begin:
        return f"{document.rstrip()}\n\n{marked}" if document.strip() else f"# Performance\n\n{marked}"
    return document[:begin] + marked + document[end + len(markers[1]) :].removeprefix("\n")
