"""Options that several commands share and that keep only a part of a trace: those of the app's sidebar."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING

from snoopie.errors import UsageError
from snoopie.words import units
from snoopie.words.names import choose_kernels

if TYPE_CHECKING:
    from snoopie.api.trace import Trace

# The option by which `Trace.select` is given each of its arguments.
_OPTIONS = {
    "processes": "process",
    "issuers": "issuer",
    "owners": "owner",
    "kernels": "kernel",
    "operations": "operation",
    "between": "between",
    "launches": "launches",
    "ranges": "range",
}
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}
_MOMENT = re.compile(rf"([0-9]{{1,18}}(?:\.[0-9]{{1,9}})?)({'|'.join(_UNITS)})")


def add_filters(parser: argparse.ArgumentParser) -> None:
    """--process, --issuer, --owner, --kernel, --operation, --between, --launches and --range."""
    group = parser.add_argument_group("filters", "only what matches all of them; all but ranges may be repeated")
    group.add_argument(
        "-k", "--kernel", metavar="NAME", action="append",
        help="this kernel, or those matching NAME*; nccl and nvshmem stand for the kernels of these libraries",
    )  # fmt: skip
    group.add_argument(
        "--process", metavar="N", type=int, action="append", help="this process, as snoopie info numbers them"
    )
    group.add_argument("--issuer", metavar="GPU", action="append", help="issued by this GPU: its number or UUID")
    group.add_argument(
        "--owner", metavar="GPU", action="append", help="in the memory of this GPU: its number, UUID, host or unknown"
    )
    group.add_argument("--operation", metavar="NAME", action="append", help="load, store, atomic or reduction")
    group.add_argument(
        "--between", metavar="A-B", type=_between,
        help="activity between A and B, counted from the trace's start, such as 1.5ms-2s or 2s-",
    )  # fmt: skip
    group.add_argument(
        "--launches", metavar="A-B", type=_launches, help="launches with these numbers, inclusive: 5, 5-9 or 5-"
    )
    group.add_argument(
        "--range", metavar="NAME", action="append",
        help="called within a range of this name (NVTX or snoopie.region), or those matching NAME*; NAME@DOMAIN for "
        "one of a domain alone",
    )  # fmt: skip


def select(trace: Trace, arguments: argparse.Namespace) -> Trace:
    """The part of a trace that the options of `add_filters` keep. UsageError for what the trace does not have."""
    if not given(arguments):
        return trace
    for process in arguments.process or ():
        if process not in trace.processes.index:
            raise UsageError(f"there is no process {process}", f"the trace has {units.numbers(trace.processes.index)}")
    operations = trace.sites["operation"].unique()
    if missing := set(arguments.operation or ()) - set(operations):
        known = ", ".join(sorted(operations)) or "none"
        raise UsageError(f"there is no operation {min(missing)}", f"the trace has {known}")
    between = None
    if arguments.between:
        first, after = trace.period
        start, end = arguments.between
        between = first + start, after if end is None else first + end
        if between[0] > between[1]:
            raise UsageError("--between begins after the trace's end", f"it is {units.duration(after - first)} long")
    launches = None
    if arguments.launches:
        start, end = arguments.launches
        launches = range(start, (max(trace.launches.index, default=0) if end is None else end) + 1)
    return trace.select(
        processes=arguments.process,
        issuers=places(trace, arguments.issuer) if arguments.issuer else None,
        owners=places(trace, arguments.owner) if arguments.owner else None,
        kernels=choose_kernels(arguments.kernel, trace.launches["kernel"]) if arguments.kernel else None,
        operations=arguments.operation,
        between=between,
        launches=launches,
        ranges=_ranges(trace, arguments.range) if arguments.range else None,
    )


def _ranges(trace: Trace, names: list[str]) -> list[str]:
    """The names as given. UsageError for one that no range has."""
    from snoopie.analysis.selection import unmatched_ranges

    if missing := unmatched_ranges(trace.ranges, names):
        known = ", ".join(trace.ranges["name"].value_counts().index[:5]) or "none"
        raise UsageError(f"there is no range {missing[0]}", f"the trace has {known}")
    return names


def not_filtered(arguments: argparse.Namespace, what: str, by: Collection[str]) -> list[str]:
    """A sentence on the options that were given and do not apply to ``what``, which those in ``by`` alone divide."""
    left = [f"--{_OPTIONS[name]}" for name in given(arguments) if name not in by]
    which = " and ".join(left)
    return [f"{which} {'does' if len(left) == 1 else 'do'} not apply to {what}"] if left else []


def in_words(arguments: argparse.Namespace) -> str:
    """A sentence on what `select` keeps; "" where that is all."""
    parts = []
    for option in (_OPTIONS[name] for name in given(arguments)):
        value = getattr(arguments, option)
        if isinstance(value, tuple):  # a range
            ends = [units.duration(end) if option == "between" else str(end) for end in value if end is not None]
            parts.append(f"{option} {' to '.join([*ends, 'the end'][:2])}")
        else:
            parts.append(f"{option} {' or '.join(map(str, value))}")
    return f"Only a part of the trace: {'; '.join(parts)}." if parts else ""


def given(arguments: argparse.Namespace) -> list[str]:
    """The arguments of `Trace.select` whose options were given."""
    return [name for name, option in _OPTIONS.items() if getattr(arguments, option)]


def places(trace: Trace, names: Iterable[str]) -> list[int]:
    """The places of a trace by their names. UsageError for one that it does not have."""
    from snoopie.analysis.traffic.places import named_place

    return [named_place(trace.places, name) for name in names]


def _between(text: str) -> tuple[int, int | None]:
    """Two times in ns, the second None where it is left out."""
    start, dash, end = text.partition("-")
    if not dash or not start:
        raise argparse.ArgumentTypeError(
            f"{text} is not a time range: give two times with units, such as 1.5ms-2s or 2s-"
        )
    ends = _moment(start), _moment(end) if end else None
    if ends[1] is not None and ends[0] > ends[1]:
        raise argparse.ArgumentTypeError(f"{text} ends before it begins")
    return ends


def _moment(text: str) -> int:
    if text == "0":
        return 0
    found = _MOMENT.fullmatch(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text} is not a time: give a number and a unit, one of {', '.join(_UNITS)}")
    return round(Decimal(found[1]) * _UNITS[found[2]])


def _launches(text: str) -> tuple[int, int | None]:
    """The first and the last, which is None where it is left out."""
    found = re.fullmatch(r"([0-9]{1,18})(-([0-9]{1,18})?)?", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text} is not a range of launches: give 5, 5-9 or 5-")
    first = int(found[1])
    last = int(found[3]) if found[3] else None if found[2] else first
    if last is not None and first > last:
        raise argparse.ArgumentTypeError(f"{text} ends before it begins")
    return first, last
