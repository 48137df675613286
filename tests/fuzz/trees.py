"""Mutations of JSON: of what is in it, not of its letters."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.fuzz import raw
from tests.fuzz.numbers import NUMBERS, TEXTS, near


def mutate_json(data: bytes, random: Random) -> bytes:
    """Another document: a member changed, taken out, put elsewhere, said twice, or nested; now and then its letters."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return raw.mutate_text(data, random)
    if random.random() < 0.1:
        return raw.mutate_text(data, random)
    return written(changed(tree, random))


def mutate_json_lines(data: bytes, random: Random) -> bytes:
    """Another text of documents, one a line: a line changed, or a copy of it at another's place or before it."""
    lines = data.split(b"\n")
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    way = random.random()
    if way < 0.8:
        lines[at] = mutate_json(lines[at], random)
    elif way < 0.9:
        lines[at] = lines[other]
    else:
        lines.insert(at, lines[other])
    return b"\n".join(lines)


def written(tree: Any) -> bytes:
    """As JSON, whatever is in it."""
    return json.dumps(tree).encode()


def changed(tree: Any, random: Random) -> Any:
    """The tree with one change, at a place below it."""
    holders = list(_holders(tree))
    if not holders:
        return _other(tree, random)
    holder, key = random.choice(holders)
    way = random.randrange(8)
    if way == 0:
        del holder[key]
    elif way == 1:
        other, from_key = random.choice(holders)
        # A copy: no tree may hold itself.
        holder[key] = json.loads(json.dumps(other[from_key])) if from_key in _keys(other) else None
    elif way == 2 and isinstance(holder, list):
        holder[key:key] = [holder[key]] * random.choice((1, 2, 300))
    elif way == 3 and isinstance(holder, dict):
        holder[random.choice(TEXTS)] = holder.pop(key) if random.random() < 0.5 else holder[key]
    elif way == 4:
        for _ in range(random.choice((1, 3, 100))):
            holder[key] = [holder[key]] if random.random() < 0.5 else {"x": holder[key]}
    else:
        holder[key] = _other(holder[key], random)
    return tree


def _other(value: Any, random: Random) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and random.random() < 0.7:
        return near(value, random)
    if isinstance(value, str) and random.random() < 0.7:
        text = random.choice(TEXTS)
        return text if random.random() < 0.5 else value + text
    return random.choice((None, True, [], {}, "", 0.5, -0.0, 1e308, 10**30, *NUMBERS, *TEXTS))


def _keys(holder: Any) -> Any:
    return holder if isinstance(holder, dict) else range(len(holder))


def _holders(tree: Any) -> Any:
    waiting = [tree]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, dict | list):
            for key in _keys(holder):
                yield holder, key
                waiting.append(holder[key])
