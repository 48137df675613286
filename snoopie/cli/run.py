"""snoopie run: a program under the collector, and what crossed between GPUs meanwhile."""

import argparse
import contextlib
import os
import signal
import sys
from pathlib import Path

import snoopie
from snoopie.cli import process, settings, tool
from snoopie.cli.output import in_shell_words, print_next
from snoopie.cli.output_files import output_files
from snoopie.cli.traffic import print_losses, print_traffic
from snoopie.errors import SnoopieError, UsageError

DESCRIPTION = (
    "Run a program under the collector. Its output, signals and exit status stay its own; the summary goes to stderr."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    own = " ".join(setting.usage for setting in settings.options())
    parser.usage = f"snoopie run {own} [--tensors] [--tool PATH] -- PROGRAM [ARGUMENT …]"
    for setting in settings.options():
        setting.add_to(parser)
    parser.add_argument(
        "--tensors",
        action="store_true",
        help="record PyTorch's allocator history beside the trace, for traffic by tensor",
    )
    parser.add_argument(
        "--tool", metavar="PATH", help="mem_multigpu.so to use (default: SNOOPIE_TOOL, then this checkout's)"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def main(arguments: argparse.Namespace) -> int:
    if not arguments.command:
        raise UsageError("no program given", "snoopie run [options] -- PROGRAM [ARGUMENT …]")
    try:
        return _run(arguments)
    except process.ProgramError as error:
        print(f"snoopie: {in_shell_words(str(error))}", file=sys.stderr)
        return error.status


def _run(arguments: argparse.Namespace) -> int:
    chosen = settings.chosen(arguments)
    settings.check({**os.environ, **chosen})
    program = process.find_program(arguments.command[0], os.environ.get("PATH", os.defpath))
    library = tool.find_tool(arguments.tool, os.environ)
    tool.check_machine(library, os.environ)
    files = output_files(chosen.get("SNOOPIE_OUTPUT"), os.environ, Path.cwd())
    environment = tool.child_environment(
        library,
        os.environ,
        settings={**chosen, "SNOOPIE_OUTPUT": files.pattern},
        tensors=files.folder or Path.cwd() if arguments.tensors else None,
    )
    before = files.existing()
    status = process.run(program, arguments.command, environment)
    # The program's status is the answer, whatever becomes of the report.
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        _report(arguments.command[0], status, sorted(files.existing() - before))
    return 128 - status if status < 0 else status


def _report(program: str, status: int, traces: list[Path]) -> None:
    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    if status < 0:
        say(f"snoopie: {program} was ended by {_signal_name(-status)}")
    if not traces:
        say(
            "snoopie: no trace was written: the program created no CUDA context, is statically linked, or clears "
            "LD_PRELOAD; see the collector's messages above, if any"
        )
        return
    named = [_short(path) for path in traces]
    say(f"snoopie: wrote {', '.join(named)}")
    try:
        trace = snoopie.load(traces, allow_truncated=True, trust=True)
        print_traffic(trace, "pair", stream=sys.stderr)
        print_losses(trace)
    except SnoopieError as error:
        say(f"snoopie: {in_shell_words(str(error))}")
        return
    print_next("view", *([] if trace.complete else ["--allow-truncated"]), *_sources(traces, named))


def _sources(traces: list[Path], named: list[str]) -> list[str]:
    """The traces' names, or that of their folder where it holds many and no others."""
    folder = traces[0].parent
    if len(traces) > 4 and set(folder.glob("*.zst")) == set(traces):
        return [_short(folder)]
    return named


def _short(path: Path) -> str:
    """The path as seen from here where that is shorter."""
    with contextlib.suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
