"""Has the page drawn again without the browser: once an answer is there, or some time has passed.

Streamlit's own timers (``run_every``) have the browser ask, and tell what its page shows: while a click is being
answered, the page of before it, and the click is lost. Here the server itself begins the run, with what the session
holds, and while no other is under way. What a user does goes before: the run of that asks anew for what it wants.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.scriptrunner import get_script_run_ctx

_RUN = "again"
# Seconds between two looks whether another run is over.
_STEP = 0.02


class _Run:
    """Of the page: ``over`` once another has begun."""

    over = False


def begin() -> None:
    """Once in each run, before the page."""
    if _RUN in st.session_state:
        st.session_state[_RUN].over = True
    st.session_state[_RUN] = _Run()


def once(future: Future[Any]) -> None:
    """When this is done."""
    draw = _drawing()
    future.add_done_callback(lambda _: draw(0))


def after(seconds: float) -> None:
    """When this time has passed."""
    _drawing()(seconds)


def _drawing() -> Callable[[float], None]:
    """What has the page of this run drawn again, after some seconds; for any thread."""
    run: _Run = st.session_state.setdefault(_RUN, _Run())
    context = get_script_run_ctx()
    session = context and runtime.get_instance().get_app_session(context.session_id)
    if not context or not session:
        # The browser is gone, and asks when it comes back.
        return lambda _: None
    loop = session._event_loop

    def draw() -> None:
        # All runs begin on this loop: none can meanwhile.
        if run.over:
            return
        if session._scriptrunner is not None:
            loop.call_later(_STEP, draw)
            return
        run.over = True
        # No states of widgets: those of the session stay.
        state = ClientState(query_string=context.query_string, page_script_hash=context.page_script_hash)
        if context.context_info is not None:
            state.context_info.CopyFrom(context.context_info)
        session.request_rerun(state)

    def later(seconds: float) -> None:
        # Where the server has ended, so has the loop.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(loop.call_later, seconds, draw)

    return later
