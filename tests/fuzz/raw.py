"""Mutations of bytes of which nothing is known, and of lines of text."""

from __future__ import annotations

import re
from random import Random

from tests.fuzz.numbers import NUMBERS, TEXTS, near

_NUMBER = re.compile(rb"-?\d{1,20}")
_WORD = re.compile(rb"[A-Za-z_]+")
# A file grows no further.
MOST = 1 << 20


def mutate(data: bytes, random: Random) -> bytes:
    """Some bytes turned over, written over, taken out, put in, or put elsewhere."""
    way = random.randrange(7)
    start = random.randrange(len(data) + 1)
    end = min(len(data), start + random.choice((1, 1, 2, 4, 8, 40, 300)))
    part = data[start:end]
    if way == 0 and part:
        return data[:start] + bytes([part[0] ^ 1 << random.randrange(8)]) + data[start + 1 :]
    if way == 1:
        return data[:start] + data[end:]
    if way == 2:
        return data[:start]
    if way == 3 and len(data) < MOST:
        return data[:end] + part * random.choice((1, 2, 50)) + data[end:]
    if way == 4:
        size = random.choice((1, 2, 4, 8))
        number = random.choice(NUMBERS) % (1 << 8 * size)
        return data[:start] + number.to_bytes(size, "little") + data[start + size :]
    if way == 5:
        place = random.randrange(len(data) + 1)
        return data[:place] + part + data[place + len(part) :]
    return data[:start] + random.randbytes(len(part)) + data[end:]


def mutate_text(data: bytes, random: Random) -> bytes:
    """A number, a word or a line changed; now and then bytes."""
    way = random.randrange(10)
    if way == 0:
        return mutate(data, random)
    if way <= 3:
        return _replaced(data, _NUMBER, random, lambda number: str(near(int(number), random)).encode())
    if way <= 5:
        return _replaced(data, _WORD, random, lambda word: _text(random) if random.random() < 0.5 else word[::-1])
    if way == 6:
        place = random.randrange(len(data) + 1)
        return data[:place] + _text(random) + data[place:]
    lines = data.splitlines(keepends=True)
    if not lines or len(data) > MOST:
        return data[: len(data) // 2]
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    if way == 7:
        del lines[one]
    elif way == 8:
        lines[other:other] = [lines[one]] * random.choice((1, 1, 2, 30))
    else:
        # Fields of one line in another.
        cut = random.choice((b",", b" ", b":", b";"))
        fields, others = lines[one].split(cut), lines[other].split(cut)
        fields[random.randrange(len(fields))] = random.choice(others)
        lines[one] = cut.join(fields)
    return b"".join(lines)


def _text(random: Random) -> bytes:
    return random.choice(TEXTS).encode("utf-8", "surrogatepass")


def _replaced(data: bytes, what: re.Pattern[bytes], random: Random, new: object) -> bytes:
    found = list(what.finditer(data))
    if not found:
        return mutate(data, random)
    one = random.choice(found)
    assert callable(new)
    return data[: one.start()] + new(one[0]) + data[one.end() :]
