"""Plotly's charts in which things can be chosen by a click."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go
import streamlit as st

# Of a trace: Plotly makes what is not chosen pale, until the page has drawn what the choice means.
NEVER_PALE: dict[str, Any] = {"selected": {}, "unselected": {"marker": {"opacity": None}}}


def show(figure: go.Figure, key: str, choose: Callable[..., None] | None = None) -> None:
    """Draws it. A click on a point calls ``choose`` with the point's customdata, before the page runs again."""
    config = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"]}
    if choose is None:
        st.plotly_chart(figure, key=key, width="stretch", config=config)
        return
    # What was chosen is seen in the picture itself: each click begins with nothing selected, so that the same point can
    # be chosen again.
    clicks = st.session_state.setdefault(f"{key}_clicks", 0)
    own = f"{key}_{clicks}"

    def clicked() -> None:
        points = st.session_state[own].selection.points
        if points and "customdata" in points[0]:
            st.session_state[f"{key}_clicks"] = clicks + 1
            choose(*points[0]["customdata"])

    st.plotly_chart(figure, key=own, width="stretch", config=config, on_select=clicked, selection_mode="points")
