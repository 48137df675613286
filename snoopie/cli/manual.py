"""Man pages of the command line, from its parsers: `python -m snoopie.cli.manual FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import snoopie
from snoopie.cli import COMMANDS
from snoopie.cli.described import Argument, Command, Takes, described

_STATUS = (
    ("0", "All went well."),
    ("1", "A known error, which one line on standard error names."),
    ("2", "Wrong usage."),
    ("3", "snoopie diff: a limit is exceeded."),
)


def pages() -> dict[str, str]:
    """The name of each page's file, snoopie-stats.1, → its text."""
    whole, commands = described(COMMANDS)
    named = {f"snoopie-{command.name}": _page(command, commands) for command in commands}
    return {f"{name}.1": text for name, text in {"snoopie": _first_page(whole, commands), **named}.items()}


def _first_page(whole: Command, commands: Sequence[Command]) -> str:
    lines = [
        *_head("snoopie", "a profiler of the traffic between GPUs", whole.usage, whole.description),
        ".SH COMMANDS",
        *(line for command in commands for line in _item(f"\\fB{command.name}\\fR", _sentence(command.summary))),
        *_groups(whole),
        ".SH EXIT STATUS",
        *(line for status, meaning in _STATUS for line in _item(status, meaning)),
        ".PP",
        "snoopie run ends with the status of the program that it ran.",
        *_see_also([f"snoopie-{command.name}" for command in commands]),
    ]
    return "\n".join(lines) + "\n"


def _page(command: Command, commands: Sequence[Command]) -> str:
    others = [f"snoopie-{other.name}" for other in commands if other is not command]
    lines = [
        *_head(f"snoopie-{command.name}", command.summary, command.usage, command.description),
        *_groups(command),
        *_see_also(["snoopie", *others]),
    ]
    return "\n".join(lines) + "\n"


def _head(name: str, summary: str, usage: str, description: str) -> Iterator[str]:
    yield f'.TH {name.upper()} 1 "" "snoopie {snoopie.__version__}" "Snoopie"'
    yield ".SH NAME"
    yield f"{_text(name)} \\- {_text(summary)}"
    yield ".SH SYNOPSIS"
    # A line of options cannot be stretched to the margin where the next word is long.
    yield ".ad l"
    yield _text(usage)
    yield ".ad b"
    yield ".SH DESCRIPTION"
    yield _text(" ".join(description.split()))


def _groups(command: Command) -> Iterator[str]:
    for group in command.groups:
        told = [argument for argument in group.arguments if argument.meaning]
        if not told:
            continue
        yield f".SH {group.title.upper()}"
        if group.description:
            yield _text(_sentence(group.description))
        for argument in told:
            yield from _item(_names(argument), _sentence(argument.meaning))


def _names(argument: Argument) -> str:
    value = f"\\fI{_text(argument.value)}\\fR"
    if not argument.names:
        return value + (" ..." if argument.many else "")
    names = ", ".join(f"\\fB{_text(name)}\\fR" for name in argument.names)
    if argument.takes is Takes.NOTHING:
        return names
    return f"{names} {value}" if argument.needs_value else f"{names} [{value}]"


def _item(what: str, meaning: str) -> Iterator[str]:
    yield ".TP"
    yield what
    yield _text(meaning)


def _see_also(names: Sequence[str]) -> Iterator[str]:
    yield ".SH SEE ALSO"
    yield ", ".join(f"\\fB{_text(name)}\\fR(1)" for name in names)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _text(text: str) -> str:
    """Text that roff takes for nothing else."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in text)
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("snoopie: give the folder for the pages: python -m snoopie.cli.manual FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
