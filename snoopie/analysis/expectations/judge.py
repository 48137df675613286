"""The tree of an expectation → whether it holds, with exact arithmetic on fractions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from snoopie.analysis.expectations import grammar
from snoopie.analysis.expectations.grammar import Node, Quantity
from snoopie.analysis.expectations.verdict import (
    Amount,
    Outcome,
    Pairs,
    Value,
    Verdict,
    Verdicts,
    pairs_in_words,
)
from snoopie.errors import UsageError

# Of a numerator or denominator; all that can be counted has less than 64.
_MOST_BITS = 1024
_COMPARE: Mapping[str, Callable[[Value, Value], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Measured:
    """What a trace has of a quantity. ``gaps``: sentences on what was not counted of it."""

    value: Value
    estimated: bool = False
    gaps: tuple[str, ...] = ()


class Facts(Protocol):
    """What expectations are judged by. UsageError for names of what cannot be in the trace."""

    def measure(self, quantity: Quantity) -> Measured: ...

    def place(self, name: str) -> str:
        """The label of a place."""
        ...

    def gpus(self) -> list[str]:
        """The labels of the GPUs that the program used, in their order."""
        ...


def judged(expressions: Iterable[str], facts: Facts, names: Mapping[str, object], *, allow_gaps: bool) -> Verdicts:
    """All expectations; one that is wrong in itself has the outcome "error", and says why."""
    known = {name: named_number(name, value) for name, value in names.items()}
    return Verdicts(tuple(_verdict(text, facts, known, allow_gaps) for text in expressions))


def named_number(name: str, value: object) -> Fraction:
    """The number that a name stands for. UsageError for a name or a value that cannot be."""
    if name in grammar.RESERVED or not name.isidentifier() or not name.isascii():
        raise UsageError(f"{name} cannot be the name of a number", "take a word that the language does not use")
    # A number of numpy becomes one of Python.
    plain = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
    try:
        if isinstance(plain, (int, float, Fraction, Decimal)) and not isinstance(plain, bool):
            return _bounded(Fraction(plain))
    except (ValueError, OverflowError):
        pass
    raise UsageError(f"{name} cannot be {value!r}", "give a number")


def let(texts: Iterable[str]) -> dict[str, object]:
    """The names of "N=4096", "SIZE=2*1MiB", …; a later one may use those before it."""
    names: dict[str, object] = {}
    for text in texts:
        name, equals, number = text.partition("=")
        if not equals:
            raise UsageError(f"{text} gives no name a number", "use NAME=NUMBER, as in N=4096")
        known = {key: named_number(key, value) for key, value in names.items()}
        name = name.strip()
        names[name] = named_number(name, _Judge(_NOTHING, known).number(grammar.parse_number(number)))
    return names


def _verdict(text: str, facts: Facts, names: Mapping[str, Fraction], allow_gaps: bool) -> Verdict:
    judge = _Judge(facts, names)
    try:
        holds = judge.holds(grammar.parse(text))
    except UsageError as error:
        return Verdict(text, "error", tuple(judge.amounts.values()), notes=(str(error),))
    gaps = tuple(dict.fromkeys(judge.gaps))
    outcome: Outcome = "fails" if not holds else "not covered" if gaps and not allow_gaps else "holds"
    return Verdict(text, outcome, tuple(judge.amounts.values()), gaps, tuple(dict.fromkeys(judge.notes)))


class _Undefined(UsageError):
    """A number that does not exist, such as 1 / 0."""


@dataclass(frozen=True, slots=True)
class _About:
    """A number with its tolerance."""

    value: Fraction
    tolerance: Fraction


class _Judge:
    def __init__(self, facts: Facts, names: Mapping[str, Fraction]) -> None:
        self._facts = facts
        self._names = names
        self.amounts: dict[str, Amount] = {}
        self.gaps: list[str] = []
        self.notes: list[str] = []

    def holds(self, node: Node) -> bool | None:
        """None where a number does not exist. All parts are looked at, so that all numbers can be shown."""
        if isinstance(node, grammar.Logic):
            parts = [self.holds(part) for part in node.parts]
            if node.word == "not":
                return None if parts[0] is None else not parts[0]
            deciding = node.word == "or"
            return deciding if deciding in parts else None if None in parts else not deciding
        assert isinstance(node, grammar.Comparison)
        try:
            sides = [self._side(side) for side in node.sides]
            return all(
                self._compare(sign, left, right)
                for sign, left, right in zip(node.signs, sides, sides[1:], strict=False)
            )
        except _Undefined as error:
            self.notes.append(error.problem)
            return None

    def number(self, node: Node) -> Fraction:
        """The value of a node that is a number. UsageError where it is none."""
        value = self._value(node)
        if not isinstance(value, Fraction):
            raise UsageError(f"{node.text} is no number", "use numbers and quantities")
        return value

    def _side(self, node: Node) -> Value | _About:
        """A side of a comparison, whose value is shown."""
        if isinstance(node, grammar.Approx):
            value, tolerance = self._shown(node.value), self.number(node.tolerance)
            assert isinstance(value, Fraction)
            if tolerance < 0:
                raise UsageError(f"{node.tolerance.text} is below 0", "give a tolerance of 0 or more")
            return _About(value, _bounded(abs(value) * tolerance) if node.share else tolerance)
        return self._shown(node)

    def _shown(self, node: Node) -> Value:
        value = self._value(node)
        if not isinstance(node, (grammar.Number, grammar.Quantity, grammar.PairSet)):
            what = " ".join(amount.what for amount in self.amounts.values())
            self.amounts.setdefault(node.text, Amount(node.text, value, "bytes" if "bytes" in what else ""))
        return value

    def _value(self, node: Node) -> Value:
        match node:
            case grammar.Number():
                return node.value
            case grammar.Name():
                if node.name not in self._names:
                    raise UsageError(
                        f"nothing says what {node.name} is",
                        f"give it, as in --let {node.name}=4096 or {node.name}=4096",
                    )
                return self._names[node.name]
            case grammar.Quantity():
                return self._measured(node)
            case grammar.PairSet():
                places = self._facts.place
                return frozenset((places(first), places(second)) for first, second in node.pairs)
            case grammar.Shape():
                return self._shape(node)
            case grammar.Arithmetic():
                return self._arithmetic(node)
        raise UsageError(f"{node.text} is no amount", "use numbers and quantities")

    def _measured(self, quantity: Quantity) -> Value:
        measured = self._facts.measure(quantity)
        self.amounts.setdefault(quantity.text, Amount(quantity.text, measured.value, quantity.name, measured.estimated))
        self.gaps += measured.gaps
        return measured.value

    def _arithmetic(self, node: grammar.Arithmetic) -> Fraction:
        left, right = self.number(node.left), self.number(node.right)
        if node.sign == "/" and right == 0:
            raise _Undefined(f"{node.text} divides by 0")
        compute = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[node.sign]
        return _bounded(compute(left, right))

    def _shape(self, node: grammar.Shape) -> Pairs:
        places = [self._facts.place(name) for name in node.places] or self._facts.gpus()
        if node.name == "none":
            return frozenset()
        if len(places) < 2 or len(set(places)) < len(places):
            raise UsageError(f"{node.text} needs at least two GPUs, each once", "name them, as in ring(0, 1, 2)")
        if node.name == "ring":
            return frozenset(zip(places, [*places[1:], places[0]], strict=True))
        return frozenset((first, second) for first in places for second in places if first != second)

    def _compare(self, sign: str, left: Value | _About, right: Value | _About) -> bool:
        if isinstance(left, _About):
            left, right = right, left
        if isinstance(right, _About):
            if not isinstance(left, Fraction):
                raise UsageError("only a number can be compared with a tolerance", "give approx on one side alone")
            near = abs(left - right.value) <= right.tolerance
            return near == (sign == "==")
        assert not isinstance(left, _About)
        if isinstance(left, Fraction) is not isinstance(right, Fraction):
            raise UsageError("pairs cannot be compared with a number", "use pairs == ring, all, none or {0->1, 1->0}")
        holds = _COMPARE[sign](left, right)
        if not holds and not isinstance(left, Fraction) and not isinstance(right, Fraction):
            self._differ(left, right)
        return holds

    def _differ(self, left: Pairs, right: Pairs) -> None:
        for these, those, side in ((left, right, "left"), (right, left, "right")):
            if these - those:
                self.notes.append(f"only on the {side}: {pairs_in_words(these - those)}")


class _Nothing:
    """Facts of no trace, for numbers alone."""

    def measure(self, quantity: Quantity) -> Measured:
        raise UsageError(f"{quantity.text} is no number", "give a number")

    def place(self, name: str) -> str:
        raise UsageError(f"{name} is no number", "give a number")

    def gpus(self) -> list[str]:
        raise UsageError("GPUs are no number", "give a number")


_NOTHING = _Nothing()


def _bounded(number: Fraction) -> Fraction:
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MOST_BITS:
        raise UsageError("a number of an expectation is too large", "use smaller ones")
    return number
