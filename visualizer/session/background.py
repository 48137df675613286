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
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import streamlit as st

from visualizer.session import state
from visualizer.session.selection import Selection
from visualizer.session.worker import Question, answered

_ROOT = Path(__file__).resolve().parents[2]
# Of so many records all is there at once.
_FEW = 30_000
# Seconds that a page waits for what may be there soon, and between two looks whether it is.
_PROMPT = 0.15
_WAIT = 0.5
_GOING = "Going through the recorded accesses …"


def answer(
    method: str,
    *args: Any,
    prompt: float = _PROMPT,
    wait: str = _GOING,
    chosen: Selection | None = None,
    **options: Any,
) -> Any | None:
    """The answer of a method of the selected part (or of what ``chosen`` selects); it is kept for the next time.

    None while it is being made, if that takes longer than ``prompt`` seconds: then a line says what for (``wait``), and
    the page is drawn anew once it is there.
    """
    part = state.selection() if chosen is None else chosen
    if not is_large():
        with st.spinner(wait):
            return state.ask_part(part, method, *args, **options)
    future = _ask(part, method, args, options)
    try:
        return future.result(prompt)
    except TimeoutError:
        _wait(future, wait)
        return None


def ahead(method: str, *args: Any, **options: Any) -> Any | None:
    """Has the answer for the whole trace made before a page asks for it; returns it as soon as it is there.

    Only where the trace `is_large`. What went wrong is told to the page that asks.
    """
    future = _ask(Selection(), method, args, options)
    return future.result() if future.done() and not future.exception() else None


def is_large() -> bool:
    """Whether answers are made beside the pages."""
    # The workers of a cluster are others' too, and its traces larger: it is asked when somebody looks.
    return state.arguments().scheduler is None and state.ask("summary", whole=True)["records"] > _FEW


def _ask(part: Selection, method: str, args: tuple[Any, ...], options: dict[str, Any]) -> Future[Any]:
    identity, allow_truncated = st.session_state["identity"], st.session_state["allow"]
    return _asked((identity, allow_truncated, part, method, args, tuple(options.items())))


@st.fragment(run_every=_WAIT)
def _wait(future: Future[Any], why: str) -> None:
    if future.done():
        st.rerun()
    st.caption(f":material/hourglass_empty: {why}")


@st.cache_resource(max_entries=256, show_spinner=False)
def _asked(question: Question) -> Future[Any]:
    pool, other = _one()
    return pool.submit(other.answer, question)


@st.cache_resource(show_spinner=False)
def _one() -> tuple[ThreadPoolExecutor, _Worker]:
    """One at a time: each goes through all records, and would slow the other down."""
    return ThreadPoolExecutor(1, "background"), _Worker()


class _Worker:
    """The other process, seen from here. It ends when this process does, and is started anew if it ended before."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def answer(self, question: Question) -> Any:
        try:
            process = self._running()
            assert process.stdin is not None and process.stdout is not None
            pickle.dump(question, process.stdin)
            process.stdin.flush()
            known, value = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            # Where there is no room for another process, this one has to do.
            return answered(question, state.part)
        if not known:
            raise value
        return value

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            # The first page is drawn first.
            time.sleep(state.AHEAD if self._process is None else 0)
            path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
            self._process = subprocess.Popen(
                [sys.executable, "-m", "visualizer.session.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": path},
            )
        return self._process
