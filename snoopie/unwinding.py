"""Signals that end the program do so as an exception, so that what is unfinished is taken away."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any

_Handler = Callable[[int, FrameType | None], Any] | int | None
# Ctrl-C, and what ends a program without a word: batch systems and closed terminals send these.
_ENDING: dict[signal.Signals, _Handler] = {
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
    signal.SIGINT: signal.default_int_handler,
}
_AGAIN_SECONDS = 0.05


@contextmanager
def unwound() -> Iterator[None]:
    """Has a signal that ends the program raise SystemExit within the block; Ctrl-C raises KeyboardInterrupt.

    Both come for certain, also where the block waits for something. An ignored signal (nohup) stays ignored, and a
    handler of the program's own stays. Only the main thread receives signals: in others this does nothing.
    """
    taken = []
    if threading.current_thread() is threading.main_thread():
        taken = [number for number, usual in _ENDING.items() if signal.getsignal(number) is usual]
    if not taken:
        yield
        return
    with ExitStack() as stack:
        with suppress(OSError, RuntimeError):
            # Where no file can be opened any longer, or no thread started, it goes without.
            stack.enter_context(_repeated(taken))
        for number in taken:
            signal.signal(number, partial(_end, sys.exception()))
        try:
            yield
        finally:
            for number in taken:
                signal.signal(number, _ENDING[number])


def _end(handled: BaseException | None, number: int, _frame: FrameType | None) -> None:
    """Raises the exception, unless it is on its way already: what is done before it goes on is done to the end.

    ``handled``: what the program was handling when the block began, which may have been a Ctrl-C before.
    """
    error = sys.exception()
    while error is not None and error is not handled:
        if isinstance(error, SystemExit | KeyboardInterrupt):
            return
        error = error.__context__
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    # What a shell says of a program that a signal ended.
    raise SystemExit(128 + number)


@contextmanager
def _repeated(numbers: Collection[int]) -> Iterator[None]:
    """Sends a signal that has come again and again, until the block has ended.

    Python calls handlers between its own steps: a signal that comes after it has looked for one, and before it calls
    what waits (for a pipe, a lock), would be heard when that wait ends, and only a signal ends it. And an exception
    raised where nobody can receive it (``__del__``) is dropped.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    over = threading.Event()
    thread = threading.Thread(target=_repeat, args=(numbers, reading, over), daemon=True)
    try:
        if before == -1:
            _wakes.add(writing)
        else:
            # An event loop's own, which must hear its signals.
            signal.set_wakeup_fd(before)
        thread.start()
        yield
    finally:
        if before == -1:
            signal.set_wakeup_fd(-1)
        _wakes.discard(writing)
        over.set()
        with suppress(BlockingIOError):
            # It is full only where nobody reads it any longer.
            os.write(writing, b"\0")
        if thread.ident is not None:
            thread.join()
        os.close(reading)
        os.close(writing)


def _repeat(numbers: Collection[int], reading: int, over: threading.Event) -> None:
    main = threading.main_thread().ident
    assert main is not None
    for number in iter(lambda: os.read(reading, 1)[0], 0):
        if number in numbers:
            while not over.wait(_AGAIN_SECONDS):
                signal.pthread_kill(main, number)
            return


# A child of a fork shares the pipe: what it receives is not for us.
_wakes: set[int] = set()


def _forget_after_fork() -> None:
    if _wakes:
        _wakes.clear()
        signal.set_wakeup_fd(-1)


os.register_at_fork(after_in_child=_forget_after_fork)
