"""snoopie doctor: what a run needs, and what this machine has of it."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import snoopie
from snoopie.cli import tool
from snoopie.cli.checks import (
    collector,
    cupti,
    disassemblers,
    driver,
    folders,
    gpus,
    limits,
    links,
    memory,
    profilers,
    requirements,
    surroundings,
)
from snoopie.cli.checks.row import Row, State, refusal, warning
from snoopie.cli.formats import add_json, print_json
from snoopie.cli.output import clean, is_terminal, print_next
from snoopie.errors import SnoopieError

DESCRIPTION = """Look at everything that a run needs, and say what to do about what is missing. Nothing is run on a GPU.
The exit status is 1 if a run cannot work."""
_COLOURS = {State.OK: "32", State.WARNING: "33", State.PROBLEM: "31"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def main(arguments: argparse.Namespace) -> int:
    found = list(rows(os.environ))
    works = all(row.state is not State.PROBLEM for row in found)
    if arguments.json:
        print_json({"snoopie": snoopie.__version__, "works": works, "rows": [asdict(row) for row in found]})
        return 0 if works else 1
    _print(found)
    if works:
        print_next("run", "--", "./app")
    return 0 if works else 1


def rows(environment: Mapping[str, str]) -> Iterator[Row]:
    """All rows, in the order of the path from the driver to the program."""
    asked = driver.ask(environment)
    there = gpus.listed(environment)
    arches = gpus.arches(there, asked)
    library = _library(environment)
    looks: dict[str, Callable[[], Iterable[Row]]] = {
        "driver": lambda: [driver.row(asked)],
        "GPUs": lambda: gpus.rows(there, asked),
        "links": lambda: links.rows(links.matrix(environment), asked),
        "collector": lambda: collector.rows(library, arches, asked, environment),
        "disassemblers": lambda: disassemblers.rows(arches, environment),
        "CUPTI": lambda: [cupti.row(asked, environment)],
        "temporary files": lambda: [folders.scratch()],
        "memory": lambda: [memory.row(memory.free())],
        "limits": lambda: limits.rows(limits.now()),
        "other profilers": lambda: profilers.rows(library, environment),
        "container": lambda: [surroundings.container(environment)],
        "MPS": lambda: [surroundings.mps(environment)],
        "build": lambda: _building(arches, environment),
    }
    for name, look in looks.items():
        yield from _guarded(name, look)


def _guarded(name: str, look: Callable[[], Iterable[Row]]) -> list[Row]:
    """The rows, whatever the machine does to who looks: the others are wanted all the same."""
    try:
        return [*look()]
    except Exception as error:
        return [warning(name, f"could not be looked at: {error}", "look at it yourself, and report this")]


def _library(environment: Mapping[str, str]) -> Path | SnoopieError:
    """What `snoopie run` takes, or why it takes nothing."""
    try:
        return tool.find_tool(None, environment)
    except SnoopieError as error:
        return error


def _building(arches: Sequence[str], environment: Mapping[str, str]) -> Iterator[Row]:
    """What `snoopie build` needs; a run needs none of it."""
    try:
        needed = requirements.requirements(requirements.nvbit_folder(None, environment), arches, environment)
    except SnoopieError as error:
        needed = [refusal("sources", error)]
    for row in needed:
        state = State.WARNING if row.state is State.PROBLEM else row.state
        yield Row(f"build: {row.name}", state, row.found, row.remedy)


def _print(rows: Sequence[Row]) -> None:
    """A line a row, and below it what to do."""
    bold = is_terminal(sys.stdout) and "NO_COLOR" not in os.environ
    states = max(len(row.state) for row in rows)
    names = max(len(row.name) for row in rows)
    for row in rows:
        state = f"{row.state:<{states}}"
        if bold:
            state = f"\033[{_COLOURS[row.state]}m{state}\033[0m"
        print(f"{state}  {row.name:<{names}}  {clean(row.found)}")
        if row.remedy:
            print(f"{'':<{states}}  {'':<{names}}  → {clean(row.remedy)}")
