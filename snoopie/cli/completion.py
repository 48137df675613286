"""snoopie completion: what makes a shell complete snoopie's commands, options and traces."""

from __future__ import annotations

import argparse
import sys

DESCRIPTION = (
    "Print a script that has a shell complete commands, options, their values and names of traces. In ~/.bashrc: "
    'eval "$(snoopie completion bash)". In ~/.zshrc, after compinit: eval "$(snoopie completion zsh)". In '
    "~/.config/fish/config.fish: snoopie completion fish | source."
)
# Where each shell looks for the script, below the folder whose bin has the command.
PLACES = {
    "bash": "share/bash-completion/completions/snoopie",
    "zsh": "share/zsh/site-functions/_snoopie",
    "fish": "share/fish/vendor_completions.d/snoopie.fish",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=tuple(PLACES), help=", ".join(PLACES))


def main(arguments: argparse.Namespace) -> int:
    sys.stdout.write(script(arguments.shell))
    return 0


def script(shell: str) -> str:
    """The script for one of `PLACES`."""
    # At its top, each would import the other.
    from snoopie.cli import COMMANDS
    from snoopie.cli.described import described
    from snoopie.cli.shells import bash, fish, zsh

    write = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}[shell]
    return write(*described(COMMANDS))
