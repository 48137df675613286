"""snoopie expect: assertions on the traffic of a trace, for scripts and tests."""

import argparse
import sys

from snoopie.analysis.expectations.judge import let
from snoopie.cli.arguments import add_reading, load
from snoopie.cli.formats import add_json, print_json
from snoopie.cli.output import clean, in_shell_words

DESCRIPTION = (
    "Whether a trace has the traffic that was expected, with the numbers of every expectation: "
    "'bytes(GPU 0 -> GPU 1) == 3*N*4', 'bytes(line=\"halo.cu:42\") <= 1GiB', 'pairs == ring'. docs/expect.md describes "
    "the language. The exit status is 0 if all hold, 3 if one does not or was not covered, 2 after wrong usage and 1 "
    "after an error."
)
FAILED = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="trace file, folder with traces, or pattern")
    parser.add_argument("expectations", metavar="EXPECTATION", nargs="+", help="such as 'pairs == ring'")
    parser.add_argument(
        "--let", metavar="NAME=NUMBER", action="append", default=[],
        help="give a name a number, as in N=4096 or SIZE=4*1MiB; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--allow-gaps", action="store_true",
        help="judge what was counted, also where not everything was: a truncated trace, a sample of the launches, …",
    )  # fmt: skip
    add_json(parser)
    add_reading(parser)


def main(arguments: argparse.Namespace) -> int:
    names = let(arguments.let)
    verdicts = load(arguments.trace, arguments).judge(*arguments.expectations, allow_gaps=arguments.allow_gaps, **names)
    if arguments.json:
        print_json(verdicts.as_json())
    else:
        for line in str(verdicts).split("\n"):
            print(clean(in_shell_words(line)))
    sys.stdout.flush()
    if any(verdict.outcome == "error" for verdict in verdicts):
        return 2
    if not verdicts and not arguments.allow_gaps and any(verdict.outcome == "not covered" for verdict in verdicts):
        print("snoopie: --allow-gaps judges what was counted all the same", file=sys.stderr)
    return 0 if verdicts else FAILED
