"""What calls.cu says that it called, and the same from a trace."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from gpu_runs import Run


class Call(NamedTuple):
    """Calls of one name, on one GPU, in one direction."""

    name: str
    gpu: str
    direction: str
    calls: int
    errors: int
    bytes: int


class Error(NamedTuple):
    """Calls that failed in one way."""

    name: str
    gpu: str
    code: int
    calls: int


def printed(run: Run, what: str) -> list[list[str]]:
    """The program's lines of one sort: calls.cu gives their form."""
    return [line.split()[1:] for line in run.stdout.splitlines() if line.startswith(f"{what} ")]


def made(run: Run) -> set[Call]:
    """What the program says that it called."""
    lines = printed(run, "call")
    return {
        Call(name, f"GPU {gpu}", "" if direction == "-" else direction.replace("_", " "), *map(int, numbers))
        for name, gpu, direction, *numbers in lines
    }


def recorded(run: Run) -> set[Call]:
    """The same from the trace, without the calls of which the program says nothing."""
    table = run.trace.call_totals.assign(gpu=[run.trace.label(gpu) for gpu in run.trace.call_totals["gpu"]])
    table = table[table["call"].isin({call.name for call in made(run)})]
    sums = table.groupby(["call", "gpu", "direction"])[["calls", "errors", "bytes"]].sum().reset_index()
    return {Call(*row) for row in sums.itertuples(index=False)}


def launches(run: Run) -> dict[str, Counter[tuple[str, int]]]:
    """How often each kernel was launched on a GPU by one thread: a number for each."""
    table = run.trace.by_launched_kernel("gpu", "thread")
    return {
        name: Counter((row.gpu, row.launches) for row in table.itertuples() if name in row.kernel)
        for name in ("count(", "scale<int>(")
    }


def launched(run: Run) -> dict[str, Counter[tuple[str, int]]]:
    """The same as the program says it."""
    lines = printed(run, "launches")
    return {
        name: Counter((f"GPU {line[0]}", int(line[place])) for line in lines)
        for place, name in enumerate(("count(", "scale<int>("), start=1)
    }
