"""Tokens → the tree of an expectation, by recursive descent.

expectation = conjunction {"or" conjunction}
conjunction = negation {"and" negation}
negation    = "not" negation | comparison
comparison  = sum {("==" | "!=" | "<" | "<=" | ">" | ">=") sum}
sum         = product {("+" | "-") product} ["±" product]
product     = factor {("*" | "/") factor}
factor      = "-" factor | number | name | quantity | pairs | "approx" "(" sum "," sum ")" | "(" expectation ")"
quantity    = word ["(" [selector {"," selector}] ")"]
selector    = place "->" place | key "=" value | flag
pairs       = "{" [place "->" place {"," place "->" place}] "}" | ("ring" | "all" | "none") ["(" GPUs ")"]
place       = ["GPU"] number | "host" | "unknown" | "multicast" number | "any" | text
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from snoopie.analysis.expectations.tokens import Token, tokens
from snoopie.errors import UsageError

MOST_DEPTH = 40
# Each is a step deeper where it is computed.
MOST_SIGNS = 100

_T = TypeVar("_T")

# Amounts of accesses, and what else can be counted.
ACCESSES = ("bytes", "wire_bytes", "wire_units", "accesses", "lanes")
LAUNCHES = ("launches", "kernels")
COPIES = ("copies", "copy_bytes")
PAIRS = "pairs"
QUANTITIES = (*ACCESSES, *LAUNCHES, *COPIES, PAIRS)
OPERATIONS = ("load", "store", "atomic", "reduction")
SHAPES = ("ring", "all", "none")
KEYS = ("issuer", "owner", "from", "to", "kernel", "file", "line", "operation", "process", "rank", "initiated")
# A flag stands for a key and its value.
FLAGS = {"copied": ("initiated", "host"), "flow": ("reading", "flow")} | {
    name: ("operation", name) for name in OPERATIONS
}
_PLACES = ("issuer", "owner", "from", "to")
_WORDS = ("host", "unknown", "any")
RESERVED = frozenset((*QUANTITIES, *SHAPES, *FLAGS, *KEYS, *_WORDS, "and", "or", "not", "approx", "GPU", "multicast"))
COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expectation, and how it was written."""

    text: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Number(Node):
    value: Fraction
    share: bool = False


@dataclass(frozen=True, slots=True)
class Name(Node):
    """What --let or a keyword argument gives."""

    name: str


@dataclass(frozen=True, slots=True)
class Quantity(Node):
    """What is counted, and of what: ``selectors`` are pairs of a key and its value, each key once."""

    name: str
    selectors: tuple[tuple[str, str], ...] = ()

    def get(self, key: str) -> str | None:
        return dict(self.selectors).get(key)


@dataclass(frozen=True, slots=True)
class PairSet(Node):
    """Pairs that are written out, by the names of places."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Shape(Node):
    """ring, all or none, of the GPUs that are named, or of all."""

    name: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    sign: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Approx(Node):
    """A value, and by how much another may differ: an amount, or, if ``share``, a part of the value."""

    value: Node
    tolerance: Node
    share: bool


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """Neighbours of ``sides`` are compared by ``signs``, as in a <= b <= c."""

    sides: tuple[Node, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """``word`` is and, or, not."""

    word: str
    parts: tuple[Node, ...]


def parse(text: str) -> Node:
    """An expectation. UsageError for what is none."""
    parser = _Parser(text)
    tree = parser.expectation()
    parser.end()
    if not isinstance(tree, (Comparison, Logic)):
        raise UsageError(f"{text} says nothing that can hold or not", f"compare it, as in {text.strip()} == 0")
    return tree


def parse_number(text: str) -> Node:
    """A number, or a sum or product of some, as --let takes it. UsageError for what is none."""
    parser = _Parser(text)
    tree = parser.sum()
    parser.end()
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._at = 0
        self._depth = 0
        self._signs = 0

    # The grammar, one method a rule

    def expectation(self) -> Node:
        return self._joined("or", self._conjunction)

    def _conjunction(self) -> Node:
        return self._joined("and", self._negation)

    def _joined(self, word: str, rule: Callable[[], Node]) -> Node:
        start = self._now.start
        parts = [rule()]
        while self._take(word, "name"):
            parts.append(rule())
        if len(parts) == 1:
            return parts[0]
        for part in parts:
            self._decides(part)
        return Logic(self._since(start), word, tuple(parts))

    def _negation(self) -> Node:
        start = self._now.start
        if self._take("not", "name"):
            with_not = self._deeper(self._negation)
            self._decides(with_not)
            return Logic(self._since(start), "not", (with_not,))
        return self._comparison()

    def _comparison(self) -> Node:
        start = self._now.start
        sides, signs = [self.sum()], []
        while self._now.kind == "sign" and self._now.text in COMPARISONS:
            signs.append(self._next().text)
            sides.append(self.sum())
        if not signs:
            return sides[0]
        for side in sides:
            self._counts(side)
        if any(isinstance(side, Approx) for side in sides) and set(signs) - {"==", "!="}:
            raise UsageError(f"{self._since(start)} compares a tolerance", "use == or != beside approx or ±")
        return Comparison(self._since(start), tuple(sides), tuple(signs))

    def sum(self) -> Node:
        start = self._now.start
        node = self._product()
        while self._now.kind == "sign" and self._now.text in ("+", "-"):
            sign = self._next().text
            node = self._arithmetic(start, sign, node, self._product())
        if self._take("±"):
            return self._approx(start, node, self._product())
        return node

    def _product(self) -> Node:
        start = self._now.start
        node = self._factor()
        while self._now.kind == "sign" and self._now.text in ("*", "/"):
            sign = self._next().text
            node = self._arithmetic(start, sign, node, self._factor())
        return node

    def _factor(self) -> Node:
        start = self._now.start
        token = self._next()
        if token.kind in ("number", "percent"):
            return Number(self._since(start), token.number, token.kind == "percent")
        if token.kind == "sign" and token.text == "-":
            return self._arithmetic(start, "-", Number("0", Fraction(0)), self._deeper(self._factor))
        if token.kind == "sign" and token.text == "(":
            node = self._deeper(self.expectation)
            self._expect(")")
            return node
        if token.kind == "sign" and token.text == "{":
            return self._pair_set(start)
        if token.kind == "name":
            return self._named(start, token.text)
        raise self._wrong(token)

    def _named(self, start: int, name: str) -> Node:
        if name == "approx":
            self._expect("(")
            value = self._deeper(self.sum)
            self._expect(",")
            tolerance = self._deeper(self.sum)
            self._expect(")")
            return self._approx(start, value, tolerance)
        if name in SHAPES:
            places = self._listed(self._place) if self._take("(") else []
            return Shape(self._since(start), name, tuple(places))
        if name in QUANTITIES:
            selectors = self._listed(self._selector) if self._take("(") else []
            every = [pair for some in selectors for pair in some]
            if twice := [key for number, (key, _) in enumerate(every) if key in dict(every[:number])]:
                raise UsageError(f"{self._since(start)} says twice what {twice[0]} is", "say it once")
            return Quantity(self._since(start), name, tuple(sorted(every)))
        if name in RESERVED or (self._now.kind == "sign" and self._now.text == "("):
            raise UsageError(f"there is no quantity {name}", f"use one of {', '.join(QUANTITIES)}")
        return Name(name, name)

    def _listed(self, rule: Callable[[], _T]) -> list[_T]:
        """What stands in brackets, of which one is open, divided by commas."""
        found: list[_T] = []
        while not self._take(")"):
            if found:
                self._expect(",")
            found.append(rule())
        return found

    def _pair_set(self, start: int) -> PairSet:
        pairs: list[tuple[str, str]] = []
        while not self._take("}"):
            if pairs:
                self._expect(",")
            first = self._place()
            self._expect("->")
            pairs.append((first, self._place()))
        return PairSet(self._since(start), tuple(pairs))

    def _selector(self) -> list[tuple[str, str]]:
        token, after = self._now, self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        if token.kind == "name" and after.kind == "sign" and after.text == "=":
            if token.text not in KEYS:
                raise UsageError(f"traffic cannot be chosen by {token.text}", f"use one of {', '.join(KEYS)}")
            self._next(), self._next()
            return [(token.text, self._place() if token.text in _PLACES else self._value())]
        if token.kind == "name" and token.text in FLAGS:
            return [FLAGS[self._next().text]]
        first = self._place()
        self._expect("->")
        return [("arrow from", first), ("arrow to", self._place())]

    def _value(self) -> str:
        token = self._next()
        if token.kind == "name" or token.kind == "text" or token.kind == "number":
            return token.text
        raise self._wrong(token)

    def _place(self) -> str:
        token = self._next()
        if token.kind == "name" and token.text in ("GPU", "multicast") and self._now.kind == "number":
            return f"{token.text} {self._next().text}"
        if token.kind == "number":
            return f"GPU {token.text}"
        if token.kind == "text" or (token.kind == "name" and token.text in _WORDS):
            return token.text
        raise UsageError(
            f"{token.text or 'the end'} is no place in {self._text}",
            "write GPU 0, 0, host, unknown, multicast 0 or any",
        )

    # What may stand where

    def _arithmetic(self, start: int, sign: str, left: Node, right: Node) -> Node:
        for side in (left, right):
            if not isinstance(side, (Number, Name, Quantity, Arithmetic)) or _is_pairs(side):
                raise UsageError(f"{side.text} cannot be part of a sum or product", "use numbers and quantities")
        self._signs += 1
        if self._signs > MOST_SIGNS:
            raise UsageError(f"an expectation has more than {MOST_SIGNS} sums and products", "divide it")
        return Arithmetic(self._since(start), sign, left, right)

    def _approx(self, start: int, value: Node, tolerance: Node) -> Node:
        for side in (value, tolerance):
            if not isinstance(side, (Number, Name, Quantity, Arithmetic)) or _is_pairs(side):
                raise UsageError(f"{side.text} has no tolerance", "use numbers and quantities")
        return Approx(self._since(start), value, tolerance, isinstance(tolerance, Number) and tolerance.share)

    def _decides(self, node: Node) -> None:
        if not isinstance(node, (Comparison, Logic)):
            raise UsageError(f"{node.text} says nothing that can hold or not", f"compare it, as in {node.text} == 0")

    def _counts(self, node: Node) -> None:
        if isinstance(node, (Comparison, Logic)):
            raise UsageError(f"{node.text} is no amount", "compare amounts, and join comparisons with and, or, not")

    # Tokens

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._now
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _take(self, text: str, kind: str = "sign") -> bool:
        if self._now.kind != kind or self._now.text != text:
            return False
        self._next()
        return True

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise UsageError(
                f"{self._now.text or 'the end'} stands where {text} is needed in {self._text}",
                "docs/expect.md describes the language",
            )

    def end(self) -> None:
        if self._now.kind != "end":
            raise self._wrong(self._now)

    def _wrong(self, token: Token) -> UsageError:
        what = token.text or "an end"
        return UsageError(f"{what} cannot stand there in {self._text}", "docs/expect.md describes the language")

    def _since(self, start: int) -> str:
        return self._text[start : self._tokens[self._at - 1].end] if self._at else ""

    def _deeper(self, rule: Callable[[], _T]) -> _T:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise UsageError(f"an expectation is more than {MOST_DEPTH} brackets deep", "divide it")
        try:
            return rule()
        finally:
            self._depth -= 1


def _is_pairs(node: Node) -> bool:
    return isinstance(node, Quantity) and node.name == PAIRS
