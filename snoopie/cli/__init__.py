"""The command line: `snoopie COMMAND …`, one module a command.

A command's module has DESCRIPTION, `add_arguments(parser)` and `main(arguments) -> exit status`.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress

from snoopie.cli import streams
from snoopie.cli.output import in_shell_words
from snoopie.cli.parsers import parse
from snoopie.errors import SnoopieError, UsageError

COMMANDS = {
    "build": "build the collector, for the GPUs of this machine or those named",
    "doctor": "what a run needs and this machine has, with a remedy for what it lacks",
    "run": "run a program under the collector and summarise what crossed between GPUs",
    "watch": "watch the driver calls of programs that run already, from outside",
    "info": "what a trace holds: processes, GPUs, settings, totals, losses",
    "check": "whether a trace is whole and says nothing impossible",
    "stats": "traffic by pair of GPUs, kernel, source line or instruction",
    "findings": "which traffic is expensive, by source line, pair, allocation or rank, and how to fix it",
    "calls": "the program's driver calls: times, errors, launches by kernel, copies by direction; also while it runs",
    "memory": "memory use over time, allocations at the peak, leaks",
    "summary": "how busy GPUs and copies were, with what, and the gaps between",
    "waits": "how long kernels moved and waited, for what, and which lines store there",
    "hang": "what the kernels of running programs wait for",
    "diff": "what changed between two traces, with limits for CI",
    "expect": "assert what traffic a trace has; the exit status says whether it holds",
    "view": "open traces in the app",
    "report": "one HTML file with everything a trace shows, to send, print or explore",
    "plot": "a figure for a paper: matrix, timeline, lines or memory, as PNG, SVG or PDF",
    "export": "write every table as Parquet or CSV",
    "import": "convert another tool's recording into traces",
    "completion": "a script that has bash, zsh or fish complete commands, options and traces",
    "help": "what a command does, as --help after it",
}


def main(words: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0, 1 after a known error, 2 after wrong usage; `run` returns the program's status,
    `check` 1 for a trace that is not valid, `diff` 3 where a limit is exceeded, `expect` 3 where an expectation does
    not hold."""
    streams.prepare()
    try:
        return _main(sys.argv[1:] if words is None else words)
    except OSError as error:
        if not streams.failed(error):
            raise
        # The reader of the pipe has gone (`| head`).
        if isinstance(error, BrokenPipeError):
            return 0
        with suppress(OSError):  # if it is standard error that cannot be written
            print(f"snoopie: standard output cannot be written ({error.strerror})", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _main(words: Sequence[str]) -> int:
    try:
        arguments = parse(COMMANDS, words)
        status: int = arguments.main(arguments)
        return status
    except SnoopieError as error:
        print(f"snoopie: {in_shell_words(str(error))}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    finally:
        # Here, where a failure can still be told; also after --help, which ends the program.
        sys.stdout.flush()
