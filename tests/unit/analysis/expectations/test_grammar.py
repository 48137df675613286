"""What is an expectation, and what is refused in one sentence."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snoopie.analysis.expectations.grammar import RESERVED, Comparison, Logic, Number, Quantity, parse, parse_number
from snoopie.analysis.expectations.judge import let, named_number
from snoopie.analysis.expectations.tokens import MOST_LETTERS, UNITS
from snoopie.errors import UsageError


def quantity(text: str) -> dict[str, str]:
    tree = parse(f"{text} == 0")
    assert isinstance(tree, Comparison)
    side = tree.sides[0]
    assert isinstance(side, Quantity)
    assert side.text == text
    return dict(side.selectors)


def test_selectors() -> None:
    assert quantity("bytes") == quantity("bytes()") == {}
    assert quantity("bytes(GPU 0 -> GPU 1)") == {"arrow from": "GPU 0", "arrow to": "GPU 1"}
    assert quantity("bytes(0→host)") == {"arrow from": "GPU 0", "arrow to": "host"}
    assert quantity('lanes(line="a/b.cu:4", issuer=2)') == {"line": "a/b.cu:4", "issuer": "GPU 2"}
    assert quantity("accesses(store, kernel='k<\"a\">(int)')") == {"operation": "store", "kernel": 'k<"a">(int)'}
    assert quantity("bytes(copied, from=multicast 1, rank=3)") == {
        "initiated": "host",
        "from": "multicast 1",
        "rank": "3",
    }
    # The order in which they are written does not matter.
    assert parse("bytes(rank=1, store) == 0") == parse("bytes(store,rank=1)==0")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("1_000", 1000),
        ("1.5", Fraction(3, 2)),
        ("2e3", 2000),
        ("4 KiB", 4096),
        ("1GB", 10**9),
        ("0.1 GiB", Fraction(1, 10) * 2**30),
        ("50%", Fraction(1, 2)),
    ],
)
def test_numbers(text: str, value: Fraction) -> None:
    number = parse_number(text)
    assert isinstance(number, Number)
    assert number.value == value


def test_what_binds_stronger() -> None:
    tree = parse("not bytes == 1 and lanes == 2 or copies == 3")
    assert isinstance(tree, Logic) and tree.word == "or"
    first = tree.parts[0]
    assert isinstance(first, Logic) and first.word == "and"
    assert [part.text for part in first.parts] == ["not bytes == 1", "lanes == 2"]
    assert let(["A=2+3*4-6/2", "B=(2+3)*4", "C=-A"]) == {"A": 11, "B": 20, "C": -11}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "an end cannot stand there"),
        ("bytes", "says nothing that can hold or not; compare it, as in bytes == 0"),
        ("bytes =", "= cannot stand there"),
        ("bytes == 5 6", "6 cannot stand there"),
        ("bytes(GPU 0 ->) == 5", r"\) is no place"),
        ("bytes(GPU 0) == 5", r"\) stands where -> is needed"),
        ("bytes(colour=5) == 5", "traffic cannot be chosen by colour; use one of issuer, "),
        ("bytes(rank=1, rank=2) == 5", "says twice what rank is"),
        ("octets(GPU 0 -> GPU 1) == 5", "there is no quantity octets; use one of bytes, "),
        ("__import__('os') == 5", "there is no quantity __import__"),
        ("bytes.real == 5", r"\. cannot be read"),
        ("bytes == 2 ** 9", r"\* cannot stand there"),
        ("bytes == 1; 1", "; cannot be read"),
        ("bytes == lambda", None),
        ("pairs + 1 == ring", "pairs cannot be part of a sum"),
        ("(bytes == 1) + 1 == 2", "bytes == 1 cannot be part of a sum"),
        ("(bytes == 1) == 1", "bytes == 1 is no amount"),
        ("bytes and lanes == 1", "bytes says nothing"),
        ("bytes < 5 ± 1", "compares a tolerance; use == or !="),
        ("pairs == ring ± 1%", "ring has no tolerance"),
        ("ring == 5", None),
        ("(" * 60 + "1" + ")" * 60 + " == 1", "more than 40 brackets deep"),
        ("not " * 60 + "bytes == 1", "more than 40 brackets deep"),
        ("-" * 60 + "1 == 1", "more than 40 brackets deep"),
        ("+".join("1" * 200) + " == 1", "more than 100 sums"),
        (" " * MOST_LETTERS + "bytes == 0", "letters; use at most"),
        ("bytes == " + "9" * 99, "cannot stand there"),
    ],
)
def test_what_is_refused(text: str, sentence: str | None) -> None:
    if sentence is None:
        # It can be read, and only a trace says that it is wrong.
        parse(text)
        return
    with pytest.raises(UsageError, match=sentence) as error:
        parse(text)
    assert "\n" not in str(error.value)


WORDS = [*RESERVED, *UNITS, "GPU 0", "0", "1.5", "->", "==", "<", "(", ")", "{", "}", ",", "=", "%", "±", "*", "'a'"]


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(sorted(WORDS)), max_size=30).map(" ".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        tree = parse(text)
    except UsageError:
        return
    assert isinstance(tree, (Comparison, Logic))


def test_names() -> None:
    assert named_number("N", 4096) == 4096
    assert named_number("x_1", 0.5) == Fraction(1, 2)
    for name in ("bytes", "GPU", "and", "1x", "a-b", "", "é"):
        with pytest.raises(UsageError, match="cannot be the name of a number"):
            named_number(name, 1)
    for value in ("4", True, None, float("nan"), float("inf"), [1], 10**400):
        with pytest.raises(UsageError, match=r"N cannot be|too large"):
            named_number("N", value)
    for text, sentence in (("N", "gives no name"), ("N=", "an end cannot"), ("N=M", "nothing says what M is"),
                           ("N=bytes", "bytes is no number"), ("N=1/0", "divides by 0")):  # fmt: skip
        with pytest.raises(UsageError, match=sentence):
            let([text])


@pytest.mark.parametrize("document", ["docs/expect.md", "docs/commands.md"])
def test_what_the_documents_show_can_be_read(document: str) -> None:
    text = (Path(__file__).parents[4] / document).read_text("utf-8")
    commands = re.findall(r"^ {4}snoopie expect .*|`snoopie expect [^`]*`", text, re.MULTILINE)
    shown = [expectation for command in commands for expectation in re.findall(r"'([^']*)'", command)]
    assert shown
    # In the tables of the language.
    code = [one for line in text.splitlines() if line.startswith("|") for one in re.findall(r"`([^`]*)`", line)]
    for expectation in shown + [one for one in code if re.match(r"[^ ]+ (==|<=) \w", one) and "snoopie" not in one]:
        parse(expectation)
