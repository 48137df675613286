"""How long a step may take, how much memory it may want, and which errors it may raise."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

from snoopie.errors import SnoopieError
from tests.fuzz.target import Fault

# CPU time of a step. On a quiet machine none takes 5 s (docs/trust.md); a busy one counts more for the same work.
SECONDS = 15
GIB = 1 << 30
# Beyond this the system refuses more, and what wanted it is a fault.
MOST_MEMORY = 8 * GIB


@contextmanager
def step(what: str, size: int) -> Iterator[None]:
    """Runs a step on an input of so many bytes. Fault where it does not end in time or wants too much memory."""
    begun = time.process_time()
    yield
    took = time.process_time() - begun
    if took > SECONDS:
        raise Fault(f"{what} took {took:.0f} s of CPU time")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    # 1 GiB and three times as much as a file of this size may hold, uncompressed.
    if peak > GIB + 3 * ((16 << 20) + 64 * size):
        raise Fault(f"{what} wanted {peak / GIB:.1f} GiB")


def check_sentence(error: SnoopieError) -> None:
    """Fault where an error is not one line that can be printed anywhere."""
    text = str(error)
    if not text or not text.isprintable() or not error.problem:
        raise Fault(f"the error is no plain line: {text!r}") from error
    if len(text) > 20_000:
        raise Fault(f"the error has {len(text)} letters: {text[:200]!r}…") from error
