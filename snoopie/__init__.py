"""Snoopie: every byte that crosses between GPUs, and the line of code that sent it.

>>> import snoopie
>>> trace = snoopie.load("trace.zst")
>>> trace.matrix()
>>> trace.by_line()
"""

from typing import TYPE_CHECKING

from snoopie.errors import (
    CorruptError,
    EmptyError,
    LimitError,
    MissingColumnError,
    MissingPackageError,
    NotATraceError,
    SeveralRunsError,
    SnoopieError,
    TruncatedError,
    UsageError,
    VersionError,
)
from snoopie.phases import region, start, stop

if TYPE_CHECKING:
    from snoopie.api import Comparison, Trace, compare, load

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "CorruptError",
    "EmptyError",
    "LimitError",
    "MissingColumnError",
    "MissingPackageError",
    "NotATraceError",
    "SeveralRunsError",
    "SnoopieError",
    "Trace",
    "TruncatedError",
    "UsageError",
    "VersionError",
    "__version__",
    "compare",
    "load",
    "region",
    "start",
    "stop",
]

if not TYPE_CHECKING:  # for whom any name would then be one of this module
    # What reads traces imports pandas, which takes longer than `snoopie --help` and the start of `snoopie run`.
    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from snoopie import api

        value = globals()[name] = getattr(api, name)
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
