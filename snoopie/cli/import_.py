"""snoopie import: another tool's recording becomes a trace."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snoopie.cli.output import in_shell_words, is_terminal, print_next, say_written, size_of
from snoopie.errors import UsageError
from snoopie.importers.output import source_name

if TYPE_CHECKING:
    from snoopie.importers import Imported, Progress

DESCRIPTION = "Convert another tool's recording into traces, one per process."


@dataclass(frozen=True)
class _Kind:
    """Files that ``importer`` of a module of `snoopie.importers` converts.

    ``cut``: they are text, and can be read up to where they were cut. ``several``: it takes several at once.
    """

    what: str
    module: str
    importer: str
    cut: bool = True
    several: bool = False

    def convert(self, source: Path | Sequence[Path], output: Path, **options: Any) -> Imported:
        """Has the importer, which imports numpy, write the traces."""
        done: Imported = getattr(import_module(f"snoopie.importers.{self.module}"), self.importer)(
            source, output, **options
        )
        return done


# In the order in which help lists them; `snoopie.importers.recognition` knows a file of each.
KINDS = {
    "nsys": _Kind(
        "reports of Nsight Systems: SQLite or parquet exports, .nsys-rep where nsys is installed, or a folder of them",
        "nsys", "import_nsys", cut=False, several=True,
    ),
    "kineto": _Kind(
        "traces of PyTorch's profiler (.json, .json.gz), of one or several ranks, or a folder of them", "kineto",
        "import_kineto", several=True,
    ),
    "rocpd": _Kind("a database of rocmProfileData (.rpd) or rocprofv3 (.db)", "rocpd", "import_rocpd", cut=False),
    "inspector": _Kind(
        "what NCCL Inspector wrote, of one or several processes, or a folder of it", "nccl", "import_inspector",
        several=True,
    ),
    "flight-recorder": _Kind(
        "dumps of PyTorch's flight recorder (nccl_trace_rank_<rank>), or a folder of them", "nccl",
        "import_flight_recorder", cut=False, several=True,
    ),
    "snoopie-log": _Kind(
        "snoopie_log_<pid>.zst of the first Snoopie, or a folder of them", "snoopie_log", "import_snoopie_log"
    ),
    "rtg": _Kind("the text of rtg_tracer (ROCm)", "rocm", "import_rtg"),
    "hcc": _Kind("what a ROCm program printed with HCC_PROFILE=2", "rocm", "import_hcc"),
    "alnair": _Kind(
        "metrics.log or timeline.log of Alnair's interposer, or a folder with both", "alnair", "import_alnair"
    ),
}  # fmt: skip


class _Kinds(tuple[str, ...]):
    """The kinds to choose from, in a place where a file may stand as well."""

    def __contains__(self, _: object) -> bool:
        return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        metavar="KIND|FILE|FOLDER",
        choices=_Kinds(KINDS),
        help="the kind of what follows; found out where it is left out: "
        + "; ".join(f"{name}: {kind.what}" for name, kind in KINDS.items()),
    )
    parser.add_argument("files", metavar="FILE|FOLDER", nargs="*", help="what the tool wrote")
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
    name, files = _chosen(arguments)
    kind = KINDS[name]
    if arguments.allow_truncated and not kind.cut:
        raise UsageError(f"files of {name} cannot be imported in part", "leave out --allow-truncated")
    if len(files) > 1 and not kind.several:
        raise UsageError(f"files of {name} are imported one at a time", "name one of them, or their folder")
    output = _output(arguments, files[0])
    progress, done = _progress()
    try:
        cut = {"allow_truncated": arguments.allow_truncated} if kind.cut else {}
        source = files if len(files) > 1 else files[0]
        imported = kind.convert(source, output, force=arguments.force, progress=progress, **cut)
    finally:
        done()
    for path in imported.paths:
        say_written(path, in_shell_words(f"wrote {path}{size_of(path)}"))
    for sentence in imported.notices:
        print(in_shell_words(sentence))
    sys.stdout.flush()
    print_next("info", *map(str, imported.paths))
    return 0


def _chosen(arguments: argparse.Namespace) -> tuple[str, list[Path]]:
    """The kind, as it was named or as the files show it, and the files."""
    named, files = arguments.kind, [Path(file) for file in arguments.files]
    if named in KINDS and files:
        return named, files
    if named in KINDS and not os.path.lexists(named):
        raise UsageError(f"there is no file after {named}", f"name what to import: snoopie import {named} FILE")
    from snoopie.importers.recognition import recognised

    files = [Path(named), *files]
    kinds = {recognised(file, KINDS): file for file in files}
    if len(kinds) > 1:
        raise UsageError(
            "the files are of different kinds: "
            + ", ".join(in_shell_words(f"{file} is of {kind}") for kind, file in kinds.items()),
            "import those of each kind by themselves",
        )
    (kind,) = kinds
    print(f"{in_shell_words(str(files[0]))} is of the kind {kind}: {KINDS[kind].what}")
    return kind, files


def _output(arguments: argparse.Namespace, file: Path) -> Path:
    """Where the traces go: what was named, or the source's name, here."""
    name = source_name(file)
    if arguments.output:
        output = Path(arguments.output)
        return output / f"{name}.zst" if arguments.output.endswith("/") else output
    output = Path(f"{name}.zst")
    return Path(f"{name}.trace.zst") if output.absolute() == file.absolute() else output


def _progress() -> tuple[Progress, Callable[[], None]]:
    """What shows long work on a terminal, and what wipes that away."""
    if not is_terminal(sys.stderr):
        return lambda *_: None, lambda: None

    def show(what: str, rows: int) -> None:
        print(f"\r\033[Kreading {what}: {rows:,} rows", end="", file=sys.stderr, flush=True)

    return show, lambda: print("\r\033[K", end="", file=sys.stderr, flush=True)
