"""The collector's settings as options of `snoopie run`, from the collector's own table of them.

settings.json is that table (nvbit_tool/src/settings/settings.h), written by `make -C nvbit_tool settings`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from snoopie.errors import UsageError


@dataclass(frozen=True)
class Setting:
    """A variable of the environment that the collector reads."""

    variable: str
    option: str
    """Of `snoopie run`, with the name of its value: "-s, --sample-size N". A flag's turns over its default."""
    recorded: str
    """Its name in the trace's header; "" where it is not there."""
    meaning: str
    default: str
    allowed: str
    kind: Literal["flag", "number", "choice", "text"]
    words: str = ""
    """What a flag or a choice may be: "off|summary|all"."""
    least: int = 0
    most: int = 0
    pattern: str = ""
    """All that is allowed of a text matches this regular expression; the collector may ask for more."""

    @property
    def names(self) -> list[str]:
        """Those of the option, the long one last."""
        return re.findall(r"(?<!\S)--?[\w-]+", self.option)

    @property
    def metavar(self) -> str:
        """The name of the option's value; "" for a flag."""
        return "" if self.kind == "flag" else self.option.split()[-1]

    @property
    def chosen(self) -> str:
        """The value that a flag's option sets."""
        return next(word for word in self.words.split("|") if word != self.default)

    @property
    def usage(self) -> str:
        """[-s N]"""
        return f"[{' '.join(filter(None, (self.names[0], self.metavar)))}]"

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Adds the option, whose value is then under the variable's name."""
        if self.kind == "flag":
            text = self.meaning if self.chosen == "1" else f"do not {self.meaning}"
            parser.add_argument(
                *self.names, action="store_const", const=self.chosen, dest=self.variable, help=_escaped(text)
            )
        else:
            text = f"{self.meaning} ({self.allowed}; default: {self.default})"
            parser.add_argument(*self.names, dest=self.variable, metavar=self.metavar, help=_escaped(text))

    def allows(self, value: str) -> bool:
        """Whether the collector is to see it at all."""
        value = value.strip(" \t\n")
        if not value:
            return True
        if self.kind == "text":
            return not self.pattern or re.fullmatch(self.pattern, value, re.DOTALL) is not None
        if self.kind == "number":
            return re.fullmatch("[0-9]+", value) is not None and self.least <= int(value) <= self.most
        return value in self.words.split("|")


@dataclass(frozen=True)
class Launcher:
    """One that starts many processes together, and the variables that name their job: ``variable`` and, unless "",
    ``also``. A value of the last that begins with ``never``, unless "", names none."""

    name: str
    variable: str
    also: str
    never: str


def _escaped(text: str) -> str:
    """For argparse, which formats its help."""
    return text.replace("%", "%%")


_DECLARED = json.loads(Path(__file__).with_name("settings.json").read_text("utf-8"))
SETTINGS = tuple(Setting(**row) for row in _DECLARED["settings"])
LAUNCHERS = tuple(Launcher(**row) for row in _DECLARED["launchers"])
BY_VARIABLE = {setting.variable: setting for setting in SETTINGS}


def options() -> Iterator[Setting]:
    """Those that `snoopie run` has an option for."""
    return (setting for setting in SETTINGS if setting.option)


def chosen(arguments: argparse.Namespace) -> dict[str, str]:
    """Variable → value, of the options that were given. UsageError where a value is not allowed."""
    given = {setting: getattr(arguments, setting.variable) for setting in options()}
    for setting, value in given.items():
        if value is not None and not setting.allows(value):
            raise UsageError(f"{setting.names[-1]} {value}: use {setting.allowed}")
    return {setting.variable: value for setting, value in given.items() if value is not None}


def check(environment: Mapping[str, str]) -> None:
    """UsageError where a variable has a value that the collector would refuse when the program is under way."""
    for setting in SETTINGS:
        value = environment.get(setting.variable, "").strip(" \t\n")
        if not setting.allows(value):
            raise UsageError(f"{setting.variable}={value}: use {setting.allowed}")
