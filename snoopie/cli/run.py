"""snoopie run: a program under the collector, and what crossed between GPUs meanwhile."""

import argparse
import contextlib
import os
import signal
import sys
from pathlib import Path

import snoopie
from snoopie.cli import process, tool
from snoopie.cli.output import in_shell_words, print_next
from snoopie.cli.output_files import output_files
from snoopie.cli.traffic import print_losses, print_traffic
from snoopie.errors import SnoopieError, UsageError

DESCRIPTION = (
    "Run a program under the collector. Its output, signals and exit status stay its own; the summary goes to stderr."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "snoopie run [-k KERNELS] [-b BLOCKS] [-s N] [--launch-sample N] [-o OUT] [--no-lines] [--no-host-memory] "
        "[--no-stacks] [--no-objects] [--calls WHAT] [--tensors] [--tool PATH] -- PROGRAM [ARGUMENT …]"
    )
    parser.add_argument(
        "-k",
        "--kernels",
        metavar="KERNELS",
        help="measure only these: names separated by commas; *, ? and [a-z] match as in a shell; nccl and nvshmem "
        "stand for the kernels of these libraries (default: all)",
    )
    parser.add_argument(
        "-b",
        "--blocks",
        metavar="BLOCKS",
        help="measure only these thread blocks: 0-7,12 or, by axis, 'x:0-3;y:1' (default: all)",
    )
    parser.add_argument(
        "-s",
        "--sample-size",
        metavar="N",
        type=_sample_size,
        help="record 1 of N accesses with its addresses; 0 = none. Counts are always exact (default: 1, every access)",
    )
    parser.add_argument(
        "--launch-sample",
        metavar="N",
        type=_launch_sample,
        help="measure 1 launch in N of each kernel; the others run nearly at full speed (default: 1, every launch)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="folder, or file name with %%h (host), %%p (process id), %%n (program) (default: snoopie-%%n.%%p.zst)",
    )
    parser.add_argument(
        "--no-lines",
        action="store_const",
        const=False,
        dest="lines",
        help="leave out the source lines (a faster start)",
    )
    parser.add_argument(
        "--no-host-memory",
        action="store_const",
        const=False,
        dest="host_memory",
        help="do not measure accesses to the host's memory",
    )
    parser.add_argument(
        "--calls",
        choices=("summary", "all", "off"),
        help="what to record of driver calls: their sums, also each of them, or nothing (default: summary)",
    )
    parser.add_argument(
        "--no-stacks",
        action="store_const",
        const=False,
        dest="stacks",
        help="leave out the call stacks of launches, copies and allocations",
    )
    parser.add_argument(
        "--no-objects",
        action="store_const",
        const=False,
        dest="objects",
        help="do not tell by whom memory was allocated, nor which allocation was touched",
    )
    parser.add_argument(
        "--tensors",
        action="store_true",
        help="have PyTorch keep its allocator's history, beside the trace: traffic by tensor",
    )
    parser.add_argument(
        "--tool", metavar="PATH", help="mem_multigpu.so to use (default: SNOOPIE_TOOL, then this checkout's)"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def _sample_size(text: str) -> int:
    return _whole_number(text, least=0)


def _launch_sample(text: str) -> int:
    return _whole_number(text, least=1)


def _whole_number(text: str, least: int) -> int:
    if not (text.isascii() and text.isdigit()) or not least <= int(text) < 1 << 32:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from {least} to 4294967295")
    return int(text)


def main(arguments: argparse.Namespace) -> int:
    if not arguments.command:
        raise UsageError("no program is named", "snoopie run [options] -- PROGRAM [ARGUMENT …]")
    try:
        return _run(arguments)
    except process.ProgramError as error:
        print(f"snoopie: {in_shell_words(str(error))}", file=sys.stderr)
        return error.status


def _run(arguments: argparse.Namespace) -> int:
    program = process.find_program(arguments.command[0], os.environ.get("PATH", os.defpath))
    library = tool.find_tool(arguments.tool, os.environ)
    tool.check_machine(library, os.environ)
    files = output_files(arguments.output, os.environ, Path.cwd())
    environment = tool.child_environment(
        library,
        os.environ,
        kernels=arguments.kernels,
        sample_size=arguments.sample_size,
        launch_sample=arguments.launch_sample,
        lines=arguments.lines,
        blocks=arguments.blocks,
        host_memory=arguments.host_memory,
        calls=arguments.calls,
        stacks=arguments.stacks,
        objects=arguments.objects,
        output=files.pattern,
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
            "snoopie: no trace was written: the program started no CUDA context, is statically linked, "
            "or clears LD_PRELOAD; the collector's own lines above, if any, say more"
        )
        return
    named = [_short(path) for path in traces]
    say(f"snoopie: wrote {', '.join(named)}")
    try:
        trace = snoopie.load(traces, allow_truncated=True)
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
