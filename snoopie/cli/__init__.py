"""The command line: `snoopie COMMAND …`, one module a command.

A command's module has DESCRIPTION, `add_arguments(parser)` and `main(arguments) -> exit status`.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from typing import NoReturn

import snoopie
from snoopie.cli.output import in_shell_words
from snoopie.errors import SnoopieError, UsageError

COMMANDS = {
    "run": "run a program under the collector and summarise what crossed between GPUs",
    "info": "what a trace holds: processes, GPUs, settings, totals, losses",
    "check": "whether a trace is whole and says nothing impossible",
    "stats": "traffic by pair of GPUs, kernel, source line or instruction",
    "findings": "which traffic is expensive, by source line, pair, allocation or rank, and how to fix it",
    "calls": "the program's driver calls: times, errors, launches by kernel, copies by direction; also while it runs",
    "memory": "memory use over time, allocations at the peak, leaks",
    "summary": "how busy GPUs and copies were, with what, and the gaps between",
    "diff": "what changed between two traces, with limits for CI",
    "view": "open traces in the app",
    "report": "one HTML file with everything a trace shows, to send or print",
    "plot": "a figure for a paper: matrix, timeline, lines or memory, as PNG, SVG or PDF",
    "export": "write every table as Parquet or CSV",
    "import": "convert another tool's recording into traces",
}


def main(words: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0, 1 after a known error, 2 after wrong usage; `run` returns the program's status,
    `check` 1 for a trace that is not valid, `diff` 3 where a limit is exceeded."""
    arguments = _parse(sys.argv[1:] if words is None else words)
    try:
        status: int = arguments.main(arguments)
        sys.stdout.flush()
        return status
    except SnoopieError as error:
        print(f"snoopie: {in_shell_words(str(error))}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except BrokenPipeError:
        # The reader of the pipe has gone (`| head`). Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"snoopie: {message}; {self.prog} --help says more\n")


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="snoopie", description="Shows every byte that crosses between GPUs, and the source line that sent it."
    )
    parser.add_argument("--version", action="version", version=f"snoopie {snoopie.__version__}")
    commands = parser.add_subparsers(dest="name", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        # A word of Python cannot name a module.
        module = import_module(f"snoopie.cli.{name}{'_' * iskeyword(name)}")
        command = commands.add_parser(name, help=summary, description=module.DESCRIPTION)
        module.add_arguments(command)
        command.set_defaults(main=module.main)
    # What follows the first "--" of `run` is the program's own. Versions of argparse differ in which "--" they remove.
    if list(words[:1]) == ["run"] and "--" in words:
        split = list(words).index("--")
        arguments = parser.parse_args(words[:split])
        arguments.command += words[split + 1 :] if not arguments.command else words[split:]
        return arguments
    return parser.parse_args(words)
