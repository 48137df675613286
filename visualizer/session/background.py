"""Answers that go through all records, which takes seconds on a large trace: made beside the pages, which stay quick.

In a process of its own, and one that gives way: a thread would share Python's lock with the pages. It stays, since the
sums that it has made answer most of what is asked next.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import streamlit as st

from snoopie import Trace
from visualizer.session import again, state
from visualizer.session.question import KEYS, Question, Scope, full_name

_Answer = TypeVar("_Answer")

_ROOT = Path(__file__).resolve().parents[2]
# Of so many records all is there at once.
_FEW = 30_000
# Of so many the first answer of a kind, for which they are gone through, is not there soon.
_MANY = 1_000_000
# Seconds that a page waits for what may be there soon.
_PROMPT = 0.15
_GOING = "Going through the recorded accesses …"


def answer(question: Question[_Answer], prompt: float = _PROMPT, wait: str = _GOING) -> _Answer | None:
    """The answer, which is kept for the next time.

    None while it is being made, if that takes longer than ``prompt`` seconds: then a line says what for (``wait``), and
    the page is drawn anew once it is there.
    """
    if not is_large():
        with st.spinner(wait):
            return state.answer(question)
    future = _future(question)
    try:
        # What stands behind another question will not be there soon, and a page may ask for several.
        first = next((one for one in list(_line()) if not one.done()), future)
        return future.result(prompt if first is future and _is_soon(question) else 0)
    except TimeoutError:
        _wait(future, wait)
        return None


def ahead(question: Question[_Answer]) -> _Answer | None:
    """Has the answer made before a page asks for it; returns it as soon as it is there.

    Only where the trace `is_large`. What went wrong is reported to the page that asks.
    """
    future = _future(question)
    return future.result() if future.done() and not future.exception() else None


def is_large() -> bool:
    """Whether answers are made beside the pages."""
    # The workers of a cluster are others' too, and its traces larger: it is asked when somebody looks.
    return state.arguments().scheduler is None and _records() > _FEW


def _records() -> int:
    return int(state.ask_whole(Trace.summary)["records"])


def _is_soon(question: Question[Any]) -> bool:
    """Whether the sums that answer it may be there."""
    return _records() < _MANY or _kind(question) in _answered()


def _kind(question: Question[Any]) -> tuple[Scope, str]:
    return question.scope, full_name(question.method)


@st.cache_resource(show_spinner=False)
def _answered() -> set[tuple[Scope, str]]:
    """The kinds of questions that were."""
    return set()


def _future(question: Question[_Answer]) -> Future[_Answer]:
    future: Future[_Answer] = _asked(question)
    return future


def _wait(future: Future[_Answer], why: str) -> None:
    again.once(future)
    st.caption(f":material/hourglass_empty: {why}")


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs=KEYS)
def _asked(question: Question[Any]) -> Future[Any]:
    future: Future[Any] = Future()
    _line().append(future)
    future.add_done_callback(_line().remove)
    answered = _answered()
    future.add_done_callback(lambda _: answered.add(_kind(question)))
    _queue().put((question, future))
    return future


@st.cache_resource(show_spinner=False)
def _line() -> list[Future[Any]]:
    """Those that are not answered, in their order."""
    return []


@st.cache_resource(show_spinner=False)
def _queue() -> SimpleQueue[tuple[Question[Any], Future[Any]]]:
    """What is to be answered, one at a time: each goes through all records, and would slow the other down."""
    waiting: SimpleQueue[tuple[Question[Any], Future[Any]]] = SimpleQueue()
    # A daemon: the end of the server does not wait for an answer that nobody will read.
    Thread(target=_answer_all, args=(waiting,), name="background", daemon=True).start()
    return waiting


def _answer_all(waiting: SimpleQueue[tuple[Question[Any], Future[Any]]]) -> None:
    # The first page is drawn first.
    other = _Worker(state.AHEAD)
    while True:
        question, future = waiting.get()
        try:
            future.set_result(other.answer(question))
        except Exception as error:
            future.set_exception(error)


class _Worker:
    """The other process, seen from here. It ends when this process does, and is started anew if it ended before.

    ``delay``: seconds until it is first started.
    """

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._process: subprocess.Popen[bytes] | None = None

    def answer(self, question: Question[_Answer]) -> _Answer:
        try:
            process = self._running()
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(pickle.dumps(question))
            process.stdin.flush()
            value: _Answer | Exception = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.PickleError):
            # Where there is no room for another process, this one has to do.
            return question.answer(state.read)
        if isinstance(value, Exception):
            raise value
        return value

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            time.sleep(self._delay if self._process is None else 0)
            path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
            self._process = subprocess.Popen(
                [sys.executable, "-m", "visualizer.session.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": path},
            )
        return self._process
