"""The parsers of the command line. A command's module is imported only where its parser has to be complete."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from keyword import iskeyword
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

import snoopie
from snoopie.garbage import import_to_stay

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


class Parser(argparse.ArgumentParser):
    """Errors are one line, and what cannot be written is no secret."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"snoopie: {message}; {self.prog} --help says more\n")

    # argparse's own drops an OSError.
    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        (file or sys.stderr).write(message)


def parser(commands: Mapping[str, str], complete: Collection[str]) -> tuple[Parser, dict[str, Parser]]:
    """The parser of all commands (name → what it does), and those of the commands in ``complete``."""
    whole = Parser(
        prog="snoopie", description="Shows every byte that crosses between GPUs, and the source line that sent it."
    )
    whole.add_argument("--version", action="version", version=f"snoopie {snoopie.__version__}")
    added = whole.add_subparsers(dest="name", metavar="COMMAND", required=True)
    parsers: dict[str, Parser] = {}
    for name, summary in commands.items():
        if name not in complete:
            added.add_parser(name, help=summary, add_help=False)
            continue
        module = _module(name)
        parsers[name] = added.add_parser(name, help=summary, description=module.DESCRIPTION)
        module.add_arguments(parsers[name])
        parsers[name].set_defaults(main=module.main)
    return whole, parsers


def parse(commands: Mapping[str, str], words: Sequence[str]) -> argparse.Namespace:
    """The arguments of the command that the words name, with its `main`."""
    words = list(words)
    # No option before the command has a value.
    name = next((word for word in words if not word.startswith("-")), "")
    whole, _ = parser(commands, {name})
    # What follows the first "--" of `run` is the program's own. Versions of argparse differ in which "--" they remove.
    if words[:1] == ["run"] and "--" in words:
        split = words.index("--")
        arguments = whole.parse_args(words[:split])
        arguments.command += words[split + 1 :] if not arguments.command else words[split:]
        return arguments
    arguments, rest = whole.parse_known_args(words)
    files = getattr(arguments, "files", None)
    # Up to Python 3.12, a place for any number of words takes none of those behind an option.
    if isinstance(files, list) and not any(word.startswith("-") for word in rest):
        files += rest
    elif rest:
        whole.error(f"unrecognized arguments: {' '.join(rest)}")
    return arguments


def _module(name: str) -> ModuleType:
    # A word of Python cannot name a module.
    (module,) = import_to_stay(f"snoopie.cli.{name}{'_' * iskeyword(name)}")
    return module
