"""Which frame of a stack that PyTorch recorded made a tensor.

By default (`stacks="all"`) it records C++ and Python together: the unwinder, the allocator and the operator are
innermost, and between two frames of Python lie those of the interpreter. A gradient is made by a thread of PyTorch's
own, which runs no Python.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from snoopie.words.libraries import is_library

Frame = tuple[str, int, str]
"""File, line, function. Of most C++, PyTorch knows no file ("" or "??") and no line (0)."""

_NATIVE = (".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hpp", ".inc", ".o", ".so", ".tcc")
_GRADIENT = re.compile(r"torch::autograd::(?:generated::)?(\w+)::apply\(")
_OPERATOR = re.compile(r"at::_ops::(\w+)::")


def own_frame(stack: Sequence[Frame]) -> Frame:
    """The innermost frame of the user's Python, else of any; without Python the step of the backward pass or the
    operator, by its name alone; else the innermost frame of all. `stack` has that one first, and may be empty."""
    python = [frame for frame in stack if _is_python(*frame[:2])]
    own = (frame for frame in python if not is_library(frame[0], frame[2]))
    if python:
        return next(own, python[0])
    for pattern in (_GRADIENT, _OPERATOR):
        if name := next(filter(None, (pattern.match(function) for _, _, function in stack)), None):
            return "", 0, name[1]
    return stack[0] if stack else ("", 0, "")


def _is_python(file: str, line: int) -> bool:
    # Headers of the C++ library have no suffix.
    return line > 0 and not file.endswith(_NATIVE) and "/include/c++/" not in file
