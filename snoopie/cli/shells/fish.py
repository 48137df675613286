"""Completion for fish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snoopie.cli.described import Argument, Command, Takes

_VALUES = {
    Takes.TRACE: "-x -a '(__fish_complete_suffix .zst)'",
    Takes.FILE: "-r -F",
    Takes.FOLDER: "-x -a '(__fish_complete_directories)'",
    Takes.TEXT: "-x",
}
_PLACES = _VALUES | {
    Takes.FILE: "-F",
    Takes.PROGRAM: "-x -a '(__fish_complete_subcommand --fcs-skip=2)'",
}


def script(whole: Command, commands: Sequence[Command]) -> str:
    """The script that fish reads."""
    return "\n".join(_lines(whole, commands)) + "\n"


def _lines(whole: Command, commands: Sequence[Command]) -> Iterator[str]:
    yield '# Completion of snoopie in fish, made by "snoopie completion fish".'
    yield "complete -c snoopie -f"
    for option in whole.options:
        yield f"complete -c snoopie -n __fish_use_subcommand {_option(option, commands)}"
    for command in commands:
        yield f"complete -c snoopie -n __fish_use_subcommand -a {command.name} -d {_quoted(command.summary)}"
    for command in commands:
        seen = f"complete -c snoopie -n '__fish_seen_subcommand_from {command.name}'"
        for option in command.options:
            yield f"{seen} {_option(option, commands)}"
        for place in command.places:
            yield f"{seen} {_words(place, commands) or _PLACES[place.takes]}"


def _option(option: Argument, commands: Sequence[Command]) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    value = f" {_words(option, commands) or _VALUES[option.takes]}" if option.needs_value else ""
    return f"{names}{value} -d {_quoted(option.short)}"


def _words(argument: Argument, commands: Sequence[Command]) -> str:
    """The words to choose from; "" where there are none."""
    words = [command.name for command in commands] if argument.takes is Takes.COMMAND else argument.choices
    files = "-F" if argument.takes is Takes.CHOICE_OR_FILE else "-x"
    return f"{files} -a {_quoted(' '.join(words))}" if words else ""


def _quoted(text: str) -> str:
    backslash = "\\"
    return "'" + text.replace(backslash, backslash * 2).replace("'", backslash + "'") + "'"
