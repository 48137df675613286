"""Reading trace files: `load`."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path

from snoopie.api.arguments import checked
from snoopie.api.core import PAIR
from snoopie.api.trace import Trace
from snoopie.cluster import Cluster, Scheduler
from snoopie.errors import CorruptError, NotATraceError
from snoopie.joined import runs
from snoopie.joined.tables import Tables
from snoopie.trace.limits import Limits, allowed, check_number
from snoopie.trace.parallel import ordered
from snoopie.trace.tables import Process

# Each file that stays mapped keeps a descriptor, of which a process has a thousand or so.
_MAPPED = 256
# Bytes of a file from which on threads read several at once: less of the time is Python's, for whose lock they wait.
_WORTH_THREADS = 1 << 20
# What the headers of clean recordings name as their tool (nvbit_tool/src/times).
CLEAN = "CUPTI"

Source = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@checked
def load(
    source: Source,
    *,
    allow_truncated: bool = False,
    run: str | int | None = None,
    all_runs: bool = False,
    trust: bool = False,
    times: Source | None = None,
    scheduler: Scheduler | None = None,
) -> Trace:
    """Reads one trace file, all ``*.zst`` of a folder, a list of these, or what a glob pattern names, as one trace.

    Raises an error of the family of `SnoopieError`. A trace whose end is missing raises `TruncatedError`, or, with
    ``allow_truncated``, is read up to its last whole block; `Trace.complete` is then False. One that holds more than
    any real run needs raises `LimitError`, unless you ``trust`` who made it.

    Traces of several runs of programs are a `SeveralRunsError`, unless ``run`` says which is meant (a number, in the
    order in which they began, or the beginning of an id), or ``all_runs`` that they are to be added up.

    ``times`` names a clean recording of the same program, whose native times the trace then has too, see
    `Trace.with_times`. Where ``source`` holds both of one run, as ``snoopie run --with-times`` leaves them, its clean
    traces are that.

    With a ``scheduler`` the workers of a Dask cluster read the files, under the same (absolute) paths, and do the work
    of the analyses, whose results are the same: the address of the scheduler ("tcp://host:8786"), a `pathlib.Path` of
    its file, or a `distributed.Client`. Tables that are asked for as a whole still have to fit here.
    """
    paths = paths_of(source)
    limits = allowed(trust)
    check_number("the selection", "has {} files", len(paths), limits.files)
    cluster = None if scheduler is None else Cluster(scheduler)
    if cluster is None:
        opened = _opened(paths, allow_truncated=allow_truncated, trust=trust)
    else:
        opened = cluster.open(paths, allow_truncated=allow_truncated, trust=trust)
    chosen, clean = _apart(runs.chosen(_once(opened), run, all_runs=all_runs))
    tables = _joined(chosen, limits)
    if cluster is not None:
        cluster.hold(tables)
    trace = Trace(tables, cluster=cluster)
    if times is not None:
        trace = trace.with_times(load(times, allow_truncated=allow_truncated, trust=trust))
    elif clean:
        trace = trace.with_times(Trace(_joined(clean, limits)))
    # Joining finds what single files cannot show, such as sums beyond 64 bits; better here than in the middle of work.
    trace._tables.check_counts(trace._sums(*PAIR))
    tables.check()
    return trace


def paths_of(source: Source) -> list[Path]:
    """The files that `load` reads, each once."""
    return _distinct(_paths(source))


def _opened(paths: Sequence[Path], *, allow_truncated: bool, trust: bool) -> list[Process]:
    open_one = partial(_open, allow_truncated=allow_truncated, trust=trust, keep=len(paths) <= _MAPPED)
    several = ordered if sum(map(_size, paths)) >= _WORTH_THREADS * len(paths) else map
    return list(several(open_one, paths))


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0  # opening it will say why


def _open(path: Path, *, allow_truncated: bool, trust: bool, keep: bool) -> Process:
    process = Process.open(path, allow_truncated=allow_truncated, trust=trust)
    if not keep:
        process.container.unmap()
    return process


def _apart(processes: list[Process]) -> tuple[list[Process], list[Process]]:
    """The processes that are the trace, and, where it has instrumented ones, the clean recordings of the same runs."""
    clean = [process for process in processes if process.header.tool.get("imported_from") == CLEAN]
    exact = [process for process in processes if not process.header.tool.get("imported_from")]
    of_exact = {process.header.run_id for process in exact}
    beside = [process for process in clean if process.header.run_id in of_exact and any(process.rows.values())]
    return [process for process in processes if process not in beside], beside


def _joined(processes: list[Process], limits: Limits) -> Tables:
    tables = Tables(processes)
    check_number("the selection", "has {} GPUs", len(tables.columns.gpus.merged), limits.all_gpus)
    return tables


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
    folder_of = cache(os.path.realpath)
    for path in paths:
        try:
            # What is no link is in its folder, which others are in too.
            folder, name = os.path.split(path)
            alone = not name or name in (os.curdir, os.pardir) or _is_link(path)
            real = os.path.realpath(path) if alone else os.path.join(folder_of(folder), name)
            files.setdefault(real, path)
        except (OSError, ValueError) as error:
            raise NotATraceError(f"{path} cannot be opened ({error})", "give the path of a trace file") from None
    return list(files.values())


def _is_link(path: Path) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except OSError:
        return False


def _once(processes: list[Process]) -> list[Process]:
    """Each process once: a copy of a trace must not count twice."""
    kept: list[Process] = []
    places: dict[bytes, int] = {}
    for process in processes:
        twin = places.setdefault(process.header.identity, len(kept))
        if twin == len(kept):
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
