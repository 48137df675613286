"""Completion for bash."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from snoopie.cli.described import Argument, Command, Takes

_SCRIPT = r"""# Completion of snoopie in bash, made by "snoopie completion bash".

_snoopie_words() { mapfile -t COMPREPLY < <(IFS=$'\n' && compgen -W "$*" -- "$current"); }
_snoopie_folders() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current"); }
_snoopie_files() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current"); }
_snoopie_words_and_files() {
    compopt -o filenames
    mapfile -t COMPREPLY < <(IFS=$'\n' && compgen -W "$*" -- "$current"; compgen -f -- "$current")
}
_snoopie_traces() {
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -d -- "$current"; compgen -f -X '!*.zst' -- "$current")
}
_snoopie_program() {
    if ((place == 0)) && [[ $current != */* ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
    else
        _snoopie_files
    fi
}

_snoopie() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command="" options="" valued="" rest="" skip="" place=0 i
    # bash takes "--by=line" for three words.
    if [[ $current == "=" ]]; then
        current=""
    elif [[ $previous == "=" ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} != -* ]]; then
            command=${COMP_WORDS[i]}
            break
        fi
    done
    case $command in
@OPTIONS@
    *) return ;;
    esac
    # How many words stand by their place, and whether options are over.
    for ((i++; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == "=" ]]; then
            continue
        elif [[ $skip ]]; then
            skip=""
        elif [[ ${COMP_WORDS[i]} == "--" ]]; then
            rest=1
        elif [[ ! $rest && ${COMP_WORDS[i]} == -* ]]; then
            [[ $valued != *" ${COMP_WORDS[i]} "* ]] || skip=1
        else
            place=$((place + 1))
            [[ $command != run ]] || rest=1
        fi
    done
    if [[ ! $rest ]]; then
        case "$command $previous" in
@VALUES@
        esac
        if [[ $current == -* ]]; then
            _snoopie_words $options
            return
        fi
    fi
    case "$command $place" in
@PLACES@
    esac
}
complete -F _snoopie snoopie
"""
_COMPLETES = {
    Takes.TEXT: ":",
    Takes.TRACE: "_snoopie_traces",
    Takes.FILE: "_snoopie_files",
    Takes.FOLDER: "_snoopie_folders",
    Takes.PROGRAM: "_snoopie_program",
}


def script(whole: Command, commands: Sequence[Command]) -> str:
    """The script that bash reads."""
    names = [command.name for command in commands]
    parts = {
        "@OPTIONS@": [
            f'    "") _snoopie_words {shlex.join([*names, *_names(whole.options)])}; return ;;',
            *(f"    {command.name}) {_options(command)} ;;" for command in commands),
        ],
        "@VALUES@": [
            f"        {'|'.join(shlex.quote(f'{command.name} {name}') for name in option.names)})"
            f" {_completes(option, names)}; return ;;"
            for command in commands
            for option in command.options
            if option.needs_value
        ],
        "@PLACES@": [
            f'    "{command.name} "{"*" if place.many else number}) {_completes(place, names)} ;;'
            for command in commands
            for number, place in enumerate(command.places)
        ],
    }
    text = _SCRIPT
    for name, lines in parts.items():
        text = text.replace(name, "\n".join(lines))
    return text


def _names(options: Iterable[Argument]) -> list[str]:
    return [name for option in options for name in option.names]


def _options(command: Command) -> str:
    valued = _names(option for option in command.options if option.needs_value)
    return f"options='{' '.join(_names(command.options))}' valued=' {' '.join(valued)} '"


def _completes(argument: Argument, commands: Sequence[str]) -> str:
    if argument.takes is Takes.COMMAND:
        return f"_snoopie_words {shlex.join(commands)}"
    if argument.takes is Takes.CHOICE:
        return f"_snoopie_words {shlex.join(argument.choices)}"
    if argument.takes is Takes.CHOICE_OR_FILE:
        return f"_snoopie_words_and_files {shlex.join(argument.choices)}"
    return _COMPLETES[argument.takes]
