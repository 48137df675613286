"""Names of kernels: which ones a user means, and how to show one in little room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from snoopie.errors import AbsentError


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
    begins = _places(short, "<")
    end = short.rfind(">")
    if len(short) <= _BRIEF or not begins or end < begins[-1]:
        return short
    head, arguments, tail = short[: begins[-1] + 1], short[begins[-1] + 1 : end], short[end:]
    room = _BRIEF - len(head) - len(", …") - len(tail)
    kept = max((place for place in _places(arguments, ",") if place <= room), default=0)
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
    no_arguments = name[: _outside(name, "(")]
    no_return_type = no_arguments[_outside(no_arguments, " ", -1) + 1 :]
    no_template = no_return_type[: _outside(no_return_type, "<")]
    return [name, no_arguments, no_return_type, no_template, no_template[_outside(no_template, ":", -1) + 1 :]]


def _outside(text: str, wanted: str, missing: int | None = None) -> int:
    """Where a character stands outside all brackets: the first "(" or "<", the last " " or ":"; or `missing`."""
    places = _places(text, wanted)
    if not places:
        return len(text) if missing is None else missing
    return places[0] if wanted in "(<" else places[-1]


def _places(text: str, wanted: str) -> list[int]:
    """Where a character stands outside all brackets."""
    places: list[int] = []
    depth = 0
    for place, character in enumerate(text):
        # "(anonymous namespace)" and "(lambda…)" begin a name or a scope; an argument list never does.
        begins = place == 0 or text[place - 1] in ": "
        if character == wanted and depth == 0 and not (character == "(" and begins):
            places.append(place)
        depth += (character in "<([") - (character in ">)]")
    return places
