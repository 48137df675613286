"""snoopie build: the collector, from the sources that the package brings, for this user."""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from snoopie.cli import places, tool
from snoopie.cli.architectures import architectures
from snoopie.cli.checks import driver, gpus
from snoopie.cli.checks.requirements import NVBIT, nvbit_folder, requirements
from snoopie.cli.checks.row import State
from snoopie.cli.making import make
from snoopie.cli.output import clean, print_next

DESCRIPTION = """Build the collector, mem_multigpu.so and what it needs, from the sources that this package brings, into
$XDG_DATA_HOME/snoopie (or ~/.local/share/snoopie), where `snoopie run` finds it. `snoopie run` takes, in this order:
--tool, SNOOPIE_TOOL, nvbit_tool/ of a checkout, what this command built, lib/snoopie of Python's prefix,
/usr/local/lib/snoopie."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--nvbit", metavar="DIR", help=f"NVBit's folder core, unpacked (default: NVBIT_PATH, then {NVBIT})"
    )
    parser.add_argument(
        "--arch",
        metavar="ARCHES",
        help="GPU architectures, as 90,100 or sm_90 or 9.0, or all (default: those of this machine's GPUs)",
    )
    parser.add_argument("--jobs", metavar="N", type=_jobs, help="compilers at a time (default: one a core)")


def _jobs(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= 4096:
        raise argparse.ArgumentTypeError(f"{text} is not a number of jobs from 1 to 4096")
    return int(text)


def main(arguments: argparse.Namespace) -> int:
    environment = os.environ
    folder = places.built(environment)
    nvbit = nvbit_folder(arguments.nvbit, environment)
    arches = architectures(arguments.arch) if arguments.arch is not None else _of_this_machine(environment)
    if refused := list(_refusals(arches, nvbit, folder, environment)):
        for text in refused:
            print(f"snoopie: {clean(text)}", file=sys.stderr)
        return 1
    begun = time.monotonic()
    print(f"building {folder / places.LIBRARY} for {' '.join(arches)}", file=sys.stderr, flush=True)
    library = make(folder, nvbit, arches, arguments.jobs, environment)
    print(f"built {library} for {' '.join(arches)} in {time.monotonic() - begun:.0f} s", flush=True)
    if (taken := tool.find_tool(None, environment)) != library:
        print(f"snoopie: note that `snoopie run` takes {clean(taken)}, unless told otherwise", file=sys.stderr)
        print_next("run", "--tool", str(library), "--", "./app")
    else:
        print_next("run", "--", "./app")
    return 0


def _of_this_machine(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The architectures of the GPUs, all of the machine: none is left out because one variable hides it today."""
    listed = [gpu.arch for gpu in gpus.listed(environment) if gpu.arch]
    return tuple(dict.fromkeys(listed or driver.ask(environment).arches))


def _refusals(arches: Sequence[str], nvbit: Path, folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Everything that stands against a build, before it begins."""
    if not arches:
        yield "no GPU was found here to build for; name architectures: --arch 80 (A100), 90 (H100, H200), 100 (B200)"
    for row in requirements(nvbit, arches, environment):
        text = f"{row.found}; {row.remedy}"
        if row.state is State.PROBLEM:
            yield text
        elif row.state is State.WARNING:
            print(f"snoopie: {clean(text)}", file=sys.stderr)
    for name, path in (("the folder to build in", folder), ("NVBit's folder", nvbit)):
        if any(letter.isspace() or letter in ":$#'" for letter in str(path)):
            yield f"{name}, {path}, has a letter that make cannot take; set XDG_DATA_HOME, or link it elsewhere"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        yield f"{folder} cannot be made: {error.strerror}; set XDG_DATA_HOME to a folder that you can write to"
