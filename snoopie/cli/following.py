"""Traces that are being written, followed: for `snoopie run --prometheus`, and `snoopie watch` of a recording."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from snoopie.cli.metrics import offered, shown, wanted
from snoopie.cli.output import in_shell_words, print_next

if TYPE_CHECKING:
    from snoopie.live.recording import Recording

_SECONDS = 1.0


@contextmanager
def offered_meanwhile(arguments: argparse.Namespace, files: Callable[[], Iterable[Path]]) -> Iterator[None]:
    """The metrics of a run that begins and ends in this block, and writes the ``files``. They never fail it."""
    from snoopie.live.recording import Recording
    from snoopie.trace.limits import allowed

    recording, lock, over = Recording(files, here=True, limits=allowed(True)), threading.Lock(), threading.Event()

    def follow() -> None:
        while not over.wait(_SECONDS):
            with lock:
                recording.look()

    thread = threading.Thread(target=follow, daemon=True)
    with offered(recording, lock, arguments, "snoopie-run"):
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            # What was written since, for OpenTelemetry, which is sent all at the end.
            with lock:
                recording.look()
                recording.close()
    _tell(recording)


def follow(arguments: argparse.Namespace) -> int:
    """Shows or offers what the traces of ``arguments.files`` tell until their processes have ended."""
    from snoopie.live.recording import Recording
    from snoopie.trace.limits import allowed

    sources = [Path(name) for name in arguments.files]

    def files() -> Iterable[Path]:
        for source in sources:
            yield from source.glob("*.zst") if source.is_dir() else [source]

    limits = allowed(arguments.trust)
    recording, lock, over = Recording(files, limits=limits), threading.Lock(), threading.Event()
    end = time.monotonic() + (arguments.seconds or float("inf"))
    more = recording.look()
    if recording.problems and len(recording.problems) == recording.seen:
        raise recording.problems[0]
    seen = shown(recording, lock, over.set) if arguments.live or not wanted(arguments) else nullcontext()
    with _ended_by_signals(over.set), offered(recording, lock, arguments, "snoopie-run"), seen:
        while more and time.monotonic() < end and not over.wait(min(_SECONDS, end - time.monotonic())):
            with lock:
                more = recording.look()
        with lock:
            recording.close()
    _tell(recording)
    print_next("stats", *([] if not more else ["--allow-truncated"]), *map(str, sources))
    return 0


@contextmanager
def _ended_by_signals(end: Callable[[], None]) -> Iterator[None]:
    def ended(*_: object) -> None:
        # On another thread: this one was interrupted, and may hold the lock of what is to be told.
        threading.Thread(target=end).start()

    before = {number: signal.signal(number, ended) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(recording: Recording) -> None:
    for problem in recording.problems:
        print(f"snoopie: note: {in_shell_words(str(problem))}", file=sys.stderr)
