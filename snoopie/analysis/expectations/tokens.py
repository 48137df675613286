"""Text → tokens of an expectation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from snoopie.errors import UsageError

# What anybody would write by hand is far below; what is above is refused before it costs time.
MOST_LETTERS = 4000

UNITS = {"B": 1, "kB": 1000, "KB": 1000}
UNITS |= {f"{prefix}B": 1000**power for power, prefix in enumerate("MGTP", start=2)}
UNITS |= {f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGTP", start=1)}

Kind = Literal["number", "percent", "name", "text", "sign", "end"]
_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>\d[\d_]{0,40}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?)
      | (?P<name>[^\W\d]\w*)
      | "(?P<double>[^"]*)" | '(?P<single>[^']*)'
      | (?P<sign>->|→|==|!=|<=|>=|\+-|[-±+*/<>=(){},%])""",
    re.VERBOSE | re.ASCII,
)
_SPELLINGS = {"→": "->", "+-": "±"}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text, from ``start`` to before ``end``. ``number``: of numbers, with their unit or share."""

    kind: Kind
    text: str
    start: int
    end: int
    number: Fraction = Fraction(0)


def tokens(text: str) -> list[Token]:
    """The tokens of an expectation, the last of the kind "end". UsageError for what can be none."""
    if len(text) > MOST_LETTERS:
        raise UsageError(f"an expectation has {len(text):,} letters", f"use at most {MOST_LETTERS:,}")
    found: list[Token] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise UsageError(f"{text[place]} cannot be read in {text}", "docs/expect.md describes the language")
        token = _token(match)
        place = match.end()
        if token is None:
            continue
        before = found[-1] if found else None
        if before is not None and before.kind == "number" and token.text in UNITS and token.kind == "name":
            amount = before.number * UNITS[token.text]
            found[-1] = Token("number", text[before.start : token.end], before.start, token.end, amount)
        elif before is not None and before.kind == "number" and token.text == "%":
            found[-1] = Token("percent", before.text + "%", before.start, token.end, before.number / 100)
        else:
            found.append(token)
    return [*found, Token("end", "", len(text), len(text))]


def _token(match: re.Match[str]) -> Token | None:
    kind = match.lastgroup
    start, end, whole = match.start(), match.end(), match[0]
    if kind == "space":
        return None
    if kind == "number":
        return Token("number", whole, start, end, Fraction(whole.replace("_", "")))
    if kind == "name":
        return Token("name", whole, start, end)
    if kind == "sign":
        return Token("sign", _SPELLINGS.get(whole, whole), start, end)
    return Token("text", whole[1:-1], start, end)
