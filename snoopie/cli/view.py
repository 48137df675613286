"""snoopie view: traces in the app."""

from __future__ import annotations

import argparse
import glob
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import snoopie
from snoopie.cli.arguments import add_traces, again
from snoopie.errors import SnoopieError
from snoopie.extras import APP, need

if TYPE_CHECKING:
    from snoopie.analysis.source.finder import Mapping

DESCRIPTION = """Open traces in the app, in a web browser. Without one, it offers samples, the folders here, and what
was opened before. Prints the app's address with a token, without which nobody gets in. Ctrl-C ends it."""
# The app answers this machine only: a trace names files and commands of its user, and a cluster's nodes are shared. By
# number: another user may listen where else "localhost" leads, to be told the token.
ADDRESS = "127.0.0.1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser, least=0)
    parser.add_argument(
        "--source",
        metavar="DIR",
        action="append",
        default=[],
        help="folder with the program's source files; may be repeated",
    )
    parser.add_argument(
        "--source-map",
        metavar="BUILT=HERE",
        type=_mapping,
        action="append",
        default=[],
        help="the sources built in folder BUILT, as the trace names it, are in folder HERE; may be repeated",
    )
    parser.add_argument(
        "--compare", metavar="B", action="append", default=[],
        help="trace, or folder with traces, to compare with; may be repeated",
    )  # fmt: skip
    parser.add_argument("--port", type=_port, help="port of the app (default: the first free one from 8501 on)")
    parser.add_argument(
        "--address", default=ADDRESS,
        help=f"where the app listens (default: {ADDRESS}, for this machine alone; 0.0.0.0: for every machine)",
    )  # fmt: skip
    parser.add_argument(
        "--no-token",
        action="store_true",
        help="let in everybody who can reach the address, as all users of this machine",
    )


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port from 1 to 65535")
    return int(text)


def _mapping(text: str) -> Mapping:
    from snoopie.analysis.source.finder import Mapping

    try:
        return Mapping.parse(text)
    except SnoopieError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def find_app() -> Path:
    """The app's entry point: in the package where it is installed, beside it in a checkout."""
    package = Path(snoopie.__file__).resolve().parent
    places = [folder / "visualizer" / "app.py" for folder in (package / "_app", package.parent)]
    for app in places:
        if app.is_file():
            return app
    raise SnoopieError(
        f"the app is not at {places[0]}", "install the package again: pip install --force-reinstall 'snoopie[app]'"
    )


def command(arguments: argparse.Namespace) -> list[str]:
    """The command that opens the app."""
    need("app", "the app", *APP)
    server = [sys.executable, str(find_app().parent / "server" / "serve.py")]
    server += [f"--address={ADDRESS if arguments.address == 'localhost' else arguments.address}"]
    server += [f"--port={arguments.port}"] if arguments.port else []
    server += ["--no-token"] if arguments.no_token else []
    server += ["--page=compare"] if arguments.compare else []
    sources = [f"--source={folder}" for folder in arguments.source]
    maps = [f"--source-map={mapping}" for mapping in arguments.source_map]
    others = [f"--compare={other}" for other in arguments.compare]
    for_app = [*sources, *maps, *others, *again(arguments)]
    return [*server, "--", *for_app, *arguments.traces]


def _expanded(names: Sequence[str]) -> list[str]:
    """The names, a pattern by what it matches: the other commands take patterns, the app takes none."""
    found = [[name] if Path(name).exists() else sorted(glob.glob(name, recursive=True)) or [name] for name in names]
    return [name for some in found for name in some]


def main(arguments: argparse.Namespace) -> int:
    arguments.traces, arguments.compare = _expanded(arguments.traces), _expanded(arguments.compare)
    # No shell expands the ~ in the middle of a word.
    mapped = [str(Path(mapping.here).expanduser()) for mapping in arguments.source_map]
    for name in (*arguments.traces, *arguments.source, *arguments.compare, *mapped):
        if not Path(name).exists():
            raise SnoopieError(f"there is no {name}", "check the path")
    words = command(arguments)
    # Who cannot read this could not read the address.
    print("starting the app; its address follows", flush=True)
    os.execv(words[0], words)
