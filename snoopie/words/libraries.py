"""Whose a function is, by its source file: the user's own, or of a library or a compiler."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# By a part of its path. Names in "<" and ">" are of what has no file, and few of them are what a user typed: into
# Python, a notebook's cell, a doctest. TorchInductor writes the functions of a compiled module into files of its own.
_LIBRARIES = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib(?:64)?[/\\]python\d|/torchinductor_|"
    r"^/usr/(?:local/)?include/|/gcc/[^/]+/[\d.]+/|/include/c\+\+/|/targets/[^/]+/include/|/cuda[^/]*/include/|"
    r"/sysdeps/|/csu/|/nptl/|\.cudafe1\.stub\.c$|^\./|^<(?!stdin|console>|i?python-input-|timeit-src>|doctest )"
)
# The program of `python -c`. Other functions in a file of that name are what a library made of text, as dataclasses do.
_TYPED = ("<string>", "<module>")


def is_library(file: str, function: str) -> bool:
    """Whether a function in this file is not the user's own. One whose file is not known ("") counts as the user's."""
    return _LIBRARIES.search(file) is not None and (file, function) != _TYPED


def are_libraries(files: pd.Series, functions: pd.Series) -> NDArray[np.bool_]:
    """Of each of them, as `is_library`."""
    typed = (files == _TYPED[0]).to_numpy(bool) & (functions == _TYPED[1]).to_numpy(bool)
    return files.str.contains(_LIBRARIES).to_numpy(bool) & ~typed
