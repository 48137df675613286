"""Records of NCCL's calls, dumps of PyTorch's flight recorder and files of NCCL Inspector → one trace a process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from snoopie.errors import NotATraceError
from snoopie.importers import Imported, Progress
from snoopie.importers.nccl import flight_recorder, inspector
from snoopie.importers.nccl.calls import Process, write_calls
from snoopie.importers.output import run_of, trace_paths, write_all
from snoopie.importers.text import TextFile

__all__ = ["import_flight_recorder", "import_inspector"]


def import_flight_recorder(
    source: Path | Sequence[Path], output: Path, *, force: bool = False, progress: Progress = lambda *_: None
) -> Imported:
    """Writes the trace of each dump of PyTorch's flight recorder: of one, of several, or of those in a folder.

    ``output`` is the name of the trace, or, with several ranks, of output.RANK.zst. Nothing takes its name before all
    are complete. Raises SnoopieError if one exists (unless ``force``) or cannot be written, and where a dump cannot be
    read.
    """
    files = _files(source)
    run = run_of(source if isinstance(source, Path) else source[0])["id"]
    read = []
    for file in files:
        read.append(flight_recorder.read(file, run))
        progress(file.name, len(read[-1][0].calls))
    labels = [f"rank{process.rank}" for process, _ in read]
    tool = flight_recorder.TOOL
    return _write(source, output, force, tool, [(file, *own) for file, own in zip(files, read, strict=True)], labels)


def import_inspector(
    source: Path | Sequence[Path], output: Path, *, force: bool = False, allow_truncated: bool = False,
    progress: Progress = lambda *_: None,
) -> Imported:  # fmt: skip
    """Writes the trace of each process in files of NCCL Inspector, else as `import_flight_recorder`.

    A file that ends too early is read as far as it is whole with ``allow_truncated``.
    """
    found: list[tuple[Path, Process, list[str]]] = []
    for file in _files(source):
        processes, sentences = inspector.read(TextFile(file, allow_truncated), progress)
        found += [(file, process, sentences) for process in processes]
    return _write(source, output, force, inspector.TOOL, found, [str(process.pid) for _, process, _ in found])


def _files(source: Path | Sequence[Path]) -> list[Path]:
    files: list[Path] = []
    for path in [source] if isinstance(source, Path) else source:
        if path.is_dir():
            files += [file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith(".")]
        else:
            files.append(path)
    if not files:
        raise NotATraceError(f"{source} has no file", "give the folder into which NCCL's records were written")
    return files


def _write(
    source: Path | Sequence[Path], output: Path, force: bool, tool: str,
    found: Sequence[tuple[Path, Process, list[str]]], labels: Sequence[str],
) -> Imported:  # fmt: skip
    named = source if isinstance(source, Path) else source[0]
    paths = trace_paths(named, output, labels)
    run = run_of(named)

    def write(number: int, path: Path) -> None:
        file, process, sentences = found[number]
        write_calls(path, file, tool, run, process, sentences)

    write_all(paths, write, force=force, sources=[file for file, _, _ in found])
    return Imported(paths, list(dict.fromkeys(sentence for _, _, own in found for sentence in own)))
