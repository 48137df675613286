"""snoopie view: traces in the app."""

import argparse
import os
import sys
from pathlib import Path

import snoopie
from snoopie.cli.arguments import add_traces, again
from snoopie.cli.output import shell_words
from snoopie.errors import SnoopieError

DESCRIPTION = "Open traces in the app, which a web browser on this machine shows. Ctrl-C ends it."
DEFAULT_PORT = 8501
# The app answers this machine only: a trace names files and commands of its user, and a cluster's nodes are shared.
ADDRESS = "localhost"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument(
        "--source",
        metavar="DIR",
        action="append",
        default=[],
        help="folder with the program's source files; may be repeated",
    )
    parser.add_argument("--port", type=_port, default=DEFAULT_PORT, help=f"port of the app (default: {DEFAULT_PORT})")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port from 1 to 65535")
    return int(text)


def find_app() -> Path:
    """The app's entry point, which stands beside the package in a checkout and where it is installed."""
    app = Path(snoopie.__file__).resolve().parents[1] / "visualizer" / "app.py"
    if not app.is_file():
        raise SnoopieError(f"the app is not at {app}", "install the package again: pip install --force-reinstall .")
    return app


def command(arguments: argparse.Namespace) -> list[str]:
    """The command that opens the app."""
    streamlit = [sys.executable, "-m", "streamlit", "run", str(find_app())]
    streamlit += [f"--server.address={ADDRESS}", f"--server.port={arguments.port}"]
    streamlit += ["--server.showEmailPrompt=false", "--server.fileWatcherType=none", "--browser.gatherUsageStats=false"]
    for_app = [*(f"--source={folder}" for folder in arguments.source), *again(arguments)]
    return [*streamlit, "--", *for_app, *arguments.traces]


def main(arguments: argparse.Namespace) -> int:
    for name in (*arguments.traces, *arguments.source):
        if not Path(name).exists():
            raise SnoopieError(f"there is no {name}", "check the path")
    words = command(arguments)
    print(f"opening http://{ADDRESS}:{arguments.port}")
    print(f"  {shell_words(words)}", flush=True)
    os.execv(words[0], words)
