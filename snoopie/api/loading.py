"""Reading trace files: `load`."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from snoopie.api.arguments import checked
from snoopie.api.core import PAIR
from snoopie.api.trace import Trace
from snoopie.cluster import Cluster, Scheduler
from snoopie.errors import CorruptError, NotATraceError
from snoopie.joined import runs
from snoopie.joined.tables import Tables
from snoopie.trace.parallel import ordered
from snoopie.trace.tables import Process

Source = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@checked
def load(
    source: Source,
    *,
    allow_truncated: bool = False,
    run: str | int | None = None,
    all_runs: bool = False,
    scheduler: Scheduler | None = None,
) -> Trace:
    """Reads one trace file, all ``*.zst`` of a folder, a list of these, or what a glob pattern names, as one trace.

    Raises an error of the family of `SnoopieError`. A trace whose end is missing raises `TruncatedError`, or, with
    ``allow_truncated``, is read up to its last whole block; `Trace.complete` is then False.

    Traces of several runs of programs are a `SeveralRunsError`, unless ``run`` says which is meant (a number, in the
    order in which they began, or the beginning of an id), or ``all_runs`` that they are to be added up.

    With a ``scheduler`` the workers of a Dask cluster read the files, under the same (absolute) paths, and do the work
    of the analyses, whose results are the same: the address of the scheduler ("tcp://host:8786"), a `pathlib.Path` of
    its file, or a `distributed.Client`. Tables that are asked for as a whole still have to fit here.
    """
    paths = _distinct(_paths(source))
    if scheduler is None:
        opened = list(ordered(lambda path: Process.open(path, allow_truncated=allow_truncated), paths))
        trace = Trace(Tables(runs.chosen(_once(opened), run, all_runs=all_runs)))
    else:
        cluster = Cluster(scheduler)
        opened = cluster.open(paths, allow_truncated=allow_truncated)
        tables = Tables(runs.chosen(_once(opened), run, all_runs=all_runs))
        cluster.hold(tables)
        trace = Trace(tables, cluster=cluster)
    # Joining finds what single files cannot show, such as sums beyond 64 bits; better here than in the middle of work.
    trace._tables.check_counts(trace._sums(*PAIR))
    _ = trace.copies, trace.collectives
    return trace


def _paths(source: Source) -> list[Path]:
    if not isinstance(source, (str, os.PathLike)):
        paths = [path for part in source for path in _paths(part)]
        if not paths:
            raise NotATraceError("no trace file was named", "give the path of one")
        return paths
    if not os.fspath(source):
        raise NotATraceError("no trace file was named", "give the path of one")
    try:
        path = Path(source)
        if path.is_dir():
            found = sorted(file for file in path.glob("*.zst") if not file.is_dir())
            if not found:
                raise NotATraceError(
                    f"the folder {path} holds no trace (*.zst)", "give the folder that `snoopie run -o` named"
                )
            return found
        if path.exists() or not glob.has_magic(str(path)):
            return [path]
        matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]
    except (OSError, ValueError) as error:
        raise NotATraceError(f"{source} cannot be opened ({error})", "give the path of a trace file") from None
    if not matches:
        raise NotATraceError(f"no file matches {source}", "give the path of a trace file")
    return [found for match in matches for found in _paths(match)]


def _distinct(paths: Iterable[Path]) -> list[Path]:
    """Each file once, whichever way it was named, in the order of first naming."""
    files: dict[str, Path] = {}
    for path in paths:
        try:
            files.setdefault(os.path.realpath(path), path)
        except (OSError, ValueError) as error:
            raise NotATraceError(f"{path} cannot be opened ({error})", "give the path of a trace file") from None
    return list(files.values())


def _once(processes: list[Process]) -> list[Process]:
    """Each process once: a copy of a trace must not count twice."""
    kept: list[Process] = []
    for process in processes:
        twin = next((place for place, other in enumerate(kept) if other.identity == process.identity), None)
        if twin is None:
            kept.append(process)
            continue
        own, other = process.checksums, kept[twin].checksums
        length = min(len(own), len(other))
        if own[:length] != other[:length]:
            raise CorruptError(
                f"{kept[twin].path} and {process.path} claim to be the same process, with different contents",
                "remove the wrong one",
            )
        # One is a copy of the other, or of its beginning.
        if len(own) > len(other):
            kept[twin] = process
    return kept
