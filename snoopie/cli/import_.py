"""snoopie import: another tool's recording becomes a trace."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from snoopie.cli.output import in_shell_words, is_terminal, print_next
from snoopie.errors import UsageError
from snoopie.importers import Imported, Progress
from snoopie.importers.nsys import import_nsys

DESCRIPTION = "Write what another tool recorded as traces, one a process."


class _Importer(Protocol):
    def __call__(self, source: Path, output: Path, *, force: bool, progress: Progress) -> Imported: ...


@dataclass(frozen=True)
class _Kind:
    what: str
    importer: _Importer


KINDS = {"nsys": _Kind("an SQLite export of Nsight Systems (nsys export --type sqlite)", import_nsys)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        metavar="KIND",
        choices=KINDS,
        help="; ".join(f"{name}: {kind.what}" for name, kind in KINDS.items()),
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="what the tool wrote")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT.zst",
        help="name of the trace, of OUT.PID.zst with several processes, or a folder; FILE's name, here, if left out",
    )
    parser.add_argument("--force", action="store_true", help="overwrite traces that exist")


def main(arguments: argparse.Namespace) -> int:
    output = Path(arguments.output or f"{arguments.file.stem}.zst")
    if str(arguments.output or "").endswith("/"):
        output = output / f"{arguments.file.stem}.zst"
    if output.absolute() == arguments.file.absolute():
        raise UsageError(f"{output} is the file to import", "name another place with -o")
    progress, done = _progress()
    try:
        imported = KINDS[arguments.kind].importer(arguments.file, output, force=arguments.force, progress=progress)
    finally:
        done()
    for path in imported.paths:
        print(in_shell_words(f"wrote {path}, {path.stat().st_size:,} bytes"))
    for sentence in imported.notices:
        print(in_shell_words(sentence))
    sys.stdout.flush()
    print_next("info", *map(str, imported.paths))
    return 0


def _progress() -> tuple[Progress, Callable[[], None]]:
    """What shows long work on a terminal, and what wipes that away."""
    if not is_terminal(sys.stderr):
        return lambda *_: None, lambda: None

    def show(what: str, rows: int) -> None:
        print(f"\r\033[Kreading {what}: {rows:,} rows", end="", file=sys.stderr, flush=True)

    return show, lambda: print("\r\033[K", end="", file=sys.stderr, flush=True)
