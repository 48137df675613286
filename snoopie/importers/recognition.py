"""What wrote a file: found out from what is in it, not from its name."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from snoopie.errors import EmptyError, NotATraceError, SnoopieError, UsageError
from snoopie.importers import damage
from snoopie.importers.text import TextFile

# Bytes of a file that are looked at, and files of a folder.
_HEAD = 1 << 20
_MOST_FILES = 4096
_ENOUGH = 16
_SQLITE = b"SQLite format 3\0"
_CREATED = re.compile(rb"CREATE TABLE [\"`]?(\w+)")
_REPORTS = (".nsys-rep", ".qdrep")
# nvidia-smi's date, and what may stand beside it: more, and time would grow with the square of a line's length.
_DATE = r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?"
_PART = r"[^\n]{0,999}?"


@dataclass(frozen=True, slots=True)
class _Sample:
    """The beginning of a file, decompressed, and the names of its tables if it is a database."""

    name: str
    data: bytes
    tables: frozenset[str]

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


def _lines(pattern: str) -> Callable[[_Sample], bool]:
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda sample: compiled.search(sample.text) is not None


def _has_tables(beginning: str) -> Callable[[_Sample], bool]:
    return lambda sample: any(table.startswith(beginning) for table in sample.tables)


def _is_nsys(sample: _Sample) -> bool:
    return "StringIds" in sample.tables or _has_tables("CUPTI_ACTIVITY")(sample) or sample.name.endswith(_REPORTS)


def _is_kineto(sample: _Sample) -> bool:
    from snoopie.importers.kineto import is_kineto

    return is_kineto(sample.text)


def _is_flight_recorder(sample: _Sample) -> bool:
    """Pickled or as JSON; a snapshot of PyTorch's memory, which is a pickle as well, has other words."""
    return sample.data[:1] in (b"\x80", b"{") and b"entries" in sample.data and b"pg_config" in sample.data


# kind → what shows a file of it; the first that fits wins.
_SIGNS: Mapping[str, tuple[Callable[[_Sample], bool], str]] = {
    "nsys": (_is_nsys, "tables of Nsight Systems"),
    "rocpd": (_has_tables("rocpd_"), "tables of rocpd"),
    "kineto": (_is_kineto, "a JSON with traceEvents of PyTorch's profiler"),
    "inspector": (_lines(r'"(?:(?:coll|p2p)_perf|inspector_output_format_version)"\s*:'), "records of NCCL Inspector"),
    "flight-recorder": (_is_flight_recorder, "a dump of PyTorch's flight recorder"),
    "rtg": (_lines(r"^(?:HIP|HSA|RTX): +pid:\d+ tid:\d+ "), "lines of rtg_tracer"),
    "hcc": (_lines(r"^profile: +\w+;"), "lines of HCC_PROFILE=2"),
    "alnair": (_lines(r"^name:[^,\n]*, ?(?:count|start):\d"), "lines of Alnair's logs"),
    "snoopie-log": (
        _lines(
            r'^(?:op_code *,|[A-Z][A-Z0-9_.]*,0x[0-9a-f]+,-?\d+,|cuMem\w+,0x[0-9a-f]+,-1,|\{ *"op(?:_code)?" *:)'
        ),
        "rows of the first Snoopie's log",
    ),
}  # fmt: skip


# What other commands read: what shows it, what it is, and how it is read.
_ELSEWHERE: tuple[tuple[Callable[[_Sample], bool], str, str], ...] = (
    (
        lambda sample: sample.data.startswith(b"\x80") and b"device_traces" in sample.data,
        "a snapshot of PyTorch's memory",
        "read it beside the trace of its process: snoopie.load(TRACE).tensors(SNAPSHOT)",
    ),
    (
        _lines(rf"^{_PART}(?:timestamp|{_DATE}),{_PART}(?:memory\.used|MiB|\d)"),
        "a log of nvidia-smi",
        "see it beside a trace: snoopie memory TRACE --plot memory.png --nvidia-smi LOG",
    ),
)


def recognised(path: Path, kinds: Collection[str]) -> str:
    """The kind of a file, or of the files in a folder. NotATraceError where it is of none of these ``kinds``,
    UsageError for a pipe."""
    if path.is_fifo():
        raise UsageError(f"{path} is a pipe, which can be read only once", f"name its kind: snoopie import KIND {path}")
    found = _of_folder(path, kinds) if path.is_dir() else _of_file(path, kinds)
    if len(found) == 1:
        return found[0]
    if found:
        raise NotATraceError(f"{path} has files of several kinds: {', '.join(found)}", "name the kind before it")
    if path.is_file():
        sample = _sample(path)
        for fits, what, remedy in _ELSEWHERE:
            if fits(sample):
                raise NotATraceError(f"{path} is {what}, which is no recording of its own", remedy)
    looked_for = [what for kind, (_, what) in _SIGNS.items() if kind in kinds]
    raise NotATraceError(
        f"{path} is nothing that can be imported; looked for were {', '.join(looked_for)}",
        "name its kind before it if it is of one: snoopie import KIND FILE",
    )


def _of_folder(folder: Path, kinds: Collection[str]) -> list[str]:
    from snoopie.importers.nsys.sources import is_parquet

    if is_parquet(folder):
        return [kind for kind in ("nsys",) if kind in kinds]
    found: list[str] = []
    try:
        inside = sorted(folder.iterdir())[:_MOST_FILES]
    except OSError as error:
        raise NotATraceError(f"{folder} cannot be read ({error.strerror})", "give another folder") from None
    known = 0
    for path in inside:
        try:
            own = _of_folder(path, kinds) if is_parquet(path) else _of_file(path, kinds) if path.is_file() else []
        except SnoopieError:
            continue
        found += [kind for kind in own if kind not in found]
        known += bool(own)
        if known >= _ENOUGH:
            break
    return found


def _of_file(path: Path, kinds: Collection[str]) -> list[str]:
    sample = _sample(path)
    return next(([kind] for kind, (fits, _) in _SIGNS.items() if kind in kinds and fits(sample)), [])


def _sample(path: Path) -> _Sample:
    data = TextFile(path, allow_truncated=True).head(_HEAD)
    if not data:
        raise EmptyError(f"{path} is empty", "give what the tool wrote")
    return _Sample(path.name, data, _tables(path, data) if data.startswith(_SQLITE) else frozenset())


def _tables(path: Path, data: bytes) -> frozenset[str]:
    """The tables of a database; of a compressed one, those of which its beginning tells."""
    with path.open("rb") as file:
        if file.read(len(_SQLITE)) != _SQLITE:
            return frozenset(match[1].decode() for match in _CREATED.finditer(data))
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 10000").fetchall()
    except damage.ERRORS:
        return frozenset()
    return frozenset(name for (name,) in rows if isinstance(name, str))
