"""Which run is looked at, where the traces are of several: that which was chosen, or, on purpose, all of them."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

import snoopie
from visualizer.look import theme
from visualizer.session import address

# What is chosen: the id of a run, or one of these.
ASK = None
ALL = ""
_CHOSEN, _ASKED = "run", "run_asked"
# ALL in the address of the page.
_EACH = "all"


def chosen(default: str | None) -> str | None:
    """The run that the address names or that was chosen in this session, else the default."""
    return address.keep(
        _CHOSEN,
        ASK if st.session_state.get(_ASKED) else default,
        lambda words: ALL if words[-1] == _EACH else words[-1],
        lambda run: [run or _EACH],
    )


def choose(run: str | None) -> None:
    """Looks at this run; ASK has the user choose, whatever the command line says."""
    address.forget(_CHOSEN)
    st.session_state[_CHOSEN] = run
    st.session_state[_ASKED] = run is ASK


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
