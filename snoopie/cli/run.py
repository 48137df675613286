"""snoopie run: a program under the collector, and what crossed between GPUs meanwhile."""

import argparse
import contextlib
import os
import signal
import sys
from pathlib import Path

from snoopie.cli import process, run_id, settings, streams, tool
from snoopie.cli.arguments import to_answer
from snoopie.cli.metrics import add_metrics, wanted
from snoopie.cli.output import clean, in_shell_words, print_next
from snoopie.cli.output_files import OutputFiles, output_files, run_folder
from snoopie.errors import SnoopieError, UsageError

# How the names of clean recordings begin.
CLEAN = "times-"

DESCRIPTION = (
    "Run a program under the collector. Its output, signals and exit status stay its own; the summary goes to stderr."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    own = " ".join(setting.usage for setting in settings.options())
    more = "[--with-times] [--tensors] [--tool PATH] [--prometheus [[HOST]:PORT]] [--token-file FILE] [--otlp URL]"
    parser.usage = f"snoopie run {own} {more} [--otlp-every TIME] -- PROGRAM [ARGUMENT …]"
    for setting in settings.options():
        setting.add_to(parser)
    parser.add_argument(
        "--with-times",
        action="store_true",
        help="run the program twice: first without instrumentation, for its native times, then under the collector",
    )
    parser.add_argument(
        "--tensors",
        action="store_true",
        help="record PyTorch's allocator history beside the trace, for traffic by tensor",
    )
    parser.add_argument(
        "--tool",
        metavar="PATH",
        help="mem_multigpu.so to use (default: SNOOPIE_TOOL; or the first of this version in this checkout, where "
        "`snoopie build` puts it, in lib/snoopie of Python's prefix, in /usr/local/lib/snoopie)",
    )
    add_metrics(parser)
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
    if said := tool.misfit(library):
        print(f"snoopie: {clean(said)}", file=sys.stderr)
    tool.check_machine(library, os.environ)
    times = tool.find_times(library) if arguments.with_times else None
    named = run_id.named(os.environ)
    run = named or run_id.new()
    default = run_folder(arguments.command[0], run)
    files = output_files(chosen.get("SNOOPIE_OUTPUT"), os.environ, Path.cwd(), default)
    # Both runs of --with-times are one, also where a launcher's name for it may come again.
    same_run = {} if named and not arguments.with_times else {run_id.VARIABLE: run}
    environment = tool.child_environment(
        library,
        os.environ,
        settings={**chosen, "SNOOPIE_OUTPUT": files.pattern, **same_run},
        tensors=files.folder or Path.cwd() if arguments.tensors else None,
    )
    timed = files.beside(CLEAN)
    before = files.existing() | timed.existing()
    try:
        status = 0
        if times is not None:
            own = {**chosen, "SNOOPIE_OUTPUT": timed.pattern, **same_run}
            status = process.run(program, arguments.command, tool.clean_environment(times, os.environ, settings=own))
            if status != 0:
                print("snoopie: it failed without instrumentation, and was not run with it", file=sys.stderr)
        if status == 0:
            with _metrics(arguments, files, timed):
                status = process.run(program, arguments.command, environment)
    finally:
        # A folder of the run's own stays for its traces alone.
        if files.folder == Path.cwd() / default:
            with contextlib.suppress(OSError):
                files.folder.rmdir()
    # The program's status is the answer, whatever becomes of the report.
    try:
        _report(arguments.command[0], status, sorted((files.existing() | timed.existing()) - before))
    except KeyboardInterrupt:
        pass
    except OSError as error:
        if not streams.failed(error):
            raise
    return 128 - status if status < 0 else status


def _metrics(
    arguments: argparse.Namespace, files: OutputFiles, timed: OutputFiles
) -> contextlib.AbstractContextManager[None]:
    """Metrics of the traces that come meanwhile, where they are wanted."""
    if not wanted(arguments):
        return contextlib.nullcontext()
    from snoopie.cli.following import offered_meanwhile

    before = files.existing() | timed.existing()
    return offered_meanwhile(arguments, lambda: files.existing() - before)


def _report(program: str, status: int, traces: list[Path]) -> None:
    from snoopie.cli.traffic import print_copies_between_gpus, print_losses, print_traffic

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
        trace = to_answer(traces, allow_truncated=True, all_runs=True, trust=True)
        print_traffic(trace, "pair", stream=sys.stderr)
        print_copies_between_gpus(trace, sys.stderr)
        print_losses(trace)
    except SnoopieError as error:
        say(f"snoopie: {in_shell_words(str(error))}")
        return
    print_next("view", *([] if trace.complete else ["--allow-truncated"]), *_sources(traces, named))


def _sources(traces: list[Path], named: list[str]) -> list[str]:
    """The traces' names, or that of their folder where it is the run's own, or holds many, and no others."""
    folder = traces[0].parent
    if (len(traces) > 4 or folder != Path.cwd()) and set(folder.glob("*.zst")) == set(traces):
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
