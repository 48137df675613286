"""What may become of a trace: an error of the family, or tables of which all is right that can be checked, and analyses
that end in time."""

from __future__ import annotations

import inspect
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import snoopie
from snoopie.api.trace import Trace
from snoopie.errors import SnoopieError
from snoopie.trace import check as checking
from snoopie.trace.limits import LIMITS
from tests.fuzz.bounds import check_sentence, step
from tests.fuzz.target import Fault

# Analyses of one input: another choice for each.
_SOME = 4
# Those that write files or pictures take longer than all others, and tests of their own have them.
_LEFT_OUT = ("plot_", "report", "export", "select", "tables")

_ENTRY = struct.Struct("<4sIIIQQQII")


def check(path: Path, folder: Path) -> None:
    """Reads a file, and asks what it holds if it can be read."""
    data = path.read_bytes()
    whole = _read(path, len(data), allow_truncated=False)
    if whole is not None:
        if not _sums_are_right(data):
            raise Fault("a file with wrong sums was read")
        analyse(whole, len(data), Random(zlib.crc32(data)))
    part = _read(path, len(data), allow_truncated=True)
    if whole is not None and part is None:
        raise Fault("a whole file is refused where a cut one is allowed")
    if whole is None and part is not None:
        analyse(part, len(data), Random(zlib.crc32(data)))
    with step("check", len(data)):
        found = checking.check(path, LIMITS)
    if whole is not None and found.process is None:
        raise Fault(f"check refuses what can be read: {found.wrong}")


def analyse(trace: Trace, size: int, random: Random) -> None:
    """Checks what all traces have in common, and has some analyses run."""
    with step("checks", size):
        _check_references(trace)
        _check_sums(trace)
    for name, analysis in random.sample(_ANALYSES, _SOME):
        with step(name, size):
            try:
                found = analysis(trace)
                if isinstance(found, Iterator):
                    for _ in found:
                        pass
            except SnoopieError as error:
                check_sentence(error)


def _read(path: Path, size: int, *, allow_truncated: bool) -> Trace | None:
    with step("load", size):
        try:
            return snoopie.load(path, allow_truncated=allow_truncated)
        except SnoopieError as error:
            check_sentence(error)
            return None


def _check_references(trace: Trace) -> None:
    """Each id that a row names is there."""
    for table, column, other in (
        ("counts", "launch", "launches"),
        ("counts", "site", "sites"),
        ("sites", "function", "functions"),
        ("spans", "launch", "launches"),
        ("stacks", "frame", "frames"),
        ("symbols", "frame", "frames"),
    ):
        rows = getattr(trace, table)
        if column not in rows:
            raise Fault(f"{table} has no {column}")
        if not rows[column].isin(getattr(trace, other).index).all():
            raise Fault(f"{table}.{column} names what {other} has not")
    places = set(trace.places.index)
    for table, column in (("counts", "owner"), ("counts", "issuer"), ("copies", "source"), ("copies", "destination")):
        if not set(getattr(trace, table)[column]) <= places:
            raise Fault(f"{table}.{column} names a place that is none")


def _check_sums(trace: Trace) -> None:
    """Whoever adds up the same gets the same, and nothing is less than nothing."""
    counts, names = trace.counts, ["accesses", "lanes", "bytes"]
    totals = [int(counts[name].astype(object).sum()) for name in names]
    if (counts[names] < 0).any(axis=None) or max(totals) >= 1 << 63:
        raise Fault(f"{', '.join(names)} sum up to {totals}")
    if trace.estimated:
        return
    for analysis in (trace.by_line, trace.by_kernel, trace.by_operation, trace.by_site):
        found = [int(value) for value in analysis()[names].sum()]
        if found != totals:
            raise Fault(f"{analysis.__name__} has {found}, and counts have {totals}: {', '.join(names)}")
    if (found := int(trace.matrix().to_numpy().sum())) != totals[-1]:
        raise Fault(f"matrix has {found} bytes, and counts have {totals[-1]}")


def _analyses() -> Iterator[tuple[str, Callable[[Trace], Any]]]:
    """All that a trace can be asked without saying more."""
    for name, member in inspect.getmembers(Trace):
        if name.startswith(("_", *_LEFT_OUT)):
            continue
        if isinstance(member, property):
            yield name, lambda trace, name=name: getattr(trace, name)
        elif inspect.isfunction(member):
            needed = list(inspect.signature(member).parameters.values())[1:]
            if all(one.default is not one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in needed):
                yield name, lambda trace, name=name: getattr(trace, name)()


_ANALYSES = list(_analyses())


def _sums_are_right(data: bytes) -> bool:
    """Whether each block of a file follows the one before and has the checksums that it says, up to the footer."""
    position, expected, table = 0, 0, -1
    while position < len(data):
        entry = data[position + 8 : position + 8 + _ENTRY.size]
        if data[position : position + 8] != struct.pack("<II", 0x184D2A53, _ENTRY.size) or len(entry) != _ENTRY.size:
            return False
        magic, sequence, table, _, _, size, _, data_crc, entry_crc = _ENTRY.unpack(entry)
        position += 8 + _ENTRY.size
        content = data[position : position + size]
        right = len(content) == size and zlib.crc32(content) == data_crc and zlib.crc32(entry[:-4]) == entry_crc
        if magic != b"SNPB" or sequence != expected or not right:
            return False
        position += size
        expected += 1
    return table == 1
