"""snoopie help: what snoopie, or a command of it, does."""

from __future__ import annotations

import argparse

DESCRIPTION = "What snoopie does, or one of its commands: the same as snoopie COMMAND --help."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", metavar="COMMAND", nargs="?", help="a command (default: all, each in a line)")


def main(arguments: argparse.Namespace) -> int:
    # At its top, each would import the other.
    from snoopie.cli import COMMANDS
    from snoopie.cli.parsers import parser

    whole, parsers = parser(COMMANDS, {arguments.command} if arguments.command else ())
    if arguments.command is None:
        whole.print_help()
    elif arguments.command in parsers:
        parsers[arguments.command].print_help()
    else:
        whole.error(f"there is no command {arguments.command}")
    return 0
