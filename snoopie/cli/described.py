"""What the command line takes, as data: from its parsers, for completion and man pages."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from snoopie.cli import settings
from snoopie.cli.parsers import Parser, parser


class Takes(Enum):
    """What a value is, as far as it can be completed."""

    NOTHING = "none: a flag"
    TEXT = "anything"
    CHOICE = "one of some words"
    CHOICE_OR_FILE = "one of some words, or a file"
    TRACE = "a trace, or a folder of them"
    FILE = "a file"
    FOLDER = "a folder"
    COMMAND = "a command of snoopie"
    PROGRAM = "a program with its arguments"


# How help calls values that are files; what it calls otherwise cannot be completed.
_CALLED = {
    "TRACE": Takes.TRACE,
    "A": Takes.TRACE,
    "B": Takes.TRACE,
    "FILE": Takes.FILE,
    "FILE|FOLDER": Takes.FILE,
    "KIND|FILE|FOLDER": Takes.CHOICE_OR_FILE,
    "LOG": Takes.FILE,
    "OUT": Takes.FILE,
    "OUT.zst": Takes.FILE,
    "PATH": Takes.FILE,
    "DIR": Takes.FOLDER,
    "COMMAND": Takes.COMMAND,
}


@dataclass(frozen=True)
class Argument:
    """An option, or a word that stands by its place (without ``names``)."""

    names: tuple[str, ...]
    value: str
    """What help calls its value; "" for a flag."""
    takes: Takes
    choices: tuple[str, ...]
    meaning: str
    least: int
    """Words that it needs at least: 0 where the value can be left out."""
    many: bool
    """Whether it takes several words (a place), or may be repeated (an option)."""

    @property
    def needs_value(self) -> bool:
        """Whether the word after the option is its value."""
        return bool(self.names) and self.takes is not Takes.NOTHING and self.least > 0

    @property
    def short(self) -> str:
        """Its meaning, as far as a list has room for."""
        return re.split(r"[;:(]|\. ", self.meaning)[0].strip()


@dataclass(frozen=True)
class Group:
    """Options under a title."""

    title: str
    description: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Command:
    """A command, or the whole command line (without a ``name``)."""

    name: str
    summary: str
    description: str
    usage: str
    groups: tuple[Group, ...]

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return tuple(argument for group in self.groups for argument in group.arguments)

    @property
    def options(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if argument.names)

    @property
    def places(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if not argument.names)


def described(commands: Mapping[str, str]) -> tuple[Command, list[Command]]:
    """The command line as a whole, and each command of it."""
    whole, parsers = parser(commands, commands)
    return _command("", "", whole), [_command(name, commands[name], each) for name, each in parsers.items()]


def _command(name: str, summary: str, of: Parser) -> Command:
    groups = [
        Group(
            "arguments" if group is of._positionals else group.title or "",
            group.description or "",
            tuple(
                _argument(action, of.prog)
                for action in group._group_actions
                if not isinstance(action, argparse._SubParsersAction)
            ),
        )
        for group in of._action_groups
    ]
    usage = " ".join(of.format_usage().removeprefix("usage: ").split())
    return Command(name, summary, of.description or "", usage, tuple(group for group in groups if group.arguments))


def _argument(action: argparse.Action, prog: str) -> Argument:
    names = tuple(action.option_strings)
    setting = settings.BY_VARIABLE.get(action.dest)
    words = setting.words.split("|") if setting is not None and setting.kind == "choice" else ()
    choices = tuple(map(str, action.choices or words))
    value = "" if action.nargs == 0 else _called(action, choices)
    told = action.help if action.help and action.help != argparse.SUPPRESS else ""
    return Argument(
        names=names,
        value=value,
        takes=_takes(action, value, choices),
        choices=choices,
        meaning=told % {**vars(action), "prog": prog} if told else "",
        least=0 if action.nargs in (0, "?", "*", argparse.REMAINDER) else 1,
        many=action.nargs in ("+", "*", argparse.REMAINDER) or isinstance(action, argparse._AppendAction),
    )


def _called(action: argparse.Action, choices: tuple[str, ...]) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    return "|".join(choices) if choices else action.dest.upper()


def _takes(action: argparse.Action, value: str, choices: tuple[str, ...]) -> Takes:
    if action.nargs == 0:
        return Takes.NOTHING
    if action.nargs == argparse.REMAINDER:
        return Takes.PROGRAM
    called = _CALLED.get(value, Takes.TEXT)
    return Takes.CHOICE if choices and called is not Takes.CHOICE_OR_FILE else called
