"""snoopie import: another tool's recording becomes a trace."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from snoopie.cli.output import in_shell_words, is_terminal, print_next, say_written, size_of
from snoopie.errors import UsageError
from snoopie.importers import Imported, Progress
from snoopie.importers.alnair import import_alnair
from snoopie.importers.nsys import import_nsys
from snoopie.importers.output import source_name
from snoopie.importers.rocm import import_hcc, import_rtg
from snoopie.importers.snoopie_log import import_snoopie_log

DESCRIPTION = "Convert another tool's recording into traces, one per process."


class _Importer(Protocol):
    def __call__(self, source: Path, output: Path, *, force: bool, progress: Progress) -> Imported: ...


class _TextImporter(_Importer, Protocol):
    def __call__(
        self, source: Path, output: Path, *, force: bool, allow_truncated: bool = False, progress: Progress
    ) -> Imported: ...


@dataclass(frozen=True)
class _Kind:
    """``text``: the importer of files that can be read up to where they were cut."""

    what: str
    importer: _Importer
    text: _TextImporter | None = None


def _of_text(what: str, importer: _TextImporter) -> _Kind:
    return _Kind(what, importer, importer)


KINDS = {
    "nsys": _Kind("an SQLite export of Nsight Systems (nsys export --type sqlite)", import_nsys),
    "snoopie-log": _of_text("snoopie_log_<pid>.zst of the first Snoopie, or a folder of them", import_snoopie_log),
    "rtg": _of_text("the text of rtg_tracer (ROCm)", import_rtg),
    "hcc": _of_text("what a ROCm program printed with HCC_PROFILE=2", import_hcc),
    "alnair": _of_text("metrics.log or timeline.log of Alnair's interposer, or a folder with both", import_alnair),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        metavar="KIND",
        choices=KINDS,
        help="; ".join(f"{name}: {kind.what}" for name, kind in KINDS.items()),
    )
    parser.add_argument("file", metavar="FILE|FOLDER", type=Path, help="what the tool wrote")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT.zst",
        help="name of the trace, of OUT.PID.zst with several processes, or a folder; FILE's name, here, if left out",
    )
    parser.add_argument("--force", action="store_true", help="overwrite traces that exist")
    parser.add_argument(
        "--allow-truncated", action="store_true", help="read the intact part of a text whose end is missing"
    )


def main(arguments: argparse.Namespace) -> int:
    kind = KINDS[arguments.kind]
    if arguments.allow_truncated and kind.text is None:
        raise UsageError(f"files of {arguments.kind} cannot be imported in part", "leave out --allow-truncated")
    output = _output(arguments)
    progress, done = _progress()
    try:
        if arguments.allow_truncated and kind.text is not None:
            imported = kind.text(arguments.file, output, force=arguments.force, allow_truncated=True, progress=progress)
        else:
            imported = kind.importer(arguments.file, output, force=arguments.force, progress=progress)
    finally:
        done()
    for path in imported.paths:
        say_written(path, in_shell_words(f"wrote {path}{size_of(path)}"))
    for sentence in imported.notices:
        print(in_shell_words(sentence))
    sys.stdout.flush()
    print_next("info", *map(str, imported.paths))
    return 0


def _output(arguments: argparse.Namespace) -> Path:
    """Where the traces go: what was named, or the source's name, here."""
    name = source_name(arguments.file)
    if arguments.output:
        output = Path(arguments.output)
        return output / f"{name}.zst" if arguments.output.endswith("/") else output
    output = Path(f"{name}.zst")
    return Path(f"{name}.trace.zst") if output.absolute() == arguments.file.absolute() else output


def _progress() -> tuple[Progress, Callable[[], None]]:
    """What shows long work on a terminal, and what wipes that away."""
    if not is_terminal(sys.stderr):
        return lambda *_: None, lambda: None

    def show(what: str, rows: int) -> None:
        print(f"\r\033[Kreading {what}: {rows:,} rows", end="", file=sys.stderr, flush=True)

    return show, lambda: print("\r\033[K", end="", file=sys.stderr, flush=True)
