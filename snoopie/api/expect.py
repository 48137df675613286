"""Assertions on the traffic of a trace: `judge` and `expect` (docs/expect.md)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd

from snoopie.analysis import losses
from snoopie.analysis.expectations import grammar, names
from snoopie.analysis.expectations.grammar import Quantity
from snoopie.analysis.expectations.judge import Measured, judged
from snoopie.analysis.expectations.verdict import Pairs, Verdicts
from snoopie.analysis.host import copies as _copies
from snoopie.analysis.traffic import counts as _counts
from snoopie.analysis.traffic.places import named_place
from snoopie.analysis.traffic.reading import INITIATED, Reading, ends
from snoopie.api.core import PAIR
from snoopie.api.losses import LossMethods
from snoopie.errors import AbsentError, UsageError
from snoopie.joined.gpus import HOST, UNKNOWN
from snoopie.words.names import choose_kernels

if TYPE_CHECKING:
    from snoopie.api.trace import Trace

# Which selectors each kind of quantity has.
_OF_ACCESSES = {*grammar.KEYS, "arrow from", "arrow to"}
_OF_LAUNCHES = {"kernel", "issuer", "process", "rank"}
_OF_COPIES = {"arrow from", "arrow to", "from", "to", "issuer", "owner", "process", "rank", "initiated"}
_OF_PAIRS = {"kernel", "file", "line", "operation", "issuer", "process", "rank", "initiated", "reading"}
_SELECTORS = {
    **dict.fromkeys(grammar.ACCESSES, _OF_ACCESSES),
    **dict.fromkeys(grammar.LAUNCHES, _OF_LAUNCHES),
    **dict.fromkeys(grammar.COPIES, _OF_COPIES),
    grammar.PAIRS: _OF_PAIRS,
}
_OF_KERNELS = ("kernel", "file", "line", "operation")


class ExpectMethods(LossMethods):
    """Assertions on the traffic."""

    def judge(self, /, *expressions: str, allow_gaps: bool = False, **names: object) -> Verdicts:
        """Whether each of these holds, with the numbers: "bytes(GPU 0 -> GPU 1) == 3*N*4", "pairs == ring".

        The result is true if all hold, and iterates over verdicts with ``expression``, ``outcome`` ("holds", "fails",
        "not covered", "error"), ``amounts``, ``gaps`` and ``notes``. ``names`` are the numbers of names, N=4096. What
        fits, but is not all that was to be counted, as of a truncated or sampled trace, is "not covered", unless
        ``allow_gaps``. docs/expect.md describes the language. UsageError for a name that cannot be one.
        """
        for expression in expressions:
            if not isinstance(expression, str):
                raise UsageError(f"{expression!r} is no expectation", "give text, as in 'pairs == ring'")
        return judged(expressions, _Facts(self), names, allow_gaps=allow_gaps)

    def expect(self, /, *expressions: str, allow_gaps: bool = False, **names: object) -> Verdicts:
        """`judge`, and AssertionError, with the numbers, unless all hold. UsageError for what cannot be judged, such as
        a line that the trace does not have."""
        if not expressions:
            raise UsageError("nothing is expected", "give an expectation, as in 'pairs == ring'")
        verdicts = self.judge(*expressions, allow_gaps=allow_gaps, **names)
        for verdict in verdicts:
            if verdict.outcome == "error":
                raise UsageError(f"{verdict.expression} cannot be judged: {verdict.notes[0]}")
        if not verdicts:
            raise AssertionError(f"the traffic is not as expected\n{verdicts}")
        return verdicts


def amounts(quantity: Quantity, traces: Iterable[Trace]) -> list[int]:
    """A quantity in each of several traces, 0 in one that has not what is named; AbsentError if none has it."""
    found: list[int | AbsentError] = []
    for trace in traces:
        try:
            value = _Facts(trace).measure(quantity).value
            assert isinstance(value, Fraction)
            found.append(int(value))
        except AbsentError as error:
            found.append(error)
    errors = [one for one in found if isinstance(one, AbsentError)]
    if len(errors) == len(found) and errors:
        raise errors[-1]
    return [0 if isinstance(one, AbsentError) else one for one in found]


class _Facts:
    """What a trace, or a view of one, says of quantities."""

    def __init__(self, trace: ExpectMethods) -> None:
        self._trace: Trace = trace  # type: ignore[assignment]
        self._known: dict[Quantity, Measured] = {}

    def measure(self, quantity: Quantity) -> Measured:
        if quantity not in self._known:
            self._known[quantity] = _Measure(self._trace, quantity, self).measured()
        return self._known[quantity]

    def place(self, name: str) -> str:
        return self._trace.label(self.number(name))

    def number(self, name: str) -> int:
        return named_place(self._trace.places, name)

    def gpus(self) -> list[str]:
        gpus = self._trace.gpus
        return [str(label) for label in gpus.loc[gpus["visible"], "label"]]


class _Measure:
    """One quantity of a trace."""

    def __init__(self, trace: Trace, quantity: Quantity, facts: _Facts) -> None:
        self._whole = trace
        self._quantity = quantity
        self._facts = facts
        self._initiated = "host" if quantity.name in grammar.COPIES else quantity.get("initiated") or "device"
        self._by_kernels, self._by_host = self._initiated != "host", self._initiated != "device"
        self._check_selectors({key for key, _ in quantity.selectors})
        # An arrow leads from issuer to owner, that of a copy from where it read to where it wrote.
        arrow = ("arrow from", "arrow to")
        self._issuer = self._place("issuer") if self._by_host else self._place("issuer", arrow[0])
        self._owner = self._place("owner") if self._by_host else self._place("owner", arrow[1])
        self._from = self._place("from", arrow[0]) if self._by_host else self._place("from")
        self._to = self._place("to", arrow[1]) if self._by_host else self._place("to")
        if self._by_kernels and self._issuer is not None and self._issuer < 0:
            raise UsageError(
                f"{quantity.text} asks what {trace.label(self._issuer)} issued, and only GPUs issue accesses",
                "say from=… for where data came from, or copied for copies",
            )
        self._kernels, self._all_measured = self._chosen_kernels()
        self._processes = names.processes_of(trace.processes, quantity.get("process"), quantity.get("rank"))
        self._file, self._line = self._chosen_lines()

    def measured(self) -> Measured:
        name = self._quantity.name
        gaps = tuple(self._gaps())
        if name in grammar.LAUNCHES:
            return Measured(self._launches(), gaps=gaps)
        if name == grammar.PAIRS:
            return Measured(self._pairs(), gaps=gaps)
        value = (self._accesses() if self._by_kernels else 0) + (self._copied() if self._by_host else 0)
        return Measured(Fraction(value), self._by_kernels and self._view.estimated, gaps)

    # What was named

    def _check_selectors(self, given: set[str]) -> None:
        quantity = self._quantity
        if wrong := sorted(given - _SELECTORS[quantity.name]):
            what = "a pair" if wrong[0].startswith("arrow") else wrong[0]
            raise UsageError(f"{quantity.name} cannot be chosen by {what}", "docs/expect.md says what can")
        if self._initiated not in INITIATED:
            raise UsageError(f"nothing is initiated by {self._initiated}", f"use {', '.join(INITIATED)}")
        if self._by_host and quantity.name not in ("bytes", *grammar.COPIES, grammar.PAIRS):
            raise UsageError(f"copies that the host started have no {quantity.name}", "ask for bytes or copies")
        if self._by_host and (wrong := sorted(given & set(_OF_KERNELS))):
            raise UsageError(f"copies that the host started have no {wrong[0]}", "leave out one of the two")
        if self._initiated == "both" and given & {"arrow from", "issuer", "owner"}:
            raise UsageError(f"{quantity.text} mixes who issued with where copies went", "use from and to")
        if "arrow from" in given and given & {"issuer", "owner", "from", "to"}:
            raise UsageError(f"{quantity.text} names an end twice", "name each once")
        if self._by_kernels and given & {"from", "to"} and given & {"issuer", "owner"}:
            raise UsageError(
                f"{quantity.text} mixes who issued with where data flowed", "use issuer and owner, or from and to"
            )
        operation = quantity.get("operation")
        if operation is not None and operation not in grammar.OPERATIONS:
            raise UsageError(f"there is no operation {operation}", f"use one of {', '.join(grammar.OPERATIONS)}")

    def _place(self, *keys: str) -> int | None:
        """The place that the first given of these keys names; None for any."""
        name = next((name for key in keys if (name := self._quantity.get(key)) is not None), "any")
        return None if name == "any" else self._facts.number(name)

    def _chosen_kernels(self) -> tuple[list[str] | None, bool]:
        """The measured kernels that are named, and whether these are all that ran under the name."""
        pattern, whole = self._quantity.get("kernel"), self._whole
        if pattern is None:
            return None, False
        functions = whole.functions
        # Also those of which no launch was measured.
        measured = {*whole.launches["kernel"], *functions.loc[functions["kernel"], "name"]}
        launched = {*whole.call_totals["kernel"]} - {""}
        named = choose_kernels([pattern], measured | launched)
        # Where calls were not recorded, a pattern can fit what nobody knows of.
        known = bool(launched) or pattern in measured or not set("*?[") & set(pattern)
        return [kernel for kernel in named if kernel in measured], known and set(named) <= measured

    def _chosen_lines(self) -> tuple[str | None, int | None]:
        """The file, and the number of the line in it."""
        line, file = self._quantity.get("line"), self._quantity.get("file")
        sites = self._whole.sites
        if line is None:
            return None if file is None else names.file_of(sites["file"], file), None
        if file is not None:
            raise UsageError(f"{self._quantity.text} names a file twice", 'say it once, as in line="halo.cu:42"')
        return names.line_of(sites, line)

    # What there is of it

    @cached_property
    def _view(self) -> Trace:
        return self._select(self._owner)

    def _select(self, owner: int | None) -> Trace:
        return self._whole.select(
            kernels=self._kernels,
            operations=self._quantity.get("operation"),
            issuers=self._issuer,
            owners=owner,
            files=self._file,
            processes=self._processes,
        )

    def _traffic(self, view: Trace) -> pd.DataFrame:
        """The accesses of a view, at the line in question."""
        if self._line is None:
            return view._sums("site", *PAIR)
        traffic = view._sums("site", "line", *PAIR)
        return traffic[traffic["line"] == self._line]

    def _accesses(self) -> int:
        traffic = self._traffic(self._view)
        if self._from is not None or self._to is not None:
            traffic = _counts.directed(traffic, "flow")
            traffic = _at(_at(traffic, "from", self._from), "to", self._to)
        return _counts.totals(traffic)[self._quantity.name]

    def _copied(self) -> int:
        copies = _at(_at(self._view.copies, "source", self._from), "destination", self._to)
        return len(copies) if self._quantity.name == "copies" else int(copies["bytes"].sum())

    def _launches(self) -> Fraction:
        if self._quantity.name == "kernels":
            return Fraction(int(self._view.launches["kernel"].nunique()))
        launches = self._view._weighted_launches
        # What the launches of a kernel stand for adds up to a whole number.
        return Fraction(round(launches["weight"].sum()) if "weight" in launches else len(launches))

    def _pairs(self) -> Pairs:
        """Pairs of GPUs, by their labels; what goes to a multicast object goes to all its GPUs."""
        reading: Reading = "flow" if self._quantity.get("reading") else "issued"
        found: set[tuple[int, int]] = set()
        if self._by_kernels:
            found |= _ends_of(_counts.directed(self._traffic(self._view), reading), *ends(reading))
        if self._by_host:
            found |= _ends_of(_copies.directed(self._view.copies, "flow"), "from", "to")
        gpus = [(self._gpus(first), self._gpus(second)) for first, second in found]
        return frozenset((first, second) for froms, tos in gpus for first in froms for second in tos if first != second)

    def _gpus(self, place: int) -> list[str]:
        """The labels of the GPUs of a place."""
        if place >= 0:
            return [self._whole.label(place)]
        sets = self._whole.sets
        return str(sets["gpus"].loc[place]).split(", ") if place in sets.index else []

    # What was not counted

    def _gaps(self) -> list[str]:
        name, tables = self._quantity.name, self._whole._tables
        accesses = name in (*grammar.ACCESSES, grammar.PAIRS) and self._by_kernels
        processes, launches = self._processes, name in grammar.LAUNCHES
        gaps = losses.gaps(tables, self._kernels, processes, accesses, launches, all_measured=self._all_measured)
        named = {place for place in (self._owner, self._from, self._to) if place is not None}
        whose = bool(named - {UNKNOWN}) or name == grammar.PAIRS
        if accesses:
            gaps += losses.host_left_out(tables, processes) if HOST in named else []
            ran = losses.that_ran(self._view.not_measured())
            gaps += losses.unmeasured_in_words(ran if self._line is None else ran[ran["line"] == self._line])
            moved = self._traffic(self._select(None))
            gaps += losses.unknown_owners_in_words(moved) if whose else []
            gaps += losses.unknown_widths_in_words(tables, moved) if "bytes" in name else []
            gaps += self._unnamed_members(moved) if name == grammar.PAIRS else []
        if self._by_host and whose:
            gaps += losses.unknown_ends_in_words((self._view if self._owner is None else self._whole)._copied.unknown)
        return gaps

    def _unnamed_members(self, moved: pd.DataFrame) -> list[str]:
        """A sentence where it is not known which GPUs a multicast object has."""
        sets = self._whole.sets
        used = sets[sets.index.isin(moved["owner"].unique()) & sets["others"].to_numpy(bool)]
        return [f"{label} has GPUs that other processes added, which are not known." for label in used["label"]]


def _at(table: pd.DataFrame, column: str, place: int | None) -> pd.DataFrame:
    return table if place is None else table[table[column] == place]


def _ends_of(moved: pd.DataFrame, first: str, second: str) -> set[tuple[int, int]]:
    """Where anything was moved, if only empty accesses: pairs of places."""
    return set(zip(moved[first].tolist(), moved[second].tolist(), strict=True))
