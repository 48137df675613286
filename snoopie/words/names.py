"""Names of kernels: which ones a user means, and how to show one in little room."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from snoopie.errors import AbsentError

_OPENING, _CLOSING, _BLANK = "<([", ">)]", "\0"
# By how much a byte goes deeper into brackets, as a byte: 255 is -1.
_STEPS = bytes((chr(byte) in _OPENING) + 255 * (chr(byte) in _CLOSING) for byte in range(256))
# Where an argument list begins: "(anonymous namespace)" and "(lambda…)" begin a name or a scope, which none ever does.
_ARGUMENTS = re.compile(r"\((?<=[^: ]\()")
# Letters of a name that Python looks at one by one.
_SHORT = 256


def short_name(name: str) -> str:
    """The name without return type and argument list: "void n::k<int>(float*)" → "n::k<int>"."""
    return _spellings(name)[2]


def bare_name(name: str) -> str:
    """The short name without its template arguments: "void n::k<int>(float*)" → "n::k"."""
    return _spellings(name)[3]


# Letters of a name in a sentence.
_BRIEF = 60


def brief_name(name: str) -> str:
    """The short name for a sentence: if it is long, with the last template arguments that fit: "n::k<int, …>"."""
    short = short_name(name)
    begin = -1 if len(short) <= _BRIEF else _outside(short).rfind("<")
    end = short.rfind(">")
    if begin < 0 or end < begin:
        return short
    head, arguments, tail = short[: begin + 1], short[begin + 1 : end], short[end:]
    room = _BRIEF - len(head) - len(", …") - len(tail)
    kept = max(0, _outside(arguments).rfind(",", 0, max(0, room + 1)))
    return f"{head}{arguments[:kept]}, …{tail}" if kept else f"{head}…{tail}"


# What stands for the kernels of a library, as in the collector's KERNEL_NAME. NVSHMEM's do not all bear its name.
LIBRARIES = {
    "nccl": ("ncclDevKernel*", "ncclKernel*", "ncclSymk*"),
    "nvshmem": ("*nvshmem*", "*_on_stream_kernel*"),
}


def choose_kernels(wanted: Sequence[str], present: Iterable[str]) -> list[str]:
    """The kernels whose whole or short name is, or matches as in a shell, one of the wanted.

    "void n::k<int>(float*)" has the short names "n::k<int>", "n::k" and "k"; "nccl" and "nvshmem" stand for the kernels
    of these libraries. UsageError where a wanted name fits none.
    """
    names = sorted(set(present))
    chosen: dict[str, None] = {}
    for pattern in wanted:
        patterns = (pattern, *LIBRARIES.get(pattern, ()))
        found = [name for name in names if any(_fits(s, p) for s in _spellings(name) for p in patterns)]
        if not found:
            some = ", ".join(names[:5]) + (", …" if names[5:] else "")
            raise AbsentError(f"no kernel is called {pattern}", f"the trace has {some or 'none'}")
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def _fits(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def _spellings(name: str) -> list[str]:
    first, scope, template, arguments = _cuts(name)
    return [name, name[:arguments], name[first:arguments], name[first:template], name[scope:template]]


# A table has the same few names in many rows.
@lru_cache(1 << 14)
def _cuts(name: str) -> tuple[int, int, int, int]:
    """Where a name begins behind its return type, and behind its scopes; where its template arguments begin, and where
    its argument list does."""
    outer = _outside(name)
    found = _ARGUMENTS.search(outer)
    arguments = found.start() if found else len(name)
    first = outer.rfind(" ", 0, arguments) + 1
    template = outer.find("<", first, arguments)
    template = arguments if template < 0 else template
    return first, max(first, outer.rfind(":", first, template) + 1), template, arguments


def _outside(text: str) -> str:
    """The text with a blank letter in the place of each that stands inside brackets, and of those that close them."""
    if len(text) > _SHORT:
        return _outside_of_long(text)
    depth, letters = 0, []
    for letter in text:
        letters.append(letter if depth == 0 else _BLANK)
        depth += (letter in _OPENING) - (letter in _CLOSING)
    return "".join(letters)


def _outside_of_long(text: str) -> str:
    """The same, letter by letter in numpy, which takes 80 MB of names in a second; other letters than ASCII are "?"."""
    # Not above: what only has short names to show, such as `snoopie hang`, starts without it.
    import numpy as np

    letters = text.encode("ascii", "replace")
    steps = np.frombuffer(letters.translate(_STEPS), np.int8)
    outside = np.cumsum(steps, dtype=np.int32) == steps
    blanked: bytes = (np.frombuffer(letters, np.uint8) * outside).tobytes()
    return blanked.decode("ascii")
