"""Values at which code goes wrong: what mutators put in the place of others."""

from __future__ import annotations

from random import Random

from tests.support.encoder import START_NS

NUMBERS = (
    *(0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 127, 128, 253, 254, 255, 256, 1000, 4096, 65535, 65536, 1 << 20, 1 << 26),
    *((1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 53) + 1, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1),
    *(-1, -(1 << 31), -(1 << 63), START_NS, START_NS - 1, START_NS + (1 << 40)),
)
TEXTS = (
    *(
        "",
        " ",
        "\0",
        "\n",
        "\r\n",
        "\t",
        ",",
        ";",
        ":",
        '"',
        "'",
        "%",
        "\\",
        "/",
        "..",
        "%s",
        "{}",
        "$",
        "=1+1",
        "-",
        "é",
    ),
    *("\N{RIGHT-TO-LEFT OVERRIDE}", "\N{ZERO WIDTH NO-BREAK SPACE}", "\ud800", "\N{GRINNING FACE}", "a" * 70_000),
    *(
        "<b>&amp;",
        "((((",
        "))))",
        "<<<<<",
        ">>>>",
        "a::" * 50,
        "a<" * 200,
        "[]" * 50,
        "/x" * 200,
        "nan",
        "inf",
        "1e999",
    ),
    *("0x", "-0", "+1", "1_000", "٣", "²", "9" * 25, "0" * 5000, "true", "null", "None", "cudaMalloc", "STG.E.128"),
)


def near(number: int, random: Random) -> int:
    """Another number: a notorious one, a neighbour, or one with a bit turned over."""
    way = random.randrange(4)
    if way == 0:
        return number + random.choice((-1, 1))
    if way == 1:
        return number ^ 1 << random.randrange(64)
    return random.choice(NUMBERS)
