"""The errors of Snoopie: one small family, each one sentence and a remedy on one line."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from snoopie.words.text import cut, one_line

if TYPE_CHECKING:
    from snoopie.joined.runs import Run


# Letters of a sentence, in which there can be a path of 4,096; a name from a trace can have any number.
_LONGEST = 10_000


def _line(text: str) -> str:
    """The text on one line and without control characters: names in it come from files and traces."""
    return one_line(cut(text, _LONGEST))


def warn(problem: str, remedy: str) -> None:
    """Warn of what is allowed and hardly meant, in a line like that of an error, at the place that called Snoopie."""
    here = os.path.dirname(__file__)
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame, level = frame.f_back, level + 1
    warnings.warn(_line(f"{problem}; {remedy}"), UserWarning, stacklevel=level)


class SnoopieError(Exception):
    """Anything that Snoopie refuses to do. ``str(error)`` is one line: what is wrong, then what to do about it.

    ``problem`` and ``remedy`` are its parts alone.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = _line(problem)
        self.remedy = _line(remedy)
        super().__init__(_line(f"{problem}; {remedy}") if remedy else self.problem)


class NotATraceError(SnoopieError):
    """The source is no trace at all: another kind of file, nothing readable there, or a folder without traces."""


class VersionError(SnoopieError):
    """The trace is of a version, or uses something of a version, that this Snoopie does not read."""


class TruncatedError(SnoopieError):
    """The end of the trace is missing: the process was killed, is still running, or the file was cut."""


class CorruptError(SnoopieError):
    """The trace contradicts itself: a checksum, a sequence number or a reference is wrong."""


class LimitError(SnoopieError):
    """The trace holds more than any real run needs; see `snoopie.trace.limits`."""


class EmptyError(SnoopieError):
    """The file has no bytes."""


class MissingColumnError(SnoopieError):
    """The trace lacks a table or a column that Snoopie needs, or has it with another type."""


class UsageError(SnoopieError):
    """A request that cannot be met: an argument of the command line or of a method is wrong."""


class MissingPackageError(SnoopieError, ImportError):
    """What was asked for needs Python packages that are not installed."""


class AbsentError(UsageError):
    """Something is asked for by a name that nothing in the trace has."""


class SeveralRunsError(UsageError):
    """The traces are of several runs of programs, and nobody said which is meant. ``runs`` are all of them."""

    def __init__(self, problem: str, remedy: str, runs: Sequence[Run]) -> None:
        super().__init__(problem, remedy)
        self.runs = runs
