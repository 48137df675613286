"""Where an importer's traces go: all of them get their names, or none does."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from snoopie.errors import UsageError
from snoopie.files import whole_files

_JSON = re.compile(r"(\.pt)?(\.trace)?\.json(\.gz)?$")


def trace_paths(source: Path, output: Path, processes: Sequence[str]) -> list[Path]:
    """The file of each process: ``output``, or with several output.PROCESS.zst; in a folder, the source's name."""
    if os.path.isdir(output):
        output = output / f"{source_name(source)}.zst"
    if len(processes) == 1:
        return [output]
    stem = output.with_suffix("") if output.suffix == ".zst" else output
    names: list[str] = []
    for process in processes:
        # Processes of several machines can have the same number.
        name = f"{stem.name}.{process}"
        names.append(name if name not in names else f"{name}-{len(names)}")
    return [stem.with_name(f"{name}.zst") for name in names]


def source_name(source: Path) -> str:
    """What traces of a file or folder are called."""
    if source.is_dir():
        return source.resolve().name
    # Of PyTorch's profiler: worker0.pt.trace.json.gz.
    return _JSON.sub("", source.name) or source.stem if _JSON.search(source.name) else source.stem


def run_of(source: Path) -> dict[str, str]:
    """The run in the headers of all traces of one file: the same whenever it is imported."""
    return {"id": f"{source_name(source)}-{source.stat().st_mtime_ns // 10**9}", "of": "run"}


def write_all(
    paths: Sequence[Path], write: Callable[[int, Path], None], *, force: bool, sources: Iterable[Path] = ()
) -> None:
    """Has ``write(number, path)`` write each trace under another name, and names them when all are complete.

    Raises SnoopieError if one exists (unless ``force``) or cannot be written, UsageError if it is one of ``sources``.
    """
    read = {os.path.realpath(source) for source in sources}
    for path in paths:
        if os.path.realpath(path) in read:
            raise UsageError(f"{path} is the file being imported", "name another place with -o")
    with whole_files(paths, force=force, named=paths[0].parent, other="another place with -o") as unfinished:
        for number, path in enumerate(unfinished):
            write(number, path)
