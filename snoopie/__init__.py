"""Snoopie: every byte that crosses between GPUs, and the line of code that sent it.

>>> import snoopie
>>> trace = snoopie.load("trace.zst")
>>> trace.matrix()
>>> trace.by_line()
"""

from snoopie.api import Comparison, Trace, compare, load
from snoopie.errors import (
    CorruptError,
    EmptyError,
    LimitError,
    MissingColumnError,
    NotATraceError,
    SnoopieError,
    TruncatedError,
    UsageError,
    VersionError,
)

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "CorruptError",
    "EmptyError",
    "LimitError",
    "MissingColumnError",
    "NotATraceError",
    "SnoopieError",
    "Trace",
    "TruncatedError",
    "UsageError",
    "VersionError",
    "__version__",
    "compare",
    "load",
]
