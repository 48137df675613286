"""The process beside the app that goes through records: answers questions, one after the other, until nobody asks.

It knows nothing of pages, and imports nothing for them.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import snoopie
from visualizer.session.selection import Identity, Selection

# The files, whether they may be cut off, what of them, a method of it, its arguments by place and by name.
Question = tuple[Identity, bool, Selection, str, tuple[Hashable, ...], tuple[tuple[str, Hashable], ...]]

_NICENESS = 19


def answered(question: Question, part: Callable[[Identity, bool, Selection], snoopie.Trace]) -> Any:
    """The answer of what ``part`` makes of the files. Raises what the method does."""
    identity, allow_truncated, chosen, method, args, options = question
    return getattr(part(identity, allow_truncated, chosen), method)(*args, **dict(options))


@lru_cache(maxsize=2)
def _whole(identity: Identity, allow_truncated: bool) -> snoopie.Trace:
    return snoopie.load([path for path, _, _ in identity], allow_truncated=allow_truncated)


@lru_cache(maxsize=4)
def _part(identity: Identity, allow_truncated: bool, chosen: Selection) -> snoopie.Trace:
    return chosen.of(_whole(identity, allow_truncated))


def _give_way() -> None:
    """To the pages and to the browser that draws them."""
    os.nice(_NICENESS)
    # Linux first divides time between sessions (sched_autogroup): this process leads its own, or leaves that of others
    # as it is.
    with suppress(OSError):
        os.setsid()
        Path("/proc/self/autogroup").write_text(str(_NICENESS))


def main() -> None:
    """Questions come by the standard input. By the output goes whether there is an answer, and it, or the error."""
    _give_way()
    # What anything here prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            question: Question = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            result = True, answered(question, _part)
        except snoopie.SnoopieError as error:
            result = False, error
        pickle.dump(result, answers)
        answers.flush()


if __name__ == "__main__":
    main()
