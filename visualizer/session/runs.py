"""Which run is looked at, where the traces are of several: that which was chosen, or, on purpose, all of them."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

import snoopie
from visualizer.look import theme

# What is chosen: the id of a run, or one of these.
ASK = None
ALL = ""
_CHOSEN = "run"


def chosen(default: str | None) -> str | None:
    """The run that was chosen in this session, else the default."""
    run: str | None = st.session_state.get(_CHOSEN, default)
    return run


def choose(run: str | None) -> None:
    """Looks at this run; ASK has the user choose."""
    st.session_state[_CHOSEN] = run


def ask(runs: snoopie.SeveralRunsError, on_choose: Callable[[str | None], None]) -> None:
    """Has the user choose; ``on_choose`` takes the answer."""
    st.title("Several runs")
    st.write("These traces are of several runs. Sums over different runs mean nothing by themselves: choose one.")
    for run in runs.runs:
        st.button(
            theme.plain(str(run)),
            key=f"run_{run.id}",
            icon=":material/play_circle:",
            on_click=on_choose,
            args=(run.id,),
            width="stretch",
        )
    st.button(
        f"Add up all {len(runs.runs)}", key="run_all", icon=":material/functions:", on_click=on_choose, args=(ALL,)
    )
