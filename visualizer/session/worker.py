"""The process beside the app that goes through records: answers questions, one after the other, until nobody asks.

It knows nothing of pages, and imports nothing for them.
"""

from __future__ import annotations

import os
import pickle
import select
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Thread
from typing import Any

import snoopie
from snoopie.trace import text_columns
from visualizer.session.question import Identity, Question, Scope

# A tenth of what a page gets; with 19, a machine that is busy with something else lets nobody have an answer.
_NICENESS = 10


@lru_cache(maxsize=2)
def _whole(identity: Identity, allow_truncated: bool) -> snoopie.Trace:
    # Which runs these are was decided where they were opened. The app has read them, within the limits or because their
    # maker is trusted.
    paths = [path for path, _, _ in identity]
    return snoopie.load(paths, allow_truncated=allow_truncated, all_runs=True, trust=True)


@lru_cache(maxsize=4)
def _trace(scope: Scope) -> snoopie.Trace:
    return scope.filters.of(_whole(scope.identity, scope.allow_truncated))


def _give_way() -> None:
    """To the pages and to the browser that draws them."""
    os.nice(_NICENESS)
    # Linux first divides time between sessions (sched_autogroup): this process leads its own, or leaves that of others
    # as it is.
    with suppress(OSError):
        os.setsid()
        Path("/proc/self/autogroup").write_text(str(_NICENESS))


def _end_with_the_app() -> None:
    """However it ends, and also while an answer is being made: then nobody holds the other end of the input."""
    watched = select.poll()
    watched.register(sys.stdin.fileno(), 0)  # only what is always reported: the other end is gone
    watched.poll()
    os._exit(0)


def main() -> None:
    """Questions come by the standard input. By the output goes the answer, or the error."""
    _give_way()
    text_columns.by_reference()
    Thread(target=_end_with_the_app, daemon=True).start()
    # What anything here prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            question: Question[Any] = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            result = question.answer(_trace)
        except snoopie.SnoopieError as error:
            result = error
        pickle.dump(result, answers)
        answers.flush()


if __name__ == "__main__":
    main()
