"""Work on the blocks of a trace by several threads: zstd, zlib and numpy let go of Python's lock while they work."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import chain, islice
from typing import TypeVar

import numpy as np

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

# More threads than this wait for one another: what is between the calls that let go of the lock is Python.
_MOST = 16
# The largest size that glibc learns from, see `_keep_freed_memory`.
_LEARNT = 31 << 20


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ordered(function: Callable[[_Item], _Result], items: Iterable[_Item]) -> Generator[_Result]:
    """``map``, by as many threads as there are cores. Results keep the order of the items, as errors do.

    At most one result a thread and one more wait to be taken, so memory is bounded however many items there are.
    """
    _keep_freed_memory()
    workers = min(cores(), _MOST)
    coming = iter(items)
    # A single item, as most small traces are, is not worth a thread.
    begun = list(islice(coming, 2)) if workers > 1 else []
    if len(begun) < 2:
        yield from map(function, chain(begun, coming))
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="snoopie")
    waiting: deque[Future[_Result]] = deque()
    try:
        for item in chain(begun, coming):
            waiting.append(pool.submit(function, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # Also when nobody wants the rest.
        pool.shutdown(cancel_futures=True)


@cache
def _keep_freed_memory() -> None:
    """Half of the time: blocks are alike, and the pages of one serve for the next.

    glibc gives freed memory back to the system, page by page to be faulted in again, where it is more than twice the
    largest array that was ever freed. Freeing one that nobody touched costs nothing; other allocators do not care.
    """
    np.empty(_LEARNT, np.uint8)
