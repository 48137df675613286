"""Answers that take seconds on a large trace: made beside the pages, which stay quick meanwhile.

In a process of its own, and one that gives way: a thread would share Python's lock with the pages.
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

import snoopie
from visualizer import state

_ROOT = Path(__file__).resolve().parents[1]
_NICENESS = 10


def ask(method: str, *args: Any) -> Future[Any]:
    """The answer of a method of the selected part, once it is there; it is kept for the next time."""
    key = (st.session_state["identity"], st.session_state["allow"], state.selection(), method, args)
    return _asked(key, state.view())


@st.cache_resource(max_entries=32, show_spinner=False)
def _asked(key: tuple[Any, ...], _part: snoopie.Trace) -> Future[Any]:
    method, args = key[-2:]

    def work() -> Any:
        # The page is drawn first.
        time.sleep(state.AHEAD)
        path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            [sys.executable, "-m", "visualizer.background"],
            input=pickle.dumps(key),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": path},
        )
        # Where there is no room for another process, this one has to do.
        return getattr(_part, method)(*args) if done.returncode else pickle.loads(done.stdout)

    return _workers().submit(work)


@st.cache_resource(show_spinner=False)
def _workers() -> ThreadPoolExecutor:
    """One at a time: each goes through all records, and would slow the other down."""
    return ThreadPoolExecutor(1, "snoopie")


def _main() -> None:
    """The other process: reads what it is asked, and writes the answer."""
    os.nice(_NICENESS)
    identity, allow_truncated, chosen, method, args = pickle.load(sys.stdin.buffer)
    trace = snoopie.load([path for path, _, _ in identity], allow_truncated=allow_truncated)
    pickle.dump(getattr(chosen.of(trace), method)(*args), sys.stdout.buffer)


if __name__ == "__main__":
    _main()
