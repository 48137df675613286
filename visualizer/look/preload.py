"""What later pages are drawn with, loaded by the browser while a user looks at the first one."""

from __future__ import annotations

import time
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from visualizer.pictures import lane_bars, picture
from visualizer.session import again, state

# Also the name of what is hidden.
_DONE = "preload"
_HIDDEN = "position: absolute; height: 0; overflow: hidden; visibility: hidden"


def preload() -> None:
    """Once a session, and a little later than the first page: a page with pictures and choosers would wait for their
    scripts otherwise, and for the browser to compile them.

    Draws one of each kind, hidden below the page; the next run removes them."""
    if _DONE in st.session_state:
        return
    begun = st.session_state.setdefault("opened", time.monotonic())
    again.after(state.AHEAD)
    if time.monotonic() - begun < state.AHEAD:
        return
    st.session_state[_DONE] = True
    if state.has_trace():
        # Those of many kernels come from seaborn, which is slow to import.
        lane_bars.of_names((), by_kernel=True)
    with st.container(key=_DONE):
        st.html(f"<style>.st-key-{_DONE} {{ {_HIDDEN}; }}</style>")
        st.plotly_chart(_picture(), key="preload_picture", config={"displaylogo": False})
        st.segmented_control("Choice", ["a", "b"], key="preload_choice")
        st.selectbox("List", ["a", "b"], key="preload_list")
        st.number_input("Number", key="preload_number")


def _picture() -> go.Figure:
    """Of all that pictures consist of: bars, stacked areas, cells of a heatmap, and points with text."""
    two = [0, 1]
    ends: dict[str, Any] = {"x": two, "y": two}
    data: list[dict[str, Any]] = [
        {"type": "bar", "orientation": "h", "base": two, "marker": {"opacity": two}, **ends},
        *({"type": "scatter", "mode": "lines", "stackgroup": "all", "name": name, **ends} for name in "ab"),
        {"type": "heatmap", "z": [two, two], "showscale": False},
        {"type": "scatter", "mode": "markers+text", "text": ["a", "b"], **ends},
    ]
    return picture.figure(data, {"height": 200, "barmode": "overlay", "legend": {"orientation": "h"}})
