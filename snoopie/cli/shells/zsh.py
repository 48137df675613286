"""Completion for zsh."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from snoopie.cli.described import Argument, Command, Takes

_COMPLETES = {
    Takes.TEXT: "",
    Takes.TRACE: '_files -g "*.zst(-.)"',
    Takes.FILE: "_files",
    Takes.FOLDER: "_files -/",
}


def script(whole: Command, commands: Sequence[Command]) -> str:
    """The script that zsh reads, as a file _snoopie on its fpath or with eval."""
    listed = "\n".join(f"        {shlex.quote(f'{_plain(each.name)}:{each.summary}')}" for each in commands)
    cases = "\n".join(
        f"    {each.name})\n      _arguments -s \\\n        {_lines(each, commands)} ;;" for each in commands
    )
    return f"""#compdef snoopie
# Completion of snoopie in zsh, made by "snoopie completion zsh".

_snoopie() {{
  local curcontext=$curcontext state line
  _arguments -C {_lines(whole, commands)} '1: :->command' '*:: :->arguments' && return
  case $state in
  command)
    local -a commands=(
{listed}
    )
    _describe command commands ;;
  arguments)
    case $words[1] in
{cases}
    esac ;;
  esac
}}

if [[ $funcstack[1] == _snoopie ]]; then _snoopie "$@"; else compdef _snoopie snoopie; fi
"""


def _lines(command: Command, commands: Sequence[Command]) -> str:
    return " \\\n        ".join(shlex.quote(line) for line in _arguments(command, commands))


def _arguments(command: Command, commands: Sequence[Command]) -> Iterator[str]:
    """What `_arguments` is to know of a command, an option or place each."""
    for option in command.options:
        others = "*" if option.many else f"({' '.join(option.names)})"
        told = re.sub(r"([\[\]])", r"\\\1", option.short)
        for name in option.names:
            if option.takes is Takes.NOTHING:
                yield f"{others}{name}[{told}]"
                continue
            joined = "=" if name.startswith("--") else "+"
            optional = "" if option.needs_value else ":"
            yield f"{others}{name}{joined}[{told}]{optional}:{_plain(option.value)}:{_completes(option, commands)}"
    for number, place in enumerate(command.places, start=1):
        if place.takes is Takes.PROGRAM:
            yield "(-)1:program:_command_names -e"
            yield "*::arguments:_normal"
        else:
            which = "*" if place.many else number
            optional = "" if place.least or place.many else ":"
            yield f"{which}:{optional}{_plain(place.value)}:{_completes(place, commands)}"


def _completes(argument: Argument, commands: Sequence[Command]) -> str:
    if argument.takes is Takes.COMMAND:
        return f"({' '.join(command.name for command in commands)})"
    if argument.takes is Takes.CHOICE:
        return f"({' '.join(argument.choices)})"
    if argument.takes is Takes.CHOICE_OR_FILE:
        return f'{{_alternative "kinds:kind:({" ".join(argument.choices)})" "files:file:_files"}}'
    return _COMPLETES[argument.takes]


def _plain(text: str) -> str:
    return text.replace(":", r"\:")
