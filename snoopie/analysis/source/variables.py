"""The variable that receives an allocation, as the source line of the call has it."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Code is a trace's text, which may be made to be tried in as many ways as there are. So what is taken is never given
# back (possessive quantifiers, atomic groups), and only so many letters are looked at: the collector keeps 200.
_LETTERS = 256
_NAME = r"[A-Za-z_]\w*+(?:(?:\.|->|::)[A-Za-z_]\w*+|\[[^\[\]]*+\])*+"
_NAMED = re.compile(_NAME)
# &name as the first argument of what allocates: cudaMalloc(&a, n), CHECK(cuMemAlloc((CUdeviceptr *)&p->x, n)).
_BY_ADDRESS = re.compile(
    r"\b(?=\w*(?:[mM]alloc|[aA]lloc))\w++\s*+(?:<[^<>]*+>)?+\s*+\(\s*+"
    r"(?:\([\w\s:*<>]++\)\s*+|(?:reinterpret|static)_cast\s*+(?><[\w\s:*<>]+>)\s*+\(\s*+)*+&\s*+(?P<name>" + _NAME + ")"
)
# name = …, with or without a type before it; not ==, <=, a lambda's or a call's named argument.
_ASSIGNED = re.compile(
    r"^(?:[\w:]++(?>\s*<[^;=]*>)?[\s*&]++)*?(?P<name>"
    + _NAME
    + r"(?:\s*+,\s*+"
    + _NAME
    + r")*+)\s*+(?::[^=()]++)?+=(?!=)"
)
# Type name(…); or Type name{…};
_BUILT = re.compile(r"^(?:[\w:]++(?>\s*<[^;()]*>)?[\s*&]++)+(?P<name>[A-Za-z_]\w*+)\s*+[({](?=[^;]*+;)")
# name.push_back(…), name.append(…)
_KEEPS = ("push_back", "emplace_back", "emplace", "insert", "append", "add")
_NO_TYPE = re.compile(
    r"^(?:return|throw|delete|new|else|case|goto|yield|await|raise|assert|if|for|while|switch|with)\b"
)
# A caller further out names something larger than this allocation.
_FRAMES = 4


def variable_of(code: str) -> str:
    """The variable in which a line of C++ or Python keeps what a call in it makes; "" where none is to be seen.

    >>> variable_of("CHECK(cudaMalloc((void **)&halo[i], bytes));")
    'halo[i]'
    >>> variable_of("float *x = allocate<float>(n);"), variable_of("self.weight = torch.empty(4)")
    ('x', 'self.weight')
    >>> variable_of("return torch.ones(n)")
    ''
    """
    line = " ".join(code[:_LETTERS].split())
    if found := _BY_ADDRESS.search(line):
        return found["name"]
    if _NO_TYPE.match(line):
        return ""
    if kept := _kept(line):
        return kept
    found = _ASSIGNED.match(line) or _BUILT.match(line)
    return found["name"] if found else ""


def _kept(line: str) -> str:
    """The container of "container.append(…)"."""
    if not (found := _NAMED.match(line)) or not line[found.end() :].lstrip().startswith("("):
        return ""
    name, method = found[0], next((method for method in _KEEPS if found[0].endswith(method)), "")
    return next((name.removesuffix(end) for end in (f".{method}", f"->{method}") if method and name.endswith(end)), "")


def named(codes: Iterable[str]) -> str:
    """The variable of the innermost line that has one; ``codes``: source lines of a stack, innermost first."""
    for _, code in zip(range(_FRAMES), codes, strict=False):
        if name := variable_of(code):
            return name
    return ""
