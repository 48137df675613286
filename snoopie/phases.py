"""Phases of the program that runs: regions with names, and when to record. Without the collector, nothing happens.

>>> with snoopie.region("halo"):
...     exchange()
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes
    from types import TracebackType


@cache
def _collector() -> ctypes.PyDLL | None:
    """The program with the collector in it, which is preloaded: it is there from the start or never."""
    import ctypes

    # The interpreter's lock stays: what is called is shorter than giving it away.
    program = ctypes.PyDLL(None)
    try:
        for function in (program.snoopie_collector_push, program.snoopie_collector_start):
            function.argtypes = [ctypes.c_char_p]
        program.snoopie_collector_start.restype = ctypes.c_uint64
        program.snoopie_collector_end.argtypes = [ctypes.c_uint64]
        program.snoopie_collector_push.restype = program.snoopie_collector_end.restype = None
        program.snoopie_collector_pop.restype = program.snoopie_collector_record.restype = None
    except AttributeError:
        return None
    return program


class region:
    """``with snoopie.region("halo"):`` what this thread launches and copies meanwhile is of this region, a range of the
    trace like those of NVTX. Regions may lie within one another, and have one name several times.

    ``all_threads``: what any thread of the process does is, such as PyTorch's, which go through a model backwards.
    """

    __slots__ = ("_all_threads", "_name", "_numbers")

    def __init__(self, name: str, *, all_threads: bool = False) -> None:
        self._name = name.encode("utf-8", "replace")
        self._all_threads = all_threads
        self._numbers: list[int] = []

    def __enter__(self) -> None:
        if (collector := _collector()) is None:
            return
        if self._all_threads:
            self._numbers.append(collector.snoopie_collector_start(self._name))
        else:
            collector.snoopie_collector_push(self._name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if (collector := _collector()) is None:
            return
        if self._all_threads:
            collector.snoopie_collector_end(self._numbers.pop())
        else:
            collector.snoopie_collector_pop()


def start() -> None:
    """Record from here on: after `stop`, or where ``snoopie run --capture-range profiler-api`` waits for it."""
    _record(True)


def stop() -> None:
    """Record nothing from here on, until `start`: launches run at full speed, and what they move is in no amount."""
    _record(False)


def _record(on: bool) -> None:
    if (collector := _collector()) is not None:
        collector.snoopie_collector_record(on)
